"""What the sessions folder holds, read from the files' beginnings and ends only."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from chat_loop.sessions import marker
from chat_loop.sessions.bodies import EPOCH
from chat_loop.sessions.dates import instant, local, used_in, used_of
from chat_loop.sessions.files import read_part
from chat_loop.sessions.naming import first_words, name_of
from chat_loop.sessions.parser import BOM, parse
from chat_loop.sessions.records import ID_PATTERN, Session, SessionRow, State

_HEAD = 8192
_LONG_HEAD = 1 << 18
_TAIL = 1 << 16
_WHOLE = 4 << 20
"""An unsealed file up to this many bytes is read whole for its numbers."""
_LARGEST = (1 << 63) - 1


class Stamp(NamedTuple):
    """A file that could be a session: when it last changed, in nanoseconds, its id, its size in
    bytes.
    """

    changed: int
    id: str
    size: int


def newest_first(directory: Path) -> list[Stamp]:
    """Every file that could be a session, that which changed last first; ties by id.

    This is the order in which files are read. A listing is in the order of the dates in them.
    """
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
    if found and (
        found[0][0] > _LARGEST or found[-1][0] < -_LARGEST
    ):  # no calendar has these times, but files can
        found = [(storable(changed), name, size) for changed, name, size in found]
    return list(map(Stamp._make, found))


def unlisted(directory: Path) -> list[str]:
    """Return the names of markdown files that are no session ids, such as the conflict copies of
    sync tools.
    """
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".md")]
    except OSError:
        return []
    return sorted(name for name in names if not ID_PATTERN.fullmatch(name[:-3]))


def storable(nanoseconds: int) -> int:
    """A file's time as it is kept and compared: of 64 bits, which a file system may exceed."""
    return min(max(nanoseconds, -_LARGEST), _LARGEST)


def rows(directory: Path) -> list[SessionRow]:
    """Return the sessions of a folder, last used first, then those of which nobody knows when.
    Raises OSError.
    """
    found = [row(directory / f"{stamp.id}.md") for stamp in newest_first(directory)]
    return sorted(found, key=lambda row: (instant(row.updated) or -_LARGEST, row.id), reverse=True)


def row(path: Path) -> SessionRow:
    """Read one file's row. An unreadable file has a row too."""
    try:
        head, tail, status = read_part(path, _HEAD, _TAIL)
    except OSError:
        return unreadable(path)
    try:
        return _row(path, head, tail, status.st_size, lambda most: read_part(path, most)[0])
    except OSError:  # it went away meanwhile
        return unreadable(path)


def row_in(data: bytes, path: Path) -> SessionRow:
    """Return the same row from the bytes of the whole file."""
    return _row(path, data[:_HEAD], data[-_TAIL:], len(data), lambda most: data[:most])


def unreadable(path: Path) -> SessionRow:
    """Return the row of a file that cannot be read."""
    return SessionRow(id=path.stem, path=path, state="foreign")


def _row(
    path: Path, head: bytes, tail: bytes, size: int, more: Callable[[int | None], bytes]
) -> SessionRow:
    """Return the row that a beginning and an end tell. `more(most)` gives more of the beginning,
    None: all.
    """
    if not head.strip(b"\x00"):
        return SessionRow(id=path.stem, path=path, state="empty" if not head else "damaged")
    if not head.removeprefix(BOM).startswith(marker.PREFIX + b"session"):
        return _other(path, head, more)
    seal = seal_in(tail)
    if seal is None and size <= _WHOLE:
        head = more(None)
    parsed = parse(head)
    if not _is_told(parsed.session) and len(head) < min(size, _LONG_HEAD):
        head = more(_LONG_HEAD)  # a long header, restoration or query stands before what tells it
        parsed = parse(head)
    if parsed.session is None:
        return SessionRow(id=path.stem, path=path, state="damaged")
    return row_of(parsed.session, path, seal=seal, whole=size <= len(head), used=used_in(tail))


def _is_told(session: Session | None) -> bool:
    return session is not None and session.answered and first_words(session) != ""


def row_of(
    session: Session,
    path: Path,
    *,
    seal: marker.Marker | None = None,
    whole: bool = True,
    used: datetime | None = None,
) -> SessionRow:
    """Return the row of a session that was read: `whole`, or its beginning and its seal's marker.

    `used` is the date of its last record where that is not in what was read.
    """
    totals, restoration = session.totals, session.restoration
    sealed = seal is not None or session.seal is not None
    reason = seal.values.get("reason") if seal else session.seal.reason if session.seal else ""
    return SessionRow(
        id=path.stem,
        path=path,
        state="sealed" if sealed else "unsealed",
        updated=local(used or used_of(session)),
        created=session.header.created if session.header.created != EPOCH else None,
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
        until=restoration.until if restoration is not None else "",
        words=first_words(session),
        mode=session.header.mode,
        answered=session.answered or not whole,
        spent=tuple(session.usage_of_models.items()) if whole else None,
    )


def seal_in(tail: bytes) -> marker.Marker | None:
    """The seal's marker when it is the last line of a file that ends so."""
    last = tail.rstrip(b"\r\n").rpartition(b"\n")[2]
    found = marker.read(last) if last.startswith(marker.PREFIX) else None
    return found if found and found.kind == "sealed" else None


def _other(path: Path, head: bytes, more: Callable[[int | None], bytes]) -> SessionRow:
    from chat_loop.sessions.plain import is_plain  # only folders that hold such files pay for it

    if is_plain(head):
        from chat_loop.sessions import foreign

        session, _ = foreign.read(more(None), path)
        if session is not None:
            return replace(row_of(session, path), state="plain")
    state: State = "damaged" if b"\n<!-- chat:" in head else "foreign"
    return SessionRow(id=path.stem, path=path, state=state)
