"""The index's file (act): opened, made when it is missing, set aside when it is damaged or of a
newer version.

A rollback journal, not WAL: SQLite before 3.51.3 can corrupt a WAL that several processes write. A
writer's transactions are short, so that nobody waits long for them. A file that was moved away
while it was open is refused by SQLite itself as soon as somebody writes to it.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from chat_loop.library.schema import APPLICATION, KEPT, TABLES, VERSION

FILE = ".index.sqlite"
BUSY_SECONDS = 0.5
"""How long is waited for another process that writes, before the index is done without."""
MOST_ASIDE = 3
"""So many damaged indexes are kept; they are derived from the same files as the one in use."""
_ASIDE = ".index-damaged-"
_NEWER = ".index-newer-"
_DAMAGED = frozenset(
    (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_ERROR,  # a table or a column is not as the schema says
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_RANGE,
        sqlite3.SQLITE_TOOBIG,
    )
)
"""What only a file that is not as it was written gives: the statements themselves are right."""
_WHY = {
    sqlite3.SQLITE_BUSY: "another process is writing to it",
    sqlite3.SQLITE_LOCKED: "another process is writing to it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may not be written to",
    sqlite3.SQLITE_PERM: "it may not be read",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}


class IndexUnavailable(Exception):
    """The index cannot be used now; a sentence says why. Everything works without it.

    `damaged`: its file is no good and must be made anew. `newer`: the same, and another version of
    the program made it. `moved`: another file stands in its place by now, or none.
    """

    def __init__(
        self, message: str, *, damaged: bool = False, newer: bool = False, moved: bool = False
    ) -> None:
        super().__init__(message)
        self.damaged = damaged or newer
        self.newer = newer
        self.moved = moved


def connect(directory: Path, busy: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open the index of a sessions folder, and make one when there is none that can be used. Raises
    IndexUnavailable.
    """
    path = directory / FILE
    for _ in range(2):
        with translated(path):
            database = _opened(path, busy)
            if database is not None:
                return database
            _make(path)
    raise IndexUnavailable(f"The index {path} cannot be used now: another process replaces it.")


def set_aside(directory: Path, now: datetime, *, newer: bool = False) -> Path | None:
    """Move a damaged index out of the way, to be looked at or deleted by its owner; return where it
    is.

    None when it cannot be moved, or when somebody holds it: then it is not as bad as it looked.
    """
    path = directory / FILE
    if _held(path):
        return None
    aside = directory / f"{_NEWER if newer else _ASIDE}{now:%Y%m%d-%H%M%S}.sqlite"
    count = 1
    while aside.exists() or aside.is_symlink():
        count += 1
        aside = aside.with_name(f"{_NEWER if newer else _ASIDE}{now:%Y%m%d-%H%M%S}-{count}.sqlite")
    try:
        path.rename(aside)
    except OSError:
        return None
    for suffix in ("-journal", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            path.with_name(path.name + suffix).unlink()
    with contextlib.suppress(OSError):
        for old in sorted(
            directory.glob(f"{_ASIDE}*.sqlite"), key=lambda one: one.lstat().st_mtime_ns
        )[:-MOST_ASIDE]:
            old.unlink()
    return aside


def put_away(directory: Path, now: datetime, error: IndexUnavailable) -> tuple[str, bool]:
    """What is to be told of a failure, and whether another index can be opened, since that one is
    out of the way.
    """
    if error.moved:
        return "", True
    aside = set_aside(directory, now, newer=error.newer) if error.damaged else None
    if aside is None:
        return str(error), False
    what = "was made by a newer version of the program" if error.newer else "was damaged"
    return (
        f"The index {what}: it is kept as {aside.name}, and a new one is made from the sessions.",
        True,
    )


def clear(database: sqlite3.Connection, path: Path) -> None:
    """Make every table anew, empty, in one transaction. Raises IndexUnavailable.

    The file stays, for others have it open: a writer's journal would be taken for that of a new
    file of the same name.
    """
    tables = re.findall(r"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)", TABLES)
    drops = "".join(f"DROP TABLE IF EXISTS {table};" for table in tables if table not in KEPT)
    with translated(path):
        try:
            database.executescript(f"BEGIN IMMEDIATE; {drops} {TABLES} COMMIT;")
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate errors of SQLite into IndexUnavailable. Any other error is a bug: the index
    knows nothing of it.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if (
            code is None
        ):  # said by Python's module: a text that is no UTF-8, or an index that was closed
            damaged, why = isinstance(error, sqlite3.OperationalError), str(error)
        else:
            damaged, why = code & 0xFF in _DAMAGED, _WHY.get(code & 0xFF, str(error))
        what = "is damaged" if damaged else "cannot be used now"
        moved = code == sqlite3.SQLITE_READONLY_DBMOVED
        raise IndexUnavailable(
            f"The index {path} {what}: {why}.", damaged=damaged, moved=moved
        ) from error
    except (
        UnicodeDecodeError
    ) as error:  # a name of a table that is no text any more, in what SQLite says of it
        raise IndexUnavailable(
            f"The index {path} is damaged: it holds what nobody wrote.", damaged=True
        ) from error


@contextlib.contextmanager
def transaction(database: sqlite3.Connection, path: Path, *, writes: bool = True) -> Iterator[None]:
    """All or nothing; without `writes`, several questions of which all see the same. Raises
    IndexUnavailable.
    """
    with translated(path):
        database.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        try:
            # here SQLite says that the file was replaced; out of a virtual table another error
            # comes
            if writes:
                database.execute(f"PRAGMA user_version={VERSION}")
            yield
            database.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            raise


def _opened(path: Path, busy: float) -> sqlite3.Connection | None:
    """The index at `path`; None when there is none yet, or one of an older version, which is
    deleted.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise IndexUnavailable(f"The index {path} cannot be opened: {_reason(error)}.") from error
    if not stat.S_ISREG(status.st_mode):
        raise IndexUnavailable(f"The index {path} is not a regular file: it is left alone.")
    if stat.S_IMODE(status.st_mode) & 0o077:
        with contextlib.suppress(OSError):
            path.chmod(0o600)
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
        raise IndexUnavailable(
            f"The index {path} is damaged: it is no index of sessions.", damaged=True
        )
    if version > VERSION:
        raise IndexUnavailable(
            f"The index {path} was made by a newer version of the program.", newer=True
        )
    _forget(path)
    return None


def _make(path: Path) -> None:
    """Make an empty index under another name and put it in its place whole: nobody ever sees half
    of one.

    Another process may have been faster: then its index is used. Raises IndexUnavailable and
    sqlite3.Error.
    """
    new = path.with_name(f"{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(new, flags, 0o600))
        try:
            with contextlib.closing(_connected(new, BUSY_SECONDS)) as database:
                database.executescript(
                    f"BEGIN; {TABLES} PRAGMA application_id={APPLICATION}; PRAGMA "
                    f"user_version={VERSION}; COMMIT;"
                )
            _placed(new, path)
        finally:
            for suffix in ("", "-journal"):
                new.with_name(new.name + suffix).unlink(missing_ok=True)
    except OSError as error:
        raise IndexUnavailable(
            f"The index cannot be made in {path.parent}: {_reason(error)}."
        ) from error


def _placed(new: Path, path: Path) -> None:
    """Give a file its name unless there is one of that name."""
    try:
        path.hardlink_to(new)
    except FileExistsError:
        return
    except (OSError, NotImplementedError):  # a file system without hard links
        if not path.exists():
            new.rename(path)


def _forget(path: Path) -> None:
    """An index of an older version is derived from the same files: this one is made from them as
    well.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise IndexUnavailable(
            f"The index {path} cannot be made anew: {_reason(error)}."
        ) from error
    with contextlib.suppress(OSError):
        path.with_name(f"{path.name}-journal").unlink()


def _held(path: Path) -> bool:
    """Whether another process is in the middle of using an index."""
    if not path.is_file() or path.is_symlink():
        return False
    with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
            database.execute("ROLLBACK")
        except sqlite3.Error as error:
            return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
            )
    return False


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


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
