"""The config file: every key is documented, and every mistake is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.config import (
    Config,
    McpServer,
    ModelConfig,
    Paths,
    ProviderConfig,
    choose_servers,
    expand_variables,
    find_paths,
    load_config,
    parse,
)
from chat_loop.errors import ConfigError

EXAMPLE = Path(__file__).parents[1] / "chat_loop" / "config.example.yaml"
SERVERS = "config.example.yaml shows every key."
ALIASES = "its aliases (*) repeat too much. Write it without them."


def bomb(levels: int) -> str:
    """Return a few hundred bytes of YAML that expand to 2 ** `levels` values."""
    text = "&a0 {x: l, y: l}"
    for level in range(1, levels):
        text = f"&a{level} {{x: {text}, y: *a{level - 1}}}"
    return text


def keys(value: object, prefix: str = "") -> set[str]:
    if not isinstance(value, dict):
        return {prefix}
    return {key for name, inner in value.items() for key in keys(inner, f"{prefix}.{name}")} or {
        prefix
    }


def test_the_example_shows_every_key_with_its_default() -> None:
    import msgspec
    import yaml

    assert parse(EXAMPLE.read_bytes(), "example") == Config()
    assert keys(yaml.safe_load(EXAMPLE.read_bytes())) == keys(msgspec.to_builtins(Config()))


def test_the_providers_that_the_example_describes_can_be_set_so() -> None:
    """They are in comments; the explanations in parentheses are not part of them."""
    import re

    text = EXAMPLE.read_text().partition("providers: {}")[2].partition("\nmodels:")[0]
    said = re.sub(
        r"\s*(\([^)]*\))?$", "", re.sub(r"^ *# ?", "", text, flags=re.MULTILINE), flags=re.MULTILINE
    )
    body = re.sub(r"\s*\([^)]*\)", "", said).partition("such as:")[2]
    config = parse(f"providers:{body}".replace("\n", "\n  ").encode(), "example")

    assert config.providers["azure"] == ProviderConfig(
        base_url="https://NAME.openai.azure.com", model="DEPLOYMENT"
    )
    assert config.providers["local"] == ProviderConfig(context=16384, threads=4)
    assert [*config.providers] == [
        "compatible",
        "office",
        "kimi",
        "anthropic",
        "openai",
        "azure",
        "bedrock",
        "local",
    ]


def test_no_file_is_the_defaults_and_an_empty_one_too(tmp_path: Path) -> None:
    assert load_config(tmp_path / "none.yaml", required=False) == Config()
    assert parse(b"# nothing\n", "x") == Config()


def test_old_keys_are_named_and_give_way_to_todays() -> None:
    old: list[str] = []
    text = b"""\
summary: {timeout: 1, on_exit: later}
restoration: {acknowledge: false}
auto_compact: {summary_timeout: 2}
"""
    config = parse(text, "x", old.append)
    assert old == ["summary.on_exit", "summary.timeout", "restoration.acknowledge"]
    assert (config.auto_compact.summary_timeout, config.auto_compact.summary_on_exit) == (
        2,
        "later",
    )
    assert not config.resume.acknowledge
    assert parse(b"summary: {}", "x") == Config()
    with pytest.raises(ConfigError, match="unknown key summary"):
        parse(b"summary: {timeout: 1, nothing: 2}", "x")


def test_mcp_servers_are_described_by_name() -> None:
    text = b"""\
mcp:
  notes: {command: npx, args: [-y, x], env: {TOKEN: "${T}"}, cwd: ~/n, timeout: 5, tools: [a], unasked: [a]}
  wiki: {url: "https://wiki.example/mcp", headers: {Authorization: "Bearer ${W}"}, ask: false, enabled: false}
"""
    assert parse(text, "x").mcp == {
        "notes": McpServer(
            command="npx",
            args=("-y", "x"),
            env={"TOKEN": "${T}"},
            cwd="~/n",
            timeout=5.0,
            tools=("a",),
            unasked=("a",),
        ),
        "wiki": McpServer(
            url="https://wiki.example/mcp",
            headers={"Authorization": "Bearer ${W}"},
            ask=False,
            enabled=False,
        ),
    }


def test_the_example_of_a_server_is_one() -> None:
    """The example is in comments; the test removes the comment signs."""
    lines = EXAMPLE.read_text().partition("\nmcp: {}")[2].partition("\n\n")[0].split("\n")[1:]
    text = "mcp:\n" + "\n".join(line.strip().removeprefix("#") for line in lines)
    assert sorted(parse(text.encode(), "example").mcp) == ["notes", "wiki"]


def test_values_of_a_server_are_completed_from_the_environment() -> None:
    values = {"A": "${ONE}-${TWO}", "B": "$ONE {TWO} $${ONE", "C": ""}
    assert expand_variables(values, {"ONE": "1", "TWO": "${ONE}"}) == {
        "A": "1-${ONE}",
        "B": "$ONE {TWO} $${ONE",
        "C": "",
    }
    with pytest.raises(ConfigError, match=r"The environment variable TWO is not set\."):
        expand_variables(values, {"ONE": "1", "TWO": ""})


def test_an_agent_gets_the_servers_that_it_names_and_its_own_find_their_folder() -> None:
    servers = {
        name: McpServer(command=name, cwd=cwd)
        for name, cwd in {"a": "x", "b": "x", "c": "", "d": "/y"}.items()
    }
    assert choose_servers(
        servers, ("d", "b", "a", "c"), Path("/agents/sally"), {"b", "c", "d"}
    ) == {
        "d": servers["d"],
        "b": McpServer(command="b", cwd="/agents/sally/x"),
        "a": servers["a"],
        "c": servers["c"],
    }
    with pytest.raises(ConfigError, match=r"No MCP server named e\.") as caught:
        choose_servers(servers, ("a", "e"), Path("/"), ())
    assert caught.value.hint == "The config has: a, b, c, d."


def test_a_window_is_set_by_model_name() -> None:
    config = parse(b"models:\n  my-model: {window: 8000}\n  other: {}\n", "x")
    assert config.models == {"my-model": ModelConfig(window=8000), "other": ModelConfig()}
    assert config.windows == {"my-model": 8000}


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijklmnopqrstuvwxyz123456",
        "gsk_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "abcdef0123456789abcdef0123456789",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
        "MY KEY",
        "$MY_KEY",
        "M" * 65,
    ],
)
def test_a_key_in_place_of_its_variable_s_name_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(f"providers: {{office: {{api_key_env: '{key}'}}}}".encode(), "c.yaml")
    assert (
        caught.value.message
        == "c.yaml, line 1: providers.office: api_key_env takes the name of a variable, such as MY_KEY, "
        "not a key."
    )
    assert key not in caught.value.hint


@pytest.mark.parametrize(
    "variable", ["MY_KEY", "OfficeKey", "_k", "A_VERY_LONG_NAME_OF_A_VARIABLE_FOR_A_KEY"]
)
def test_names_of_variables(variable: str) -> None:
    assert parse(f"providers: {{office: {{api_key_env: {variable}}}}}".encode(), "x").providers[
        "office"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle: x", "c.yaml, line 1: unknown key modle. Did you mean model?"),
        ("display: true", "c.yaml, line 1: display: expected a mapping, got true or false. config.example.yaml shows every key."),
        ("agent: {nmae: x}", "c.yaml, line 1: unknown key agent.nmae. Did you mean agent.name?"),
        (
            "providers: {local: {contxt: 1}}",
            "c.yaml, line 1: unknown key providers.local.contxt. Did you mean providers.local.context?",
        ),
        (
            "providers: {office: {base_ulr: x}}",
            "c.yaml, line 1: unknown key providers.office.base_ulr. Did you mean providers.office.base_url?",
        ),
        ("providers: {My Box: {}}", ("c.yaml, line 1: providers: “My Box” is not a name. A name takes "
                                    "a-z, 0-9, - and _.")),
        ("providers: {local: {context: -1}}", ("c.yaml, line 1: providers.local.context: expected a whole number "
                                              ">= 0. config.example.yaml shows every key.")),
        (
            "providers: {azure: {model: 2024-10-21}}",
            (
                "c.yaml, line 1: model: YAML reads this as a date. Write it in quotes."
            ),
        ),
        ("models: {m: {windw: 1}}", ("c.yaml, line 1: unknown key models.m.windw. Did you mean "
                                    "models.m.window?")),
        ("1: 2", "c.yaml, line 1: the top level: a key is not text. config.example.yaml shows every key."),
        (
            "zzz: 2",
            ("c.yaml, line 1: unknown key zzz. Known keys: agent, agents, auto_compact, context, "
            "discover_servers, display, input, library, limits, mcp, memory, model, models, plugins, providers, "
            "resume, search, sessions, status, tools."),
        ),
        ("status: [model, clock]", ("c.yaml, line 1: status[1]: invalid enum value 'clock'. It takes "
                                    "context, cost, summary, model, tokens or session.")),
        ("agents: {Sally: {tools: {max_steps: 0}}}", (
            "c.yaml, line 1: agents.Sally.tools.max_steps: expected a whole number >= 1. config.example.yaml shows "
            "every key.")),
        ("agents: {Sally: {agent: {default: Bob}}}", (
            "c.yaml, line 1: agents.Sally.agent.default cannot be set for one agent. ")),
        (
            "summary: {timeout: soon}",
            ("c.yaml, line 1: summary.timeout: expected a number, got text. Write the number without "
            "an exponent or a unit, such as 1000 or 0.5."),
        ),
        (
            "mcp: {notes: {comand: npx}}",
            "c.yaml, line 1: unknown key mcp.notes.comand. Did you mean mcp.notes.command?",
        ),
        (
            "mcp: {notes: {command: npx, env: {PORT: 1}}}",
            ("c.yaml, line 1: mcp.notes.env[...]: expected text, got a whole number. "
            "Write text in quotes."),
        ),
        ("mcp: {notes: {}}", ("c.yaml, line 1: mcp.notes: it needs a command or a url, and only one of "
                             f"them. {SERVERS}")),
        (
            "mcp: {notes: {command: npx, url: 'http://x/mcp'}}",
            f"c.yaml, line 1: mcp.notes: it needs a command or a url, and only one of them. {SERVERS}",
        ),
        ("mcp: {a b: {command: x}}", ("c.yaml, line 1: mcp: “a b” is not a name. A name takes 1 to 32 "
                                     "letters, digits, - and _.")),
        ("mcp: {n: {url: 'ftp://x'}}", ("c.yaml, line 1: mcp.n: a url begins with http:// or https://. "
                                       f"{SERVERS}")),
        ("mcp: {n: {url: 'http://x', args: [a]}}", ("c.yaml, line 1: mcp.n: args, env and cwd go with a "
                                                   f"command. {SERVERS}")),
        ("mcp: {n: {command: x, headers: {A: b}}}", ("c.yaml, line 1: mcp.n: headers go with a url. "
                                                    f"{SERVERS}")),
        ("mcp: {n: {command: x, timeout: 0.5}}", ("c.yaml, line 1: mcp.n.timeout: expected a number >= "
                                                 f"1.0. {SERVERS}")),
        ("- a", ("c.yaml, line 1: the top level: expected a mapping, got a list. config.example.yaml shows "
                "every key.")),
        ("agent: {name: 3}", ("c.yaml, line 1: agent.name: expected text, got a whole number. "
                             "Write text in quotes.")),
        ("agent: {default: ./x.md}", ("c.yaml, line 1: agent: default must be a name or a whole path, not "
                                     f"./x.md. {SERVERS}")),
        ("a: [", "c.yaml, line 1: expected the node content, but found '<stream end>'. "),
        (
            "a: !!python/object:os.system {}",
            (
                "c.yaml, line 1: could not determine a constructor for the tag "
                "'tag:yaml.org,2002:python/object:os.system'. "
            ),
        ),
        ("[" * 5000, "c.yaml is not valid YAML. "),
        ("tools: {max_steps: 0x" + "f" * 2000 + "}", (
            "c.yaml, line 1: tools.max_steps: expected a whole number <= 1000000. config.example.yaml shows every key.")),
        ("tools: {timeout: 0x" + "f" * 2000 + "}", (
            "c.yaml, line 1: tools.timeout: number out of range. config.example.yaml shows every key.")),
        (f"agents: {{Sally: {bomb(26)}}}", f"c.yaml: {ALIASES}"),
        ("agents: {Sally: &a {model: *a}}", f"c.yaml: {ALIASES}"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text.encode(), "c.yaml")
    said = f"{caught.value.message} {caught.value.hint}"
    assert said.replace(str(EXAMPLE), "config.example.yaml") == message


def test_bytes_that_are_no_text_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"c\.yaml is not UTF-8"):
        parse(b"\xff\xfe", "c.yaml")
    with pytest.raises(ConfigError, match=r"No config file at .*none\.yaml\."):
        load_config(tmp_path / "none.yaml", required=True)
    with pytest.raises(ConfigError, match=r"is a folder\."):
        load_config(tmp_path, required=True)
    (tmp_path / "large.yaml").write_bytes(b"#" * 300_000)
    with pytest.raises(ConfigError, match="larger than 256 KB"):
        load_config(tmp_path / "large.yaml", required=True)


def test_where_things_are(tmp_path: Path) -> None:
    paths = find_paths({"CHAT_LOOP_HOME": str(tmp_path)})
    assert paths == Paths(tmp_path / "config.yaml", tmp_path, tmp_path)
    assert paths.sessions(Config()) == tmp_path / "sessions"
    assert paths.sessions(parse(b"sessions: {directory: /a/b}", "x")) == Path("/a/b")
    assert paths.sessions(parse(b"sessions: {directory: /a/b}", "x"), "/c") == Path("/c")
    assert find_paths({}).config.name == "config.yaml"
