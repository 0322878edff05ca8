"""The user's editor: how it is found and called, and its failures."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from chat_loop.errors import UsageError
from chat_loop.input.editor import edit_text, open_file
from tests.support.mcp_descriptions import gone, until


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_a_text_comes_back_as_the_editor_left_it(tmp_path: Path) -> None:
    editor = script(
        tmp_path / "my editor",
        'tr a-z A-Z < "$2" > "$2.new" && mv "$2.new" "$2" && echo "$1" >> "$2"',
    )
    assert (
        asyncio.run(edit_text("one\ntwo", {"EDITOR": f"'{editor}' --wait"})) == "ONE\nTWO\n--wait"
    )
    assert asyncio.run(edit_text("one", {"EDITOR": "false", "VISUAL": "true"})) == "one"
    assert asyncio.run(edit_text("grüße\x00", {"EDITOR": "true"})) == "grüße\x00"


def test_a_file_is_opened_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a file.md"
    path.write_text("one")
    asyncio.run(open_file(path, {"EDITOR": script(tmp_path / "editor", 'printf two > "$1"')}))
    assert path.read_text() == "two"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("editor", "message"),
    [
        ("vim 'open", "Cannot start the editor vim 'open: no closing quotation."),
        ("/nowhere/vim", "Cannot start the editor /nowhere/vim: no such file or directory."),
        ("/etc", "Cannot start the editor /etc: permission denied."),
        ("false", "The editor exited with code 1; nothing was changed."),
        ("rm", "Cannot edit the text: no such file or directory."),
    ],
)
def test_what_is_no_editor_is_told(editor: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        asyncio.run(edit_text("text", {"EDITOR": editor}))
    assert caught.value.message == message
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_any_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for environment in ({}, {"EDITOR": ""}, {"EDITOR": "  "}):
        with pytest.raises(UsageError, match="No editor found"):
            asyncio.run(edit_text("text", environment))
    script(tmp_path / "nano", "exit 0")
    assert asyncio.run(edit_text("text", {})) == "text"


def test_everything_else_goes_on_while_the_editor_runs(tmp_path: Path) -> None:
    """The editor waits for something that the program does meanwhile. If the program were blocked,
    both would wait forever.
    """
    path, pipe = tmp_path / "file.md", tmp_path / "pipe"
    os.mkfifo(pipe)
    editor = script(tmp_path / "editor", f'read -r line < "{pipe}"; echo "$line" > "$1"')

    async def beside() -> None:
        async with asyncio.timeout(60):
            while True:
                try:
                    writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:  # the editor does not read yet
                    await asyncio.sleep(0.01)
                    continue
                os.write(writing, b"from beside\n")
                os.close(writing)
                return

    async def both() -> None:
        await asyncio.gather(open_file(path, {"EDITOR": editor}), beside())

    asyncio.run(both())
    assert path.read_text() == "from beside\n"


def test_an_editor_ends_with_the_program(tmp_path: Path) -> None:
    editor = script(tmp_path / "editor", 'echo $$ > "$1"; exec sleep 1000')
    path = tmp_path / "file.md"

    async def cancelled() -> None:
        task = asyncio.create_task(open_file(path, {"EDITOR": editor}))
        await until(lambda: path.exists() and path.read_text().endswith("\n"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert gone(int(path.read_text()))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
