"""The trash: deleted sessions, unchanged, in a subfolder."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from chat_loop.errors import SaveError, SessionError, SessionNotFound, os_reason
from chat_loop.sessions import partial
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import ID_PATTERN, SessionRow, free_ids

FOLDER = ".trash"


def move_to_trash(path: Path) -> Path:
    """Move a session's file to the trash. Raises SessionLocked, SessionNotFound and SaveError."""
    try:
        with closing(take_lock(path.parent, path.stem)):
            folder = path.parent / FOLDER
            folder.mkdir(mode=0o700, exist_ok=True)
            targets = (folder / f"{identity}.md" for identity in free_ids(path.stem))
            return path.rename(next(target for target in targets if not os.path.lexists(target)))
    except FileNotFoundError as error:
        raise SessionNotFound(f"Session {path.stem} is gone.") from error
    except OSError as error:
        raise SaveError(f"{path} cannot be moved: {os_reason(error)}.") from error


def restore(directory: Path, identity: str) -> Path:
    """Move a session out of the trash. Raises SessionNotFound and SaveError."""
    source, target = directory / FOLDER / f"{identity}.md", directory / f"{identity}.md"
    if not ID_PATTERN.fullmatch(identity) or not (source.is_file() or source.is_symlink()):
        message = f"No session named {identity[:80]} in the trash."
        raise SessionNotFound(message, "chat-loop sessions trash lists what is.")
    if os.path.lexists(target):
        raise SaveError(f"Session {identity} exists already.", "Rename one of the files.")
    try:
        return source.rename(target)
    except OSError as error:
        raise SaveError(f"{source} cannot be moved: {os_reason(error)}.") from error


def list_trash(directory: Path) -> list[SessionRow]:
    """Return the sessions in the trash, last used first. Raises SessionError."""
    folder = directory / FOLDER
    try:
        return partial.rows(folder)
    except OSError as error:
        raise SessionError(f"The trash {folder} cannot be read: {os_reason(error)}.") from error
