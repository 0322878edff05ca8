"""The index of a folder in SQLite: rows of sessions and texts of exchanges, without secrets.

It has a rollback journal, since SQLite before 3.51.3 can corrupt a WAL that several processes use.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from chat_loop.errors import IndexUnavailable, os_reason
from chat_loop.library.indexed import (
    RUNNING,
    SPACE,
    Condition,
    IndexedSession,
    Likely,
    Phrase,
    Position,
    Scope,
    StoredExchange,
    Terms,
    VectorRow,
    columns_of,
    where_clause,
)
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import ALL, RunningTotals, SessionRow
from chat_loop.sessions.rows import Stale, Stamp, Stamps, stale_files

_SUMMARIES = "FROM message_summaries"
FIGURES = {
    "sessions": "count(*) FROM sessions",
    "conversations": "NULL",  # `Library.figures` counts them
    "queries": "coalesce(sum(queries), 0) FROM sessions",
    "tokens": "coalesce(sum(tokens), 0) FROM sessions",
    "bytes": "coalesce(sum(size), 0) FROM sessions",
    "exchanges_in_archives": "count(*) FROM exchanges WHERE archived = 1",
    "summaries": f"count(*) {_SUMMARIES}",
    "tokens_of_summaries": f"coalesce(sum(tokens), 0) {_SUMMARIES}",
    "compactions": f"count(before) {_SUMMARIES}",
    "tokens_saved_by_compactions": f"coalesce(sum(max(before - after, 0)), 0) {_SUMMARIES}",
    "cost_of_compactions": (
        "CASE WHEN count(cost) < count(before) THEN NULL ELSE coalesce(sum(cost), 0.0) END "
        f"{_SUMMARIES}"
    ),
}
"""The totals of an index by name, in SQL."""
FILE = ".index.sqlite"
VERSION = 16
"""The version of `schema.sql`. An index of another version is rebuilt: there are no migrations."""
MANY = 1_000
"""The sessions from which on reading all rows is faster than looking each of them up."""
# the wait for another process that is writing
BUSY_SECONDS = 0.5
PATIENT_SECONDS = 5.0

_PRAGMAS = (
    "journal_mode=TRUNCATE synchronous=NORMAL mmap_size=0 temp_store=MEMORY trusted_schema=OFF "
    "cell_size_check=ON"
)
# Names of SQLite's errors, without prefix and details. Errors of Python's module have no name.
_DAMAGE = {"CORRUPT", "NOTADB", "FORMAT", "SCHEMA", "CONSTRAINT", "MISMATCH"}
_DAMAGED_TABLES = (
    *("no such table", "no such column", "no such module", "vtable constructor failed"),
    "SQL logic error",  # from a virtual table
    "unsupported file format",  # of the schema, by a number in the file's header
)
"""The beginnings of SQLite's messages about damage that it gives no name."""
_IMPOSSIBLE = "it contains impossible values"
_BUGS = {"ERROR", "MISUSE", "RANGE", ""}
_REASONS = {
    "BUSY": "another process is writing to it",
    "LOCKED": "another process is writing to it",
    "FULL": "the disk is full",
    "READONLY": "it may not be written to",
}
_SCHEMA = Path(__file__).with_name("schema.sql").read_text("utf-8")
_SCHEMA += f"PRAGMA user_version={VERSION};\n"
_open = partial(sqlite3.connect, isolation_level=None, check_same_thread=False)
_LINKS = msgspec.json.Decoder(list[Link])
_POSITION = "CAST(e.session AS INTEGER), CAST(e.position AS INTEGER)"  # numbers even if damaged
_AT_POSITIONS = (
    "JOIN json_each(?) AS wanted ON e.session = json_extract(wanted.value, '$[0]') "
    "AND e.position = json_extract(wanted.value, '$[1]')"
)
_TESTS = {"contains": "instr({}, ?)", ">=": "{} >= ?", "<": "{} < ?"}


def stale_count(directory: Path, files: Sequence[Stamp]) -> int | None:
    """Check every page of the index. Return the number of `files` that are new or changed, or None
    when there is no index. Raises IndexUnavailable.
    """
    if not os.path.lexists(directory / FILE):
        return None
    with contextlib.closing(Index(directory)) as index:
        if index.ask("PRAGMA quick_check(1)") != [("ok",)]:
            raise index.damage()
        return len(index.stale(files)[0])


def discard(directory: Path, patience: float = 0.0) -> bool:
    """Delete an index. Return False when that fails, or when another process is still using it
    after `patience` seconds.
    """
    path = directory / FILE
    try:
        with contextlib.closing(_open(path, timeout=patience)) as database:
            database.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as refusal:
        if _error_name(refusal).startswith(("BUSY", "LOCKED")):
            return False
    try:
        for suffix in ("-journal", "-wal", "-shm", ""):  # a journal must not outlive its file
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError:
        return False
    return True


class Index:
    """An open index, for one thread at a time. Every method may raise IndexUnavailable."""

    def __init__(self, directory: Path, *, patient: bool = False, in_memory: bool = False) -> None:
        self.directory = directory
        self.path = directory / FILE
        self.name = str(self.path)
        self._opened = object()  # distinguishes this index from one that is opened later
        self._fresh: object = None  # the last version without stale files, and the files it had
        self._rows = msgspec.json.Decoder(SessionRow, dec_hook=lambda kind, value: directory)
        if in_memory:
            self._database = _open(":memory:")
            self._database.executescript(_SCHEMA)
        else:
            self._database = _connect(self.path, PATIENT_SECONDS if patient else BUSY_SECONDS)

    def close(self) -> None:
        self._database.close()

    def set_patience(self, *, patient: bool) -> None:
        """Set how long the next statements wait for another process that is writing."""
        seconds = PATIENT_SECONDS if patient else BUSY_SECONDS
        self.ask(f"PRAGMA busy_timeout={int(1000 * seconds)}")

    def clear(self) -> None:
        """Delete the sessions of this folder, but not their vectors, in a transaction."""
        with self.transaction(writes=True):
            for table in ("sentences", "exchanges", "message_summaries", "sessions"):
                self.ask(f"DELETE FROM {table}")

    def version(self) -> object:
        """Return a value that changes with every write and differs between open indexes."""
        [(others,)] = self.ask("PRAGMA data_version")
        return self._opened, others, self._database.total_changes

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run an SQL statement and return its rows."""
        with _translate_errors(self.path):
            return self._database.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[None]:
        """Run the statements of a context on one snapshot or, if it `writes`, as one change."""
        self.ask("BEGIN IMMEDIATE" if writes else "BEGIN")
        try:
            if writes:  # notices a replaced file, for which a virtual table reports another error
                self.ask(f"PRAGMA user_version={VERSION}")
            yield
            self.ask("COMMIT")
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._database.rollback()

    def damage(self) -> IndexUnavailable:
        """Return the error for an index with impossible content."""
        return _damage_error(self.path, _IMPOSSIBLE)

    def stale(self, files: Stamps, *, texts: bool = True) -> Stale:
        """Compare `files` with the stored ones. With `texts`, a file of which only the row was read
        counts as new.
        """
        version = self.version()
        if (version, texts, files) == self._fresh:
            return Stale([], set())
        stamps = "SELECT changed, CAST(id AS TEXT), size FROM sessions"
        stored = self.ask(f"{stamps} ORDER BY id")
        unread = []
        if texts:
            unread = self.ask(f"{stamps} WHERE running IS NULL")
        if not unread and stored == sorted(files, key=itemgetter(1)):  # sets take twice as long
            self._fresh = version, texts, files
            return Stale([], set())
        incomplete = {*unread}.intersection(files)
        return stale_files(files, {*stored} - incomplete)

    def links(self) -> dict[str, Link]:
        """Return the links of all sessions, most recently used first, undated last."""
        rows = self.ask("SELECT CAST(link AS TEXT) FROM sessions ORDER BY used DESC, id DESC")
        with _translate_errors(self.path):
            decoded = _LINKS.decode(f"[{','.join(link or '' for (link,) in rows)}]")
        if len(decoded) != len(rows):
            raise self.damage()
        return {link.id: link for link in decoded}

    def rows(self, ids: Sequence[str]) -> dict[str, SessionRow]:
        """Return the rows of the indexed sessions among `ids`."""
        if len(ids) < MANY:
            statement = "SELECT sessions.id, CAST(row AS TEXT) FROM json_each(?) JOIN sessions "
            found = self.ask(f"{statement} ON sessions.id = value", (json.dumps(ids),))
        else:
            wanted = {*ids}
            every = self.ask("SELECT id, CAST(row AS TEXT) FROM sessions")
            found = [row for row in every if row[0] in wanted]
        with _translate_errors(self.path):
            rows = [self._rows.decode(text or "") for _, text in found]
        if [row.id for row in rows] != [identity for identity, _ in found]:
            raise self.damage()
        return {row.id: row for row in rows}

    def running_totals(self, identity: str) -> list[RunningTotals] | None:
        """Return the running totals of a session, or None if only its row was read."""
        statement = "SELECT CAST(running AS TEXT) FROM sessions WHERE id = ?"
        for (text,) in self.ask(statement, (identity,)):
            if text:
                with _translate_errors(self.path):
                    return RUNNING.decode(text)
        return None

    def uses(self) -> dict[str, float]:
        """Return when each session was last used, in seconds; 0 if it is not known."""
        return {
            identity: used or 0.0 for identity, used in self.ask("SELECT id, used FROM sessions")
        }

    def ids_where(self, conditions: Sequence[Condition] = ()) -> set[str]:
        """Return the ids of the sessions that meet all conditions."""
        where, values = where_clause(conditions, _TESTS)
        return {identity for (identity,) in self.ask(f"SELECT id FROM sessions {where}", values)}

    def figures(self) -> dict[str, int | float | None]:
        """Return the totals in FIGURES: counts, tokens, bytes, US dollars. None means unknown."""
        return {name: self.ask(f"SELECT {text}")[0][0] for name, text in FIGURES.items()}

    def keys(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the keys of the indexed sessions among `ids`."""
        statement = "SELECT id, key FROM sessions WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self.ask(statement, (json.dumps(ids),)))

    def put(self, sessions: Sequence[IndexedSession]) -> None:
        """Store sessions, replacing earlier versions of them."""
        with self.transaction(writes=True):
            self._remove([session.row.id for session in sessions])
            for session in sessions:
                key = self._insert("sessions", None, *columns_of(session).values())
                if session.summary:
                    self._insert("message_summaries", key, session.archived, *session.summary)
                for position, exchange in enumerate(session.exchanges, 1):
                    start = key, position, exchange.number, exchange.number <= session.archived
                    stored = exchange.digest, exchange.at, exchange.json
                    number = self._insert("exchanges", None, *start, *stored)
                    self._insert("sentences (rowid, words)", number, exchange.lines)

    def drop(self, ids: Iterable[str]) -> None:
        """Delete sessions, and the vectors of texts that no other session contains."""
        with self.transaction(writes=True):
            self._remove([*ids])
            self.ask("DELETE FROM vectors WHERE content NOT IN (SELECT content FROM exchanges)")

    def keep_vectors(self, rows: Sequence[VectorRow]) -> None:
        """Store vectors of the exchanges that are in the index."""
        statement = (
            "INSERT OR REPLACE INTO vectors (content, data, space) SELECT ?1, ?2, ?3 "
            "WHERE EXISTS (SELECT 1 FROM exchanges WHERE content = ?1)"
        )
        with self.transaction(writes=True):
            for row in rows:
                self.ask(statement, (*row, SPACE))

    def exchange_count(self) -> int:
        """Return the number of exchanges."""
        [(total,)] = self.ask("SELECT count(*) FROM exchanges")
        return int(total)

    def count(self, phrases: Sequence[Phrase], most: int) -> int:
        """Return the number of exchanges that contain one of these phrases, at most `most`."""
        found = f"SELECT 1 FROM sentences WHERE sentences MATCH ? LIMIT {most}"
        [(count,)] = self.ask(f"SELECT count(*) FROM ({found})", (_match(phrases),))
        return int(count)

    def likely(self, terms: Terms, scope: Scope, limit: int) -> list[Likely]:
        """Return the exchanges that match one of these terms, best first by FTS5's own weights."""
        match = " OR ".join(f"({_match(phrases)})" for phrases, _ in terms)
        return self._matching(match, scope, f"score DESC LIMIT {limit}")

    def newest(self, phrases: Sequence[Phrase], scope: Scope, limit: int) -> list[Likely]:
        """Return the exchanges that contain one of these phrases, newest first."""
        return self._matching(_match(phrases), scope, f"e.at DESC LIMIT {limit}")

    def _matching(self, match: str, scope: Scope, order: str) -> list[Likely]:
        where, values = self._in_scope(scope)
        if scope.last_queries is not None:  # a chain has few of all exchanges
            where += f" AND sentences.rowid >= (SELECT min(key) FROM exchanges e WHERE 1 {where})"
        rows = self.ask(
            # to order by `rank` would take its value once more, of each row
            f"SELECT CAST(e.at AS TEXT), {_POSITION}, -bm25(sentences) AS score "
            "FROM sentences JOIN exchanges e ON e.key = sentences.rowid "
            f"WHERE sentences MATCH ? {where} ORDER BY {order}",
            (match, *values),
        )
        return [*map(Likely._make, rows)]

    def said_on(self, days: Sequence[str], scope: Scope, limit: int) -> list[Position]:
        """Return the first exchanges of these days, which `days.named` found in a query."""
        where, values = self._in_scope(scope)
        on_days = " OR ".join("e.at LIKE ?" for _ in days)
        rows = self.ask(
            f"SELECT {_POSITION} FROM exchanges e WHERE ({on_days}) {where} "
            "ORDER BY e.at, e.position "
            f"LIMIT {limit}",
            (*(f"{day}%" for day in days), *values),
        )
        return [(session, position) for session, position in rows]

    def words_at(self, positions: Iterable[Position]) -> dict[Position, str]:
        """Return the lines that `terms.lines` made of the exchanges at these positions."""
        rows = self.ask(
            f"SELECT {_POSITION}, sentences.words FROM exchanges e {_AT_POSITIONS} "
            "JOIN sentences ON sentences.rowid = e.key",
            (json.dumps([*positions]),),
        )
        return {(session, position): str(words) for session, position, words in rows}

    def exchanges_at(self, positions: Iterable[Position]) -> dict[Position, StoredExchange]:
        """Return the exchanges at these positions."""
        rows = self.ask(
            f"SELECT {_POSITION}, s.id, CAST(e.number AS INTEGER), CAST(e.at AS TEXT), "
            f"CAST(e.texts AS TEXT) FROM exchanges e {_AT_POSITIONS} "
            "JOIN sessions s ON s.key = e.session",
            (json.dumps([*positions]),),
        )
        return {(row[0], row[1]): StoredExchange(*row[2:]) for row in rows}

    def vectors(
        self, scope: Scope, also: Collection[Position], embed: Callable[[], bytes]
    ) -> dict[Position, bytes]:
        """Return vectors in SPACE: of all exchanges in the scope."""
        where, values = self._in_scope(scope)
        rows = self.ask(
            f"SELECT {_POSITION}, v.data "
            "FROM vectors v JOIN exchanges e ON e.content = v.content "
            f"WHERE v.space = ? AND typeof(v.data) = 'blob' {where}",
            (SPACE, *values),
        )
        return {(session, position): data for session, position, data in rows}

    def vectors_of(self, contents: Sequence[bytes]) -> list[VectorRow]:
        """Return the vectors stored under these digests, as rows for `keep_vectors`."""
        marks = ", ".join("?" * len(contents))
        statement = "SELECT content, data FROM vectors WHERE space = ? AND content IN"
        return self.ask(f"{statement} ({marks})", (SPACE, *contents))

    def unembedded(self, limit: int) -> list[tuple[bytes, str, str]]:
        """Return the digest, query and reply of exchanges without vectors in ended sessions, the
        last changed session first.
        """
        return self.ask(
            "SELECT e.content, json_extract(e.texts, '$[0][1]'), json_extract(e.texts, '$[1][1]') "
            "FROM exchanges e "
            "JOIN sessions s ON s.key = e.session WHERE s.state != 'unsealed' "
            "AND e.content NOT IN (SELECT content FROM vectors WHERE space = ?) "
            "ORDER BY s.changed DESC, e.position LIMIT ?",
            (SPACE, limit),
        )

    def _in_scope(self, scope: Scope) -> tuple[str, list[object]]:
        """Return a condition on the exchange `e`, empty or beginning with AND, and its values."""
        if scope.last_queries is not None:
            keys = self.keys([*scope.last_queries])
            sessions = ", ".join(map(str, keys.values()))
            where = f"AND e.session IN ({sessions})"
            for identity, last in scope.last_queries.items():
                if last != ALL and identity in keys:
                    where += f" AND NOT (e.session = {keys[identity]} AND e.number > {last})"
            return where, []
        where, values = where_clause(scope.conditions, _TESTS)
        if where:
            where = f"AND e.session IN (SELECT key FROM sessions {where})"
        return where, values

    def _insert(self, table: str, *values: object) -> int | None:
        """Insert a row and return its key."""
        marks = ", ".join("?" * len(values))
        with _translate_errors(self.path):
            return self._database.execute(f"INSERT INTO {table} VALUES ({marks})", values).lastrowid

    def _remove(self, ids: Sequence[str]) -> None:
        """Delete sessions with all their rows in other tables, except vectors."""
        keys = ", ".join(map(str, self.keys(ids).values()))
        exchanges = f"SELECT key FROM exchanges WHERE session IN ({keys})"
        self.ask(f"DELETE FROM sentences WHERE rowid IN ({exchanges})")
        for table in ("exchanges", "message_summaries"):
            self.ask(f"DELETE FROM {table} WHERE session IN ({keys})")
        self.ask(f"DELETE FROM sessions WHERE key IN ({keys})")


def _match(phrases: Sequence[Phrase]) -> str:
    """Return the FTS5 expression for texts that contain one of these phrases."""
    parts = []
    for words, is_beginning in phrases:
        text = " ".join(words).replace('"', " ")
        parts.append(f'"{text}"' + " *" * is_beginning)
    return " OR ".join(parts)


def _connect(path: Path, busy: float) -> sqlite3.Connection:
    """Open the index. Create a new one if it is missing or of another version."""
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
    with _translate_errors(path), contextlib.ExitStack() as unusable:
        database = _open(path, timeout=busy)
        unusable.callback(database.close)
        for pragma in _PRAGMAS.split():
            database.execute(f"PRAGMA {pragma}")
        [(version,)] = database.execute("PRAGMA user_version")
        if not version and status.st_size:
            raise _damage_error(path, "it is no index of sessions")
        if not version:
            database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        unusable.pop_all()
    if version in (0, VERSION):
        return database
    database.close()
    if not discard(path.parent):
        raise IndexUnavailable(f"The index {path} is of another version, and in use.")
    return _connect(path, busy)


def _error_name(error: sqlite3.Error) -> str:
    """Return the name of an error, such as `BUSY` or `FULL`."""
    return str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_")


@contextlib.contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Translate SQLite's errors into IndexUnavailable, except those that bugs cause."""
    try:
        yield
    except sqlite3.Error as error:
        name = _error_name(error)
        kind = name.partition("_")[0]
        is_no_text = not name and isinstance(error, sqlite3.OperationalError)
        if is_no_text or kind in _DAMAGE or str(error).startswith(_DAMAGED_TABLES):
            raise _damage_error(path, str(error)) from error
        if kind in _BUGS:
            raise
        raise IndexUnavailable(
            f"The index {path} cannot be used now: {_REASONS.get(kind, str(error))}.",
            was_replaced=name.endswith("DBMOVED"),
        ) from error
    except (UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise _damage_error(path, _IMPOSSIBLE) from error


def _damage_error(path: Path, why: str) -> IndexUnavailable:
    return IndexUnavailable(f"The index {path} is damaged: {why}.", is_damaged=True)
