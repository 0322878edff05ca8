"""The files of a folder and its store as they were when both were last the same.

If the file with this state is deleted, everything is compared again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from chat_loop.errors import StoreUnavailable

FILE = ".sync.sqlite"
_TABLE = """CREATE TABLE IF NOT EXISTS objects (
    store TEXT, key TEXT, e_tag TEXT, version TEXT, digest TEXT, size INTEGER, changed INTEGER,
    theirs INTEGER, removed INTEGER, attempt TEXT, PRIMARY KEY (store, key))"""
_COLUMNS = "key, e_tag, version, digest, size, changed, theirs, removed, attempt"
_MAX_ATTEMPTS = 65_000  # characters: a thousand uploads while the store does not answer
_SECONDS = 5.0  # the wait for another process that writes


class ObjectTag(NamedTuple):
    """The state of an object: its ETag, and the version that some stores compare instead."""

    e_tag: str
    version: str = ""


class SyncEntry(NamedTuple):
    """An object as it was last seen: the SHA-256 of its content, and the size in bytes and time in
    nanoseconds of the file with that content. `theirs` means that another machine wrote it, and
    `removed` that the user purged it, so that it must be deleted from the store. `attempts` has the
    SHA-256 of each upload that is not confirmed yet: any of them may have arrived.
    """

    tag: ObjectTag = ObjectTag("")
    digest: str = ""
    size: int = 0
    changed: int = 0
    theirs: bool = False
    removed: bool = False
    attempts: str = ""

    def with_attempt(self, digest: str) -> SyncEntry:
        """Return the entry with another upload that may arrive."""
        if digest in self.attempts:
            return self
        return self._replace(attempts=f"{self.attempts} {digest}"[-_MAX_ATTEMPTS:])


class SyncState:
    """The objects of one store by their keys, in memory and in the file of `connection`."""

    def __init__(self, path: Path, store: str, connection: sqlite3.Connection) -> None:
        self._path = path
        self._store = store
        self._connection = connection
        rows = connection.execute(f"SELECT {_COLUMNS} FROM objects WHERE store = ?", [store])
        self.entries = {key: SyncEntry(ObjectTag(*row[:2]), *row[2:]) for key, *row in rows}

    def note(self, key: str, entry: SyncEntry) -> None:
        """Record the present state of an object. Raises StoreUnavailable."""
        (e_tag, version), *rest = entry
        values = [self._store, key, e_tag, version, *rest]
        with _translated(self._path):
            self._connection.execute(f"REPLACE INTO objects VALUES ({','.join('?' * 10)})", values)
        self.entries[key] = entry

    def forget(self, key: str) -> None:
        """Forget an object. Raises StoreUnavailable."""
        with _translated(self._path):
            statement = "DELETE FROM objects WHERE store = ? AND key = ?"
            self._connection.execute(statement, [self._store, key])
        del self.entries[key]


@contextmanager
def opened(directory: Path, store: str) -> Iterator[SyncState]:
    """Yield the state of a folder and one store. Raises StoreUnavailable."""
    path = directory / FILE
    with _translated(path):
        path.touch(mode=0o600)
        connection = sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)
    with closing(connection):
        with _translated(path):
            # entries that a power failure destroys are compared again
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(_TABLE)
            state = SyncState(path, store, connection)
        yield state


def is_theirs(directory: Path, store: str, identity: str) -> bool:
    """Return True when a session was written by another machine. Nothing is created."""
    query = "SELECT theirs FROM objects WHERE store = ? AND key = ?"
    path = directory / FILE
    if not path.exists():
        return False
    with suppress(sqlite3.Error):  # the session can be opened
        with closing(sqlite3.connect(path, timeout=_SECONDS)) as connection:
            row = connection.execute(query, [store, f"{identity}.md"]).fetchone()
        return row is not None and bool(row[0])
    return False


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise errors of the file as StoreUnavailable."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        text = f"{path} cannot be used: {error}."
        hint = "Delete it: the files and the store are then compared again."
        raise StoreUnavailable(text, hint) from error
