"""Sessions on disk, as the program would have written them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from chat_loop.sessions.records import Entry, Header, Query, Reply, Seal, Session, Summary
from chat_loop.sessions.writer import render
from chat_loop.values import Usage

AT = datetime(2026, 2, 1, tzinfo=UTC)
MODEL = "scripted:echo"


def make_sessions(folder: Path, count: int) -> None:
    """Write `count` sealed transcripts of one exchange each, as the program would have."""
    folder.mkdir(mode=0o700, parents=True)
    for number in range(count):
        at = AT + timedelta(minutes=number)
        header = Header(
            id=f"assistant_{at:%Y%m%d_%H%M%S}", created=at, agent="Assistant", model=MODEL
        )
        query = Query(number=1, at=at, text=f"Question {number}: what is a monad, in one sentence?")
        reply = Reply(
            number=1,
            at=at,
            text="A monoid in the category of endofunctors.",
            usage=Usage(input=30, output=9),
        )
        seal = Seal(at=at, reason="exit", source="model", summary=Summary(topics=("Monads [1]",)))
        session = Session(header=header, entries=(query, reply), seal=seal)
        (folder / f"{header.id}.md").write_bytes(render(session))


def long_session(identity: str, exchanges: int, size: int) -> Session:
    """Return a sealed session whose replies have about `size` characters."""
    chance = random.Random(4)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 10)))
        for _ in range(5_000)
    ]
    lines = [" ".join(chance.choices(words, k=12)) for _ in range(5_000)]
    entries: list[Entry] = []
    for number in range(1, exchanges + 1):
        at = AT + timedelta(seconds=number)
        entries.append(
            Query(number=number, at=at, text=f"Question {number}: {chance.choice(lines)}")
        )
        text = "\n".join(chance.choices(lines, k=max(1, size // 78)))
        entries.append(Reply(number=number, at=at, text=text, usage=Usage(input=30, output=9)))
    seal = Seal(at=AT, reason="exit", source="model", summary=Summary(topics=("Words [1]",)))
    return Session(
        header=Header(id=identity, created=AT, agent="Assistant"), entries=tuple(entries), seal=seal
    )
