"""The files of a folder and its store as they were when both were last the same."""

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


class Tag(NamedTuple):
    """The state of an object: its ETag, and the version that some stores compare instead."""

    e_tag: str
    version: str = ""


class SyncEntry(NamedTuple):
    """An object as it was last seen: the SHA-256 of its content, and the size in bytes and time in
    nanoseconds of the file with that content. `theirs` means that another machine wrote it, and
    `removed` that the user purged it, so that it must be deleted from the store. `attempt` is the
    SHA-256 of an upload that is not confirmed yet.
    """

    tag: Tag = Tag("")
    digest: str = ""
    size: int = 0
    changed: int = 0
    theirs: bool = False
    removed: bool = False
    attempt: str = ""


class SyncState:
    """The state of a folder and one store. If its file is deleted, everything is compared again.
    All methods except `is_theirs` may raise StoreUnavailable.
    """

    def __init__(self, directory: Path, store: str) -> None:
        self._path = directory / FILE
        self._store = store

    @contextmanager
    def _table(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.touch(mode=0o600)
            with closing(sqlite3.connect(self._path, timeout=5)) as table, table:
                # entries that a power failure destroys are compared again
                table.execute("PRAGMA synchronous = OFF")
                table.execute(_TABLE)
                yield table
        except (sqlite3.Error, OSError) as error:
            text = f"{self._path} cannot be used: {error}."
            hint = "Delete it: the files and the store are then compared again."
            raise StoreUnavailable(text, hint) from error

    def known(self) -> dict[str, SyncEntry]:
        """Return all objects by their keys."""
        columns = "key, e_tag, version, digest, size, changed, theirs, removed, attempt"
        with self._table() as table:
            rows = table.execute(f"SELECT {columns} FROM objects WHERE store = ?", [self._store])
            return {key: SyncEntry(Tag(*row[:2]), *row[2:]) for key, *row in rows}

    def note(self, key: str, known: SyncEntry) -> None:
        """Record the present state of an object."""
        (e_tag, version), *rest = known
        values = [self._store, key, e_tag, version, *rest]
        with self._table() as table:
            table.execute(f"REPLACE INTO objects VALUES ({','.join('?' * 10)})", values)

    def forget(self, key: str) -> None:
        """Forget an object."""
        with self._table() as table:
            table.execute("DELETE FROM objects WHERE store = ? AND key = ?", [self._store, key])

    def is_theirs(self, identity: str) -> bool:
        """Return True when a session was written by another machine."""
        query = "SELECT theirs FROM objects WHERE store = ? AND key = ?"
        if not self._path.exists():
            return False
        with suppress(StoreUnavailable), self._table() as table:
            row = table.execute(query, [self._store, f"{identity}.md"]).fetchone()
            return row is not None and bool(row[0])
        return False
