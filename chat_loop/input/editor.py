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

from chat_loop.errors import UsageError, os_reason

EDITORS = ("sensible-editor", "nano", "vim", "vi")
"""The editors to look for when neither VISUAL nor EDITOR is set."""


async def edit_text(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return `text` as edited in $VISUAL or $EDITOR, without blocking the event loop.

    Raises UsageError when no editor is found or it fails.
    """
    with tempfile.TemporaryDirectory(prefix="chat-loop-") as directory:
        path = Path(directory) / "text.md"
        try:
            path.write_text(f"{text}\n", "utf-8", "replace")
            await open_file(path, environment)
            return path.read_text("utf-8", "replace").removesuffix("\n")
        except OSError as error:
            raise UsageError(f"Cannot edit the text: {os_reason(error)}.") from error


async def open_file(path: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Open a file in the user's editor, and wait. Raises UsageError when that fails."""
    wanted = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        command = shlex.split(wanted) or [name for name in EDITORS if shutil.which(name)][:1]
        if not command:
            raise UsageError("No editor found.", "Set EDITOR, for example: export EDITOR=nano.")
        process = await asyncio.create_subprocess_exec(*command, str(path))
    except (OSError, ValueError) as error:  # ValueError: unclosed quote
        reason = os_reason(error) if isinstance(error, OSError) else str(error).lower()
        raise UsageError(f"Cannot start the editor {wanted[:80]}: {reason.rstrip('.')}.") from error
    # Ctrl-C belongs to the editor while it runs.
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = await process.wait()
    except asyncio.CancelledError:
        process.terminate()
        await process.wait()
        raise
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if code:
        raise UsageError(f"The editor exited with code {code}; nothing was changed.")
