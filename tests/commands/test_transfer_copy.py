"""/copy: the text in the clipboard, byte for byte, and the program or terminal that takes it."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from chat_loop.display.clipboard import LARGEST_FOR_TERMINAL, programs
from chat_loop.errors import Overloaded
from tests.support.screens import Line, Screen, Terminal
from tests.support.scripted_chat import QUIET, SUMMARY, Says, Step

CODE = "Try:\n\n```python\nprint('é')  \n\tpass\n```\n\n1. or\n\n   ~~~\n   ls  -l\n   ~~~\n"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of programs, so that a test has no clipboard except its own."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("COLUMNS", "200")
    return folder


def program(folder: Path, name: str, code: int = 0) -> Path:
    """Make a clipboard program that writes its input into a file, and return that file."""
    path = folder / name
    path.write_text(f'#!/bin/sh\n/bin/cat > "$0.got"\nexit {code}\n')
    path.chmod(0o755)
    return folder / f"{name}.got"


def on_terminal(
    folder: Path, lines: list[Line], *steps: Step, answers: tuple[str, ...] = ()
) -> Screen:
    return Screen(folder / "s", lines, *steps, options=QUIET, out=Terminal(), answers=answers)


def copied(screen: Screen) -> list[str]:
    """Return the texts that were sent to the terminal's clipboard."""
    parts = screen.text.split("\x1b]52;c;")[1:]
    return [b64decode(part.partition("\x07")[0], validate=True).decode() for part in parts]


def test_the_source_is_copied_and_not_what_the_screen_shows(tmp_path: Path) -> None:
    reply = "  # **One**\t\x1b[31mred\r\n\n" + "long " * 80 + "\n\n\n"
    screen = on_terminal(
        tmp_path, ["Hi", "What\n  is it? ", "/copy", "/copy query", "/copy reply"], "Hello", reply
    )
    assert copied(screen) == [reply, "What\n  is it? ", reply]
    assert (
        f"Copied the reply to “What is it?”: {len(reply)} characters, 5 lines, through the terminal"
        in screen.text
    )
    assert (
        "Copied your last message: 14 characters, 2 lines, through the terminal (OSC 52)"
        in screen.text
    )
    assert screen.text.count("It holds characters that cannot be seen.") == 2


def test_all_is_the_whole_chain_without_what_was_undone(tmp_path: Path) -> None:
    lines: list[Line] = ["One?", "Two?", "/undo", "Three?", "/compact", "Four?", "/copy all"]
    broken = Says(("4",), then=Overloaded("It is down.", "Try later."))
    screen = on_terminal(tmp_path, lines, "1", "2", "3", SUMMARY, broken)
    assert copied(screen) == [
        (
            "**You:** One?\n\n**Sally:** 1\n\n**You:** Three?\n\n**Sally:** 3\n\n**You:** "
            "Four?\n\n**Sally:** 4\n"
        )
    ]
    assert "Copied all of the conversation, 3 messages: " in screen.text


def test_code_is_the_only_block_or_the_one_with_the_number(tmp_path: Path) -> None:
    numbers = ("", " 1", " 2", " 3", " x")
    lines: list[Line] = ["How?", *(f"/copy code{number}" for number in numbers)]
    screen = on_terminal(tmp_path, lines, CODE)
    assert copied(screen) == ["print('é')  \n\tpass\n", "ls  -l\n"]
    assert screen.text.count("✗ /copy takes a number from 1 to 2.") == 3
    only = on_terminal(tmp_path / "b", ["How?", "/copy code"], "```\n\n```")
    assert copied(only) == ["\n"]


def test_what_cannot_be_copied_is_said(tmp_path: Path) -> None:
    refused = ("", " all", " query", " that", " all 2")
    lines: list[Line] = [*(f"/copy{words}" for words in refused), "Hi", "/copy code", "/copy"]
    screen = Screen(tmp_path / "s", lines, "Hello.", options=QUIET)
    assert [line for line in screen.text.split("\n") if line.startswith("✗")] == [
        *["✗ Nothing to copy yet."] * 3,
        *["✗ Usage: /copy [reply|query|all|code [N]]"] * 2,
        "✗ There is no code in the last reply.",
        "✗ There is no clipboard here.",
    ]
    assert copied(screen) == []


def test_what_is_too_long_for_a_terminal_is_not_cut_off(tmp_path: Path) -> None:
    fits, not_any_more = "x" * LARGEST_FOR_TERMINAL, "é" * (LARGEST_FOR_TERMINAL // 2 + 1)
    screen = on_terminal(tmp_path, ["1", "/copy", "2", "/copy"], fits, not_any_more)
    assert copied(screen) == [fits]
    assert "✗ The text is larger than 75 KB" in screen.text


@pytest.mark.parametrize(
    ("environment", "there", "expected"),
    [
        ({}, "wl-copy xclip xsel", []),
        ({"DISPLAY": ":0"}, "wl-copy xclip xsel", ["xclip", "xsel"]),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, "wl-copy xsel", ["wl-copy", "xsel"]),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "1"}, "xclip clip.exe tmux", []),
        ({"SSH_TTY": "/dev/pts/1", "TMUX": "x"}, "xclip tmux", ["tmux"]),
        ({}, "clip.exe pbcopy", ["clip.exe"]),
    ],
)
def test_which_programs_are_asked(
    environment: dict[str, str], there: str, expected: list[str]
) -> None:
    found = programs(environment, lambda name: name if name in there.split() else None, "linux")
    assert [command[0] for command in found] == expected


def test_a_mac_has_its_own() -> None:
    assert programs({}, lambda name: name, "darwin") == [("pbcopy",)]


def test_a_program_gets_the_text_and_the_terminal_nothing(
    tmp_path: Path, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    got = program(nowhere, "xclip")
    screen = on_terminal(tmp_path, ["Hi", "/copy"], "Héllo\n")
    assert got.read_text() == "Héllo\n"
    assert copied(screen) == []
    assert "Copied the reply to “Hi”: 6 characters, 1 line, with xclip." in screen.text


def test_where_one_fails_the_next_one_is_asked(
    tmp_path: Path, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    program(nowhere, "xclip", 1)
    got = program(nowhere, "xsel")
    screen = on_terminal(tmp_path, ["Hi", "/copy"], "Hello")
    assert got.read_text() == "Hello"
    assert "with xsel." in screen.text
    program(nowhere, "xsel", 1)
    assert copied(on_terminal(tmp_path / "b", ["Hi", "/copy"], "Hello")) == ["Hello"]


def test_windows_gets_what_its_program_understands(tmp_path: Path, nowhere: Path) -> None:
    got = program(nowhere, "clip.exe")
    on_terminal(tmp_path, ["Hi", "/copy"], "é\nü")
    assert got.read_bytes().decode("utf-16") == "é\r\nü"
