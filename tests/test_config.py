"""The config file: every key is documented, and every mistake is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.config import (
    Config,
    McpServer,
    ModelConfig,
    Paths,
    choose_servers,
    expand_variables,
    find_paths,
    load_config,
    parse,
)
from chat_loop.errors import ConfigError

EXAMPLE = Path(__file__).parents[1] / "chat_loop" / "config.example.yaml"
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


MISTAKES = (Path(__file__).parent / "golden" / "config_mistakes.txt").read_text("utf-8")
"""A line for each: a config | the message and the hint."""


@pytest.mark.parametrize("mistake", MISTAKES.strip().split("\n"))
def test_a_mistake_is_named_with_its_place(mistake: str) -> None:
    text, _, message = mistake.partition("|")
    assert refusal(text) == f"c.yaml, line 1: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 5000, "c.yaml is not valid YAML."),
        (
            f"tools: {{max_steps: 0x{'f' * 2000}}}",
            "c.yaml, line 1: tools.max_steps: expected a whole number <=",
        ),
        (
            f"tools: {{timeout: 0x{'f' * 2000}}}",
            "c.yaml, line 1: tools.timeout: number out of range.",
        ),
        (f"agents: {{Sally: {bomb(26)}}}", f"c.yaml: {ALIASES}"),
        ("agents: {Sally: &a {model: *a}}", f"c.yaml: {ALIASES}"),
    ],
)
def test_values_beyond_all_bounds_are_refused(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def refusal(text: str) -> str:
    """Return the message and the hint for a config."""
    with pytest.raises(ConfigError) as caught:
        parse(text.encode(), "c.yaml")
    said = f"{caught.value.message} {caught.value.hint}"
    return said.replace(str(EXAMPLE), "config.example.yaml").strip()


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
