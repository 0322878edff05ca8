"""The conversation with which `chat-loop tour` begins, as if it had been said weeks ago."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from chat_loop.sessions.files import write_private
from chat_loop.sessions.records import Attachment, Entry, Header, Query, Reply, Session
from chat_loop.sessions.writer import render
from chat_loop.values import sha256

PATHS = ("/berths", "/berths/17", "/bookings", "/bookings/today", "/tides", "/health")
STATUSES = (200, 200, 200, 200, 201, 204, 429, 503)


class PastExchange(Struct, frozen=True):
    """What was said on a day, counted from the first, with a log of so many lines."""

    day: int
    log: int
    query: str
    reply: str


def write_past(folder: Path, past: Sequence[PastExchange], ended: datetime, project: str) -> None:
    """Write the session of a conversation that ended at a time, in a project, into a folder."""
    began = ended - timedelta(days=past[-1].day)
    entries: list[Entry] = []
    for number, exchange in enumerate(past, 1):
        at = began + timedelta(days=exchange.day, minutes=4 * number)
        entries.append(Query(number=number, at=at, text=exchange.query))
        if exchange.log:
            entries.append(_log(number, at, exchange.log))
        entries.append(Reply(number=number, at=at, text=exchange.reply.strip(), seconds=3.0))
    header = Header(
        id=f"assistant_{began:%Y%m%d_%H%M%S}",
        created=began,
        agent="Assistant",
        model="scripted:tour",
        name="Bookings before the regatta",
        project=project,
    )
    session = Session(header=header, entries=tuple(entries))
    write_private(folder / f"{header.id}.md", render(session))


def _log(number: int, at: datetime, lines: int) -> Attachment:
    """Return a log that is attached to a query. It has the same lines whenever it is made."""
    text = "\n".join(_lines(random.Random(number), at, lines))
    data = text.encode()
    return Attachment(
        number=number,
        at=at,
        name=f"booking-{number}.log",
        media="text/plain",
        size=len(data),
        sha256=sha256(data),
        text=text,
    )


def _lines(chance: random.Random, at: datetime, lines: int) -> Iterator[str]:
    time = at.replace(hour=8, minute=40, second=0, microsecond=0)
    for _ in range(lines):
        time += timedelta(seconds=chance.randrange(1, 9))
        path = chance.choice(PATHS)
        status = chance.choice(STATUSES)
        boat = chance.randrange(100, 512)
        used = chance.randrange(3, 21)
        milliseconds = chance.randrange(8, 40) * (status if status > 300 else 1)
        yield (
            f"{time:%Y-%m-%d %H:%M:%S} booking-api GET {path} boat={boat} status={status} "
            f"time={milliseconds}ms connections={used}/20"
        )
