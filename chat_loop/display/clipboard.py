"""Copies text to the clipboard with a desktop program, or through the terminal itself (OSC 52)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping

from chat_loop.display.display_manager import DisplayManager
from chat_loop.errors import UsageError
from chat_loop.values import size_text

LARGEST_FOR_TERMINAL = 74_994  # bytes: 100,000 characters of base64, the limit of many terminals
SECONDS = 5.0  # the time limit of a clipboard program, which should move to the background at once


def programs(
    environment: Mapping[str, str], which: Callable[[str], str | None], platform: str
) -> list[tuple[str, ...]]:
    """Return the usable clipboard commands, best first. Each reads text from standard input.

    Over SSH only tmux is usable: the others would write to the clipboard of the remote machine.
    """
    commands: list[tuple[str, ...]] = []
    if not (environment.get("SSH_CONNECTION") or environment.get("SSH_TTY")):
        if environment.get("WAYLAND_DISPLAY"):
            commands.append(("wl-copy",))
        if environment.get("DISPLAY"):
            commands.append(("xclip", "-selection", "clipboard"))
            commands.append(("xsel", "--clipboard", "--input"))
        commands.append(("pbcopy" if platform == "darwin" else "clip.exe",))
    if environment.get("TMUX"):
        commands.append(("tmux", "load-buffer", "-w", "-"))
    return [command for command in commands if which(command[0])]


def put(display: DisplayManager, text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Copy `text` to the clipboard and return a phrase that says how. Raises UsageError."""
    data = text.encode("utf-8", "replace")
    for command in programs(environment, shutil.which, sys.platform):
        copied = data
        if command[0] == "clip.exe":  # it reads UTF-16 with its byte order mark, or the code page
            copied = text.replace("\n", "\r\n").encode("utf-16", "replace")
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                command,
                input=copied,
                stdout=subprocess.DEVNULL,  # a process in the background could keep a pipe open
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                start_new_session=True,
                check=True,
            )
            return f"with {command[0]}"
    if not display.is_terminal:
        hint = "Install wl-copy, xclip or xsel, or run chat-loop in a terminal."
        raise UsageError("There is no clipboard here.", hint)
    if len(data) > LARGEST_FOR_TERMINAL:
        size = size_text(LARGEST_FOR_TERMINAL)
        text = f"The text is larger than {size}, the most that the terminal's clipboard takes."
        raise UsageError(text, "/export FILE writes the conversation into a file.")
    display.out.send(f"\x1b]52;c;{b64encode(data).decode('ascii')}\x07")
    return "through the terminal (OSC 52), if it allows that"
