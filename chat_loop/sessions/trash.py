"""The trash: sessions that were taken away, whole, in a folder beside the others. Their owner
empties it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from chat_loop.errors import SaveError, SessionError, SessionNotFound, os_reason
from chat_loop.sessions import partial
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import ID_PATTERN, SessionRow

FOLDER = ".trash"


def take_away(path: Path) -> Path:
    """Move a session's file to the trash; return where it is.

    Raises SessionLocked while it is open, SessionNotFound when it is gone, and SaveError.
    """
    folder = path.parent / FOLDER
    held = None
    try:
        held = take_lock(path.parent, path.stem)
        folder.mkdir(mode=0o700, exist_ok=True)
        return _moved(path, folder)
    except FileNotFoundError as error:
        raise SessionNotFound(f"There is no session {path.stem} any more.") from error
    except OSError as error:
        raise _unmoved(path, error) from error
    finally:
        if held is not None:
            held.release()


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
        source.rename(target)
    except OSError as error:
        raise _unmoved(source, error) from error
    return target


def trashed(directory: Path) -> Sequence[SessionRow]:
    """Return the sessions in the trash, last used first. Raises SessionError when it cannot be
    read.
    """
    try:
        return list(partial.rows(directory / FOLDER))
    except OSError as error:
        raise SessionError(
            f"The trash {directory / FOLDER} cannot be read: {error.strerror}."
        ) from error


def _moved(path: Path, folder: Path) -> Path:
    """Move the file under its own name, or the next free one, so that nothing is overwritten."""
    target, count = folder / path.name, 1
    while os.path.lexists(target):
        count += 1
        target = folder / f"{path.stem[:58]}_{count}.md"
    path.rename(target)
    return target


def _unmoved(path: Path, error: OSError) -> SaveError:
    return SaveError(f"{path} cannot be moved: {os_reason(error)}.")
