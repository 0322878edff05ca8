"""The user's editor, for one text."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from chat_loop.errors import UsageError

USUAL = ("sensible-editor", "nano", "vim", "vi")


def edited(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """`text` as the user leaves it in $VISUAL or $EDITOR. Raises UsageError when there is no editor or it fails."""
    with tempfile.TemporaryDirectory(prefix="chat-loop-") as directory:
        path = Path(directory) / "text.md"
        try:
            path.write_text(f"{text}\n", "utf-8")
            open_file(path, environment)
            return path.read_text("utf-8", "replace").removesuffix("\n")
        except OSError as error:
            raise UsageError(f"The text cannot be edited: {error.strerror}.", "Nothing is changed.") from error


async def edited_aside(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """As `edited`, while everything else goes on; whoever awaits it sees to Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="chat-loop-") as directory:
        path = Path(directory) / "message.md"
        command = _command(environment)
        try:
            path.write_text(f"{text}\n", "utf-8", "replace")
            process = await asyncio.create_subprocess_exec(*command, str(path))
            try:
                code = await process.wait()
            except asyncio.CancelledError:
                process.terminate()
                raise
            if code:
                raise _failed(command, code)
            return path.read_text("utf-8", "replace").removesuffix("\n")
        except OSError as error:
            raise UsageError(f"The editor {command[0]} cannot be used: {error.strerror}.") from error


def open_file(path: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Have the user edit a file, and wait. Raises UsageError when there is no editor or it fails."""
    command = _command(environment)
    try:
        process = subprocess.Popen([*command, str(path)])
    except OSError as error:
        raise UsageError(f"The editor {command[0]} cannot be started: {error.strerror}.") from error
    found = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the editor's as long as it runs
    try:
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, found)
    if code:
        raise _failed(command, code)


def _command(environment: Mapping[str, str]) -> list[str]:
    """The user's editor, as it is called."""
    chosen = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        command = shlex.split(chosen) if chosen.strip() else [name for name in USUAL if shutil.which(name)][:1]
    except ValueError as error:
        raise UsageError(f"“{chosen[:80]}” is no editor: a quote is open.", "Set EDITOR to a command.") from error
    if not command:
        raise UsageError("There is no editor.", "Set EDITOR to one, for example: export EDITOR=nano.")
    return command


def _failed(command: list[str], code: int) -> UsageError:
    return UsageError(f"The editor {command[0]} ended with an error ({code}): nothing is changed.")
