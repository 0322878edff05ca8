"""Completions of a typed line, as values and in a real terminal."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document

from chat_loop.commands.chat import Listed
from chat_loop.commands.completing import CommandCompleter
from chat_loop.commands.registry import registry
from chat_loop.commands.view import KEYS
from chat_loop.config import AutoCompactConfig, parse
from chat_loop.errors import ModelError
from tests.support.saved_sessions import ALL, OLD, SECOND, put
from tests.support.screens import Screen
from tests.support.scripted_chat import SUMMARY, Model
from tests.support.terminal_chat import chat, leave


@pytest.fixture
def screen(tmp_path: Path) -> Screen:
    """Return a chat with two exchanges, pins and tags. There are saved sessions and templates."""
    put(tmp_path, *ALL)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "review.md").write_text(
        "---\ndescription: Look at a change\n---\nReview this.\n"
    )
    (tmp_path / "prompts" / "broken.md").write_text("")
    lines = ["one", "two", "/pin the port is 8443", "/pin \x1b[2Jred", "/tag mine work"]
    return Screen(
        tmp_path, lines, "1", "2", SUMMARY, others=[Model()], prompts=tmp_path / "prompts"
    )


def choices(screen: Screen, before: str) -> list[Completion]:
    return [*CommandCompleter(screen.chat).get_completions(Document(before), CompleteEvent())]


def offered(screen: Screen, before: str) -> list[str]:
    """Return the completed lines that are offered for the text before the cursor."""
    found = choices(screen, before)
    return [before[: len(before) + choice.start_position] + choice.text for choice in found]


def test_commands_and_aliases(screen: Screen) -> None:
    assert offered(screen, "/")[:3] == ["/help ", "/model ", "/compact "], "the most used first"
    assert {"/quit", "/quote ", "/merge "} & {*offered(screen, "/")} == set()
    assert offered(screen, "/uN") == ["/undo ", "/uncompact", "/unpin ", "/untag "]
    assert offered(screen, "/q") == ["/quit", "/quote "]
    assert offered(screen, "#ex") == ["#exit", "#export "]
    assert offered(screen, "/zz") == []
    assert offered(screen, "un") == []
    [info] = choices(screen, "/info")
    assert (info.display_text, info.display_meta_text) == (
        "/info",
        "Show the session, its file, the model, the context and the totals",
    )


def test_templates(screen: Screen) -> None:
    [review] = choices(screen, "/rev")
    assert (review.text, review.display_text, review.display_meta_text) == (
        "review ",
        "/review",
        "Look at a change",
    )
    assert offered(screen, "/brok") == [], "what cannot be used is not offered"


def test_sessions_by_id_and_name_before_anything_was_listed(screen: Screen) -> None:
    screen.chat.listed = []
    assert offered(screen, "/resume las") == ["/resume last"]
    assert offered(screen, "/resume rate LIM") == [f"/resume {SECOND.header.id}"]
    assert offered(screen, f"/show {OLD.header.id[:-2]}") == [f"/show {OLD.header.id}"]
    assert offered(screen, f"/merge x {OLD.header.id[:-2]}") == [f"/merge x {OLD.header.id}"]
    assert offered(screen, f"resume {OLD.header.id[:-2]}") == [f"resume {OLD.header.id}"]
    assert SECOND.header.id in "".join(offered(screen, "/tree "))
    assert screen.chat.conversation.live.header.id not in "".join(offered(screen, "/resume "))


def test_sessions_by_the_numbers_of_what_was_listed(screen: Screen) -> None:
    screen.chat.listed = [Listed(OLD.header.id), Listed(SECOND.header.id)]
    found = choices(screen, "/quote ")
    assert [(choice.text, choice.display_meta_text.partition(" (")[0]) for choice in found] == [
        ("1", "What is a monad?"),
        ("2", "Rate limiter"),
    ]
    assert offered(screen, "/export --session 2") == ["/export --session 2"]


def test_help(screen: Screen) -> None:
    assert offered(screen, "/help pi") == ["/help pin", "/help pins"]
    assert offered(screen, "/help k") == ["/help keys"]


def test_the_keys_are_told(tmp_path: Path) -> None:
    told = Screen(tmp_path, ["/help keys"]).text
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")
    assert len(KEYS) > 10
    for keys, what in KEYS.items():
        assert f"| {', '.join(f'`{key}`' for key in keys.split(', '))} | {what} |\n" in page
        assert f"  {keys} " in told
        assert what.split()[0] in told


def test_models(screen: Screen) -> None:
    assert offered(screen, "/model scr") == ["/model scripted:test", "/model scripted"]
    assert offered(screen, "/model ") == ["/model scripted:test"]
    assert offered(screen, "/model te") == ["/model scripted:test"]
    assert offered(screen, "/model x") == []


def test_tags(screen: Screen) -> None:
    assert offered(screen, "/tag u") == ["/tag urgent"]
    assert offered(screen, "/untag m") == ["/untag mine"]
    assert offered(screen, "/sessions --tag u") == ["/sessions --tag urgent"]
    assert offered(screen, "/search bucket --tag wo") == ["/search bucket --tag work"]


def test_settings(screen: Screen) -> None:
    screen.chat.config = parse(
        b"models: {gpt-4.1: {window: 9}}\nmcp: {n: {command: x, env: {A: hunter2}}}\n", "c.yaml"
    )
    assert offered(screen, "/config au") == [
        f"/config auto_compact.{name}" for name in AutoCompactConfig.__struct_fields__
    ]
    assert offered(screen, "/config models.gpt-4.1.w") == ["/config models.gpt-4.1.window"]
    assert offered(screen, "/config x") == []
    assert "hunter2" not in str(choices(screen, "/config mcp.n.env.A"))


FREE = {
    "decide",
    "why",
    "btw",
    "run",
    "mcp",
    "forget",
    "unpin",
    "rename",
    "compact",
    "summarize",
    "remember",
    "pin",
    "search",
}
"""Commands that take free text, for which only files and options are offered."""
EXPECTED = {
    "rewind": ("", "1.2"),
    "fork": ("1", "1.2"),
    "undo": ("1.1", "1.1"),
    "retry": ("", "1.2"),
    "edit": ("9", ""),
    "tree": (OLD.header.id[:-1], OLD.header.id),
    "merge": (OLD.header.id[:-1], OLD.header.id),
    "delete": (OLD.header.id[:-1], OLD.header.id),
    "copy": ("", "reply"),
    "tag": ("u", "urgent"),
    "untag": ("mi", "mine"),
    "model": ("", "scripted:test"),
    "effort": ("d", "default"),
    "show": (OLD.header.id[:-1], OLD.header.id),
    "quote": (OLD.header.id[:-1], OLD.header.id),
    "sessions": ("", "browse"),
    "tools": ("", "revoke"),
    "resume": ("", "last"),
    "config": ("displax", ""),
    "export": ("", "html"),
    "import": ("", "notes.md"),
    "help": ("", "agents"),
    "history": ("", "--full"),
    "memory": ("", "ask"),
    "summary": ("", "edit"),
}
"""By command with an argument: the part of it that is typed, and the first completion offered,
which is empty if there is none.
"""


def test_for_every_argument_it_is_decided_what_is_offered(screen: Screen) -> None:
    taking = {command.name for command in registry.commands if command.argument}
    assert taking == EXPECTED.keys() | FREE
    assert EXPECTED.keys() & FREE == set()


def test_what_is_offered_for_an_argument(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "notes.md").touch()
    monkeypatch.chdir(tmp_path / "here")
    for name, (typed, first) in EXPECTED.items():
        screen.chat.listed = []
        found = offered(screen, f"/{name} {typed}")
        assert found[:1] == ([f"/{name} {first}"] if first else []), name


def test_for_free_words_nothing_is_offered_but_files_and_options(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "notes.md").touch()
    monkeypatch.chdir(tmp_path / "here")
    for name in FREE:
        assert offered(screen, f"/{name} ") == []
        assert offered(screen, f"/{name} @no") == [f"/{name} @notes.md"]


def test_every_option_is_one_that_stands_alone_or_has_values_that_are_offered(
    screen: Screen,
) -> None:
    options = [
        f"/{command.name} --{option}"
        for command in registry.commands
        for option in {*command.valued} - {"agent", "project", "focus"}
    ]
    assert len(options) > 3
    assert [option for option in options if not offered(screen, f"{option} ")] == []


def test_options(screen: Screen) -> None:
    assert offered(screen, "/resume 3 --") == [
        "/resume 3 --full",
        "/resume 3 --summary",
        "/resume 3 --quick",
        "/resume 3 --last",
    ]
    assert offered(screen, "/compact --") == [
        "/compact --preview",
        "/compact --force",
        "/compact --focus",
    ]
    assert offered(screen, "/sessions --unfold --pro") == ["/sessions --unfold --project"]
    assert offered(screen, "/sessions --unfold --un") == [], "it is there already"
    assert offered(screen, "/search x --since 3") == ["/search x --since 30d"]
    assert offered(screen, "/export --as h") == ["/export --as html"]
    assert offered(screen, "/tag --") == ["/tag --remove"]
    [choice] = choices(screen, "/export --sec")
    assert choice.display_meta_text == "keep keys and passwords, which are left out otherwise"


def test_paths(screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a plan.md").touch()
    (tmp_path / "files" / "notes.md").touch()
    monkeypatch.chdir(tmp_path / "files")
    assert offered(screen, "what is in @no") == ["what is in @notes.md"]
    assert offered(screen, "/pin @no") == ["/pin @notes.md"]
    assert offered(screen, "/import ") == ['/import "a plan.md"', "/import notes.md"]
    assert offered(screen, f"{'x' * 3000} @no") == [f"{'x' * 3000} @notes.md"]


@pytest.mark.parametrize("has_git", [True, False])
def test_files_of_the_project_by_a_part_of_their_path(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_git: bool
) -> None:
    project = tmp_path / "project"
    for name in ("src/a/calc.py", "src/recalc.py", "calc/x.md", "old/my calc.txt", ".hidden/calc"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    (project / ".gitignore").write_text("old\n.hidden\n")
    if has_git:
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    monkeypatch.chdir(project)
    ignored = [] if has_git else ['see @"old/my calc.txt"']
    found = ["see @calc/", "see @src/a/calc.py", "see @src/recalc.py", *ignored, "see @calc/x.md"]
    assert offered(screen, "see @calc") == found
    assert offered(screen, "see @A/CA") == ["see @src/a/calc.py"]
    assert offered(screen, "see @zzz") == []


def test_a_folder_that_cannot_be_read_offers_nothing(screen: Screen, tmp_path: Path) -> None:
    screen.chat.listed = []
    screen.chat.library.directory = tmp_path / "prompts" / "review.md"
    assert offered(screen, "/resume ") == ["/resume last"]


def test_tab_in_a_terminal(tmp_path: Path) -> None:
    put(tmp_path / "sessions", *ALL)
    (tmp_path / "config.yaml").write_text("resume: {acknowledge: false}\n")
    with chat(tmp_path, cols=100) as terminal:
        terminal.send("/unp\t")
        terminal.wait_for("You: /unpin ")
        terminal.ctrl("c")
        terminal.send("/un\t")
        terminal.wait_for(re.compile(r"/unpin +Remove a pin"))
        terminal.send("t\t")
        terminal.wait_for("You: /untag")
        terminal.ctrl("c")
        terminal.send("/resume rate\t")
        terminal.wait_for(f"You: /resume {SECOND.header.id}")
        terminal.mark()
        terminal.send("\r")
        terminal.wait_for("✓ Found: ", output=True)
        leave(terminal)


def test_models_that_cannot_be_listed_leave_the_names_of_the_services(screen: Screen) -> None:
    def fail() -> dict[str, str]:
        raise ModelError("The folder of models cannot be read.")

    screen.chat.models = replace(screen.chat.models, candidates=fail)
    assert offered(screen, "/model s") == ["/model scripted"]
