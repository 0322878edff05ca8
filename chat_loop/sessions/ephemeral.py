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
    """Takes everything and keeps nothing."""

    def make_directory(self, path: Path) -> None:
        """There is nothing to put into it."""

    def create(self, path: Path) -> int:
        return os.open(os.devnull, os.O_WRONLY)

    def append_to(self, path: Path) -> int:
        return os.open(os.devnull, os.O_WRONLY)

    def write(self, descriptor: int, data: bytes) -> int:
        return len(data)

    def sync(self, descriptor: int) -> None:
        """Nothing was written."""

    def sync_directory(self, path: Path) -> None:
        """Nothing was written."""

    def replace(self, path: Path, data: bytes) -> None:
        """What is there stays."""


class UnsavedSession(LiveSession):
    """A session in memory. Its file is the system's null device, and it is never saved."""

    @property
    def path(self) -> Path:
        return Path(os.devnull)

    @property
    def saved(self) -> bool:
        return False

    def seal(self, seal: Seal) -> None:
        """It ends, and is gone."""

    def _stands(self) -> bool:
        return True  # there is no file that could be changed


class _NoLock:
    def release(self) -> None:
        """Nobody else knows the session."""


class UnsavedManager(SessionManager):
    """Makes sessions that are not saved. Those that are there can be read, and stay as they are."""

    def __init__(self, directory: Path, *, project: str = "") -> None:
        super().__init__(directory, files=NoFiles(), project=project)

    _live = UnsavedSession

    def _lock(self, identity: str) -> _NoLock:
        return _NoLock()

    def _change(self, path: Path, change: Callable[[bytes, Parsed], bytes]) -> None:
        """What is there stays."""
