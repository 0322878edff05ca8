"""Sealed sessions on disk, alone and in chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from chat_loop.sessions.chain import Chain
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.records import (
    Entry,
    Exchange,
    Header,
    Query,
    Reply,
    Restoration,
    Seal,
    Session,
    Summary,
)
from chat_loop.sessions.writer import render
from tests.support.scripted_chat import START

Said = str | tuple[str, str]
"""A query, or a query and its reply."""


def entries_of(said: Sequence[Said]) -> Iterator[Entry]:
    for number, one in enumerate(said, 1):
        query, reply = (one, "Fine.") if isinstance(one, str) else one
        yield Query(number=number, at=START, text=query)
        yield Reply(number=number, at=START, text=reply)


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
    for entry in entries_of(said):
        live.add(entry)
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


def write(
    folder: Path,
    identity: str,
    *said: Said,
    agent: str = "Sally",
    name: str = "",
    tags: tuple[str, ...] = (),
    project: str = "",
    summary: Summary | None = None,
) -> Path:
    """Write a sealed session with the given queries, or queries and replies; return its path."""
    header = Header(id=identity, created=START, agent=agent, name=name, tags=tags, project=project)
    session = Session(
        header=header,
        entries=tuple(entries_of(said)),
        seal=Seal(at=START, reason="exit", summary=summary, source="model"),
    )
    path = folder / f"{identity}.md"
    path.write_bytes(render(session))
    return path


def chain_exchanges(chain: Chain, depth: int) -> tuple[tuple[Exchange, ...], ...]:
    """Return the exchanges of each ancestor, the oldest first, with the depths of references."""
    depth = max(depth, len(chain.ancestors) + 1)
    return tuple(
        tuple(replace(exchange, depth=depth - back) for exchange in loaded.session.exchanges)
        for back, loaded in reversed([*enumerate(chain.ancestors, 1)])
    )
