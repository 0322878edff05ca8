"""What a user does with stored sessions: name and tag them, move them to the trash and back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from chat_loop.errors import (
    Locked,
    SaveError,
    SessionError,
    SessionLocked,
    SessionNotFound,
    os_reason,
)
from chat_loop.sessions import pointers, records, rows
from chat_loop.sessions.edits import change_metadata
from chat_loop.sessions.files import TRASH, lock_session, open_folder, take_lock
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.naming import validate_name, validate_tag
from chat_loop.values import plural

SETTLED_SECONDS = 5  # a file that changed later than that may not be whole yet
_LEFTOVERS = (
    ".*.md.*.tmp",
    f"{TRASH}/.*.md.*.tmp",
    f".{pointers.FILE}.*.tmp",
    f"{records.IMAGE_FOLDER}/.*.tmp",
)


def set_name_and_tags(
    sessions: SessionManager,
    loaded: LoadedSession,
    *,
    name: str | None = None,
    tags: Sequence[str] | None = None,
) -> None:
    """Name or tag a stored session; None changes nothing. Raises UsageError, SessionError."""
    if name is not None:
        name = validate_name(name)
    if tags is not None:
        tags = tuple(dict.fromkeys(map(validate_tag, tags)))
    now = sessions.now()
    sessions.edit(loaded, lambda data, parsed: change_metadata(data, parsed, now, name, tags))


def move_to_trash(sessions: SessionManager, *paths: Path) -> str:
    """Move files to the trash, or none while one is open elsewhere; return a sentence that says so.
    Raises SessionError.
    """
    ids = []
    try:
        with ExitStack() as locks:
            for path in paths:
                locks.enter_context(closing(lock_session(path.parent, path.stem)))
            for path in paths:
                gone = free_in_trash(sessions, path.stem)
                sessions.files.move(path, gone)
                ids.append(gone.stem)
    except FileNotFoundError as error:
        raise SessionNotFound(f"Session {path.stem} is gone.") from error
    except OSError as error:
        raise SaveError(f"{path} cannot be moved: {os_reason(error)}.") from error
    moved = path.stem
    if len(paths) > 1:
        moved = f"A conversation of {plural(len(paths), 'session')}"
    return f"{moved} is in the trash; chat-loop sessions restore {' '.join(ids)} restores it."


def free_in_trash(sessions: SessionManager, identity: str) -> Path:
    """Return a free path in the trash, and create that folder. Raises OSError."""
    folder = sessions.directory / TRASH
    sessions.files.make_directory(folder)
    targets = (folder / f"{name}.md" for name in records.free_ids(identity))
    return next(file for file in targets if not os.path.lexists(file))


def restore(sessions: SessionManager, identity: str) -> Path:
    """Move a session out of the trash. Raises SessionNotFound and SaveError."""
    source = sessions.directory / TRASH / f"{identity}.md"
    target = sessions.session_file(identity)
    is_id = records.ID_PATTERN.fullmatch(identity)
    if not (is_id and (source.is_file() or source.is_symlink())):
        message = f"No session named {identity[:80]} in the trash."
        raise SessionNotFound(message, "chat-loop sessions trash lists what is.")
    if os.path.lexists(target):
        raise SaveError(f"Session {identity} exists already.", "Rename one of the files.")
    try:
        sessions.files.move(source, target)
    except OSError as error:
        raise SaveError(f"{source} cannot be moved: {os_reason(error)}.") from error
    return target


def trashed(directory: Path) -> list[records.SessionRow]:
    """Return the sessions in the trash, most recently used first. Raises SessionError."""
    folder = directory / TRASH
    try:
        with suppress(FileNotFoundError):
            os.close(open_folder(folder))
        return rows.read_rows(folder)
    except OSError as error:
        raise SessionError(f"The trash {folder} cannot be read: {os_reason(error)}.") from error


def remove_leftovers(sessions: SessionManager) -> None:
    """Remove temporary copies that killed processes left, and move their empty files to the
    trash; those of open sessions stay.
    """
    if not sessions.saves:
        return
    _move_empty_files(sessions)
    for pattern in _LEFTOVERS:
        for path in sessions.directory.glob(pattern):
            name = path.name.lstrip(".").partition(".")[0]
            if path.parent.name == records.IMAGE_FOLDER:
                name = records.IMAGE_FOLDER
            with suppress(OSError, Locked), closing(take_lock(sessions.directory, name)):
                sessions.files.remove(path)


def _move_empty_files(sessions: SessionManager) -> None:
    """Move the session files without a byte to the trash.

    They are not removed: a tool that is about to fill one has it open, and fills it there.
    """
    with suppress(OSError):  # only a convenience
        for changed, identity, size in rows.stamps(sessions.directory):
            age = abs(sessions.now().timestamp() - changed / 1e9)
            if size or age < SETTLED_SECONDS:
                continue
            path = sessions.session_file(identity)
            with suppress(SessionLocked), closing(lock_session(path.parent, identity)):
                if path.lstat().st_size == 0:  # nobody else has written to it meanwhile
                    sessions.files.move(path, free_in_trash(sessions, identity))
