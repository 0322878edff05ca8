"""What the sessions folder holds, read from the files' beginnings and ends only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from chat_loop.sessions import marker
from chat_loop.sessions.files import read_part
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.parse import BOM, parse
from chat_loop.sessions.records import ID_PATTERN, Session
from chat_loop.sessions.row import SessionRow, State

_HEAD = 8192
_LONG_HEAD = 1 << 18
_TAIL = 2048
_WHOLE = 4 << 20
"""An unsealed file up to this many bytes is read whole for its numbers."""
_LARGEST = (1 << 63) - 1
_FIRST, _LAST = -62_000_000_000, 253_000_000_000
"""Seconds from 1970 to the years 5 and 9987."""


class Stamp(NamedTuple):
    """A file that could be a session: when it last changed, in nanoseconds, its id, its size in bytes."""

    changed: int
    id: str
    size: int


def newest_first(directory: Path) -> list[Stamp]:
    """Every file that could be a session, newest first; ties by id."""
    found = []
    is_id = ID_PATTERN.fullmatch
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name
                if name[-3:] == ".md" and is_id(name, 0, len(name) - 3):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # somebody deleted or renamed it meanwhile
                    found.append((status.st_mtime_ns, name[:-3], status.st_size))
    except FileNotFoundError:
        return []
    found.sort(reverse=True)
    if found and (found[0][0] > _LARGEST or found[-1][0] < -_LARGEST):  # no calendar has these times, but files can
        found = [(storable(changed), name, size) for changed, name, size in found]
    return list(map(Stamp._make, found))


def storable(nanoseconds: int) -> int:
    """A file's time as it is kept and compared: of 64 bits, which a file system may exceed."""
    return min(max(nanoseconds, -_LARGEST), _LARGEST)


def rows(directory: Path, limit: int | None = None, without: str = "") -> Iterator[SessionRow]:
    """The newest sessions, the one with the id `without` left out."""
    shown = 0
    for stamp in newest_first(directory):
        if shown == limit:
            return
        if stamp.id != without:
            shown += 1
            yield row(directory / f"{stamp.id}.md", moment(stamp.changed))


def moment(nanoseconds: int) -> datetime:
    """A file's time in the local zone. One that no calendar has, which files can have, is its first or last day."""
    seconds = min(max(nanoseconds / 1e9, _FIRST), _LAST)
    return datetime.fromtimestamp(seconds, UTC).astimezone()


def row(path: Path, updated: datetime) -> SessionRow:
    """Read one file's row. An unreadable file has a row too."""
    try:
        head, tail, status = read_part(path, _HEAD, _TAIL)
    except OSError:
        return unreadable(path, updated)
    try:
        return _row(path, updated, head, tail, status.st_size, lambda most: read_part(path, most)[0])
    except OSError:  # it went away meanwhile
        return unreadable(path, updated)


def row_in(data: bytes, path: Path, updated: datetime) -> SessionRow:
    """The same row from the bytes of the whole file."""
    return _row(path, updated, data[:_HEAD], data[-_TAIL:], len(data), lambda most: data[:most])


def unreadable(path: Path, updated: datetime) -> SessionRow:
    """The row of what is no file that can be read."""
    return SessionRow(id=path.stem, path=path, state="foreign", updated=updated)


def _row(
    path: Path, updated: datetime, head: bytes, tail: bytes, size: int, more: Callable[[int | None], bytes]
) -> SessionRow:
    """The row that a beginning and an end tell. `more(most)` gives more of the beginning, None: all."""
    if not head.strip(b"\x00"):
        return SessionRow(id=path.stem, path=path, state="empty" if not head else "damaged", updated=updated)
    if not head.removeprefix(BOM).startswith(marker.PREFIX + b"session"):
        return _other(path, head, updated, more)
    seal = seal_in(tail)
    if seal is None and size <= _WHOLE:
        head = more(None)
    parsed = parse(head)
    if (parsed.session is None or not name_of(parsed.session)) and len(head) < min(size, _LONG_HEAD):
        head = more(_LONG_HEAD)  # a long header or restoration stands before the first query
        parsed = parse(head)
    if parsed.session is None:
        return SessionRow(id=path.stem, path=path, state="damaged", updated=updated)
    return row_of(parsed.session, path, updated, seal=seal, whole=size <= len(head))


def row_of(
    session: Session, path: Path, updated: datetime, *, seal: marker.Marker | None = None, whole: bool = True
) -> SessionRow:
    """The row of a session that was read: `whole`, or its beginning and its seal's marker."""
    totals, restoration = session.totals, session.restoration
    sealed = seal is not None or session.seal is not None
    reason = seal.values.get("reason") if seal else session.seal.reason if session.seal else ""
    return SessionRow(
        id=path.stem,
        path=path,
        state="sealed" if sealed else "unsealed",
        updated=updated,
        created=session.header.created,
        agent=session.header.agent,
        project=session.header.project,
        parent=session.header.parent,
        merged=restoration.merged if restoration else "",
        queries=seal.number("queries") if seal else totals.queries if whole else None,
        tokens=seal.number("tokens") if seal else totals.combined if whole else None,
        name=name_of(session),
        tags=session.header.tags if sealed else session.tags,
        depth=session.depth if restoration else 2 if session.header.parent else 1,
        compacted=reason == "compact",
        forked=restoration is not None and bool(restoration.until),
    )


def seal_in(tail: bytes) -> marker.Marker | None:
    """The seal's marker when it is the last line of a file that ends so."""
    last = tail.rstrip(b"\r\n").rpartition(b"\n")[2]
    found = marker.read(last) if last.startswith(marker.PREFIX) else None
    return found if found and found.kind == "sealed" else None


def _other(path: Path, head: bytes, updated: datetime, more: Callable[[int | None], bytes]) -> SessionRow:
    from chat_loop.sessions.plain import is_plain, read_plain  # only folders that hold such files pay for it

    if is_plain(head):
        session = read_plain(more(None))
        return SessionRow(
            id=path.stem,
            path=path,
            state="plain",
            updated=updated,
            agent=session.agent,
            parent=session.resumed_from if ID_PATTERN.fullmatch(session.resumed_from) else "",
            depth=2 if session.resumed_from else 1,
            queries=len(session.exchanges),
            tokens=sum((exchange.input or 0) + (exchange.output or 0) for exchange in session.exchanges),
            name=session.exchanges[0].query.strip().partition("\n")[0] if session.exchanges else "",
        )
    state: State = "damaged" if b"\n<!-- chat:" in head else "foreign"
    return SessionRow(id=path.stem, path=path, state=state, updated=updated)
