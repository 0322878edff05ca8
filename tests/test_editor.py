"""The user's editor: how it is found, called and failed by."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from chat_loop.editor import edited, open_file
from chat_loop.errors import UsageError


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_a_text_comes_back_as_the_editor_left_it(tmp_path: Path) -> None:
    editor = script(tmp_path / "my editor", 'tr a-z A-Z < "$2" > "$2.new" && mv "$2.new" "$2" && echo "$1" >> "$2"')
    assert edited("one\ntwo", {"EDITOR": f"'{editor}' --wait"}) == "ONE\nTWO\n--wait"
    assert edited("one", {"EDITOR": "false", "VISUAL": "true"}) == "one"
    assert edited("grüße\x00", {"EDITOR": "true"}) == "grüße\x00"


def test_a_file_is_opened_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a file.md"
    path.write_text("one")
    open_file(path, {"EDITOR": script(tmp_path / "editor", 'printf two > "$1"')})
    assert path.read_text() == "two"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("editor", "message"),
    [
        ("vim 'open", "“vim 'open” is no editor: a quote is open."),
        ("/nowhere/vim", "The editor /nowhere/vim cannot be started: No such file or directory."),
        ("/etc", "The editor /etc cannot be started: Permission denied."),
        ("false", "The editor false ended with an error (1): nothing is changed."),
        ("rm", "The text cannot be edited: No such file or directory."),
    ],
)
def test_what_is_no_editor_is_told(editor: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        edited("text", {"EDITOR": editor})
    assert caught.value.message == message
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_any_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for environment in ({}, {"EDITOR": ""}, {"EDITOR": "  "}):
        with pytest.raises(UsageError, match="There is no editor"):
            edited("text", environment)
    script(tmp_path / "nano", "exit 0")
    assert edited("text", {}) == "text"
