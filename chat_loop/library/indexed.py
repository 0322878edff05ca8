"""The values that an index stores and returns, and what a search asks of one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from chat_loop.errors import IndexUnavailable
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import RunningTotals, SessionRow

Texts = tuple[tuple[str, str], ...]
"""Pairs of speaker and text in an exchange: user, model, then tools and files."""
TEXTS = msgspec.json.Decoder(Texts)
RUNNING = msgspec.json.Decoder(list[RunningTotals])
Progress = Callable[[float, int], None]
"""Reports how many files of how many are done."""
SPACE = "minilm-l6-v2-int8/128/2"
"""The model and the version of `vectors.passages`: vectors of another space are recomputed."""
Position = tuple[int, int]  # the key of a session, and the position of an exchange in it, from 1


def silent(done: float, of: int) -> None:
    """Report no progress."""


class IndexedExchange(Struct, frozen=True):
    """An exchange without secrets. `number` is that of its query; `terms.lines` makes `lines`."""

    number: int
    at: str
    texts: Texts
    lines: str

    @property
    def digest(self) -> bytes:
        """The digest of query and reply, under which the index stores their vectors."""
        from hashlib import blake2b  # loads OpenSSL, which a list does not need

        talk = "\0".join(text for _, text in self.texts[:2])
        return blake2b(talk.encode(), digest_size=16).digest()

    @property
    def json(self) -> str:
        """The texts as the index stores them."""
        return msgspec.json.encode(self.texts).decode()


class IndexedSession(Struct, frozen=True, kw_only=True):
    """A session as the index stores it."""

    row: SessionRow
    size: int  # bytes of the file when it was read
    changed: int
    exchanges: Sequence[IndexedExchange] = ()
    archived: int = -1  # the last query that its summary block covers
    summary: tuple[float | None, ...] = ()  # the block's values for `message_summaries`
    items: str = ""  # the items of the block, separated by line breaks
    running: Sequence[RunningTotals] | None = None  # None: only its row was read

    @property
    def link(self) -> Link:
        """The links of the session to other sessions."""
        row = self.row
        ties = row.parent, row.merged, row.until, row.queries, row.mode, row.answered
        return Link(row.id, *ties, bare=row.bare, merged_until=row.merged_until)


def columns_of(session: IndexedSession) -> dict[str, object]:
    """Return the columns of the table `sessions` in order, except the key."""
    row = session.row
    agent = row.agent.lower()
    project = row.project.lower()
    tags = f" {' '.join(row.tags)} "
    searched = "\n".join((row.name, row.id, agent, project, tags, session.items)).lower()
    used = None
    if row.updated is not None:
        used = row.updated.timestamp()
    running = None
    if session.running is not None:
        running = msgspec.json.encode(session.running).decode()
    return {
        "id": row.id,
        "size": session.size,
        "changed": session.changed,
        "used": used,
        "state": row.state,
        "agent": agent,
        "project": project,
        "tags": tags,
        "searched": searched,
        "queries": row.queries,
        "tokens": row.tokens,
        "link": msgspec.json.encode(session.link).decode(),
        "row": msgspec.json.encode(row, enc_hook=lambda folder: None).decode(),
        "running": running,
    }


class Condition(NamedTuple):
    """A test of a column of the table `sessions`."""

    column: str
    test: Literal["contains", ">=", "<"]
    value: str | float


def where_clause(
    conditions: Sequence[Condition], tests: Mapping[str, str]
) -> tuple[str, list[object]]:
    """Return a WHERE clause for the table `sessions`, empty without conditions, and its values.
    `tests` has the SQL of each test, with `{}` for the column.
    """
    if not conditions:
        return "", []
    parts = []
    values: list[object] = []
    for column, test, value in conditions:
        parts.append(tests[test].format(column))
        if isinstance(value, str):  # neither lone surrogates nor NUL can be stored
            values.append(value.replace("\0", " ").encode("utf-8", "replace").decode())
        else:
            values.append(value)
    return f"WHERE {' AND '.join(parts)}", values


class Phrase(NamedTuple):
    """Adjacent words. If `is_beginning`, the last one also matches words that begin with it."""

    words: tuple[str, ...]
    is_beginning: bool = False


Terms = Sequence[tuple[Sequence[Phrase], float]]
"""The phrases of each term of a query, and its weight."""
VectorRow = tuple[bytes, bytes]
"""The digest of a query and its reply, and their vectors one after another."""


class Scope(Struct, frozen=True):
    """The exchanges that a search covers: those of the sessions that meet all `conditions` or, if
    `last_queries` is given, those of its sessions up to the last query of each.
    """

    conditions: tuple[Condition, ...] = ()
    last_queries: Mapping[str, int] | None = None


EVERYTHING = Scope()


class Likely(NamedTuple):
    """An exchange that contains words of a query: its date, its position and its score."""

    at: str
    session: int
    position: int
    score: float


class StoredExchange(NamedTuple):
    """An exchange as the index stores it; `texts` is JSON."""

    id: str
    number: int
    at: str
    texts: str


class Corpus(Protocol):
    """What a search asks of an open index. Every method may raise IndexUnavailable."""

    def damage(self) -> IndexUnavailable:
        """Return the error for an index with impossible content."""

    def version(self) -> object:
        """Return a value that changes with every write and differs between open indexes. If it is
        None, do not reuse any earlier answer of the index.
        """

    def rows(self, ids: Sequence[str]) -> dict[str, SessionRow]:
        """Return the rows of the indexed sessions among `ids`."""

    def exchange_count(self) -> int:
        """Return the number of exchanges."""

    def count(self, phrases: Sequence[Phrase], most: int) -> int:
        """Return the number of exchanges that contain one of these phrases, at most `most`."""

    def likely(self, terms: Terms, scope: Scope, limit: int) -> list[Likely]:
        """Return the exchanges that match one of these terms, best first by the terms' weights or
        by the index's own.
        """

    def newest(self, phrases: Sequence[Phrase], scope: Scope, limit: int) -> list[Likely]:
        """Return the exchanges that contain one of these phrases, newest first."""

    def said_on(self, days: Sequence[str], scope: Scope, limit: int) -> list[Position]:
        """Return the first exchanges of these days, which `days.named` found in a query."""

    def words_at(self, positions: Iterable[Position]) -> dict[Position, str]:
        """Return the lines that `terms.lines` made of the exchanges at these positions."""

    def exchanges_at(self, positions: Iterable[Position]) -> dict[Position, StoredExchange]:
        """Return the exchanges at these positions."""

    def vectors(
        self, scope: Scope, also: Collection[Position], embed: Callable[[], bytes]
    ) -> dict[Position, bytes]:
        """Return vectors in SPACE: of all exchanges in the scope, of those in `also` and the ones
        nearest to the vector that `embed` returns, or of the newest.
        """
