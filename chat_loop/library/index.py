"""The index: what is known of all sessions of a folder, in one SQLite file beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from chat_loop.library.digest import Digest, Said, kept, spoken
from chat_loop.library.file import BUSY_SECONDS, FILE, connect, transaction, translated
from chat_loop.sessions.listing import moment
from chat_loop.sessions.row import SessionRow

_ROW = "key, id, changed, state, created, agent, project, parent, merged, depth, queries, tokens, name, compacted"
_LONGEST_WORD = 200
_LARGEST = (1 << 63) - 1
_FEW = 500


class Index:
    """An open index. One thread at a time; every method raises IndexTrouble."""

    def __init__(self, directory: Path, *, busy: float = BUSY_SECONDS) -> None:
        self.directory = directory
        self.path = directory / FILE
        self._database = connect(directory, busy)

    def close(self) -> None:
        """Give the file back."""
        self._database.close()

    def stamps(self) -> dict[str, tuple[int, int]]:
        """(modification time, size) of every file when it was read, by id."""
        with translated(self.path):
            return {
                identity: (changed, size)
                for identity, changed, size in self._all("SELECT id, changed, size FROM sessions")
            }

    def rows(self, where: str = "", values: Sequence[object] = ()) -> list[tuple[int, SessionRow]]:
        """(key, row) of the sessions; `where` is what follows FROM sessions, such as an order."""
        with translated(self.path):
            found = self._all(f"SELECT {_ROW} FROM sessions {where}", values)
            tags: dict[int, list[str]] = {}
            only = f"WHERE session IN ({','.join(str(row[0]) for row in found)})" if len(found) <= _FEW else ""
            for key, tag in self._all(f"SELECT session, tag FROM tags {only}"):
                tags.setdefault(key, []).append(tag)
            return [(row[0], self._row(row, tags.get(row[0], ()))) for row in found]

    def put(self, digests: Iterable[Digest]) -> None:
        """Take what was read of files, in the place of what was known of them, in one transaction."""
        with self._changing():
            for digest in digests:
                self._drop([digest.row.id])
                self._insert(digest)

    def grow(self, digest: Digest, known: int) -> None:
        """Take a session of which the first `known` exchanges are there already."""
        with self._changing():
            key = self.key_of(digest.row.id)
            if key is None or self.counted(key) != known:
                self._drop([digest.row.id])
                self._insert(digest)
                return
            self._insert_row(digest, key)
            self._insert_said(key, digest.said[known:])

    def keep_vectors(self, vectors: Iterable[tuple[int, str, bytes]]) -> None:
        """Keep what exchanges mean: (key, space, vectors one after the other), in the place of what was there."""
        rows = list(vectors)
        with self._changing():
            self._database.executemany(
                "INSERT OR REPLACE INTO vectors SELECT ?1, ?2, ?3 "
                "WHERE EXISTS (SELECT 1 FROM exchanges WHERE key = ?1)",
                rows,
            )

    def drop(self, ids: Iterable[str]) -> None:
        """Forget files that are gone."""
        with self._changing():
            self._drop(ids)

    def key_of(self, identity: str) -> int | None:
        """The key of a session."""
        with translated(self.path):
            found = self._all("SELECT key FROM sessions WHERE id = ?", (identity,))
            return found[0][0] if found else None

    def counted(self, key: int) -> int:
        """How many exchanges of a session it knows."""
        with translated(self.path):
            return int(self._all("SELECT count(*) FROM exchanges WHERE session = ?", (key,))[0][0])

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows that a SELECT gives."""
        with translated(self.path):
            return self._all(statement, values)

    def _all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._database.execute(statement, values).fetchall()

    def _row(self, row: tuple[Any, ...], tags: Sequence[str]) -> SessionRow:
        (
            _,
            identity,
            changed,
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
            compacted,
        ) = row
        return SessionRow(
            id=identity,
            path=self.directory / f"{identity}.md",
            state=state,
            updated=moment(changed),
            created=datetime.fromisoformat(created) if created else None,
            agent=agent,
            project=project,
            parent=parent,
            merged=merged,
            queries=queries,
            tokens=tokens,
            name=name,
            tags=tuple(tags),
            depth=depth,
            compacted=bool(compacted),
        )

    def _insert(self, digest: Digest) -> None:
        key = self._insert_row(digest, None)
        self._insert_said(key, digest.said)

    def _insert_row(self, digest: Digest, key: int | None) -> int:
        row, execute = digest.row, self._database.execute
        if key is not None:
            for table in ("tags", "message_summaries", "compactions", "facts"):
                execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        values = (
            key,
            row.id,
            digest.header_id,
            digest.size,
            digest.changed,
            row.state,
            row.created.isoformat() if row.created else "",
            kept(row.agent),
            kept(digest.project),
            row.parent,
            row.merged,
            min(row.depth, 1 << 60),
            _number(row.queries),
            _number(row.tokens),
            kept(row.name),
            row.compacted,
        )
        new = execute(f"INSERT OR REPLACE INTO sessions VALUES ({_marks(values)})", values).lastrowid
        key = key if key is not None else int(new or 0)
        self._database.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", [(key, tag) for tag in row.tags])
        if (told := digest.told) is not None:
            block = (key, told.at, told.first, told.last, told.tokens, told.source)
            execute(f"INSERT INTO message_summaries VALUES ({_marks(block)})", block)
        if (audit := digest.audit) is not None:
            one = audit.compaction
            sizes = (
                one.first,
                one.last,
                _number(one.before),
                _number(one.after),
                one.why,
                one.model,
                one.cost,
                audit.seconds,
            )
            counts = map(_number, (one.decisions, one.pins, one.facts, one.archived, one.superseded))
            line = (key, audit.at, *sizes, *counts)
            execute(f"INSERT INTO compactions VALUES ({_marks(line)})", line)
        facts = [(key, section, text) for section, text in digest.facts]
        self._database.executemany("INSERT INTO facts VALUES (?, ?, ?)", facts)
        return key

    def _insert_said(self, session: int, said: Sequence[Said]) -> None:
        if not said:
            return
        first = self._all("SELECT coalesce(max(key), 0) + 1 FROM exchanges")[0][0]
        many = self._database.executemany
        many(
            "INSERT INTO exchanges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    key,
                    session,
                    one.position,
                    _number(one.number),
                    one.at,
                    one.query,
                    one.reply,
                    one.archived,
                    _number(one.input),
                    _number(one.output),
                )
                for key, one in enumerate(said, first)
            ],
        )
        many("INSERT INTO said (rowid, words) VALUES (?, ?)", [(key, one.words) for key, one in enumerate(said, first)])
        words = {word for one in said for word in one.words.split(" ") if len(word) <= _LONGEST_WORD}
        known = {
            word
            for (word,) in self._all(
                "SELECT value FROM json_each(?) WHERE value IN (SELECT word FROM lexicon)", (json.dumps([*words]),)
            )
        }
        fresh = [(word,) for word in sorted(words - known - {""})]
        many("INSERT INTO lexicon VALUES (?)", fresh)
        many("INSERT INTO parts (word) VALUES (?)", fresh)

    def _drop(self, ids: Iterable[str]) -> None:
        execute = self._database.execute
        for identity in ids:
            for (key,) in self._all("SELECT key FROM sessions WHERE id = ?", (identity,)):
                # The table holds no words to look them up by: they are made again from the texts.
                for exchange, query, reply in self._all(
                    "SELECT key, query, reply FROM exchanges WHERE session = ?", (key,)
                ):
                    execute(
                        "INSERT INTO said (said, rowid, words) VALUES ('delete', ?, ?)",
                        (exchange, spoken(query, reply)),
                    )
                execute("DELETE FROM vectors WHERE exchange IN (SELECT key FROM exchanges WHERE session = ?)", (key,))
                for table in ("exchanges", "tags", "message_summaries", "compactions", "facts"):
                    execute(f"DELETE FROM {table} WHERE session = ?", (key,))
                execute("DELETE FROM sessions WHERE key = ?", (key,))

    def _changing(self) -> AbstractContextManager[None]:
        return transaction(self._database, self.path)


def _number(value: int | None) -> int | None:
    """A number as SQLite can hold it."""
    return None if value is None else min(value, _LARGEST)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
