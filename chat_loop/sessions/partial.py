"""Transcripts read in part: the row that a listing shows, from both ends of a file; the ends of a
long session; and a session exchange by exchange, however long it is.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from chat_loop.sessions import legacy, marker
from chat_loop.sessions.dates import instant, local, used_in, used_of
from chat_loop.sessions.files import opened
from chat_loop.sessions.naming import first_words, name_of
from chat_loop.sessions.parser import BOM, Parsed, Reader, parse
from chat_loop.sessions.records import (
    EPOCH,
    ID_PATTERN,
    Entry,
    Header,
    Query,
    Seal,
    Session,
    SessionRow,
    State,
    Totals,
)
from chat_loop.values import Usage

LONGEST_RECORD = 8 << 20
"""Bytes of a record, and of a line, that are read exchange by exchange; the rest is left out."""
SHORT = 1 << 19
"""A file up to this many bytes is read whole rather than at its ends."""
_HEAD = 8192
_LONG_HEAD = 1 << 18
_TAIL = 1 << 16
_LONGEST_TAIL = 8 << 20
_WHOLE = 4 << 20
"""An unsealed file up to this many bytes is read whole for its numbers."""
_BUFFER = 1 << 16
_LARGEST_TIME = (1 << 63) - 1
_QUERY = b"\n" + marker.PREFIX + b"query "
_UNDO = marker.PREFIX + b"undo "


# The files of a folder.


class Stamp(NamedTuple):
    """A file that could be a session: when it last changed, in nanoseconds, its id, its size in
    bytes.
    """

    changed: int
    id: str
    size: int


def newest_first(directory: Path) -> list[Stamp]:
    """Return every file that could be a session, that which changed last first; ties by id.

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
                    found.append(Stamp(storable(status.st_mtime_ns), name[:-3], status.st_size))
    except FileNotFoundError:
        return []
    return sorted(found, reverse=True)


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
    """Return a file's time as it is kept and compared: of 64 bits, which a file system may
    exceed.
    """
    return min(max(nanoseconds, -_LARGEST_TIME), _LARGEST_TIME)


# One row, from both ends of a file.


def rows(directory: Path) -> list[SessionRow]:
    """Return the sessions of a folder, last used first, then those without a date. Raises
    OSError.
    """
    found = [row(directory / f"{stamp.id}.md") for stamp in newest_first(directory)]
    return sorted(
        found, key=lambda row: (instant(row.updated) or -_LARGEST_TIME, row.id), reverse=True
    )


def row(path: Path, *, quick: bool = False) -> SessionRow:
    """Return one file's row; an unreadable file has one too. `quick` reads no more than both ends
    of an unsealed file, and leaves its numbers out.
    """
    try:
        with opened(path) as (file, status):
            return _row(path, file, status.st_size, quick=quick)
    except OSError:
        return unreadable(path)


def row_in(data: bytes, path: Path, session: Session | None) -> SessionRow:
    """Return the same row from the bytes of the whole file and the session parsed from them."""
    return _row(path, io.BytesIO(data), len(data), parsed=session)


def unreadable(path: Path) -> SessionRow:
    """Return the row of a file that cannot be read."""
    return SessionRow(id=path.stem, path=path, state="foreign")


def _row(
    path: Path, file: BinaryIO, size: int, *, quick: bool = False, parsed: Session | None = None
) -> SessionRow:
    head = file.read(_HEAD)
    if not head.strip(b"\x00"):
        return SessionRow(id=path.stem, path=path, state="damaged" if head else "empty")
    if not head.removeprefix(BOM).startswith(marker.PREFIX + b"session"):
        return _foreign_row(path, head, file)
    tail = _read_at(file, max(0, size - _TAIL), _TAIL)
    seal = seal_in(tail)
    if seal is None and size <= _WHOLE and not quick:
        head = _read_at(file, 0)
    session = parse(head).session if parsed is None or len(head) < size else parsed
    told = session is not None and session.answered and first_words(session) != ""
    if not told and len(head) < min(size, _LONG_HEAD):
        # a long header, restoration or query stands before what tells it
        head = _read_at(file, 0, _LONG_HEAD)
        session = parse(head).session
    if session is None:
        return SessionRow(id=path.stem, path=path, state="damaged")
    return row_of(session, path, seal=seal, whole=size <= len(head), used=used_in(tail))


def _read_at(file: BinaryIO, start: int, length: int = -1) -> bytes:
    file.seek(start)
    return file.read(length) or b""


def _foreign_row(path: Path, head: bytes, file: BinaryIO) -> SessionRow:
    if legacy.is_legacy(head):
        session, _ = legacy.read(_read_at(file, 0), path)
        if session is not None:
            return replace(row_of(session, path), state="plain")
    state: State = "damaged" if b"\n<!-- chat:" in head else "foreign"
    return SessionRow(id=path.stem, path=path, state=state)


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
    """Return the seal's marker when it is the last line of a file that ends so."""
    last = tail.rstrip(b"\r\n").rpartition(b"\n")[2]
    found = marker.read(last) if last.startswith(marker.PREFIX) else None
    return found if found and found.kind == "sealed" else None


# The ends of a long session.


def read_ends(path: Path, last: int = 1) -> Session | None:
    """Read the two ends of a sealed session with a summary block: its entries are those before its
    second query, and at least the `last` exchanges and all that the block does not cover. Its
    totals are the seal's.

    None when the ends do not tell as much, or hold what the program does not write: then the whole
    file must be read. Raises OSError.
    """
    with opened(path) as (file, status):
        size = status.st_size
        if size <= SHORT:
            return None
        head = file.read(_LONG_HEAD)
        end = head.find(_QUERY, head.find(_QUERY) + 1)
        if head.count(_QUERY, 0, end + len(_QUERY)) < 2:
            return None
        length = _TAIL
        while length <= _LONGEST_TAIL and size - length > end:
            tail = _read_at(file, size - length, length)
            start = tail.find(_QUERY)
            if start >= 0:
                parsed = parse(head[: end + 1] + tail[start + 1 :])
                found = _with_totals(parsed, seal_in(tail))
                if found is None or _reaches(found, tail.count(_QUERY), max(1, last)):
                    return found
            length *= 4
    return None


def _with_totals(parsed: Parsed, seal: marker.Marker | None) -> Session | None:
    """Return what was read of a sealed session, with the totals that its seal tells."""
    session = parsed.session
    if session is None or session.seal is None or session.seal.summary is None or parsed.damage:
        return None
    queries = seal.number("queries") if seal else None
    tokens = seal.number("tokens") if seal else None
    if queries is None or tokens is None:
        return None
    return replace(session, counted=Totals(queries=queries, session=Usage(input=tokens)))


def _reaches(found: Session, queries: int, last: int) -> bool:
    """Return True when the last `queries` queries of the entries hold as many exchanges as are
    wanted, and all that the summary block does not cover.
    """
    assert found.seal is not None
    end = [entry.number for entry in found.entries if isinstance(entry, Query)][-queries:]
    standing = {exchange.query.number for exchange in found.exchanges}
    covers = found.seal.covers
    return len(standing.intersection(end)) >= last and (covers is None or end[0] <= covers + 1)


# Exchange by exchange.


class Pieces:
    """The entries of a transcript in groups: what stands before the first query, then a query with
    all that follows it.

    `header` and `seal` are there when the last group was given; `size` and `changed` are the file's
    when it was opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: Header | None = None
        self.seal: Seal | None = None
        self.size = self.changed = 0

    def __iter__(self) -> Iterator[tuple[Entry, ...]]:
        """Read the file. Raises OSError."""
        with opened(self.path, _BUFFER) as (file, status):
            self.size, self.changed = status.st_size, storable(status.st_mtime_ns)
            reader = _GroupReader()
            number, ended = 0, True
            while line := file.readline(LONGEST_RECORD):
                number += 1
                ended = line.endswith(b"\n")
                while not ended and len(line) == LONGEST_RECORD:  # the rest of a line is left out
                    ended = (rest := file.readline(LONGEST_RECORD)).endswith(b"\n")
                    if len(rest) < LONGEST_RECORD:
                        break
                reader.take(number, line[:-1] if line.endswith(b"\n") else line)
                if reader.complete:
                    self.header = reader.header
                    yield tuple(reader.complete)
                    reader.complete = []
            reader.finish(ends_with_newline=ended)
            self.header, self.seal = reader.header, reader.seal
            for group in (reader.complete, reader.entries):
                if group:
                    yield tuple(group)


class _GroupReader(Reader):
    """A reader whose entries are taken away when the next query begins."""

    def __init__(self) -> None:
        super().__init__()
        self.complete: list[Entry] = []
        self._held = 0

    def take(self, number: int, line: bytes) -> None:
        self._held = 0 if self.open is None else self._held + len(line) + 1
        if self._held <= LONGEST_RECORD or line.startswith(b"<!-- "):
            super().take(number, line)

    def add(self, entry: Entry) -> None:
        super().add(entry)
        if isinstance(entry, Query) and len(self.entries) > 1:
            self.complete = self.entries[:-1]
            self.entries = [entry]
            self.damage.clear()


def undone(path: Path) -> frozenset[int]:
    """Return the numbers of the queries that a transcript says were undone. Raises OSError."""
    numbers = set()
    with opened(path, _BUFFER) as (file, _):
        while line := file.readline(LONGEST_RECORD):
            if line.startswith(_UNDO) and (found := marker.read(line)) is not None:
                numbers.add(found.count("n"))
    return frozenset(numbers)
