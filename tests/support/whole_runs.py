"""Whole runs of the program in a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Session
from chat_loop.sessions.rows import read_rows
from chat_loop.sessions.writer import render
from tests.support.pty_chat import PtyChat

REPLIED = re.compile(r"Time: \d+\.\ds")


@dataclass(frozen=True)
class Program:
    """The options and the environment of a program to start."""

    options: tuple[str, ...]
    environment: dict[str, str]
    home: Path
    patience: float

    @contextmanager
    def start(self, *more: str, cols: int = 100) -> Iterator[PtyChat]:
        argv = (sys.executable, "-m", "chat_loop", *self.options, *more)
        with PtyChat(argv, env=self.environment, rows=50, cols=cols) as chat:
            chat.wait_for("You: ", timeout=60)
            chat.wait_for("context", timeout=60)
            yield chat

    def sessions(self) -> list[Session]:
        """Return the sessions on disk, oldest first. Each must be undamaged and equal to its
        rendering.
        """
        found = []
        for row in reversed(read_rows(self.home / "sessions")):
            data = row.path.read_bytes()
            parsed = parse(data)
            assert parsed.damage == ()
            assert parsed.session is not None
            assert render(parsed.session) == data
            found.append(parsed.session)
        return found


def say(chat: PtyChat, text: str, patience: float, until: str | re.Pattern[str] = REPLIED) -> None:
    """Send a line; wait until its reply has ended and the prompt is back."""
    chat.mark()
    chat.line(text)
    chat.wait_for(until, timeout=patience, output=True)
    chat.wait_for(re.compile(r"You: .*context", re.DOTALL), timeout=patience, output=True)
