"""The real program in a pseudo-terminal with a server that stalls, and its terminal settings."""

from __future__ import annotations

import re
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange
from chat_loop.sessions.rows import read_rows
from tests.support.environments import environment
from tests.support.pty_chat import PtyChat

PATIENCE = 60
PROMPT = re.compile(r"You:.*context ", re.DOTALL)
STALLING = Reply(chunks=("Half a ", "sentence ", "and no more"), stall_after=2)
WHEN_TOLD = 'read -r _; exec "$@"'
"""A shell that starts the program when a line arrives, so that a test can read the terminal's
settings first.
"""


def command(server: Loopback | None = None) -> list[str]:
    model = (
        ["--model", "compatible:m", "--base-url", f"{server.url}/v1"]
        if server
        else ["--model", "scripted:echo"]
    )
    return [sys.executable, "-m", "chat_loop", *model]


def settings(chat: PtyChat) -> list[Any]:
    """Return the terminal's settings."""
    return termios.tcgetattr(chat._child.fileno())


@contextmanager
def chatting(home: Path, server: Loopback | None = None) -> Iterator[tuple[PtyChat, list[Any]]]:
    """Yield the program at its prompt, and the terminal's settings before it started."""
    with PtyChat(
        ["/bin/sh", "-c", WHEN_TOLD, "sh", *command(server)], env=environment(home)
    ) as chat:
        before = settings(chat)
        chat.line("")
        chat.wait_for(PROMPT, PATIENCE)
        assert settings(chat) != before
        yield chat, before


def exchanges(home: Path) -> tuple[Exchange, ...]:
    """Return the exchanges of the only session on disk; its file must be undamaged."""
    sessions = SessionManager(home / "sessions")
    (row,) = read_rows(sessions.directory)
    loaded = sessions.load(row.path)
    assert loaded.damage == ()
    return loaded.session.exchanges
