"""Sessions that leave nothing behind: everything is as always, and no file, lock, image or note is
written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from chat_loop.sessions.files import Files
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.parser import Parsed
from chat_loop.sessions.records import Seal


class NoFiles(Files):
    """A file system that takes everything and keeps nothing."""

    def make_directory(self, path: Path) -> None:
        """Make nothing: nothing will be put into it."""

    def create(self, path: Path) -> int:
        return os.open(os.devnull, os.O_WRONLY)

    append_to = create

    def sync(self, descriptor: int) -> None:
        """Sync nothing: nothing was written."""

    def sync_directory(self, path: Path) -> None:
        """Sync nothing: nothing was written."""

    def replace(self, path: Path, data: bytes) -> None:
        """Leave what is there."""


class UnsavedSession(LiveSession):
    """A session in memory. Its file is the system's null device, and it is never saved."""

    @property
    def path(self) -> Path:
        return Path(os.devnull)

    @property
    def saved(self) -> bool:
        return False

    def seal(self, seal: Seal) -> None:
        """End: nothing is left of it."""

    def _stands(self) -> bool:
        return True  # there is no file that could be changed


class _NoLock:
    def release(self) -> None:
        """Release nothing: nobody else knows the session."""


class UnsavedManager(SessionManager):
    """A maker of sessions that are not saved. Those in the folder can be read, and stay as they
    are.
    """

    _live = UnsavedSession

    def __init__(self, directory: Path, *, project: str = "") -> None:
        super().__init__(directory, files=NoFiles(), project=project)

    def _lock(self, identity: str) -> _NoLock:
        return _NoLock()

    def _change(self, path: Path, change: Callable[[bytes, Parsed], bytes]) -> None:
        """Leave what is there."""
