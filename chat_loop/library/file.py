"""The index's file (act): opened, made when it is missing, set aside when it is damaged or foreign.

A rollback journal, not WAL: SQLite before 3.51.3 can corrupt a WAL that several processes write. A writer's
transactions are short, so that nobody waits long for them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from chat_loop.library.schema import APPLICATION, TABLES, VERSION

FILE = ".index.sqlite"
BUSY_SECONDS = 0.5
"""How long is waited for another process that writes, before the index is done without."""
_DAMAGED = (
    "malformed",
    "not a database",
    "disk image",
    "no such table",
    "no such column",
    "corrupt",
    "malformed database",
)


class IndexTrouble(Exception):
    """The index cannot be used now; a sentence says why. Everything works without it.

    `damaged`: its file is no good and was set aside or must be made anew.
    """

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        super().__init__(message)
        self.damaged = damaged


def connect(directory: Path, busy: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open the index of a sessions folder, and make one when there is none that can be used. Raises IndexTrouble."""
    path = directory / FILE
    with translated(path):
        database = _opened(path, busy)
        if database is not None:
            return database
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise IndexTrouble(
            f"The index cannot be made in {directory}: {(error.strerror or str(error)).lower()}."
        ) from error
    os.close(descriptor)
    with translated(path):
        made = _connected(path, busy)
        with contextlib.closing(made.cursor()) as cursor:
            cursor.executescript(
                f"BEGIN IMMEDIATE; {TABLES} PRAGMA application_id={APPLICATION}; PRAGMA user_version={VERSION}; COMMIT;"
            )
        return made


def set_aside(directory: Path, now: datetime) -> Path | None:
    """Move a damaged index out of the way, to be looked at or deleted by its owner; return where it is."""
    path = directory / FILE
    aside = directory / f".index-damaged-{now:%Y%m%d-%H%M%S}.sqlite"
    try:
        path.rename(aside)
    except OSError:
        return None
    for suffix in ("-journal", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            path.with_name(path.name + suffix).unlink()
    return aside


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """What SQLite says as an IndexTrouble."""
    try:
        yield
    except sqlite3.Error as error:
        said = str(error)
        damaged = any(word in said for word in _DAMAGED)
        what = "is damaged" if damaged else "cannot be used now"
        raise IndexTrouble(f"The index {path} {what}: {said}.", damaged=damaged) from error


@contextlib.contextmanager
def transaction(database: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All or nothing. Raises IndexTrouble."""
    with translated(path):
        database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")


def _opened(path: Path, busy: float) -> sqlite3.Connection | None:
    """The index at `path`; None when there is none yet, or one of another version, which is deleted."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise IndexTrouble(f"The index {path} is not a regular file.")
    if not status.st_size:
        _forget(path)
        return None
    database = _connected(path, busy)
    try:
        application = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error:
        database.close()
        raise
    if application == APPLICATION and version == VERSION:
        return database
    database.close()
    if application != APPLICATION:
        raise IndexTrouble(f"{path} is not an index of sessions.", damaged=True)
    _forget(path)
    return None


def _forget(path: Path) -> None:
    """An index of another version is derived from the same files: this one is made from them as well."""
    try:
        path.unlink()
    except OSError as error:
        raise IndexTrouble(f"The index {path} is of another version: {error.strerror}.") from error


def _connected(path: Path, busy: float) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode=TRUNCATE")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("PRAGMA mmap_size=0")
        database.execute("PRAGMA temp_store=MEMORY")
        database.execute("PRAGMA trusted_schema=OFF")
    except sqlite3.Error:
        database.close()
        raise
    return database
