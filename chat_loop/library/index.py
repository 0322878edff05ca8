"""The index: what is known of the sessions of a folder, derived from their files: a row for each,
and the texts of its exchanges without secrets. Transactions that write are short, so that nobody
waits long for them.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import IndexUnavailable
from chat_loop.library.index_file import (
    BUSY_SECONDS,
    FILE,
    PATIENT_SECONDS,
    TABLES,
    VERSION,
    connect,
    damaged,
    make_tables,
    translated,
)
from chat_loop.library.lineage import Link
from chat_loop.sessions.partial import Stamp, instant, moment
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import compact_number

FIGURES = {
    "sessions": "SELECT count(*) FROM sessions",
    "conversations": "",  # counted in their lineage
    "queries": "SELECT coalesce(sum(queries), 0) FROM sessions",
    "tokens": "SELECT coalesce(sum(tokens), 0) FROM sessions",
    "bytes": "SELECT coalesce(sum(size), 0) FROM sessions",
    "exchanges_in_archives": "SELECT count(*) FROM exchanges WHERE archived = 1",
    "summaries": "SELECT count(*) FROM message_summaries",
    "tokens_of_summaries": "SELECT coalesce(sum(tokens), 0) FROM message_summaries",
    "compactions": "SELECT count(before) FROM message_summaries",
    "tokens_saved_by_compactions": "SELECT coalesce(sum(max(before - after, 0)), 0) FROM "
    "message_summaries",
    "cost_of_compactions": "SELECT CASE WHEN count(cost) < count(before) THEN NULL ELSE "
    "coalesce(sum(cost), 0.0) END FROM message_summaries",
}
LARGEST = (1 << 63) - 1
"""The largest number that a table can hold."""
_LONGEST_WORD = 200
"""Characters of a word that is remembered by itself; longer ones are found whole only."""
_ROWS = msgspec.json.Decoder(SessionRow, dec_hook=lambda kind, value: Path())
"""Paths are not stored: they follow from the id."""
_LINKS = msgspec.json.Decoder(list[Link])


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


class IndexedSummary(Struct, frozen=True, kw_only=True):
    """A summary block as the table `message_summaries` has it, and its items without secrets."""

    at: str
    first: int
    last: int
    tokens: int
    source: str
    before: int | None = None
    after: int | None = None
    cost: float | None = None
    items: str = ""


class IndexedSession(Struct, frozen=True, kw_only=True):
    """A session as the index stores it. `size` and `changed` are the file's when it was read."""

    row: SessionRow
    size: int
    changed: int
    exchanges: Sequence[IndexedExchange] = ()
    summary: IndexedSummary | None = None


class Stale(Struct, frozen=True):
    """The files that are new or changed, newest first, and the ids of those that are gone."""

    files: tuple[Stamp, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.files or self.gone)


class Index:
    """An open index, for one thread at a time. Every method raises IndexUnavailable."""

    def __init__(self, directory: Path, *, patient: bool = False, in_memory: bool = False) -> None:
        self.directory = directory
        self.path = directory / FILE
        self._held: Counter[str] = Counter()
        """The change, by the transaction, in the number of exchanges that hold each word."""
        if in_memory:
            self._database = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False
            )
            self._database.executescript(TABLES)
        else:
            self._database = connect(self.path, PATIENT_SECONDS if patient else BUSY_SECONDS)

    def close(self) -> None:
        self._database.close()

    def clear(self) -> None:
        """Forget everything, in one transaction.

        The file stays, for others have it open: a writer's journal would be taken for that of a new
        file of the same name.
        """
        with translated(self.path):
            make_tables(self._database)

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return the rows that it gives."""
        with translated(self.path):
            return self._database.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Answer all questions in this context from one state of the index. Writers wait."""
        self.ask("BEGIN")
        try:
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")

    def damage(self) -> IndexUnavailable:
        """Return the error for an index that holds something that nobody wrote."""
        return damaged(self.path, "it holds something that nobody wrote")

    # Questions.

    def stale(self, there: Sequence[Stamp]) -> Stale:
        """Compare what is known with the files that are there."""
        found = self.ask("SELECT changed, CAST(id AS TEXT), size FROM sessions")
        known = set(found)
        files = tuple(stamp for stamp in there if stamp not in known)
        gone: set[str] = set()
        if len(found) > len(there) - len(files):
            gone = {identity for _, identity, _ in found}.difference(stamp.id for stamp in there)
        return Stale(files, tuple(gone))

    def links(self, latest: int = LARGEST) -> dict[str, Link]:
        """Return the ties of all sessions, by id: last used first, then those whose date is unknown
        or later than `latest`, in microseconds.
        """
        found = self.ask(
            "SELECT CAST(link AS TEXT), used IS NULL OR used > ? AS undated FROM sessions "
            "ORDER BY used DESC, id DESC",
            (latest,),
        )
        try:
            links = _LINKS.decode(f"[{','.join(link for link, _ in found)}]")
        except msgspec.MsgspecError as error:
            raise self.damage() from error
        if len(links) != len(found):
            raise self.damage()
        dated: dict[str, Link] = {}
        undated: dict[str, Link] = {}
        for link, (_, is_undated) in zip(links, found, strict=True):
            (undated if is_undated else dated)[link.id] = link
        return dated | dict(sorted(undated.items(), reverse=True))

    def rows(self, ids: Sequence[str], latest: int = LARGEST) -> dict[str, SessionRow]:
        """Return those of the sessions that it knows, without dates that are after `latest`."""
        found: dict[str, SessionRow] = {}
        for identity, text, used in self.ask(
            "SELECT sessions.id, CAST(row AS TEXT), CASE WHEN used <= ? THEN "
            "CAST(used AS INTEGER) END FROM json_each(?) JOIN sessions ON sessions.id = value",
            (latest, json.dumps(ids)),
        ):
            try:
                row = _ROWS.decode(text)
            except msgspec.MsgspecError as error:
                raise self.damage() from error
            if row.id != identity:
                raise self.damage()
            path = self.directory / f"{identity}.md"
            found[identity] = replace(row, path=path, updated=moment(used))
        return found

    def matching(self, condition: str, values: Sequence[object]) -> set[str]:
        """Return the ids of the sessions for which a condition over the table `sessions` holds."""
        found = self.ask(f"SELECT id FROM sessions WHERE {condition}", values)
        return {identity for (identity,) in found}

    def compactions(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the sizes of the compactions that ended the sessions: `compacted 61K → 9.4K`."""
        found = self.ask(
            "SELECT id, before, after FROM message_summaries JOIN sessions ON key = session "
            "WHERE before NOT NULL AND id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )
        return {
            identity: f"compacted {compact_number(before)} → {compact_number(after)}"
            for identity, before, after in found
        }

    def figures(self) -> dict[str, int | float | None]:
        """Return counts, tokens, bytes and US dollars by the names of FIGURES; None: unknown."""
        return {name: self.ask(text)[0][0] if text else None for name, text in FIGURES.items()}

    # Changes.

    def put(self, sessions: Sequence[IndexedSession], *, after: int = 0) -> bool:
        """Store sessions in the place of what was known of them, in one transaction.

        The exchanges up to the position `after` stay. Return False when they are not there any
        more, since another process writes as well.
        """
        with self._writing():
            known = self._keys([session.row.id for session in sessions])
            for key in known.values():
                kept = self.ask("SELECT count(*) FROM exchanges WHERE session = ?", (key,))
                if after and kept != [(after,)]:
                    return False
                self._drop_exchanges(f"session = {key} AND position > {after}")
            if after and not known:
                return False
            [(last,)] = self.ask("SELECT coalesce(max(key), 0) FROM sessions")
            self._forget(known.values())
            [(exchange,)] = self.ask("SELECT coalesce(max(key), 0) FROM exchanges")
            exchanges, said = [], []
            for new_key, session in enumerate(sessions, last + 1):
                key = known.get(session.row.id, new_key)
                self._insert_session(key, session)
                archived = session.summary.last if session.summary is not None else -1
                for position, one in enumerate(session.exchanges, after + 1):
                    exchange += 1
                    place = exchange, key, position, one.number, one.number <= archived
                    exchanges.append((*place, one.content, one.at, one.query, one.reply))
                    said.append((exchange, one.lines))
                    self._held.update(_distinct(one.lines))
            self._insert("exchanges", exchanges)
            self._insert("said (rowid, words)", said)
        return True

    def drop(self, ids: Sequence[str]) -> None:
        """Forget sessions, and the vectors of texts that are nowhere else."""
        with self._writing():
            keys = self._keys(ids).values()
            self._drop_exchanges(f"session IN ({_listed(keys)})")
            self._forget(keys)
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
    def _writing(self) -> Iterator[None]:
        """Change everything or nothing."""
        self.ask("BEGIN IMMEDIATE")
        self._held.clear()
        try:
            # A file that was replaced is noticed here: a virtual table would report another error.
            self.ask(f"PRAGMA user_version={VERSION}")
            yield
            self._count_words()
            self.ask("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    def _count_words(self) -> None:
        """Note how many exchanges more, or fewer, hold each word; forget those that none holds."""
        changed = [(word, count) for word, count in sorted(self._held.items()) if count]
        if not changed:
            return
        [(last,)] = self.ask("SELECT coalesce(max(key), 0) FROM lexicon")
        with translated(self.path):
            self._database.executemany(
                "INSERT INTO lexicon (word, held) VALUES (?1, ?2) "
                "ON CONFLICT (word) DO UPDATE SET held = held + ?2",
                changed,
            )
        for table in ("parts", "stems"):
            self.ask(
                f"INSERT INTO {table} (rowid, word) SELECT key, word FROM lexicon WHERE key > ?",
                (last,),
            )
            gone = "SELECT key FROM lexicon WHERE held < 1"
            self.ask(f"DELETE FROM {table} WHERE rowid IN ({gone})")
        self.ask("DELETE FROM lexicon WHERE held < 1")

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            with translated(self.path):
                self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def _insert_session(self, key: int, session: IndexedSession) -> None:
        """Insert everything of a session but its exchanges."""
        row, summary = session.row, session.summary
        agent, project, tags = row.agent.lower(), row.project.lower(), f" {' '.join(row.tags)} "
        items = summary.items if summary is not None else ""
        searched = "\n".join((row.name, row.id, agent, project, tags, items)).lower()
        ties = row.compacted, row.until, row.queries, row.mode, row.answered
        link = Link(row.id, row.parent, row.merged, *ties)
        stamp = row.id, session.size, session.changed, instant(row.updated), row.state
        texts = (
            msgspec.json.encode(link).decode(),
            msgspec.json.encode(row, enc_hook=lambda path: None).decode(),
        )
        told = agent, project, tags, searched, row.queries, row.tokens
        self._insert("sessions", [(key, *stamp, *told, *texts)])
        if summary is not None:
            block = msgspec.structs.astuple(summary)[:-1]
            self._insert("message_summaries", [(key, *block)])
            self.ask(
                "UPDATE exchanges SET archived = 1 WHERE session = ? AND number <= ?",
                (key, summary.last),
            )

    def _keys(self, ids: Sequence[str]) -> dict[str, int]:
        statement = "SELECT id, key FROM sessions WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self.ask(statement, (json.dumps(ids),)))

    def _drop_exchanges(self, condition: str) -> None:
        keys = f"SELECT key FROM exchanges WHERE {condition}"
        for (lines,) in self.ask(f"SELECT words FROM said WHERE rowid IN ({keys})"):
            self._held.subtract(_distinct(str(lines)))
        self.ask(f"DELETE FROM said WHERE rowid IN ({keys})")
        self.ask(f"DELETE FROM exchanges WHERE {condition}")

    def _forget(self, sessions: Iterable[int]) -> None:
        """Forget everything of sessions but their exchanges, by their keys."""
        chosen = _listed(sessions)
        self.ask(f"DELETE FROM sessions WHERE key IN ({chosen})")
        self.ask(f"DELETE FROM message_summaries WHERE session IN ({chosen})")


def _distinct(lines: str) -> set[str]:
    return {word for word in lines.split() if len(word) <= _LONGEST_WORD}


def _listed(keys: Iterable[int]) -> str:
    return ", ".join(str(int(key)) for key in keys)
