"""The rows of listings, read from the beginnings and the ends of transcripts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from itertools import filterfalse
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from chat_loop.sessions import legacy, marker, records
from chat_loop.sessions.files import open_regular
from chat_loop.sessions.naming import first_words, name_of
from chat_loop.sessions.parser import BOM, parse
from chat_loop.sessions.records import (
    EPOCH,
    ID_PATTERN,
    Exchange,
    Session,
    SessionRow,
    Undo,
)
from chat_loop.tokens import estimate

_HEAD = 8192
_LONG_HEAD = 1 << 18
_TAIL = 1 << 16
_WHOLE = 4 << 20  # an unsealed file up to this many bytes is read whole for its totals
_LARGEST_TIME = (1 << 63) - 1
_FILE = re.compile(rf"{ID_PATTERN.pattern}\.md")
_MARKER = b"\n" + marker.PREFIX
_SAID = set(marker.KINDS) - {"name", "tag", "untag"}  # the records that count as use of the session


class Stamp(NamedTuple):
    """A file that could be a session: its time of change in nanoseconds, id, and size in bytes."""

    changed: int
    id: str
    size: int


Stamps = Sequence[tuple[int, str, int]]
"""The files of a folder as they were at one time, as plain tuples: `Seen.stamps`."""


class Stale(NamedTuple):
    """The new and changed files, last changed first, and the ids whose files are gone."""

    files: list[Stamp]
    gone: set[str]


def newest_first(directory: Path) -> list[Stamp]:
    """Return every file that could be a session, the last changed first. Raises OSError."""
    return [*map(Stamp._make, sorted(stamps(directory), reverse=True))]


def stale_files(files: Stamps, stored: Iterable[tuple[int, str, int]]) -> Stale:
    """Compare files with those that an index has stored."""
    current = {*files}
    indexed = {*stored}
    changed = [*map(Stamp._make, sorted(current - indexed, reverse=True))]
    gone = {identity for _, identity, _ in indexed - current}
    return Stale(changed, gone.difference(stamp.id for stamp in changed))


class Seen(NamedTuple):
    """The files of a folder that could be sessions, as unsorted plain tuples, which is faster for
    ten thousand files; and the names of the other markdown files.
    """

    stamps: list[tuple[int, str, int]]
    misnamed: list[str]


def stamps(directory: Path) -> list[tuple[int, str, int]]:
    """Return every file that could be a session, unsorted. Raises OSError."""
    return look(directory).stamps


def look(directory: Path) -> Seen:
    """Return what a folder has. Raises OSError."""
    found = []
    misnamed = []
    with ExitStack() as stack, suppress(FileNotFoundError):
        folder = os.open(directory, os.O_RDONLY)  # so that each file is looked up by its name alone
        stack.callback(os.close, folder)
        for entry in stack.enter_context(os.scandir(folder)):
            if _FILE.fullmatch(entry.name):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # it was just deleted or renamed
                    continue
                changed = status.st_mtime_ns
                if not -_LARGEST_TIME <= changed <= _LARGEST_TIME:
                    changed = clamp_time(changed)
                found.append((changed, entry.name[:-3], status.st_size))
            elif entry.name.endswith(".md"):
                misnamed.append(entry.name)
    return Seen(found, sorted(misnamed))


def misnamed_files(directory: Path) -> list[str]:
    """Return the names of markdown files that are not session ids, such as conflict copies."""
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(directory)  # noqa: PTH208 - a Path for each of many is slow
    return sorted(name for name in filterfalse(_FILE.fullmatch, names) if name.endswith(".md"))


def clamp_time(nanoseconds: int) -> int:
    """Limit a file's time to 64 bits, which a file system may exceed."""
    return min(max(nanoseconds, -_LARGEST_TIME), _LARGEST_TIME)


def read_rows(directory: Path) -> list[SessionRow]:
    """Return the sessions of a folder, most recently used first, undated last. Raises OSError."""
    files = [read_row(directory / f"{stamp.id}.md") for stamp in newest_first(directory)]
    return sorted(files, key=lambda row: (row.updated or EPOCH, row.id), reverse=True)


def read_row(path: Path, *, quick: bool = False) -> SessionRow:
    """Return the row of a file, readable or not. If `quick`, an open session's row lacks totals."""
    state: records.State = "foreign"
    with suppress(OSError), open_regular(path) as (file, status):
        head = file.read(_HEAD)
        size = status.st_size
        if not head:
            state = "empty"
        elif not head.strip(b"\x00"):
            state = "damaged"
        elif is_transcript(head):
            state = "damaged"
            tail = read_at(file, max(0, size - _TAIL), _TAIL)
            # a long header, restoration or query may precede the part that is needed
            lengths = [_HEAD, _LONG_HEAD]
            if seal_in(tail) is None and size <= _WHOLE and not quick:
                lengths = [_WHOLE]
            for length in lengths:
                head = read_at(file, 0, length)
                session = parse(head).session
                if session is not None and session.answered and first_words(session):
                    break
            if session is not None:
                return row_of(session, path, tail, whole=size <= len(head))
        elif legacy.is_legacy(head):
            session, _ = legacy.parse(read_at(file, 0), path.stem)
            return replace(row_of(session, path), state="plain")
        elif _MARKER in head:
            state = "damaged"
    return SessionRow(id=path.stem, folder=path.parent, state=state)


def is_transcript(head: bytes) -> bool:
    """Return True when a file with this beginning is one of ours."""
    return head.removeprefix(BOM).startswith(marker.PREFIX + b"session")


def read_at(file: BinaryIO, start: int, length: int = -1) -> bytes:
    """Return `length` bytes (-1: all) from a position in a file."""
    file.seek(start)
    return file.read(length) or b""


def seal_in(tail: bytes) -> marker.Marker | None:
    """Return the seal's marker when it is the last line of a file that ends with `tail`."""
    last = marker.read(tail.rstrip(b"\r\n").rpartition(b"\n")[2])
    return last if last and last.kind == "sealed" else None


def row_of(session: Session, path: Path, tail: bytes = b"", *, whole: bool = True) -> SessionRow:
    """Return the row of a session that was read `whole`, or from its beginning and its `tail`."""
    seal = seal_in(tail)
    header = session.header
    totals = session.totals
    restoration = session.restoration
    sealed = seal is not None or session.seal is not None
    reason = ""
    queries = None
    tokens = None
    if seal is not None:
        reason = seal.word("reason")
        queries = seal.number("queries")
        tokens = seal.number("tokens")
    elif whole:
        queries = totals.queries
        tokens = totals.combined
    if seal is None and session.seal is not None:
        reason = session.seal.reason
    depth = session.depth
    merged = ""
    merged_until = ""
    if restoration is not None:
        merged = restoration.merged
        merged_until = restoration.merged_until
    elif header.parent:
        depth = 2
    message_tokens = None
    spent = None
    if whole:
        message_tokens = sum(map(spoken_tokens, session.exchanges))
        spent = tuple(session.usage_of_models.items())
    return SessionRow(
        id=path.stem,
        folder=path.parent,
        state="sealed" if sealed else "unsealed",
        updated=_last_date(session, tail),
        created=header.created if header.created != EPOCH else None,
        agent=header.agent,
        project=header.project,
        git_branch=header.git_branch,
        parent=header.parent,
        merged=merged,
        queries=queries,
        tokens=tokens,
        said=message_tokens,
        name=name_of(session),
        tags=header.tags if sealed else session.tags,
        depth=depth,
        compacted=reason == "compact",
        until=_until(session),
        merged_until=merged_until,
        words=first_words(session),
        mode=header.mode,
        answered=session.answered or not whole,
        bare=whole and session.is_bare,
        spent=spent,
    )


def _last_date(session: Session, tail: bytes) -> datetime | None:
    """Return the date of the last use of a session, in local time, or None if it has none."""
    used = last_use(tail)
    if used is None:
        dates = [session.header.created, *(entry.at for entry in session.entries)]
        used = next((date for date in reversed(dates) if date != EPOCH), None)
    if used is None:
        return None
    try:
        return used.astimezone()
    except (OverflowError, OSError, ValueError):  # not a possible date of a session
        return None


def _until(session: Session) -> str:
    """Return the last reference of its parent from which a session goes on, or an empty text for
    all. One in which the user has only undone what it carries leaves its parent before that.
    """
    prefix = f"{session.depth - 1}."
    undone = []
    for entry in session.changed.values():
        if isinstance(entry, Undo) and entry.ref.startswith(prefix):
            undone.append(int(entry.ref.removeprefix(prefix)))
    first = min(undone, default=0)
    if first > 1 and not session.totals.queries:
        return f"{prefix}{first - 1}"
    return session.until


def spoken_tokens(exchange: Exchange) -> int:
    """Return the estimated tokens of the message and the reply of an exchange."""
    tokens = estimate(exchange.query.text)
    if exchange.reply is not None:
        tokens += estimate(exchange.reply.text)
    return tokens


def last_use(tail: bytes) -> datetime | None:
    """Return the date of the last use in a transcript's end, or that of the seal, or None."""
    sealed = None
    end = len(tail)
    while (end := tail.rfind(_MARKER, 0, end)) >= 0:
        stop = tail.find(b"\n", end + 1)
        if stop < 0:
            stop = len(tail)
        mark = marker.read(tail[end + 1 : stop])
        if mark is None:
            continue
        date = mark.time("at")
        if date is None or date == EPOCH:
            continue
        if mark.kind in _SAID:
            return date
        if mark.kind == "sealed" and sealed is None:
            sealed = date
    return sealed
