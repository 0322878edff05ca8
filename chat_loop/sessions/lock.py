"""One writer per session: an advisory lock beside the transcript, freed by the system when its
process dies.
"""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from chat_loop.errors import SessionLocked
from chat_loop.sessions.live import Lock

FOLDER = ".locks"


def take(directory: Path, identity: str) -> Lock:
    """Take the lock of session `identity` without waiting. Raises SessionLocked, or OSError when it
    cannot be made.

    The lock file is never removed: removing one lets two processes hold "the" lock on two different
    files.
    """
    folder = directory / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(
        folder / f"{identity}.lock",
        timeout=0,
        mode=0o600,
        thread_local=False,
        fallback_to_soft=False,
    )
    try:
        lock.acquire()
    except Timeout as error:
        raise SessionLocked(
            f"Session {identity} is open in another process.",
            "Close it there, or resume it once it has ended.",
        ) from error
    return lock
