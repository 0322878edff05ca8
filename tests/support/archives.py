"""Chains of sessions on disk, for tests of sealed sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.records import Query, Reply, Restoration, Seal, Session

START = datetime(2026, 11, 21, 22, 30, 15, tzinfo=timezone(timedelta(hours=1)))

Said = str | tuple[str, str]
"""A query, or a query and its reply."""


class Counting(SessionManager):
    """A session manager that remembers which sessions were read."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, now=lambda: START)
        self.read: list[str] = []

    def load(self, path: Path) -> LoadedSession:
        self.read.append(path.stem)
        return super().load(path)

    def told(self) -> list[str]:
        """Return the sessions read since the last call."""
        read, self.read = self.read, []
        return read


def session(
    sessions: SessionManager, name: str, parent: str, said: Sequence[Said], depth: int = 2
) -> Session:
    """Write a sealed session and return it. The agent's name is the beginning of its id."""
    live = sessions.begin(agent=name, parent=parent)
    if parent:
        live.add(
            Restoration(at=START, parent_created=START, queries=1, tokens=1, block="", depth=depth)
        )
    for number, one in enumerate(said, 1):
        query, reply = (one, "Fine.") if isinstance(one, str) else one
        live.add(Query(number=number, at=START, text=query))
        live.add(Reply(number=number, at=START, text=reply))
    live.seal(Seal(at=START, reason="compact"))
    live.close()
    return live.session


def chained(sessions: SessionManager, *spoken: Sequence[Said]) -> Session:
    """Write a chain, the oldest session first, with the exchanges in `spoken`; return the last
    session.
    """
    last = session(sessions, "s1", "", spoken[0])
    for number, said in enumerate(spoken[1:], 2):
        last = session(sessions, f"s{number}", last.header.id, said, number)
    return last
