"""A chat in a pseudo-terminal: start it, send lines, leave it, and read its session."""

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
from chat_loop.sessions.records import Exchange, Session
from chat_loop.sessions.rows import read_rows
from tests.support.environments import environment
from tests.support.headless import ECHO
from tests.support.pty_chat import PtyChat

READY = re.compile(r"You: ")
REPLIED = re.compile(r"Time: \d.*You:", re.DOTALL)
PATIENCE = 60
PROMPT = re.compile(r"You:.*context ", re.DOTALL)
STALLING = Reply(chunks=("Half a ", "sentence ", "and no more"), stall_after=2)
WHEN_TOLD = 'read -r _; exec "$@"'
"""A shell that starts the program when a line arrives, so that a test can read the terminal's
settings first.
"""
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
    argv = [sys.executable, "-m", "chat_loop", *(options or ECHO)]
    rows, cols = size or (24, cols)
    with PtyChat(
        argv, env=environment(home, **more), rows=rows, cols=cols, forked=True
    ) as terminal:
        terminal.wait_for(READY, PATIENCE, output=size is not None)
        if ready:
            terminal.wait_for(ready, PATIENCE)
        yield terminal


def answered(terminal: PtyChat, line: str) -> str:
    """Send a line; return the output up to the end of its reply."""
    entered(terminal, f"{line}\r")
    return terminal.output()


def leave(terminal: PtyChat) -> None:
    terminal.line("exit")
    assert terminal.exit_code(PATIENCE) == 0


def saved(home: Path) -> Session:
    sessions = SessionManager(home / "sessions")
    return sessions.load(read_rows(sessions.directory)[0].path).session


def compatible(server: Loopback) -> tuple[str, ...]:
    return ("--model", "compatible:m", "--base-url", f"{server.url}/v1")


def asked(home: Path) -> list[str]:
    """Return the queries that were sent to the model."""
    return [exchange.query.text for exchange in saved(home).exchanges]


def entered(terminal: PtyChat, keys: str) -> None:
    """Type keys that end an entry, and wait for the reply."""
    terminal.mark()
    terminal.send(keys)
    terminal.wait_for(REPLIED, PATIENCE, output=True)


def told_of_pastes(printed: bytes) -> bool:
    """Return True if the program last turned on bracketed paste rather than off."""
    return printed.rfind(b"\x1b[?2004h") > printed.rfind(b"\x1b[?2004l")


@contextmanager
def started(
    home: Path, *options: str, cols: int = 100, typed: str = "", until: str = "context", **more: str
) -> Iterator[PtyChat]:
    """Start the program on a terminal, send `typed` at once, and wait for `until`."""
    argv = [*command(), *options]
    # keys that are typed at once meet a program that is still loading its modules
    with PtyChat(
        argv, env=environment(home, **more), rows=30, cols=cols, forked=not typed
    ) as terminal:
        terminal.send(typed)
        terminal.wait_for(until)
        yield terminal


def command(server: Loopback | None = None) -> list[str]:
    return [sys.executable, "-m", "chat_loop", *(compatible(server) if server else ECHO)]


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
