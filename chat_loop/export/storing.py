"""Imported sessions as new files of a sessions folder. Nothing that is there is changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import SaveError, os_reason
from chat_loop.sessions import legacy
from chat_loop.sessions.files import Files, read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Restoration, Session
from chat_loop.sessions.writer import render


class Stored(Struct, frozen=True):
    """A session in its new place: the id it had, and the one it has here."""

    was: str
    id: str
    path: Path
    written: bool
    """False for a session that was there already."""


def store(
    directory: Path,
    sessions: Sequence[Session],
    files: Files,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> list[Stored]:
    """Write sessions with valid, unique ids; the result is in their order.

    A session that is there with the same content is not written again. An id that another session
    has gets a number, and the links from the other sessions given follow; links to sessions that
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
        changed = max(0.0, min(limit, _last_event(session, limit)))
        stored[was] = _store(directory, _with_links(session, renamed), files, changed)
        renamed[was] = stored[was].id
    return [stored[session.header.id] for session in sessions]


def _parents_first(sessions: Sequence[Session]) -> Iterable[Session]:
    """Return every session after its parents; in the order given when merges form a circle."""
    by_id = {session.header.id: session for session in sessions}
    graph: dict[str, list[str]] = {}
    for identity, session in by_id.items():
        given = session.restoration
        parents = session.header.parent, given.merged if given is not None else ""
        graph[identity] = [parent for parent in parents if parent in by_id]
    try:
        return [by_id[identity] for identity in TopologicalSorter(graph).static_order()]
    except CycleError:
        return sessions


def _with_links(session: Session, renamed: Mapping[str, str]) -> Session:
    def new(identity: str) -> str:
        return renamed.get(identity, identity)

    entries = tuple(
        replace(entry, grandparent=new(entry.grandparent), merged=new(entry.merged))
        if isinstance(entry, Restoration)
        else entry
        for entry in session.entries
    )
    header = replace(session.header, parent=new(session.header.parent))
    return replace(session, header=header, entries=entries)


def _store(directory: Path, session: Session, files: Files, changed: float) -> Stored:
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
        identity = was[: 64 - len(suffix)] + suffix
        session = replace(session, header=replace(session.header, id=identity))
    try:
        files.replace(path, render(session))  # in the place of the empty file that was just made
        os.utime(path, (changed, changed))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _unwritten(path, error) from error
    return Stored(was, path.stem, path, written=True)


def _holds(path: Path, session: Session) -> bool:
    """Return True when the file is this session, in our format or in another program's."""
    try:
        data = read_part(path)[0] if path.is_file() else b""
    except OSError:
        return False
    found = parse(data).session
    if found is None:
        found, _ = legacy.read(data, path)
    if found is None:
        return False
    return replace(found, header=replace(found.header, id=path.stem)) == session


def _last_event(session: Session, otherwise: float) -> float:
    """Return when the session's last event was, in seconds of the epoch.

    It is `otherwise` when no time in the session can be used.
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
    return SaveError(
        f"{path} cannot be written: {os_reason(error)}.", "What was imported until then stays."
    )
