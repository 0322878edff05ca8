"""The index: what is known of the sessions of a folder, derived from their files: a row for each,
and the texts of its exchanges without secrets. Transactions that write are short, so that nobody
waits long for them.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import IndexUnavailable
from chat_loop.library import text_tables
from chat_loop.library.index_file import (
    BUSY_SECONDS,
    FILE,
    PATIENCE_SECONDS,
    TABLES,
    VERSION,
    connect,
    damaged,
    make_tables,
    translated,
)
from chat_loop.library.lineage import Link
from chat_loop.sessions.dates import instant, moment
from chat_loop.sessions.partial import Stamp
from chat_loop.sessions.records import SessionRow
from chat_loop.values import Compaction

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

    def __init__(self, directory: Path, *, patient: bool = False, in_memory: bool = False) -> None:
        self.directory = directory
        self.path = directory / FILE
        self._held: Counter[str] = Counter()
        """The change, by the transaction, in the number of exchanges that hold each word."""
        if in_memory:
            self._database = sqlite3.connect(":memory:", isolation_level=None)
            self._database.executescript(TABLES)
        else:
            self._database = connect(self.path, PATIENCE_SECONDS if patient else BUSY_SECONDS)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def clear(self) -> None:
        """Forget everything, in one transaction.

        The file stays, for others have it open: a writer's journal would be taken for that of a new
        file of the same name.
        """
        with translated(self.path):
            make_tables(self._database)

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
        found = self.ask(
            "SELECT id, before, after FROM compactions JOIN sessions ON key = session "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )
        return {identity: (before, after) for identity, before, after in found}

    def figures(self) -> dict[str, int | float | None]:
        """Return what all sessions come to, by the names of FIGURES; None where that is unknown."""
        return {name: self.ask(text)[0][0] if text else None for name, text in FIGURES.items()}

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
        with self._writing(), translated(self.path):
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
        with translated(self.path):
            return self._database.execute(statement, values).fetchall()

    def damage(self) -> IndexUnavailable:
        """Return the error for an index that holds something that nobody wrote."""
        return damaged(self.path, "it holds something that nobody wrote")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Change everything or nothing."""
        self.ask("BEGIN IMMEDIATE")
        self._held.clear()
        try:
            # A file that was replaced is noticed here: a virtual table would report another error.
            self.ask(f"PRAGMA user_version={VERSION}")
            yield
            with translated(self.path):
                text_tables.count_words(self._database, self._held)
            self.ask("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            with translated(self.path):
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
        with translated(self.path):
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
        with translated(self.path):
            keys = f"SELECT key FROM exchanges WHERE {condition}"
            self._held.subtract(text_tables.delete(self._database, keys, ()))
        self.ask(f"DELETE FROM exchanges WHERE {condition}")

    def _forget(self, sessions: Collection[int]) -> None:
        """Forget everything of sessions but their exchanges, by their keys."""
        chosen = _listed(sessions)
        self.ask(f"DELETE FROM sessions WHERE key IN ({chosen})")
        for table in ("message_summaries", "compactions"):
            self.ask(f"DELETE FROM {table} WHERE session IN ({chosen})")


def _listed(keys: Iterable[int]) -> str:
    return ", ".join(str(int(key)) for key in keys)
