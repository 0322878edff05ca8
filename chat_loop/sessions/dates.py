"""The date of the last use of a session (pure), from its records: copies, restores and sync tools
change the times of files.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from chat_loop.sessions import marker
from chat_loop.sessions.parser import KINDS
from chat_loop.sessions.records import EPOCH, Entry, Name, Session, Tag, Untag

_MARKER = b"\n" + marker.PREFIX
_SAID = KINDS - {"name", "tag", "untag"}
_MICROSECOND = timedelta(microseconds=1)


def used_at(entry: Entry) -> datetime | None:
    """Return the date of a record of the conversation; a new name or tag is no use of it."""
    return None if isinstance(entry, Name | Tag | Untag) or entry.at == EPOCH else entry.at


def used_of(session: Session) -> datetime | None:
    """Return the date of the last record of a session that has one."""
    dates = (date for entry in reversed(session.entries) if (date := used_at(entry)) is not None)
    sealed = session.seal.at if session.seal is not None else EPOCH
    rest = (date for date in (sealed, session.header.created) if date != EPOCH)
    return next(dates, next(rest, None))


def used_in(tail: bytes) -> datetime | None:
    """Return the same from the end of a transcript, None when that has no date."""
    sealed, end = None, len(tail)
    while (end := tail.rfind(_MARKER, 0, end)) >= 0:
        line = tail[end + 1 : (tail.find(b"\n", end + 1) + 1 or len(tail) + 1) - 1]
        found = marker.read(line)
        if found is None or (date := found.time("at")) is None or date == EPOCH:
            continue
        if found.kind in _SAID:
            return date
        sealed = sealed or (date if found.kind == "sealed" else None)
    return sealed


def instant(date: datetime | None) -> int | None:
    """Return microseconds since 1970, None for what is no date of a session."""
    if date is None:
        return None
    try:
        found = (date.astimezone(UTC) - EPOCH) // _MICROSECOND
    except (OverflowError, OSError, ValueError):
        return None
    return found or None


def moment(microseconds: int | None) -> datetime | None:
    """Return a date in the local zone."""
    if microseconds is None:
        return None
    try:
        return (EPOCH + timedelta(microseconds=microseconds)).astimezone()
    except (OverflowError, OSError, ValueError):
        return None


def local(date: datetime | None) -> datetime | None:
    """Return a date in the local zone, None for what is no date of a session."""
    return moment(instant(date))
