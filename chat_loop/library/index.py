"""The index: what is known of all sessions of a folder, in one SQLite file beside them.

SQLite notices when its own structure is damaged, not when a text or a number is another one. So
what a listing is made of has checksums.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from msgspec.structs import asdict

from chat_loop.library import fulltext
from chat_loop.library.file import (
    BUSY_SECONDS,
    FILE,
    IndexUnavailable,
    clear,
    connect,
    transaction,
    translated,
)
from chat_loop.library.lineage import Link
from chat_loop.library.stored import number
from chat_loop.sessions.dates import instant, moment
from chat_loop.sessions.records import SessionRow
from chat_loop.values import Usage

if TYPE_CHECKING:
    from chat_loop.library.digest import Digest, Said, Sealed

_LINK = "id, parent, merged, compacted, until, used, queries, mode, answered"
_SHOWN = (
    "id, used, state, created, agent, project, parent, merged, depth, queries, tokens, name, "
    "compacted, until, words, "
    "mode, answered, spent, tags"
)
_CHUNK = 500


class Known(NamedTuple):
    """What is known of every session: its file as it was read, and what ties it to others."""

    changed: int
    size: int
    link: Link


class Index:
    """An open index. One thread at a time; every method raises IndexUnavailable."""

    def __init__(self, directory: Path, *, busy: float = BUSY_SECONDS) -> None:
        self.directory = directory
        self.path = directory / FILE
        self._database = connect(directory, busy)

    def close(self) -> None:
        """Give the file back."""
        self._database.close()

    def clear(self) -> None:
        """Forget everything."""
        clear(self._database, self.path)

    def known(self) -> dict[str, Known]:
        """Every session, by id."""
        with translated(self.path):
            found = self._all(f"SELECT {_LINK}, link, changed, size FROM sessions")
            known = {row[0]: Known(row[10], row[11], _link(row)) for row in found}
            right = all(crc32(repr(row[:9]).encode()) == row[9] for row in found)
            if not right or len(known) < len(found):
                raise self.damage()
            return known

    def rows(self, ids: Sequence[str]) -> dict[str, SessionRow]:
        """The rows of sessions that it knows, by id."""
        rows = {}
        with translated(self.path):
            for start in range(0, len(ids), _CHUNK):
                part = ids[start : start + _CHUNK]
                for row in self._all(
                    f"SELECT {_SHOWN}, whole FROM sessions WHERE id IN ({_marks(part)})", part
                ):
                    if crc32(repr(row[:-1]).encode()) != row[-1]:
                        raise self.damage()
                    rows[row[0]] = self._row(row)
            if len(rows) < len(ids):
                # They were dropped meanwhile, which is no damage, or what SQLite looks ids up in is
                # not right.
                missing = next(identity for identity in ids if identity not in rows)
                if self._all("SELECT 1 FROM sessions NOT INDEXED WHERE id = ?", (missing,)):
                    raise self.damage()
                raise IndexUnavailable(
                    f"The index {self.path} cannot be used now: another process changes it."
                )
        return rows

    def matching(self, condition: str, values: Sequence[object]) -> set[str]:
        """The ids of the sessions for which a condition over the table `sessions` holds."""
        return {
            identity
            for (identity,) in self.ask(f"SELECT id FROM sessions WHERE {condition}", values)
        }

    def put(self, digests: Collection[Digest]) -> None:
        """Take what was read of files, in the place of what was known of them, in one
        transaction.
        """
        with self._changing() as held:
            for digest in digests:
                self._drop([digest.row.id], held)
                key = self._insert_row(digest)
                self._insert_said(key, digest.said, held)

    def grow(self, digest: Digest, keep: int) -> bool:
        """Take a session of which the first `keep` exchanges are there and stay; `digest.said` is
        what follows them.

        False, with nothing changed, when they are not there.
        """
        with self._changing() as held:
            key = self.key_of(digest.row.id)
            if key is None or self.counted(key) < keep:
                return False
            self._drop_exchanges(key, keep, held)
            self._update_row(digest, key)
            self._insert_said(key, digest.said, held)
            if (told := digest.sealed.told) is not None:
                self._database.execute(
                    "UPDATE exchanges SET archived = number <= ?1 WHERE session = ?2 AND "
                    "archived != (number <= ?1)",
                    (told.last, key),
                )
            return True

    def keep_vectors(self, vectors: Iterable[tuple[bytes, str, bytes]]) -> None:
        """Keep what exchanges mean: digest of the texts, space, vectors one after the other."""
        rows = list(vectors)
        with self._changing():
            self._database.executemany(
                "INSERT OR REPLACE INTO vectors (content, space, data) SELECT ?1, ?2, ?3 "
                "WHERE EXISTS (SELECT 1 FROM exchanges WHERE content = ?1)",
                rows,
            )

    def drop(self, ids: Iterable[str]) -> None:
        """Forget files that are gone, and all vectors of texts that are nowhere else."""
        with self._changing() as held:
            self._drop(ids, held)
            self._database.execute(
                "DELETE FROM vectors WHERE content NOT IN (SELECT content FROM exchanges)"
            )

    def key_of(self, identity: str) -> int | None:
        """The key of a session."""
        found = self.ask("SELECT key FROM sessions WHERE id = ?", (identity,))
        return found[0][0] if found else None

    def counted(self, key: int) -> int:
        """How many exchanges of a session it knows."""
        return int(
            self.ask("SELECT coalesce(max(position), 0) FROM exchanges WHERE session = ?", (key,))[
                0
            ][0]
        )

    def span(self, identity: str) -> tuple[int, int]:
        """The lowest and the highest number of a session's queries; zeros when there are none."""
        numbers = "coalesce(min(number), 0), coalesce(max(number), 0)"
        lowest, highest = self.ask(
            f"SELECT {numbers} FROM exchanges WHERE session = ?", (self.key_of(identity),)
        )[0]
        return lowest, highest

    def reading(self) -> AbstractContextManager[None]:
        """What is asked in this context is answered from one state of the index. Whoever writes
        waits meanwhile.
        """
        return transaction(self._database, self.path, writes=False)

    def changes(self) -> int:
        """Return a number that is another one after a change by somebody else."""
        return int(self.ask("PRAGMA data_version")[0][0])

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows that a SELECT gives."""
        with translated(self.path):
            return self._all(statement, values)

    def _all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._database.execute(statement, values).fetchall()

    def _row(self, row: tuple[Any, ...]) -> SessionRow:
        (
            identity,
            used,
            state,
            created,
            agent,
            project,
            parent,
            merged,
            depth,
            queries,
            tokens,
            name,
            *rest,
        ) = row
        compacted, until, words, mode, answered, spent, tags, _ = rest
        return SessionRow(
            id=identity,
            path=self.directory / f"{identity}.md",
            state=state,
            updated=moment(used),
            created=datetime.fromisoformat(created) if created else None,
            agent=agent,
            project=project,
            parent=parent,
            merged=merged,
            queries=queries,
            tokens=tokens,
            name=name,
            tags=tuple(tags.split()),
            depth=depth,
            compacted=bool(compacted),
            until=until,
            words=words,
            mode=mode,
            answered=bool(answered),
            spent=_usages(spent),
        )

    def _insert_row(self, digest: Digest) -> int:
        values = _values(digest)
        key = self._database.execute(
            f"INSERT INTO sessions ({', '.join(values)}) VALUES ({_marks(values)})",
            (*values.values(),),
        ).lastrowid
        assert key is not None
        self._insert_around(digest, key)
        return key

    def _update_row(self, digest: Digest, key: int) -> None:
        values = _values(digest)
        columns = ", ".join(f"{column} = ?" for column in values)
        self._database.execute(
            f"UPDATE sessions SET {columns} WHERE key = ?", (*values.values(), key)
        )
        for table in ("tags", "message_summaries", "compactions", "facts"):
            self._database.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        self._insert_around(digest, key)

    def _insert_around(self, digest: Digest, key: int) -> None:
        """What stands in tables beside the row."""
        execute, many, sealed = self._database.execute, self._database.executemany, digest.sealed
        many("INSERT OR IGNORE INTO tags VALUES (?, ?)", [(key, tag) for tag in digest.row.tags])
        many(
            "INSERT INTO facts VALUES (?, ?, ?)",
            [(key, section, text) for section, text in sealed.facts],
        )
        if (told := sealed.told) is not None:
            block = (key, told.at, told.first, told.last, told.tokens, told.source)
            execute(f"INSERT INTO message_summaries VALUES ({_marks(block)})", block)
        if sealed.audit is not None:
            line = (key, *_audit(sealed))
            execute(f"INSERT INTO compactions VALUES ({_marks(line)})", line)

    def _insert_said(self, session: int, said: Sequence[Said], held: Counter[str]) -> None:
        if not said:
            return
        first = self._all(
            "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'exchanges'"
        )[0][0]
        keyed = list(enumerate(said, first))
        many = self._database.executemany
        lines = [
            (
                key,
                session,
                one.position,
                one.number,
                one.at,
                one.query,
                one.reply,
                one.archived,
                one.input,
                one.output,
                blake2b(f"{one.query}\0{one.reply}".encode(), digest_size=16).digest(),
            )
            for key, one in keyed
        ]
        many(f"INSERT INTO exchanges VALUES ({_marks(lines[0])})", lines)
        held.update(fulltext.insert(self._database, [(key, one.lines) for key, one in keyed]))

    def _drop(self, ids: Iterable[str], held: Counter[str]) -> None:
        execute = self._database.execute
        for identity in ids:
            for (key,) in self._all("SELECT key FROM sessions WHERE id = ?", (identity,)):
                self._drop_exchanges(key, 0, held)
                for table in ("tags", "message_summaries", "compactions", "facts"):
                    execute(f"DELETE FROM {table} WHERE session = ?", (key,))
                execute("DELETE FROM sessions WHERE key = ?", (key,))

    def _drop_exchanges(self, session: int, keep: int, held: Counter[str]) -> None:
        """Forget what follows the first `keep` exchanges."""
        chosen = "SELECT key FROM exchanges WHERE session = ? AND position > ?"
        held.subtract(fulltext.delete(self._database, chosen, (session, keep)))
        self._database.execute(
            "DELETE FROM exchanges WHERE session = ? AND position > ?", (session, keep)
        )

    @contextmanager
    def _changing(self) -> Iterator[Counter[str]]:
        """Change everything or nothing; what is yielded takes how many exchanges more, or fewer,
        hold a word.
        """
        with transaction(self._database, self.path):
            held: Counter[str] = Counter()
            yield held
            fulltext.count_words(self._database, held)

    def damage(self) -> IndexUnavailable:
        """Return what is raised when the index holds what nobody wrote."""
        return IndexUnavailable(
            f"The index {self.path} is damaged: it holds what nobody wrote.", damaged=True
        )


def _values(digest: Digest) -> dict[str, object]:
    """The columns of a session, by name."""
    row = digest.row
    values: dict[str, object] = {
        "id": row.id,
        "header_id": digest.header_id,
        "size": digest.size,
        "changed": digest.changed,
        "used": instant(row.updated),
        "state": row.state,
        "created": row.created.isoformat() if row.created else "",
        "agent": row.agent,
        "project": row.project,
        "parent": row.parent,
        "merged": row.merged,
        "depth": row.depth,
        "queries": row.queries,
        "tokens": row.tokens,
        "name": row.name,
        "compacted": int(row.compacted),
        "until": row.until,
        "words": row.words,
        "mode": row.mode,
        "answered": int(row.answered),
        "spent": None
        if row.spent is None
        else json.dumps([(model, asdict(usage)) for model, usage in row.spent]),
        "tags": " ".join(row.tags),
    }
    link, shown = (
        tuple(values[column] for column in columns.split(", ")) for columns in (_LINK, _SHOWN)
    )
    return values | {"link": crc32(repr(link).encode()), "whole": crc32(repr(shown).encode())}


def _link(row: tuple[Any, ...]) -> Link:
    identity, parent, merged, compacted, until, used, queries, mode, answered, *_ = row
    return Link(
        identity, parent, merged, bool(compacted), until, used, queries, mode, bool(answered)
    )


def _usages(text: str | None) -> tuple[tuple[str, Usage], ...] | None:
    return (
        None
        if text is None
        else tuple((model, Usage(**numbers)) for model, numbers in json.loads(text))
    )


def _audit(sealed: Sealed) -> tuple[object, ...]:
    assert sealed.audit is not None
    one = sealed.audit.compaction
    sizes = (
        one.first,
        one.last,
        number(one.before),
        number(one.after),
        one.why,
        one.model,
        one.cost,
    )
    counts = map(number, (one.decisions, one.pins, one.facts, one.archived, one.superseded))
    return sealed.audit.at, *sizes, sealed.audit.seconds, *counts


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))
