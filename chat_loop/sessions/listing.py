"""What the sessions folder holds, read from the files' beginnings and ends only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from chat_loop.sessions import marker
from chat_loop.sessions.files import read_part
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.parse import parse
from chat_loop.sessions.records import ID_PATTERN
from chat_loop.sessions.row import SessionRow, State

_HEAD = 8192
_LONG_HEAD = 1 << 18
_TAIL = 2048
_WHOLE = 4 << 20
"""An unsealed file up to this many bytes is read whole for its numbers."""


def newest_first(directory: Path) -> list[tuple[float, str]]:
    """(modification time, id) of every file that could be a session, newest first; ties by id."""
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                stem, dot, suffix = entry.name.rpartition(".")
                if dot and suffix == "md" and ID_PATTERN.fullmatch(stem):
                    found.append((entry.stat(follow_symlinks=False).st_mtime, stem))
    except FileNotFoundError:
        return []
    found.sort(reverse=True)
    return found


def rows(directory: Path, limit: int | None = None, without: str = "") -> Iterator[SessionRow]:
    """The newest sessions, the one with the id `without` left out."""
    shown = 0
    for changed, identity in newest_first(directory):
        if shown == limit:
            return
        if identity != without:
            shown += 1
            yield row(directory / f"{identity}.md", datetime.fromtimestamp(changed, UTC).astimezone())


def row(path: Path, updated: datetime) -> SessionRow:
    """Read one file's row. An unreadable file has a row too."""
    try:
        head, tail, status = read_part(path, _HEAD, _TAIL)
    except OSError:
        return SessionRow(id=path.stem, path=path, state="foreign", updated=updated)
    if not head.strip(b"\x00"):
        return SessionRow(id=path.stem, path=path, state="empty" if not head else "damaged", updated=updated)
    if not head.startswith(marker.PREFIX + b"session"):
        return _other(path, head, updated)
    seal = _seal(tail)
    if seal is None and status.st_size <= _WHOLE:
        head, _, _ = read_part(path)
    parsed = parse(head)
    if parsed.session is not None and not name_of(parsed.session) and len(head) < min(status.st_size, _LONG_HEAD):
        head, _, _ = read_part(path, _LONG_HEAD)  # a long restoration stands before the first query
        parsed = parse(head)
    if parsed.session is None:
        return SessionRow(id=path.stem, path=path, state="damaged", updated=updated)
    session, totals = parsed.session, parsed.session.totals
    whole = status.st_size <= len(head)
    return SessionRow(
        id=path.stem,
        path=path,
        state="sealed" if seal else "unsealed",
        updated=updated,
        created=session.header.created,
        agent=session.header.agent,
        parent=session.header.parent,
        queries=seal.number("queries") if seal else totals.queries if whole else None,
        tokens=seal.number("tokens") if seal else totals.combined if whole else None,
        merged=session.restoration.merged if session.restoration else "",
        name=name_of(session),
        tags=session.header.tags if seal else session.tags,
        depth=session.depth if session.restoration else 2 if session.header.parent else 1,
        compacted=seal is not None and seal.values.get("reason") == "compact",
    )


def _seal(tail: bytes) -> marker.Marker | None:
    last = tail.rstrip(b"\n").rpartition(b"\n")[2]
    found = marker.read(last) if last.startswith(marker.PREFIX) else None
    return found if found and found.kind == "sealed" else None


def _other(path: Path, head: bytes, updated: datetime) -> SessionRow:
    from chat_loop.sessions.plain import is_plain, read_plain  # only folders that hold such files pay for it

    if is_plain(head):
        session = read_plain(read_part(path)[0])
        return SessionRow(
            id=path.stem,
            path=path,
            state="plain",
            updated=updated,
            agent=session.agent,
            queries=len(session.exchanges),
            tokens=sum((exchange.input or 0) + (exchange.output or 0) for exchange in session.exchanges),
            name=session.exchanges[0].query.strip().partition("\n")[0] if session.exchanges else "",
        )
    state: State = "damaged" if b"\n<!-- chat:" in head else "foreign"
    return SessionRow(id=path.stem, path=path, state=state, updated=updated)
