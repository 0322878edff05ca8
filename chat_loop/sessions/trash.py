"""The trash: sessions that were taken away, whole, in a folder beside the others. Their owner
empties it.
"""

from __future__ import annotations

import os
from pathlib import Path

from chat_loop.errors import SaveError, SessionError, SessionNotFound, os_reason
from chat_loop.sessions import partial
from chat_loop.sessions.files import release_lock, take_lock
from chat_loop.sessions.records import ID_PATTERN, SessionRow

FOLDER = ".trash"


def take_away(path: Path) -> Path:
    """Move a session's file to the trash, under the next free name; return where it is.

    Raises SessionLocked while it is open, SessionNotFound when it is gone, and SaveError.
    """
    held = None
    try:
        held = take_lock(path.parent, path.stem)
        target, count = path.parent / FOLDER / path.name, 1
        target.parent.mkdir(mode=0o700, exist_ok=True)
        while os.path.lexists(target):
            count += 1
            target = target.with_name(f"{path.stem[:58]}_{count}.md")
        return path.rename(target)
    except FileNotFoundError as error:
        raise SessionNotFound(f"There is no session {path.stem} any more.") from error
    except OSError as error:
        raise SaveError(f"{path} cannot be moved: {os_reason(error)}.") from error
    finally:
        release_lock(held)


def bring_back(directory: Path, identity: str) -> Path:
    """Move a session out of the trash. Raises SessionNotFound, and SaveError when its id is
    taken.
    """
    source = directory / FOLDER / f"{identity}.md"
    if not ID_PATTERN.fullmatch(identity) or not (source.is_file() or source.is_symlink()):
        raise SessionNotFound(
            f"There is no session {identity[:80]} in the trash.",
            "chat-loop sessions trash lists what is.",
        )
    target = directory / source.name
    if os.path.lexists(target):
        raise SaveError(
            f"There is a session {identity} already: nothing is brought back.",
            "Rename one of the files.",
        )
    try:
        return source.rename(target)
    except OSError as error:
        raise SaveError(f"{source} cannot be moved: {os_reason(error)}.") from error


def trashed(directory: Path) -> list[SessionRow]:
    """Return the sessions in the trash, last used first. Raises SessionError."""
    folder = directory / FOLDER
    try:
        return partial.rows(folder)
    except OSError as error:
        raise SessionError(f"The trash {folder} cannot be read: {error.strerror}.") from error
