"""A sessions folder for tests: a chain of two sessions, one that a crash left open, and an old one
without a summary.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from chat_loop.sessions import summary_block
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Header, Query, Reply, Restoration, Seal, Session, Summary
from chat_loop.sessions.writer import render
from chat_loop.values import Compaction, Usage

RATES = Summary(
    topics=("Limiting the rate [1]",),
    decisions=("We take the token bucket. [1 user]",),
    key_facts=("The limit is 100 per minute.",),
)
LATER = Summary(background="We limit rates.", topics=("Bursts of requests [1]",))


def at(month: int, day: int, second: int = 0) -> datetime:
    return datetime(2026, month, day, 10, 0, tzinfo=UTC) + timedelta(seconds=second)


def talk(*texts: str, created: datetime, number: int = 1) -> tuple[Query | Reply, ...]:
    """Return queries and replies that alternate."""
    return tuple(
        Query(number=number + place // 2, at=created + timedelta(seconds=place), text=text)
        if place % 2 == 0
        else Reply(
            number=number + place // 2,
            at=created + timedelta(seconds=place),
            text=text,
            usage=Usage(input=100, output=10),
        )
        for place, text in enumerate(texts)
    )


FIRST = Session(
    header=Header(
        id="sally_20261101_100000",
        created=at(11, 1),
        agent="Sally",
        model="scripted:echo",
        name="Rate limiter",
        tags=("work",),
        project="/home/kim/shop",
    ),
    entries=talk(
        "How do we limit the rate?", "With a token bucket.", "Take 100.", "Done.", created=at(11, 1)
    ),
    seal=Seal(
        at=at(11, 1, 60),
        reason="compact",
        source="model",
        summary=RATES,
        usage=Usage(input=400, output=90),
        seconds=1.5,
        compaction=Compaction(
            first="1.1",
            last="1.2",
            before=61_000,
            after=9_400,
            model="scripted:echo",
            cost=0.0123,
            decisions=1,
            facts=1,
        ),
    ),
)
SECOND = Session(
    header=Header(
        id="sally_20261102_100000",
        created=at(11, 2),
        agent="Sally",
        model="scripted:echo",
        parent=FIRST.header.id,
        name="Rate limiter",
        tags=("work", "urgent"),
        project="/home/kim/shop",
        git_branch="rate/limits",
        git_commit="1a2b3c4d5e" * 4,
    ),
    entries=(
        Restoration(
            at=at(11, 2),
            parent_created=at(11, 1),
            queries=2,
            tokens=220,
            block=summary_block.render(RATES),
        ),
        *talk("And bursts?", "Up to 20 at once.", created=at(11, 2, 10)),
    ),
    seal=Seal(
        at=at(11, 2, 60),
        reason="exit",
        source="model",
        summary=LATER,
        usage=Usage(input=300, output=50),
    ),
)
OPEN = Session(
    header=Header(
        id="bob_20261110_100000",
        created=at(11, 10),
        agent="Bob",
        model="scripted:echo",
        project="/home/kim/blue",
    ),
    entries=talk("Which port does the database listen on?", "Port 5544.", created=at(11, 10)),
)
OLD = Session(
    header=Header(
        id="sally_20200301_100000", created=datetime(2020, 3, 1, 10, tzinfo=UTC), agent="Sally"
    ),
    entries=talk("What is a monad?", "A monoid.", created=datetime(2020, 3, 1, 10, tzinfo=UTC)),
    seal=Seal(at=datetime(2020, 3, 1, 11, tzinfo=UTC), reason="exit"),
)
ALL = (FIRST, SECOND, OPEN, OLD)
LISTED = (OPEN.header.id, SECOND.header.id, OLD.header.id)
"""The order in which `sessions list` numbers them; FIRST is hidden behind SECOND."""


def put(folder: Path, *sessions: Session) -> Sequence[Path]:
    """Write sessions as the program would; the time of each file is that of the last entry."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = []
    for session in sessions:
        path = folder / f"{session.header.id}.md"
        path.write_bytes(render(session))
        used(path, session.entries[-1].at if session.entries else session.header.created)
        paths.append(path)
    return paths


def of_this_project(session: Session) -> Session:
    """Return the session as one of the folder in which the tests run."""
    return replace(session, header=replace(session.header, project=str(Path.cwd())))


def last_id(folder: Path) -> str:
    """Return the id of the session that was begun last; empty if there is none to continue."""
    recent = SessionManager(folder).pointers.recent()
    return "" if recent is None else recent.row.id


def used(path: Path, moment: datetime) -> None:
    """Set the time at which a file last changed."""
    os.utime(path, (moment.timestamp(), moment.timestamp()))


def simple(identity: str, moment: datetime, *texts: str, parent: str = "") -> Session:
    """Return a sealed session with the given id, used at `moment`."""
    return Session(
        header=Header(id=identity, created=moment, agent="Sally", parent=parent),
        entries=talk(*(texts or (f"About {identity}", "So.")), created=moment),
        seal=Seal(
            at=moment, reason="exit", source="model", summary=Summary(topics=(f"About {identity}",))
        ),
    )
