"""Edit a text or a file in the user's editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from chat_loop.errors import UsageError

END_SECONDS = 1.0
"""How long an editor may take to end when the program does."""


async def edit_text(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return `text` as edited in $VISUAL or $EDITOR, without blocking the event loop.

    Raises UsageError when there is no editor or it fails.
    """
    with tempfile.TemporaryDirectory(prefix="chat-loop-") as directory:
        path = Path(directory) / "text.md"
        try:
            path.write_text(f"{text}\n", "utf-8", "replace")
            await open_file(path, environment)
            return path.read_text("utf-8", "replace").removesuffix("\n")
        except OSError as error:
            raise UsageError(
                f"The text cannot be edited: {error.strerror}.", "Nothing is changed."
            ) from error


async def open_file(path: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Let the user edit a file, and wait. Raises UsageError when that fails."""
    chosen = environment.get("VISUAL") or environment.get("EDITOR") or ""
    usual = ("sensible-editor", "nano", "vim", "vi")
    try:
        command = shlex.split(chosen) or [name for name in usual if shutil.which(name)][:1]
    except ValueError as error:
        raise UsageError(
            f"“{chosen[:80]}” is no editor: a quote is open.", "Set EDITOR to a command."
        ) from error
    if not command:
        raise UsageError(
            "There is no editor.", "Set EDITOR to one, for example: export EDITOR=nano."
        )
    try:
        process = await asyncio.create_subprocess_exec(*command, str(path))
    except OSError as error:
        raise UsageError(f"The editor {command[0]} cannot be started: {error.strerror}.") from error
    previous_handler = signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is the editor's while it runs
    try:
        code = await process.wait()
    except asyncio.CancelledError:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), END_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
        raise
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if code:
        raise UsageError(
            f"The editor {command[0]} ended with an error ({code}): nothing is changed."
        )
