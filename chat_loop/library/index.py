"""The index: one SQLite file beside the sessions of a folder, derived from them, with a row for
each session and the texts of its exchanges without secrets.

A rollback journal, not WAL: SQLite before 3.51.3 can corrupt a WAL that several processes write.
Transactions that write are short, so that nobody waits long for them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chat_loop.library import text_tables
from chat_loop.library.lineage import Link
from chat_loop.sessions.dates import instant, moment
from chat_loop.sessions.partial import Stamp
from chat_loop.sessions.records import SessionRow
from chat_loop.values import Compaction

FILE = ".index.sqlite"
VERSION = 7
"""An index of an older version is made anew: there are no migrations."""
APPLICATION = 0x43484C50
"""The `application_id` of our files: "CHLP"."""
BUSY_SECONDS = 0.5
"""How long another process may write before the index is done without."""

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

FIGURES = {
    "sessions": "SELECT count(*) FROM sessions",
    "conversations": "",  # counted in their lineage
    "queries": "SELECT coalesce(sum(queries), 0) FROM sessions",
    "tokens": "SELECT coalesce(sum(tokens), 0) FROM sessions",
    "bytes": "SELECT coalesce(sum(size), 0) FROM sessions",
    "exchanges_in_archives": "SELECT count(*) FROM exchanges WHERE archived = 1",
    "summaries": "SELECT count(*) FROM message_summaries",
    "tokens_of_summaries": "SELECT coalesce(sum(tokens), 0) FROM message_summaries",
    "compactions": "SELECT count(*) FROM compactions",
    "tokens_saved_by_compactions": "SELECT coalesce(sum(max(before - after, 0)), 0) FROM "
    "compactions",
    "cost_of_compactions": "SELECT CASE WHEN count(cost) < count(*) THEN NULL ELSE "
    "coalesce(sum(cost), 0.0) END FROM compactions",
}
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
_NOT_AS_MADE = ("no such table", "no such column", "vtable constructor failed")
"""How SQLite begins to say that a table is not as it was made; its other objections to a statement
mean a bug.
"""
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
_NOWHERE = Path()
_ROWS = msgspec.json.Decoder(SessionRow, dec_hook=lambda kind, value: _NOWHERE)
"""Paths are not stored: they follow from the id."""
_LINKS = msgspec.json.Decoder(Link)
T = TypeVar("T", Link, SessionRow)


LARGEST = (1 << 63) - 1
"""The largest number that a table can hold."""


def number(value: int | None) -> int | None:
    """Return a number as a table can hold it."""
    return None if value is None else min(max(value, -LARGEST), LARGEST)


class IndexUnavailable(Exception):
    """The index cannot be used now; a sentence says why. Everything but searching works without it.

    `useless` says why its file must be made anew, if it must. `moved`: another file stands in its
    place by now, or none.
    """

    def __init__(self, message: str, *, useless: str = "", moved: bool = False) -> None:
        super().__init__(message)
        self.useless = useless
        self.moved = moved


class IndexedExchange(Struct, frozen=True):
    """An exchange without secrets. `number` is its query's, `lines` are those of `terms.lines`."""

    number: int
    at: str
    query: str
    reply: str
    lines: str

    @property
    def content(self) -> bytes:
        """The digest by which its vectors are known."""
        return blake2b(f"{self.query}\0{self.reply}".encode(), digest_size=16).digest()


class SummaryInfo(Struct, frozen=True, kw_only=True):
    """A summary block: the queries that it covers, its size in tokens, its items without secrets,
    who made it and when.
    """

    at: str
    first: int
    last: int
    tokens: int
    source: str
    items: str


class IndexedSession(Struct, frozen=True, kw_only=True):
    """A session as the index stores it. `size` and `changed` are those of the file when it was
    read.
    """

    row: SessionRow
    size: int
    changed: int
    exchanges: tuple[IndexedExchange, ...] = ()
    summary: SummaryInfo | None = None
    compaction: Compaction | None = None


class Stale(Struct, frozen=True):
    """The difference between an index and its folder: files that are new or changed, newest first,
    and the ids of those that are gone.
    """

    files: tuple[Stamp, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.files or self.gone)


class Index:
    """An open index, for one thread at a time; `in_memory` one that no file holds. Every method
    raises IndexUnavailable.
    """

    def __init__(
        self, directory: Path, *, busy: float = BUSY_SECONDS, in_memory: bool = False
    ) -> None:
        self.directory = directory
        self.path = directory / FILE
        self._held: Counter[str] = Counter()
        """How many exchanges more, or fewer, hold each word after the transaction."""
        if in_memory:
            self._database = sqlite3.connect(":memory:", isolation_level=None)
            self._database.executescript(TABLES)
        else:
            self._database = _open(self.path, busy)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def clear(self) -> None:
        """Forget everything, in one transaction.

        The file stays, for others have it open: a writer's journal would be taken for that of a new
        file of the same name.
        """
        with _translated(self.path):
            _make_tables(self._database)

    def stale(self, there: Sequence[Stamp]) -> Stale:
        """Compare what is known with the files that are there."""
        found = self.ask("SELECT changed, CAST(id AS TEXT), size FROM sessions")
        known = set(found)
        files = tuple(stamp for stamp in there if stamp not in known)
        gone = {identity for _, identity, _ in found}.difference(stamp.id for stamp in there)
        return Stale(files, tuple(gone))

    def links(self, latest: int | None = None) -> dict[str, Link]:
        """Return how all sessions are tied to each other, by id: last used first, then those whose
        date is unknown or later than `latest`, in microseconds.
        """
        found = self.ask(
            "SELECT id, CAST(row AS TEXT), CASE WHEN used <= coalesce(?, used) THEN used END AS at "
            "FROM sessions ORDER BY at IS NULL, at DESC, id DESC",
            (latest,),
        )
        return {identity: self._decoded(_LINKS, text, identity) for identity, text, _ in found}

    def rows(self, ids: Sequence[str], latest: int | None = None) -> dict[str, SessionRow]:
        """Return those of the sessions that it knows, by id, in the order of `ids`; without a date
        where that is later than `latest`.
        """
        found = self.ask(
            "SELECT sessions.id, CAST(row AS TEXT), CASE WHEN used <= coalesce(?, used) THEN "
            "CAST(used AS INTEGER) END FROM json_each(?) JOIN sessions ON sessions.id = value",
            (latest, json.dumps(ids)),
        )
        return {
            identity: replace(
                self._decoded(_ROWS, text, identity),
                path=self.directory / f"{identity}.md",
                updated=moment(used),
            )
            for identity, text, used in found
        }

    def _decoded(self, decoder: msgspec.json.Decoder[T], text: str, identity: str) -> T:
        try:
            found = decoder.decode(text)
        except msgspec.MsgspecError as error:
            raise self.damage() from error
        if found.id != identity:
            raise self.damage()
        return found

    def matching(self, condition: str, values: Sequence[object]) -> set[str]:
        """Return the ids of the sessions for which a condition over the table `sessions` holds."""
        found = self.ask(f"SELECT id FROM sessions WHERE {condition}", values)
        return {identity for (identity,) in found}

    def compactions(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return the tokens before and after the compactions that ended the sessions, by id."""
        keys = self._keys(ids)
        chosen = _listed(keys.values())
        found = self.ask(
            f"SELECT session, before, after FROM compactions WHERE session IN ({chosen})"
        )
        sizes = {key: (before, after) for key, before, after in found}
        return {identity: sizes[key] for identity, key in keys.items() if key in sizes}

    def put(self, sessions: Sequence[IndexedSession]) -> None:
        """Store sessions in the place of what was known of them, in one transaction."""
        with self._writing():
            self._drop([session.row.id for session in sessions])
            [(first,)] = self.ask("SELECT coalesce(max(key), 0) + 1 FROM sessions")
            keyed = list(enumerate(sessions, first))
            self._insert_exchanges([(key, 1, session.exchanges) for key, session in keyed])
            for key, session in keyed:
                self._insert_session(key, session)

    def extend(self, identity: str, position: int, exchanges: Sequence[IndexedExchange]) -> bool:
        """Store the exchanges of a session from a position on. Return False when those before them
        are not there any more, since another process writes as well.
        """
        with self._writing():
            key = self._keys([identity]).get(identity)
            if key is None or self._count_exchanges(key) < position - 1:
                return False
            self._drop_exchanges(f"session = {key} AND position >= {position}")
            self._insert_exchanges([(key, position, exchanges)])
            return True

    def complete(self, session: IndexedSession, exchanges: int) -> None:
        """Replace everything of a session but its exchanges, if so many are there."""
        with self._writing():
            key = self._keys([session.row.id]).get(session.row.id)
            if key is not None and self._count_exchanges(key) == exchanges:
                self._forget([key])
                self._insert_session(key, session)

    def drop(self, ids: Sequence[str]) -> None:
        """Forget sessions, and the vectors of texts that are nowhere else."""
        with self._writing():
            self._drop(ids)
            self.ask("DELETE FROM vectors WHERE content NOT IN (SELECT content FROM exchanges)")

    def keep_vectors(self, vectors: Iterable[tuple[bytes, str, bytes]]) -> None:
        """Store vectors: digest of the texts of an exchange, space, vectors in one piece."""
        rows = list(vectors)
        with self._writing(), _translated(self.path):
            self._database.executemany(
                "INSERT OR REPLACE INTO vectors (content, space, data) SELECT ?1, ?2, ?3 "
                "WHERE EXISTS (SELECT 1 FROM exchanges WHERE content = ?1)",
                rows,
            )

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Answer all questions in this context from one state of the index. Writers wait."""
        self.ask("BEGIN")
        try:
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")

    def changes(self) -> int:
        """Return a number that differs after another connection has changed the index."""
        return int(self.ask("PRAGMA data_version")[0][0])

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return the rows that it gives."""
        with _translated(self.path):
            return self._database.execute(statement, values).fetchall()

    def damage(self) -> IndexUnavailable:
        """Return the error for an index that holds something that nobody wrote."""
        return _damaged(self.path, "it holds something that nobody wrote")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Change everything or nothing."""
        self.ask("BEGIN IMMEDIATE")
        self._held.clear()
        try:
            # A file that was replaced is noticed here: a virtual table would report another error.
            self.ask(f"PRAGMA user_version={VERSION}")
            yield
            with _translated(self.path):
                text_tables.count_words(self._database, self._held)
            self.ask("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            with _translated(self.path):
                self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def _insert_session(self, key: int, session: IndexedSession) -> None:
        """Insert everything of a session but its exchanges."""
        row, summary, compaction = session.row, session.summary, session.compaction
        values = (
            *(key, row.id, session.size, session.changed, instant(row.updated), row.state),
            *(row.name, row.agent, row.project, f" {' '.join(row.tags)} ", row.depth),
            *(summary.items if summary is not None else "", row.queries, row.tokens),
            msgspec.json.encode(row, enc_hook=lambda path: None).decode(),
        )
        self._insert("sessions", [values])
        if compaction is not None:
            sizes = (number(compaction.before), number(compaction.after), compaction.cost)
            self._insert("compactions", [(key, *sizes)])
        if summary is not None:
            block = (summary.at, summary.first, summary.last, summary.tokens, summary.source)
            self._insert("message_summaries", [(key, *block)])
            self.ask(
                "UPDATE exchanges SET archived = 1 WHERE session = ? AND number <= ?",
                (key, summary.last),
            )

    def _insert_exchanges(
        self, parts: Sequence[tuple[int, int, Sequence[IndexedExchange]]]
    ) -> None:
        """Insert the exchanges of several sessions: each by its key, from a position on."""
        [(first,)] = self.ask("SELECT coalesce(max(key), 0) + 1 FROM exchanges")
        rows = [
            (session, position, one.number, one.at, one.query, one.reply, 0, one.content)
            for session, start, exchanges in parts
            for position, one in enumerate(exchanges, start)
        ]
        self._insert("exchanges", [(key, *row) for key, row in enumerate(rows, first)])
        texts = [one.lines for _, _, exchanges in parts for one in exchanges]
        with _translated(self.path):
            self._held.update(text_tables.insert(self._database, [*enumerate(texts, first)]))

    def _keys(self, ids: Sequence[str]) -> dict[str, int]:
        return dict(
            self.ask(
                "SELECT id, key FROM sessions WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(ids),),
            )
        )

    def _count_exchanges(self, session: int) -> int:
        [(count,)] = self.ask("SELECT count(*) FROM exchanges WHERE session = ?", (session,))
        return int(count)

    def _drop(self, ids: Sequence[str]) -> None:
        keys = list(self._keys(ids).values())
        if keys:
            self._drop_exchanges(f"session IN ({_listed(keys)})")
            self._forget(keys)

    def _drop_exchanges(self, condition: str) -> None:
        with _translated(self.path):
            keys = f"SELECT key FROM exchanges WHERE {condition}"
            self._held.subtract(text_tables.delete(self._database, keys, ()))
        self.ask(f"DELETE FROM exchanges WHERE {condition}")

    def _forget(self, sessions: Collection[int]) -> None:
        """Forget everything of sessions but their exchanges, by their keys."""
        chosen = _listed(sessions)
        self.ask(f"DELETE FROM sessions WHERE key IN ({chosen})")
        for table in ("message_summaries", "compactions"):
            self.ask(f"DELETE FROM {table} WHERE session IN ({chosen})")


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
                raise _damaged(path, "its pages do not fit together")
            rows = database.execute("SELECT id, changed, size FROM sessions").fetchall()
    except FileNotFoundError:
        return IndexStatus(left_over=old)
    except OSError as error:
        trouble = f"{path} cannot be looked at: {_reason(error)}."
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
def _translated(path: Path) -> Iterator[None]:
    """Translate errors of SQLite into IndexUnavailable; to be put around SQLite's calls only.

    Other errors of SQLite come from bugs, and are no fault of the index.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None and isinstance(error, sqlite3.OperationalError):
            raise _damaged(path, str(error)) from error  # a text that is no UTF-8
        if code is None:
            raise
        if code & 0xFF in _DAMAGED or str(error).startswith(_NOT_AS_MADE):
            raise _damaged(path, str(error)) from error
        if code & 0xFF not in _REASONS:
            raise
        why = _REASONS[code & 0xFF]
        raise IndexUnavailable(
            f"The index {path} cannot be used now: {why}.",
            moved=code == sqlite3.SQLITE_READONLY_DBMOVED,
        ) from error
    except UnicodeDecodeError as error:  # a name of a table that is no text, in an error of SQLite
        raise _damaged(path, "it holds something that nobody wrote") from error


def _damaged(path: Path, why: str) -> IndexUnavailable:
    return IndexUnavailable(f"The index {path} is damaged: {why}.", useless="was damaged")


def _open(path: Path, busy: float) -> sqlite3.Connection:
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
                f"The index {path} cannot be opened: {_reason(error)}."
            ) from error
        if not stat.S_ISREG(status.st_mode):
            raise IndexUnavailable(f"The index {path} is not a regular file: it is left alone.")
        if stat.S_IMODE(status.st_mode) & 0o077:
            with contextlib.suppress(OSError):
                path.chmod(0o600)
        with _translated(path):
            database = _connect(path, busy)
            try:
                if _version(database) == (0, 0) and not status.st_size:
                    _make_tables(database, unless_made=True)
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
            f"The index cannot be made in {path.parent}: {_reason(error)}."
        ) from error


def _connect(path: Path, busy: float) -> sqlite3.Connection:
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
        raise _damaged(path, "it is no index of sessions")
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise IndexUnavailable(
            f"The index {path} was made by {age} version of the program.",
            useless=f"was made by {age} version of the program",
        )


def _make_tables(database: sqlite3.Connection, *, unless_made: bool = False) -> None:
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


def _listed(keys: Iterable[int]) -> str:
    return ", ".join(str(int(key)) for key in keys)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
