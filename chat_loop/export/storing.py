"""Storing sessions that come from elsewhere: each as a new file, and nothing that is there is ever
changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import SaveError
from chat_loop.sessions.files import Files, read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Entry, Restoration, Session
from chat_loop.sessions.writer import render


class Stored(Struct, frozen=True):
    """What became of one session: the id it had and the one it has here; not `written` when it was
    here already.
    """

    was: str
    id: str
    path: Path
    written: bool


def store(
    directory: Path,
    sessions: Sequence[Session],
    files: Files,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> list[Stored]:
    """Write sessions whose ids are ids, each once; the result is in their order.

    One that is there with the same content is not written again. An id that another session has
    gets a number, and the links to it from the other sessions given follow; links to sessions that
    are not among them stay. A file's time is that of the session's last event, from 1970 to `now`.
    A crash leaves every file whole, or empty. Raises SaveError; what was written until then stays.
    """
    limit = now().timestamp()
    renamed: dict[str, str] = {}
    stored: dict[str, Stored] = {}
    try:
        files.make_directory(directory)
    except OSError as error:
        raise _unwritten(directory, error) from error
    for session in _parents_first(sessions):
        was = session.header.id
        linked = _linked(session, renamed)
        stored[was] = _place(directory, linked, files, max(0.0, min(limit, _last(session, limit))))
        renamed[was] = stored[was].id
    return [stored[session.header.id] for session in sessions]


def _parents_first(sessions: Sequence[Session]) -> Iterator[Session]:
    """Every session after its parents, else in the order given; a circle is entered somewhere."""
    waiting = {session.header.id: session for session in sessions}
    for first in sessions:
        stack = [first.header.id]
        opened: set[str] = set()
        while stack:
            session = waiting.get(stack[-1])
            before = (
                []
                if session is None or stack[-1] in opened
                else [one for one in _parents(session) if one in waiting]
            )
            opened.add(stack[-1])
            if before := [one for one in before if one not in opened]:
                stack += before
                continue
            found = waiting.pop(stack.pop(), None)
            if found is not None:
                yield found


def _parents(session: Session) -> tuple[str, ...]:
    given = session.restoration
    return session.header.parent, given.merged if given is not None else ""


def _linked(session: Session, renamed: Mapping[str, str]) -> Session:
    def entry_linked(entry: Entry) -> Entry:
        if not isinstance(entry, Restoration):
            return entry
        return replace(
            entry,
            grandparent=renamed.get(entry.grandparent, entry.grandparent),
            merged=renamed.get(entry.merged, entry.merged),
        )

    header = replace(
        session.header, parent=renamed.get(session.header.parent, session.header.parent)
    )
    return replace(
        session, header=header, entries=tuple(entry_linked(entry) for entry in session.entries)
    )


def _place(directory: Path, session: Session, files: Files, changed: float) -> Stored:
    was, count = session.header.id, 1
    while True:
        path = directory / f"{session.header.id}.md"
        try:
            os.close(files.create(path))
            break
        except FileExistsError:
            if _holds(path, session):
                return Stored(was, path.stem, path, written=False)
        except OSError as error:
            raise _unwritten(path, error) from error
        count += 1
        suffix = f"_{count}"
        session = replace(
            session, header=replace(session.header, id=was[: 64 - len(suffix)] + suffix)
        )
    try:
        files.replace(path, render(session))  # in the place of the empty file that was just made
        os.utime(path, (changed, changed))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _unwritten(path, error) from error
    return Stored(was, path.stem, path, written=True)


def _holds(path: Path, session: Session) -> bool:
    """Whether the file is this session, in our format or in another program's."""
    try:
        data = read_part(path)[0] if path.is_file() else b""
    except OSError:
        return False
    found = parse(data).session
    if found is None:
        from chat_loop.sessions import legacy  # only another program's file needs it

        found, _ = legacy.read(data, path)
    return (
        found is not None and replace(found, header=replace(found.header, id=path.stem)) == session
    )


def _last(session: Session, otherwise: float) -> float:
    """When the session's last event was, in seconds of the epoch; `otherwise` where the times tell
    nothing usable.
    """
    times = [session.header.created, *(entry.at for entry in session.entries[-1:])]
    times += [session.seal.at] if session.seal is not None else []
    known = []
    for time in times:
        try:
            known.append(time.timestamp())
        except (ValueError, OverflowError, OSError):
            continue
    return max(known, default=otherwise)


def _unwritten(path: Path, error: OSError) -> SaveError:
    reason = (error.strerror or str(error)).lower()
    return SaveError(f"{path} cannot be written: {reason}.", "What was imported until then stays.")
