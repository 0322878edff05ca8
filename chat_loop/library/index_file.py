"""The index's file: its tables, and how it is opened, made, deleted and looked at.

A rollback journal, not WAL: SQLite before 3.51.3 can corrupt a WAL that several processes write.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from chat_loop.errors import IndexUnavailable, os_reason
from chat_loop.library import text_tables
from chat_loop.sessions.partial import Stamp

FILE = ".index.sqlite"
VERSION = 7
"""An index of an older version is made anew: there are no migrations."""
APPLICATION = 0x43484C50
"""The `application_id` of our files: "CHLP"."""
BUSY_SECONDS = 0.5
"""The longest wait, in seconds, for another process that writes."""
PATIENCE_SECONDS = 5.0
"""The same for somebody who wants the index to be up to date."""

TABLES = f"""
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,    -- the file's name without .md
    size INTEGER NOT NULL,      -- bytes; with `changed` it tells whether the file has changed
    changed INTEGER NOT NULL,   -- the file's modification time in nanoseconds
    used INTEGER,               -- the date of its last record in microseconds; NULL: unknown
    state TEXT NOT NULL,
    name TEXT NOT NULL,
    agent TEXT NOT NULL,
    project TEXT NOT NULL,
    tags TEXT NOT NULL,         -- each between blanks
    depth INTEGER NOT NULL,
    summary TEXT NOT NULL,      -- the items of its summary block, a line each
    queries INTEGER,
    tokens INTEGER,
    row TEXT NOT NULL           -- everything that a listing shows, as JSON
);
CREATE TABLE exchanges (
    key INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,  -- from 1, in the order of the file
    number INTEGER NOT NULL,    -- the query's
    at TEXT NOT NULL,
    query TEXT NOT NULL,
    reply TEXT NOT NULL,
    archived INTEGER NOT NULL,  -- 1: the session's summary block covers it
    content BLOB NOT NULL       -- digest of query and reply
);
CREATE INDEX exchanges_content ON exchanges (content);
CREATE UNIQUE INDEX exchanges_place ON exchanges (session, position);
CREATE TABLE message_summaries (
    session INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    first INTEGER NOT NULL,     -- the queries that the block covers
    last INTEGER NOT NULL,
    tokens INTEGER NOT NULL,    -- of the block, estimated
    source TEXT NOT NULL
);
CREATE TABLE compactions (
    session INTEGER PRIMARY KEY,
    before INTEGER NOT NULL,    -- tokens
    after INTEGER NOT NULL,
    cost REAL                   -- US dollars; NULL: unknown
);
{text_tables.TABLES}
CREATE TABLE IF NOT EXISTS vectors (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    content BLOB NOT NULL UNIQUE,  -- that of the exchanges whose texts they are of
    space TEXT NOT NULL,
    data BLOB NOT NULL
);
INSERT INTO sqlite_sequence SELECT 'vectors', abs(random() % 1000000000000)
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'vectors');
"""
"""No key of vectors is given twice, hardly ever in two indexes that replace each other: whoever has
read them all sees by their count and the last key that they are others.
"""
KEPT = ("vectors",)
"""Tables that stay when everything is read anew: they are dear, and their content says of what they
are.
"""

_TABLE = re.compile(r"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)")
_DAMAGED = frozenset(
    (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
    )
)
_NOT_AS_MADE = (
    *("no such table", "no such column"),
    *("vtable constructor failed", "SQL logic error"),  # of a table that is not SQLite's own
)
"""The beginnings of SQLite's messages about a table that is not as it was made."""
_BUGS = frozenset((sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE, None))
"""Other objections of SQLite, and those of Python's module, which have no code."""
_REASONS = {
    sqlite3.SQLITE_BUSY: "another process is writing to it",
    sqlite3.SQLITE_LOCKED: "another process is writing to it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may not be written to",
    sqlite3.SQLITE_PERM: "it may not be read",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}


def make_way(directory: Path, error: IndexUnavailable) -> str | None:
    """Delete an index that is of no use, so that another one can be opened. Return the line for the
    user, empty when there is nothing to tell; None when the index must be done without.
    """
    if error.moved:
        return ""
    path = directory / FILE
    if not error.useless or _is_held(path):
        return None
    try:
        _delete(path)
    except OSError:
        return None
    return f"The index {error.useless}: a new one is made from the sessions."


class IndexStatus(Struct, frozen=True, kw_only=True):
    """The state of an index. `size` is in bytes, 0 without an index; `stale` counts files changed
    since they were indexed; `left_over` are indexes that earlier versions put aside, with sizes.
    """

    size: int = 0
    version: int = 0
    stale: int = 0
    trouble: str = ""
    left_over: tuple[tuple[str, int], ...] = ()


def index_status(directory: Path, there: Sequence[Stamp]) -> IndexStatus:
    """Look at the index of a folder that has the files `there`, without changing anything."""
    path = directory / FILE
    old: tuple[tuple[str, int], ...] = ()
    size = version = 0
    try:
        old = tuple((one.name, one.lstat().st_size) for one in directory.glob(".index-*.sqlite"))
        status = path.lstat()
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            raise IndexUnavailable(f"{path} is not a regular file: it is not used.")
        uri = f"{path.as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0.5)) as database:
            [version] = database.execute("PRAGMA user_version").fetchone()
            _check(database, path)
            if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise damaged(path, "its pages do not fit together")
            rows = database.execute("SELECT id, changed, size FROM sessions").fetchall()
    except FileNotFoundError:
        return IndexStatus(left_over=old)
    except OSError as error:
        trouble = f"{path} cannot be looked at: {os_reason(error)}."
    except IndexUnavailable as error:
        trouble = str(error)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        trouble = f"{path} cannot be read: {error}."
    else:
        known = {identity: stamp for identity, *stamp in rows}
        stale = sum(known.get(one.id) != [one.changed, one.size] for one in there)
        return IndexStatus(size=size, version=version, stale=stale, left_over=old)
    return IndexStatus(size=size, version=version, trouble=trouble, left_over=old)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate errors of SQLite into IndexUnavailable; to be put around SQLite's calls only.

    Other errors of SQLite come from bugs, and are no fault of the index.
    """
    try:
        yield
    except sqlite3.Error as error:
        extended: int | None = getattr(error, "sqlite_errorcode", None)
        code = None if extended is None else extended & 0xFF
        not_text = code is None and isinstance(error, sqlite3.OperationalError)
        if not_text or code in _DAMAGED or str(error).startswith(_NOT_AS_MADE):
            raise damaged(path, str(error)) from error
        if code in _BUGS:
            raise
        raise IndexUnavailable(
            f"The index {path} cannot be used now: {_REASONS.get(code or 0, str(error))}.",
            moved=extended == sqlite3.SQLITE_READONLY_DBMOVED,
        ) from error
    except UnicodeDecodeError as error:  # a name of a table that is no text, in an error of SQLite
        raise damaged(path, "it holds something that nobody wrote") from error


def damaged(path: Path, why: str) -> IndexUnavailable:
    return IndexUnavailable(f"The index {path} is damaged: {why}.", useless="was damaged")


def connect(path: Path, busy: float) -> sqlite3.Connection:
    """Open the index at `path`, and make one when there is none or an older one. Raises
    IndexUnavailable.
    """
    for _ in range(3):
        try:
            status = path.lstat()
        except FileNotFoundError:
            _create(path)
            continue
        except OSError as error:
            raise IndexUnavailable(
                f"The index {path} cannot be opened: {os_reason(error)}."
            ) from error
        if not stat.S_ISREG(status.st_mode):
            raise IndexUnavailable(f"The index {path} is not a regular file: it is left alone.")
        if stat.S_IMODE(status.st_mode) & 0o077:
            with contextlib.suppress(OSError):
                path.chmod(0o600)
        with translated(path):
            database = _connected(path, busy)
            try:
                if _version(database) == (0, 0) and not status.st_size:
                    make_tables(database, unless_made=True)
                application, version = _version(database)
                if application != APPLICATION or version >= VERSION:
                    _check(database, path)
                    return database
            except BaseException:
                database.close()
                raise
        database.close()
        with contextlib.suppress(OSError):
            _delete(path)  # of an older version
    raise IndexUnavailable(f"The index {path} cannot be used now: another process replaces it.")


def _create(path: Path) -> None:
    """Create an empty private file unless there is one. Raises IndexUnavailable."""
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    try:
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise IndexUnavailable(
            f"The index cannot be made in {path.parent}: {os_reason(error)}."
        ) from error


def _connected(path: Path, busy: float) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode=TRUNCATE")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("PRAGMA mmap_size=0")
        database.execute("PRAGMA temp_store=MEMORY")
        database.execute("PRAGMA trusted_schema=OFF")
        database.execute("PRAGMA cell_size_check=ON")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _version(database: sqlite3.Connection) -> tuple[int, int]:
    [application] = database.execute("PRAGMA application_id").fetchone()
    [version] = database.execute("PRAGMA user_version").fetchone()
    return application, version


def _check(database: sqlite3.Connection, path: Path) -> None:
    """Raise IndexUnavailable for a database that is no index of this version."""
    application, version = _version(database)
    if application != APPLICATION:
        raise damaged(path, "it is no index of sessions")
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise IndexUnavailable(
            f"The index {path} was made by {age} version of the program.",
            useless=f"was made by {age} version of the program",
        )


def make_tables(database: sqlite3.Connection, *, unless_made: bool = False) -> None:
    """Make every table anew, empty, in one transaction. Raises sqlite3.Error."""
    database.execute("BEGIN IMMEDIATE")
    try:
        if not (unless_made and _version(database) != (0, 0)):
            for table in re.findall(_TABLE, TABLES):
                if table not in KEPT:
                    database.execute(f"DROP TABLE IF EXISTS {table}")
            database.execute(f"PRAGMA application_id={APPLICATION}")
            database.execute(f"PRAGMA user_version={VERSION}")
            for statement in TABLES.split(";\n"):
                database.execute(statement)
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def _is_held(path: Path) -> bool:
    """Return True while another process is using an index."""
    with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return False


def _delete(path: Path) -> None:
    for suffix in ("-journal", "-wal", "-shm", ""):  # a journal must not outlive its file
        path.with_name(path.name + suffix).unlink(missing_ok=True)
