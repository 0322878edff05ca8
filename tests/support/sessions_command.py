"""Runs of `chat-loop sessions …` on a home."""

from __future__ import annotations

import json
from pathlib import Path

from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from tests.support.headless import run


def output(home: Path, *arguments: str) -> str:
    """Return the output of a command that succeeds and writes nothing to standard error."""
    result = run(home, "sessions", *arguments)
    assert (result.returncode, result.stderr.decode()) == (0, "")
    return result.stdout.decode()


def stdout(home: Path, *arguments: str) -> str:
    """Return the output of a command that succeeds; ignore standard error."""
    result = run(home, "sessions", *arguments)
    assert result.returncode == 0
    return result.stdout.decode().strip()


def failure(home: Path, *arguments: str, code: int = 1) -> str:
    """Return the standard error of a command that fails; it must print nothing else."""
    result = run(home, "sessions", *arguments)
    assert (result.returncode, result.stdout.decode()) == (code, "")
    return result.stderr.decode()


def load(home: Path, identity: str) -> Session:
    return SessionManager(home / "sessions").load(home / "sessions" / f"{identity}.md").session


def session_ids(home: Path) -> list[str]:
    rows = json.loads(run(home, "sessions", "list", "--unfold", "--json").stdout)["sessions"]
    return [row["id"] for row in rows]
