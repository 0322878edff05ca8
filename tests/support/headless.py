"""Runs of the program without a terminal, and the sessions that the runs leave."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply, Session
from chat_loop.sessions.rows import read_rows
from tests.support import fork_server

ECHO = ("--model", "scripted:echo")


def run(
    home: Path,
    *arguments: str,
    stdin: bytes = b"",
    keys: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[bytes]:
    """Run the program with a clean environment and `home` as its home. `prefix` is a command that
    runs the program.
    """
    environment = {
        "CHAT_LOOP_HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
    environment |= keys or {}
    if not prefix:
        return fork_server.run(arguments, environment, stdin)
    return subprocess.run(
        [*prefix, sys.executable, "-m", "chat_loop", *arguments],
        input=stdin,
        capture_output=True,
        env=environment,
        timeout=fork_server.PATIENCE_SECONDS,
        check=False,
    )


def saved(home: Path) -> list[Session]:
    sessions = SessionManager(home / "sessions")
    return [sessions.load(row.path).session for row in read_rows(sessions.directory)]


def said(session: Session) -> list[str]:
    return [entry.text for entry in session.entries if isinstance(entry, Query | Reply)]
