"""Templates: the filled-in text is sent and saved."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.commands.registry import Registry, Unknown
from chat_loop.commands.templates import Template, Templates, read
from chat_loop.commands.view import MORE_HELP
from chat_loop.errors import ChatLoopError
from tests.support.pty_chat import PtyChat
from tests.support.screens import Screen
from tests.support.scripted_chat import SUMMARY


def folder(tmp_path: Path, **texts: str) -> Path:
    made = tmp_path / "prompts"
    made.mkdir(exist_ok=True)
    for name, text in texts.items():
        (made / f"{name}.md").write_text(text)
    return made


EXPLAIN = (
    "---\ndescription: Explain it simply\nargument: WORD\n---\nExplain {input} to a "
    "child.\nKeep {braces} {}.\n"
)


def test_a_template_is_filled_sent_and_saved(tmp_path: Path) -> None:
    prompts = folder(tmp_path, explain=EXPLAIN, shout="Shout!")
    lines = ["/explain a {input} monad", "/Shout  at me\nloudly", "/shout"]
    screen = Screen(tmp_path / "s", lines, "a", "b", "c", SUMMARY, prompts=prompts)
    asked = [messages[-1].text for messages in screen.talk.sent[:-1]]
    assert asked == [
        "Explain a {input} monad to a child.\nKeep {braces} {}.",
        "Shout!\n\nat me\nloudly",
        "Shout!",
    ]
    [path] = (tmp_path / "s").glob("*.md")
    assert "**You:** Explain a {input} monad to a child.\n" in path.read_text()
    assert screen.text.startswith("You: /explain a {input} monad\nSally: a\n")


def test_help_lists_them_and_shows_one(tmp_path: Path) -> None:
    texts = {
        "explain": EXPLAIN,
        "long_one": "x" * 300,
        "Compact": "mine",
        "bad": "---\nfoo: 1\n---\nx",
    }
    screen = Screen(
        tmp_path / "s",
        ["/help", "/help all", "/templates", "/help explain"],
        prompts=folder(tmp_path, **texts),
    )
    assert f"Templates        /bad /explain /long_one\n{MORE_HELP}" in screen.text
    rows = f"  /explain WORD  Explain it simply\n  /long_one      {'x' * 99}…\n"
    assert f"Templates\n{rows}" in screen.text
    assert screen.text.partition("You: /templates\n")[2] == (
        f"""\
{rows}You: /help explain
/explain WORD
  Explain it simply
  Explain {{input}} to a child.
  Keep {{braces}} {{}}.
Goodbye!
"""
    )


def test_a_command_keeps_its_name_and_an_unknown_one_sends_nothing(tmp_path: Path) -> None:
    prompts = folder(tmp_path, pins="mine", explain=EXPLAIN)
    screen = Screen(
        tmp_path / "s",
        ["/pin", "/xyzzy", "/explan x", "#explain x"],
        "So.",
        SUMMARY,
        prompts=prompts,
    )
    assert "Unknown command /xyzzy. /help lists the commands." in screen.text
    assert "Unknown command /explan. Did you mean /explain?" in screen.text
    assert [messages[-1].text for messages in screen.talk.sent[:-1]] == ["#explain x"]
    assert Templates(prompts, ["pins"]).names(ignored=True) == ["pins"]
    assert Templates(prompts).names(ignored=True) == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"x" * 300_000, "it is larger than 256 KB"),
        (b"", "it has no text"),
        (b"---\ndescription: x\n---\n \n", "it has no text"),
        (b"---\nx", "the line --- that ends its beginning is missing"),
        (b"---\n- a\n---\nx", "Expected `object`, got `array`"),
        (b"---\ndescription: 3\n---\nx", "Expected `str`, got `int` - at `$.description`"),
    ],
)
def test_a_file_that_is_no_template_is_one_line_and_sends_nothing(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    path = folder(tmp_path) / "bad.md"
    path.write_bytes(data)
    screen = Screen(tmp_path / "s", ["/bad x"], prompts=path.parent)
    assert screen.text == (
        f"You: /bad x\n✗ The template {path} is not used: {reason}.\n"
        "  Fix or remove it.\nGoodbye!\n"
    )
    assert screen.talk.sent == []


@pytest.mark.slow
def test_tab_completes_them_and_the_start_says_what_is_not_used(tmp_path: Path) -> None:
    folder(tmp_path, explain=EXPLAIN, resume="mine")
    environment = {"CHAT_LOOP_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "chat_loop", "--model", "scripted:echo"]
    with PtyChat(command, environment, cols=100, forked=True) as terminal:
        terminal.wait_for("Templates with the names of commands are ignored: /resume.")
        terminal.wait_for("scripted:echo")
        terminal.send("/expl\t")
        terminal.wait_for("You: /explain")
        terminal.line(" monads")
        terminal.wait_for("Assistant: You said: Explain monads to a child.")
        terminal.ctrl("d")
        assert terminal.exit_code() == 0


def test_yaml_that_is_none_is_named_with_its_line(tmp_path: Path) -> None:
    path = folder(tmp_path, bad="---\nname: [\n---\nx") / "bad.md"
    with pytest.raises(ChatLoopError, match=r"bad\.md, line 2: expected"):
        read(path, "bad")


def test_hostile_names_and_what_is_no_file(tmp_path: Path) -> None:
    prompts = folder(tmp_path, good="x")
    for name in ("a b.md", "\x1b[2J.md", "-x.md", ".md", "x;y.md", "z" * 200 + ".md", "é!.md"):
        (prompts / name).write_text("x")
    (prompts / "dir.md").mkdir()
    os.mkfifo(prompts / "pipe.md")
    (prompts / "loop.md").symlink_to("loop.md")
    (prompts / "nowhere.md").symlink_to("/nowhere/at/all")
    (prompts / "linked.md").symlink_to(prompts / "good.md")
    templates = Templates(prompts)
    assert templates.names() == ["dir", "good", "linked", "loop", "nowhere", "pipe"]
    for name, reason in {
        "dir": "it is not a regular file",
        "loop": "too many levels of symbolic links",
        "nowhere": "no such file or directory",
        "pipe": "it is not a regular file",
    }.items():
        with pytest.raises(ChatLoopError, match=rf"{name}\.md is not used: {reason}"):
            templates.find(name)
    assert Templates(tmp_path / "none").names() == []
    assert Templates(prompts / "good.md").names() == []


@given(st.text(max_size=60), st.text(max_size=60))
def test_only_the_place_for_the_input_is_filled(text: str, given: str) -> None:
    filled = Template(name="x", text=text).fill(given)
    if "{input}" in text:
        assert filled == given.join(text.split("{input}"))
    else:
        assert filled == (f"{text}\n\n{given}" if given else text)


@given(st.text(max_size=40))
def test_what_follows_an_unknown_name_is_kept_as_it_was_typed(text: str) -> None:
    line = Registry().parse(f"/name {text}")
    assert isinstance(line, Unknown)
    assert text.endswith(line.argument)
    assert line.argument == text.lstrip() or not text.strip()
