"""The date of the last use of a session (pure), from its records: copies, restores and sync tools
change the times of files.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from chat_loop.sessions import marker
from chat_loop.sessions.parser import KINDS
from chat_loop.sessions.records import EPOCH, Name, Session, Tag, Untag

_MARKER = b"\n" + marker.PREFIX
_SAID = KINDS - {"name", "tag", "untag"}
"""The records that are a use of the session: a new name or tag is none."""


def used_of(session: Session) -> datetime | None:
    """Return the date of the last record of a session that has one."""
    said = [entry.at for entry in session.entries if not isinstance(entry, Name | Tag | Untag)]
    sealed = session.seal.at if session.seal is not None else EPOCH
    dates = (*reversed(said), sealed, session.header.created)
    return next((date for date in dates if date != EPOCH), None)


def used_in(tail: bytes) -> datetime | None:
    """Return the same from the end of a transcript, None when that has no date."""
    sealed, end = None, len(tail)
    while (end := tail.rfind(_MARKER, 0, end)) >= 0:
        stop = tail.find(b"\n", end + 1)
        found = marker.read(tail[end + 1 : stop if stop >= 0 else len(tail)])
        date = found.time("at") if found is not None else None
        if found is None or date is None or date == EPOCH:
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
        return (date.astimezone(UTC) - EPOCH) // timedelta(microseconds=1) or None
    except (OverflowError, OSError, ValueError):
        return None


def moment(microseconds: int | None) -> datetime | None:
    """Return a date in the local zone."""
    if microseconds is None:
        return None
    try:
        return (EPOCH + timedelta(microseconds=microseconds)).astimezone()
    except (OverflowError, OSError, ValueError):
        return None
