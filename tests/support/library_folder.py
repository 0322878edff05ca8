"""Write sessions into a folder for a library."""

from __future__ import annotations

from pathlib import Path

from benchmarks.support.planting import START
from chat_loop.sessions.records import Entry, Header, Query, Reply, Seal, Session, Summary
from chat_loop.sessions.writer import render


def write(
    folder: Path,
    identity: str,
    *said: str | tuple[str, str],
    agent: str = "Sally",
    name: str = "",
    tags: tuple[str, ...] = (),
    project: str = "",
    summary: Summary | None = None,
) -> Path:
    """Write a sealed session with the given queries, or queries and replies; return its path."""
    entries: list[Entry] = []
    for number, one in enumerate(said, 1):
        query, reply = (one, "Fine.") if isinstance(one, str) else one
        entries += [
            Query(number=number, at=START, text=query),
            Reply(number=number, at=START, text=reply),
        ]
    header = Header(id=identity, created=START, agent=agent, name=name, tags=tags, project=project)
    session = Session(
        header=header,
        entries=tuple(entries),
        seal=Seal(at=START, reason="exit", summary=summary, source="model"),
    )
    path = folder / f"{identity}.md"
    path.write_bytes(render(session))
    return path
