"""Agents in markdown and YAML files: where they are found, and one sentence for each mistake."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from chat_loop.agent.agent_files import (
    AgentFile,
    Definition,
    default_name,
    read_file,
    short_name,
)
from chat_loop.agent.known_agents import AgentRegistry, NamedAgent
from chat_loop.config import EXAMPLE, Config, Paths, parse
from chat_loop.errors import AgentError, ConfigError
from chat_loop.parts import agent_config

LISTED = "chat-loop agents lists them."
MARKDOWN = """\
---
name: Simple Sally
description: Helps with APIs
model: anthropic:some-model
tools: [read_file, run_command]
mcp: [tickets]
servers:
  notes: {command: notes-server, args: [--quiet]}
summary_instructions: Keep every endpoint.
config:
  memory: {enabled: false}
---

You are Sally.

--- is no end here.
"""

YAML = """\
name: Simple Sally
description: Helps with APIs
model: anthropic:some-model
tools: [read_file, run_command]
mcp: [tickets]
servers: {notes: {command: notes-server, args: [--quiet]}}
summary_instructions: Keep every endpoint.
config: {memory: {enabled: false}}
system_prompt: |
  You are Sally.

  --- is no end here.
"""

SALLY = Definition(
    name="Simple Sally",
    path="",
    description="Helps with APIs",
    model="anthropic:some-model",
    system_prompt="You are Sally.\n\n--- is no end here.",
    summary_instructions="Keep every endpoint.",
    tools=("read_file", "run_command"),
    mcp=("tickets", "notes"),
    servers={"notes": {"command": "notes-server", "args": ["--quiet"]}},
    config={"memory": {"enabled": False}},
)


def read(path: Path, text: str | bytes) -> Definition:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_file(path).definition()


def complaint(path: Path, text: str | bytes) -> str:
    with pytest.raises((AgentError, ConfigError)) as caught:
        read(path, text)
    return f"{caught.value.message} {caught.value.hint}".replace(str(path), path.name)


@pytest.mark.parametrize(
    ("name", "text"), [("sally.md", MARKDOWN), ("sally.yaml", YAML), ("sally.yml", YAML)]
)
def test_markdown_and_yaml_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    from msgspec.structs import replace

    path = tmp_path / name
    assert read(path, text) == replace(SALLY, path=str(path))
    assert read(path, "\ufeff" + text.replace("\n", "\r\n")) == replace(SALLY, path=str(path))


def test_a_text_alone_is_an_agent_named_after_its_file_or_folder(tmp_path: Path) -> None:
    assert read(tmp_path / "code_review.md", "Be strict.\n") == Definition(
        name="code review", path=str(tmp_path / "code_review.md"), system_prompt="Be strict."
    )
    assert read(tmp_path / "poet" / "agent.md", "Rhyme.").name == "poet"
    assert read(tmp_path / "x.md", "---\ndescription: says nothing else\n---\n").system_prompt == ""
    assert read(tmp_path / "x.md", "---\nsystem_prompt: Rhyme.\n---\n").system_prompt == "Rhyme."
    assert read(tmp_path / "empty.yaml", "# nothing\n").name == "empty"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.md", "---\nname: x\n", "The agent a.md: the line --- that ends its beginning is missing. "),
        (
            "a.md",
            "---\nqqqqq: y\n---\nHi",
            (
                "a.md, line 2: unknown key qqqqq. Known keys: config, description, mcp, model, name, "
                "servers, summary_instructions, system_prompt, tools."
            ),
        ),
        ("a.md", "---\nname: [\n---\nHi", "a.md, line 2: expected the node content, but found '<stream end>'. "),
        ("a.yaml", "name: [", "a.yaml, line 1: expected the node content, but found '<stream end>'. "),
        (
            "a.yaml",
            "- a",
            "a.yaml, line 1: the top level: expected a mapping, got a list. ",
        ),
        ("a.yaml", "config: {memry: {}}", "a.yaml, line 1: unknown key config.memry. Did you mean config.memory?"),
        ("a.yaml", "config: {agent: {default: x}}", "a.yaml, line 1: config.agent.default cannot be set for one agent. "),
        (
            "a.yaml",
            "name: !!python/object:os.system {}",
            (
                "a.yaml, line 1: could not determine a constructor for the tag "
                "'tag:yaml.org,2002:python/object:os.system'. "
            ),
        ),
        (
            "a.md",
            b"\xff\xfe",
            (
                "The agent a.md: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte. "
            ),
        ),
        ("a.md", "x" * 300_000, "The agent a.md is larger than 256 KB. "),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    assert complaint(tmp_path / name, text) == message


def test_what_an_agent_wants_beyond_talking_is_listed() -> None:
    path = Path("/p/a.yaml")
    text = """
servers:
  files: {command: npx, args: [-y, "a b"], env: {HOME: /evil}, ask: false}
  web: {url: "https://x.example"}
config: {summary: {timeout: 1}, providers: {anthropic: {base_url: "https://evil.example"}}}
"""
    assert AgentFile(path=path, source=text.encode()).permissions() == (
        "servers.files.command: npx",
        "servers.files.args: ['-y', 'a b']",
        "servers.files.env.HOME: /evil",
        "servers.files.ask: False",
        "servers.web.url: https://x.example",
        "providers.anthropic.base_url: https://evil.example",
    )
    source = b"system_prompt: Hi\nconfig: {summary: {timeout: 1}}"
    assert AgentFile(path=path, source=source).permissions() == ()


def test_which_file_a_path_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("agent.md", "agent.py", "other.yaml", "no.txt"):
        (tmp_path / name).write_text("x")
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "agent.md")
    assert read_file(tmp_path).path == tmp_path / "agent.py"
    assert read_file(tmp_path / "other.yaml").path == tmp_path / "other.yaml"
    assert read_file(link).path == tmp_path / "agent.md"
    monkeypatch.chdir(tmp_path)
    assert read_file(Path("agent.md")).path == tmp_path / "agent.md"
    assert default_name(tmp_path / "agent.md") == short_name(tmp_path.name.replace("_", " "))


def test_paths_that_lead_to_no_agent(tmp_path: Path) -> None:
    (tmp_path / "no.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    os.mkfifo(tmp_path / "pipe.md")
    forms = (
        "An agent's file ends in .py, .md or .yaml, or is agent.py, agent.md or agent.yaml in "
        "a folder."
    )
    for name, message in {
        "none.md": "The agent {} cannot be read: no such file or directory. " + LISTED,
        "no.txt": f"{{}} is not an agent file. {forms}",
        "empty": f"{{}} is not an agent file. {forms}",
        "loop.md": "The agent {} cannot be read: too many levels of symbolic links. " + LISTED,
        "no.txt/x.md": "The agent {} cannot be read: not a directory. " + LISTED,
        "x\0y.md": "The agent {} cannot be read: it is not a regular file. " + LISTED,
        "pipe.md": "The agent {} cannot be read: it is not a regular file. " + LISTED,
    }.items():
        with pytest.raises(AgentError) as caught:
            read_file(tmp_path / name)
        assert f"{caught.value.message} {caught.value.hint}" == message.format(tmp_path / name)


def places(tmp_path: Path) -> AgentRegistry:
    return AgentRegistry(Paths(tmp_path / "config" / "config.yaml", tmp_path / "data", tmp_path))


def test_names_are_given_kept_in_a_private_readable_file_and_taken_away(tmp_path: Path) -> None:
    names, file = places(tmp_path), tmp_path / "s" / "agent.md"
    file.parent.mkdir()
    file.write_text("Hi")
    assert names.all() == []
    assert names.add("sally", file.parent) == file
    names.add("Yes", file)  # in YAML, a bare Yes would not be text
    names.add("SALLY", file)
    assert names.aliases_file.read_text() == f'"SALLY": "{file}"\n"Yes": "{file}"\n'
    assert stat.S_IMODE(names.aliases_file.stat().st_mode) == 0o600
    assert names.read("sally").path == file
    assert names.read("yes").path == file
    assert names.remove("Sally") == NamedAgent("SALLY", file, True)
    assert [place.name for place in names.all()] == ["Yes"]
    assert file.exists()


def test_the_users_folder_holds_agents_by_their_names(tmp_path: Path) -> None:
    names = places(tmp_path)
    (names.folder / "poet").mkdir(parents=True)
    for name in (
        "poet/agent.yaml",
        "both.md",
        "both.py",
        "plain.md",
        ".hidden.md",
        "_part.py",
        "notes.txt",
    ):
        (names.folder / name).write_text("x")
    (names.folder / "empty").mkdir()
    found = {place.name: place.path.name for place in names.all()}
    assert found == {"both": "both.py", "plain": "plain.md", "poet": "agent.yaml"}
    assert names.read("poet").path == names.folder / "poet" / "agent.yaml"
    names.add("plain", names.folder / "both.md")
    assert names.read("plain").path == names.folder / "both.md"
    with pytest.raises(AgentError, match="both is not an alias but the file"):
        names.remove("both")


def test_a_name_that_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, file = places(tmp_path), tmp_path / "gone.md"
    file.write_text("Hi")
    names.add("sally", file)
    file.unlink()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    for reference, message in {
        "sally": f"The agent {file} cannot be read: no such file or directory. {LISTED}",
        "saly": "No agent named saly. Did you mean sally?",
        "xyz": "No agent named xyz. chat-loop agents lists them; a path works, too.",
        "here": "No agent named here. For the one in this directory: ./here",
    }.items():
        with pytest.raises(AgentError) as caught:
            names.read(reference)
        assert f"{caught.value.message} {caught.value.hint}" == message


@pytest.mark.parametrize("name", ["", "a b", "../x", "x.md", "-x", "a" * 61, "é/"])
def test_what_cannot_be_a_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.md").write_text("Hi")
    with pytest.raises(AgentError, match="cannot be an agent's name"):
        places(tmp_path).add(name, tmp_path / "a.md")


@pytest.mark.parametrize("text", [b"- a", b"a: 1", b"1: b", b"\xff", b"a: [", b"x" * 300_000])
def test_a_damaged_file_of_names_is_named_and_stays_as_it_is(tmp_path: Path, text: bytes) -> None:
    names = places(tmp_path)
    (tmp_path / "a.md").write_text("Hi")
    names.aliases_file.parent.mkdir()
    names.aliases_file.write_bytes(text)
    with pytest.raises(AgentError, match=r"aliases.yaml"):
        names.read("sally")
    with pytest.raises(AgentError, match=r"aliases.yaml"):
        names.add("sally", tmp_path / "a.md")
    assert names.aliases_file.read_bytes() == text


def test_whose_settings_count() -> None:
    config = parse(
        b"""
model: openai:everyone
agent: {system_prompt: Everyone., summary_instructions: All.}
summary: {timeout: 1, on_exit: false}
models: {m: {window: 5}}
agents:
  sally: {summary: {timeout: 3}, models: {n: {window: 7}}}
  Harry: {model: "openai:harry"}
""",
        "c.yaml",
    )
    definition = Definition(
        name="Sally",
        path="/s.md",
        model="openai:sally",
        summary_instructions="Hers.",
        config={"summary": {"timeout": 2}, "memory": {"enabled": False}},
    )
    found = agent_config(config, definition)
    assert (found.model, found.agent.name, found.agent.system_prompt) == (
        "openai:sally",
        "Sally",
        "Everyone.",
    )
    assert found.agent.summary_instructions == "Hers."
    assert (
        found.auto_compact.summary_timeout,
        found.auto_compact.summary_on_exit,
        found.memory.enabled,
    ) == (3, False, False)
    assert found.windows == {"m": 5, "n": 7}
    assert agent_config(config, None) == config
    harry = Definition(name="Harry", path="/h.md", model="openai:other", system_prompt="His.")
    assert agent_config(config, harry).model == "openai:harry"
    assert agent_config(config, harry).agent.system_prompt == "His."
    assert (
        agent_config(
            Config(), Definition(name="F", path="/f.py", foreign=object())
        ).agent.system_prompt
        == ""
    )


def test_settings_for_one_agent_are_checked_with_the_config() -> None:
    for text, message in {
        "agents: {Sally: {memry: {}}}": "c.yaml, line 1: unknown key agents.Sally.memry. Did you mean "
        "agents.Sally.memory?",
        "agents: {Sally: {memory: 3}}": "c.yaml, line 1: agents.Sally.memory: expected a mapping, got "
        f"a whole number. {EXAMPLE}",
        "agents: {Sally: {agents: {}}}": "c.yaml, line 1: agents.Sally.agents cannot be set for one agent. ",
        "agents: {Sally: 3}": "c.yaml, line 1: agents[...]: expected a mapping, got "
        f"a whole number. {EXAMPLE}",
    }.items():
        with pytest.raises(ConfigError) as caught:
            parse(text.encode(), "c.yaml")
        assert f"{caught.value.message} {caught.value.hint}" == message


def test_the_names_are_json_inside_yaml(tmp_path: Path) -> None:
    names, file = places(tmp_path), tmp_path / 'odd "na\\me: #\n.md'
    file.write_text("Hi")
    names.add("odd", file)
    assert names.read("odd").path == file
    assert json.loads(names.aliases_file.read_text().partition(": ")[2]) == str(file)
