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
from chat_loop.sessions.partial import Stamp

FILE = ".index.sqlite"
VERSION = 8
"""An index of an older version is made anew: there are no migrations. It is `user_version`."""
BUSY_SECONDS, PATIENT_SECONDS = 0.5, 5.0
"""The longest wait for another process that writes; the second where texts are asked for."""

TABLES = """
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,           -- the file's name without .md
    size INTEGER NOT NULL,      -- bytes; with `changed` it tells whether the file has changed
    changed INTEGER NOT NULL,   -- the file's modification time in nanoseconds
    used INTEGER,               -- the date of its last record in microseconds; NULL: unknown
    state TEXT NOT NULL,
    agent TEXT NOT NULL,        -- this and the next three in small letters
    project TEXT NOT NULL,
    tags TEXT NOT NULL,         -- each between blanks
    searched TEXT NOT NULL,     -- name, id, agent, project, tags, the items of the summary block
    queries INTEGER,
    tokens INTEGER,
    link TEXT NOT NULL,         -- its ties to other sessions, as JSON
    row TEXT NOT NULL           -- everything that a listing shows, as JSON
);
CREATE UNIQUE INDEX sessions_stamps ON sessions (id, changed, size);
CREATE INDEX sessions_links ON sessions (used DESC, id DESC, link);
CREATE TABLE exchanges (
    key INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,  -- from 1, in the order of the file
    number INTEGER NOT NULL,    -- the query's
    archived INTEGER NOT NULL,  -- 1: the session's summary block covers it
    content BLOB NOT NULL,      -- digest of query and reply
    at TEXT NOT NULL,
    query TEXT NOT NULL,
    reply TEXT NOT NULL
);
CREATE INDEX exchanges_content ON exchanges (content, session, position);
CREATE UNIQUE INDEX exchanges_place ON exchanges (session, position);
CREATE TABLE message_summaries (
    session INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    first INTEGER NOT NULL,     -- the queries that the block covers
    last INTEGER NOT NULL,
    tokens INTEGER NOT NULL,    -- of the block, estimated
    source TEXT NOT NULL,
    before INTEGER,             -- the tokens of the compaction that made it; NULL: there was none
    after INTEGER,
    cost REAL                   -- US dollars; NULL: unknown
);
CREATE VIRTUAL TABLE said USING fts5 (words, tokenize='porter ascii');
CREATE TABLE lexicon (key INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, held INTEGER NOT NULL);
CREATE INDEX lexicon_gone ON lexicon (key) WHERE held < 1;
CREATE VIRTUAL TABLE parts USING fts5 (word, columnsize=0, tokenize='trigram');
CREATE VIRTUAL TABLE stems USING fts5 (word, columnsize=0, tokenize='porter ascii');
CREATE TABLE IF NOT EXISTS vectors (content BLOB PRIMARY KEY, space TEXT NOT NULL,
    data BLOB NOT NULL);
"""
"""`said` holds an exchange's `terms.lines` under its key; `lexicon` every distinct word and how
many exchanges hold it, `parts` and `stems` the same by their trigrams and by their English stems.

Vectors stay when everything is read anew: they are dear, and `content` says of what they are.
"""

_DAMAGED = frozenset(
    (
        *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
        *(sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH),
    )
)
_NOT_AS_MADE = (
    *("no such table", "no such column"),
    *("vtable constructor failed", "SQL logic error"),  # of a table that is not SQLite's own
)
"""The beginnings of SQLite's messages about a table that is not as it was made."""
_BUGS = frozenset((sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE, None))
"""Other objections of SQLite, and those of Python's module, which have no code."""
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_REASONS = {
    **dict.fromkeys(_HELD, "another process is writing to it"),
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may not be written to",
}


def make_way(directory: Path, error: IndexUnavailable) -> str | None:
    """Delete an index that is of no use, so that another one can be opened. Return the line for the
    user, empty when there is nothing to tell; None when the index must be done without.
    """
    if error.moved:
        return ""
    if not error.useless:
        return None
    path = directory / FILE
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as refusal:
        if getattr(refusal, "sqlite_errorcode", 0) & 0xFF in _HELD:
            return None  # another process is using it
    try:
        _delete(path)
    except OSError:
        return None
    return f"The index {error.useless}: a new one is made from the sessions."


class IndexStatus(Struct, frozen=True):
    """The state of an index. `size` is in bytes, 0 without an index; `stale` counts files changed
    since they were indexed; `trouble` says why it cannot be used.
    """

    size: int = 0
    version: int = 0
    stale: int = 0
    trouble: str = ""


def index_status(directory: Path, there: Sequence[Stamp]) -> IndexStatus:
    """Look at the index of a folder that has the files `there`, without changing anything."""
    path = directory / FILE
    size = version = 0
    try:
        status = path.lstat()
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            raise IndexUnavailable(f"{path} is not a regular file: it is not used.")
        with (
            translated(path),
            contextlib.closing(
                sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)
            ) as database,
        ):
            version = _version(database)
            _check(version, path)
            if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise damaged(path, "its pages do not fit together")
            known = set(database.execute("SELECT changed, id, size FROM sessions"))
        return IndexStatus(size, version, sum(stamp not in known for stamp in there))
    except FileNotFoundError:
        return IndexStatus()
    except OSError as error:
        trouble = f"{path} cannot be looked at: {os_reason(error)}."
    except IndexUnavailable as error:
        trouble = str(error)
    return IndexStatus(size, version, trouble=trouble)


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
    """Open the index, or make one when there is none or an older one. Raises IndexUnavailable."""
    for _ in range(3):
        try:
            with contextlib.suppress(FileExistsError):  # SQLite itself would not make it private
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            status = path.lstat()
        except OSError as error:
            why = os_reason(error)
            raise IndexUnavailable(f"The index cannot be made in {path.parent}: {why}.") from error
        if not stat.S_ISREG(status.st_mode):
            raise IndexUnavailable(f"The index {path} is not a regular file: it is left alone.")
        if stat.S_IMODE(status.st_mode) & 0o077:
            with contextlib.suppress(OSError):
                path.chmod(0o600)
        with translated(path):
            database = sqlite3.connect(
                path, timeout=busy, isolation_level=None, check_same_thread=False
            )
            try:
                for pragma in (
                    *("journal_mode=TRUNCATE", "synchronous=NORMAL", "mmap_size=0"),
                    *("temp_store=MEMORY", "trusted_schema=OFF", "cell_size_check=ON"),
                ):
                    database.execute(f"PRAGMA {pragma}")
                if not (_version(database) or status.st_size):
                    make_tables(database, unless_made=True)
                version = _version(database)
                if not 0 < version < VERSION:
                    _check(version, path)
                    return database
            except BaseException:
                database.close()
                raise
        database.close()
        with contextlib.suppress(OSError):
            _delete(path)  # of an older version
    raise IndexUnavailable(f"The index {path} cannot be used now: another process replaces it.")


def make_tables(database: sqlite3.Connection, *, unless_made: bool = False) -> None:
    """Make every table but that of vectors anew, in one transaction. Raises sqlite3.Error."""
    database.execute("BEGIN IMMEDIATE")
    try:
        if not (unless_made and _version(database)):
            for table in re.findall(r"CREATE (?:VIRTUAL )?TABLE (?!IF )(\w+)", TABLES):
                database.execute(f"DROP TABLE IF EXISTS {table}")
            database.execute(f"PRAGMA user_version={VERSION}")
            for statement in TABLES.split(";\n"):
                database.execute(statement)
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _check(version: int, path: Path) -> None:
    """Raise IndexUnavailable for a database that is no index of this version."""
    if not version:
        raise damaged(path, "it is no index of sessions")
    if version != VERSION:
        was = f"was made by {'a newer' if version > VERSION else 'an older'} version of the program"
        raise IndexUnavailable(f"The index {path} {was}.", useless=was)


def _delete(path: Path) -> None:
    for suffix in ("-journal", "-wal", "-shm", ""):  # a journal must not outlive its file
        path.with_name(path.name + suffix).unlink(missing_ok=True)
