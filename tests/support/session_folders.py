"""Folders of small sessions of every kind that a library must handle, hand-made or drawn."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.sessions.records import (
    Entry,
    Header,
    Name,
    Query,
    Reply,
    Restoration,
    Seal,
    Session,
    Summary,
    Tag,
    Undo,
    Untag,
)
from chat_loop.sessions.writer import render
from chat_loop.values import Compaction, Usage

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
IDS = tuple(f"s{number}" for number in range(9))
SECRET = "password = hunter2-Xk93mm1"
"""A secret in texts that must never be stored."""


def session(
    identity: str,
    queries: int = 1,
    *,
    parent: str = "",
    merged: str = "",
    seal: Seal | None = None,
    undone: int = 0,
    text: str = "What is a monad?",
    depth: int = 2,
    until: str = "",
    **header: object,
) -> Session:
    """Return a session with `queries` exchanges, of which the last `undone` are undone. `parent`
    and `merged` are the sessions it comes from.
    """
    entries: list[Entry] = []
    if parent or merged:
        entries.append(
            Restoration(
                at=START,
                parent_created=START,
                queries=1,
                tokens=9,
                block="x",
                depth=depth,
                merged=merged,
                until=until,
            )
        )
    for number in range(1, queries + 1):
        at = START + timedelta(minutes=number)
        entries.append(Query(number=number, at=at, text=f"{text} ({number})"))
        if number < queries or queries % 3:  # the last query of some has no reply
            usage = Usage(input=10 * number, output=number)
            entries.append(
                Reply(
                    number=number,
                    at=at,
                    text=f"Reply {number} of {identity}.",
                    usage=usage,
                    seconds=1.5,
                )
            )
    entries += [Undo(number=number, at=START) for number in range(queries, queries - undone, -1)]
    made = Header(id=identity, created=START, agent="Sally", parent=parent)
    return Session(header=replace(made, **header), entries=tuple(entries), seal=seal)


def write(folder: Path, made: Session | bytes, changed: int, identity: str = "") -> Path:
    """Write a session whose records and file are `changed` seconds later than the times it was made
    with. Bytes are written unchanged.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"{identity or (made.header.id if isinstance(made, Session) else '')}.md"
    path.write_bytes(render(later(made, changed)) if isinstance(made, Session) else made)
    moment = int((START.timestamp() + changed) * 1_000_000_000)
    os.utime(path, ns=(moment, moment))
    return path


def later(made: Session, seconds: float) -> Session:
    """Return the session with all of its records `seconds` later."""
    by = timedelta(seconds=seconds)
    return replace(
        made,
        header=replace(made.header, created=made.header.created + by),
        entries=tuple(replace(entry, at=entry.at + by) for entry in made.entries),
        seal=None if made.seal is None else replace(made.seal, at=made.seal.at + by),
    )


@dataclass(frozen=True, slots=True)
class Made:
    """A file of a drawn folder: its name, its bytes, and its time of change."""

    identity: str
    data: bytes
    changed: int


names = st.sampled_from(("", "Trip", "Küche 漢字", SECRET, "a\ud800b", "50 % _x\\", "x" * 200))
summaries = st.builds(
    Summary,
    topics=st.lists(st.sampled_from(("Monads [1]", "Bread")), max_size=2).map(tuple),
    key_facts=st.just((f"The {SECRET}. [1 user]",)),
)
compactions = st.just(
    Compaction(
        first="1.1", last="1.2", before=900, after=90, why="asked", model="m", decisions=1, facts=2
    )
)
seals = st.builds(
    Seal,
    at=st.just(START),
    reason=st.sampled_from(("exit", "compact", "resume")),
    source=st.sampled_from(("model", "extracted")),
    summary=st.one_of(st.none(), summaries),
    covers=st.sampled_from((None, 0, 1)),
    compaction=st.one_of(st.none(), compactions),
)
some_ids = st.sampled_from(("", "", "gone", *IDS))
tags = st.lists(st.sampled_from(("work", "home", "a/b", "ärger")), max_size=3, unique=True).map(
    tuple
)


@st.composite
def sessions(draw: st.DrawFn, identity: str) -> Session:
    """Draw a session of a small folder: alone or in a chain, forked, merged, named, tagged, sealed
    or unsealed.
    """
    queries = draw(st.integers(0, 4))
    made = session(
        identity,
        queries,
        parent=draw(some_ids),
        merged=draw(some_ids),
        undone=draw(st.integers(0, queries)) if draw(st.booleans()) else 0,
        text=draw(st.sampled_from(("What is a monad?", f"My {SECRET}", "\ud800 lone", ""))),
        depth=draw(st.integers(2, 5)),
        until=draw(st.sampled_from(("", "", "1.1"))),
        seal=draw(st.one_of(st.none(), seals)),
        name=draw(names),
        title=draw(names),
        tags=draw(tags),
        project=draw(st.sampled_from(("", "/home/me/shop", f"/x/{SECRET}"))),
        agent=draw(st.sampled_from(("Sally", "Bot", "é"))),
    )
    notes: list[Entry] = draw(
        st.lists(
            st.sampled_from(
                (
                    Name(at=START, text="Called so"),
                    Name(at=START, text=""),
                    Tag(at=START, text="home"),
                    Tag(at=START, text="late"),
                    Untag(at=START, text="work"),
                    Untag(at=START, text="late"),
                )
            ),
            max_size=4,
        )
    )
    return replace(made, entries=(*made.entries, *notes))


@st.composite
def files(draw: st.DrawFn, identity: str) -> Made:
    """Draw a file of any kind under a session's name."""
    data = render(
        draw(sessions(draw(st.sampled_from((identity, identity, "s1")))))
    )  # some were copied or renamed
    damage = draw(st.integers(0, 11))
    if damage == 0:
        data = data[: draw(st.integers(0, len(data)))]  # torn
    elif damage == 1:
        data = draw(st.sampled_from((b"", b"\x00" * 40, b"# A note\n", b"\xff\xfe\x00", FOREIGN)))
    elif damage == 2:
        cut = draw(st.integers(0, len(data)))
        data = data[:cut] + b"\n<!-- chat:end -->\nstray\n" + data[cut:]
    elif damage == 3:
        data += b"\nwritten by hand\n"
    return Made(identity, data, draw(st.sampled_from((*range(6), 10**9))))


@st.composite
def folders(draw: st.DrawFn) -> tuple[Made, ...]:
    """Draw some files, each under its own name."""
    identities = draw(st.lists(st.sampled_from(IDS), unique=True, max_size=len(IDS)))
    return tuple(draw(files(identity)) for identity in identities)


FOREIGN = b"""\
# Helper Conversation

**Session ID:** helper_20250101_120000
**Date:** 2025-01-01 12:00:00
**Agent:** Helper

---

## Query 1 (12:00:01)

**You:** What is a fold?

**Helper:** A way to reduce.

*Time: 1.0s | Tokens: 12 (in: 5, out: 7)*

---
"""
