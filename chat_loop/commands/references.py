"""Finds a session by its number in a list, its id, `last`, or words of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from chat_loop.errors import SessionNotFound
from chat_loop.library.library import Library, SessionFilter
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.partial import newest_first
from chat_loop.sessions.records import SessionRow

PAGE = 20  # sessions that are listed at a time


class AmbiguousSession(SessionNotFound):
    """Several sessions match: `rows` are the first ones, `more` is the number of the others."""

    def __init__(self, reference: str, rows: Sequence[SessionRow], more: int) -> None:
        text = f"{len(rows) + more} sessions fit “{reference[:40]}”."
        super().__init__(text, "Say which one by its number.")
        self.rows, self.more = rows, more


def require_file(path: Path, library: Library) -> None:
    """Raise SessionNotFound when only a team's library has the session, not this folder."""
    if library.database is None or path.is_file():
        return
    row = library.rows_of([path.stem]).get(path.stem)
    if row is not None:
        whose = encode_line(row.owner) if row.owner else "another machine of yours"
        message = f"The file of session {path.stem} is not in this folder; {whose} has it."
        hint = "Share the files through an object store: docs/stores.md. show prints its words."
        raise SessionNotFound(message, hint)


def find_session(
    sessions: SessionManager,
    library: Library,
    reference: str,
    listed: Callable[[], Sequence[str]],
    here: str = "",
) -> Path:
    """Return the file of the session that `reference` names. Raises SessionNotFound.

    `listed` returns the ids of the list that numbers refer to. `here` is the open session.
    """
    if reference in ("last", "current"):
        identity = sessions.current()
        if not identity or identity == here or not sessions.session_file(identity).is_file():
            rows, _ = library.rows(PAGE if library.database else 2, here=here)
            own = (row for row in rows if not row.current and not row.owner)
            identity = next((row.id for row in own if row.path.is_file()), "")
        if not identity:
            hint = "Send a message to start one."
            raise SessionNotFound("There is no session to continue.", hint)
        return sessions.session_file(identity)
    if reference.isascii() and reference.isdigit():
        ids, number = listed(), int(reference[:10])
        if 1 <= number <= len(ids):
            return sessions.session_file(ids[number - 1])
        numbers = f": the numbers go from 1 to {len(ids)}" if ids else ""
        raise SessionNotFound(f"No session {reference[:40]}{numbers}.", "sessions lists them.")
    rows, more = [], 0
    if reference.strip():
        ids = [stamp.id for stamp in newest_first(sessions.directory)]
        ids = [identity for identity in ids if identity.startswith(reference)]
        if reference in ids or len(ids) == 1:
            return sessions.session_file(reference if reference in ids else ids[0])
        rows, more = library.rows(PAGE, wanted=SessionFilter(words=reference), here=here)
        rows = [row for row in rows if not row.current]
    if not rows:
        name = encode_line(reference[:40])
        raise SessionNotFound(f"No session named {name}.", "sessions lists them.")
    if len(rows) > 1:
        raise AmbiguousSession(reference, rows, more)
    return rows[0].path
