"""Finds a session by its number in a list, its id, `last`, or words of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from chat_loop.characters import exact_line
from chat_loop.display.conversation_rows import name_text
from chat_loop.display.status import home_text
from chat_loop.errors import SessionNotFound
from chat_loop.library.filters import SessionFilter
from chat_loop.library.library import Library
from chat_loop.library.shared import Answer
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.pointers import Recent, pointers_of
from chat_loop.sessions.records import SessionRow
from chat_loop.sessions.rows import newest_first
from chat_loop.values import when_text

PAGE = 20  # sessions that are listed at a time
NEWEST = ("last", "current")
"""The newest session of this project. To `last`, runs of `-p` count only if there is no chat."""


class AmbiguousSession(SessionNotFound):
    """Several sessions match: `rows` are the first ones, `more` is the number of the others."""

    def __init__(self, reference: str, rows: Sequence[SessionRow], more: int) -> None:
        text = f"{len(rows) + more} sessions match “{reference[:40]}”."
        super().__init__(text, "Choose one by number.")
        self.rows = rows
        self.more = more


def require_file(path: Path, library: Library) -> Answer[Path]:
    """Return the path. Raise SessionNotFound when only a team's library has the session, not this
    folder.
    """
    if library.shared is None or path.is_file():
        return Answer(path)
    rows, warning = library.rows_of([path.stem])
    row = rows.get(path.stem)
    if row is not None:
        whose = "another machine of yours"
        if row.owner:
            whose = encode_line(row.owner)
        message = f"The file of session {path.stem} is not in this folder; {whose} has it."
        hint = "Share the files through an object store: docs/stores.md. show prints its words."
        raise SessionNotFound(message, hint)
    return Answer(path, warning)


def find_last(sessions: SessionManager, here: str = "", *, chats: bool = False) -> Recent:
    """Return the newest session of this project, or else of any, except the open one with the id
    `here`. With `chats`, runs of `-p` count only where there is no chat. If no pointer names one of
    this project, the index is read once. Raises SessionError.
    """
    pointers = sessions.pointers
    before = pointers.read()
    found = pointers.recent(before, chats=chats)
    if found is None or not found.is_here or found.row.id == here:
        with closing(Library(sessions.directory)) as library:
            (rows, _), _ = library.rows(everything=True, here=here)
        every = pointers.remake(rows)
        if here:
            every = pointers_of(row for row in rows if not row.current)
        found = pointers.recent(every, chats=chats) or pointers.recent(every)
    unreadable = pointers.unreadable(before)
    if found is None:
        reason = ""
        if unreadable:
            reason = f" {unreadable} cannot be read."
        text = f"There is no session to continue.{reason}"
        raise SessionNotFound(text, "Send a message to start one.")
    return replace(found, unreadable=unreadable)


def unreadable_text(found: Recent) -> str:
    """Return a sentence about a newer session that cannot be read."""
    return f"Session {found.unreadable} cannot be read: the one before it is continued."


def elsewhere_text(found: Recent, sessions: SessionManager) -> str:
    """Return sentences that this project has no session, and which one another project has."""
    name = exact_line(name_text(found.row, 60))
    when = when_text(found.row.updated, sessions.now())
    project = exact_line(home_text(found.project))
    here = exact_line(home_text(sessions.pointers.here)) or "this folder"
    of = ", of no project"
    if project:
        of = f", of {project}"
    return f"There is no conversation of {here} yet. The newest one is “{name}” ({when}){of}."


def find_session(
    sessions: SessionManager,
    library: Library,
    reference: str,
    listed: Callable[[], Answer[list[str]]],
    here: str = "",
) -> Answer[Path]:
    """Return the file of the session that `reference` names. Raises SessionNotFound.

    `listed` returns the ids of the list that numbers refer to. `here` is the open session.
    """
    if reference in NEWEST:
        return Answer(find_last(sessions, here, chats=reference == "last").row.path)
    if reference.isascii() and reference.isdigit():
        ids, warning = listed()
        number = int(reference[:10])
        if 1 <= number <= len(ids):
            return Answer(sessions.session_file(ids[number - 1]), warning)
        numbers = ""
        if ids:
            numbers = f": the numbers go from 1 to {len(ids)}"
        raise SessionNotFound(f"No session {reference[:40]}{numbers}.", "sessions lists them.")
    rows: list[SessionRow] = []
    more = 0
    warning = ""
    if reference.strip():
        ids = [stamp.id for stamp in newest_first(sessions.directory)]
        ids = [identity for identity in ids if identity.startswith(reference)]
        if reference in ids or len(ids) == 1:
            return Answer(sessions.session_file(reference if reference in ids else ids[0]))
        wanted = SessionFilter(words=reference)
        (rows, more), warning = library.rows(PAGE, wanted=wanted, here=here)
        rows = [row for row in rows if not row.current]
    if not rows:
        name = encode_line(reference[:40])
        raise SessionNotFound(f"No session named {name}.", "sessions lists them.")
    if len(rows) > 1:
        raise AmbiguousSession(reference, rows, more)
    return Answer(rows[0].path, warning)
