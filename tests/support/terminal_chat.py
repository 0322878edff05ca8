"""A chat in a pseudo-terminal: start it, send lines, leave it, and read its session."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.support.loopback import Loopback
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from chat_loop.sessions.rows import read_rows
from tests.support.environments import environment
from tests.support.pty_chat import PtyChat

READY = re.compile(r"You: ")
COLOR = re.compile(r"\x1b\[[0-9;]*(3[0-7]|9[0-7])m")


@contextmanager
def chat(
    home: Path,
    *options: str,
    cols: int = 80,
    size: tuple[int, int] | None = None,
    ready: str = "context",
    **more: str,
) -> Iterator[PtyChat]:
    """Yield the program at its prompt, with `scripted:echo` unless the options say otherwise."""
    options = options or ("--model", "scripted:echo")
    argv = [sys.executable, "-m", "chat_loop", *options]
    rows, cols = size or (24, cols)
    with PtyChat(
        argv, env=environment(home, **more), rows=rows, cols=cols, forked=True
    ) as terminal:
        terminal.wait_for(READY, timeout=60, output=size is not None)
        if ready:
            terminal.wait_for(ready, timeout=60)
        yield terminal


def answered(terminal: PtyChat, line: str) -> str:
    """Send a line; return the output up to the end of its reply."""
    terminal.mark()
    terminal.line(line)
    terminal.wait_for(re.compile(r"Time: \d"), timeout=60, output=True)
    terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), timeout=60, output=True)
    return terminal.output()


def leave(terminal: PtyChat) -> None:
    terminal.line("exit")
    assert terminal.exit_code(timeout=60) == 0


def saved(home: Path) -> Session:
    sessions = SessionManager(home / "sessions")
    return sessions.load(read_rows(sessions.directory)[0].path).session


def compatible(server: Loopback) -> tuple[str, ...]:
    return ("--model", "compatible:m", "--base-url", f"{server.url}/v1")
