"""The interface of an index, whichever engine stores it, and the values that it takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from chat_loop.errors import IndexUnavailable
from chat_loop.sessions.chain import Link
from chat_loop.sessions.partial import Stamp
from chat_loop.sessions.records import SessionRow

Texts = tuple[tuple[str, str], ...]
"""Who said what in an exchange: user, model, then tools and files."""
TEXTS = msgspec.json.Decoder(Texts)
Position = tuple[int, int]  # a session and the position of an exchange in it

_SUMMARIES = "FROM message_summaries"
FIGURES = {
    "sessions": "count(*) FROM sessions",
    "conversations": "NULL",  # counted in their lineage
    "queries": "CAST(coalesce(sum(queries), 0) AS bigint) FROM sessions",
    "tokens": "CAST(coalesce(sum(tokens), 0) AS bigint) FROM sessions",
    "bytes": "CAST(coalesce(sum(size), 0) AS bigint) FROM sessions",
    "exchanges_in_archives": "count(*) FROM exchanges WHERE archived = 1",
    "summaries": f"count(*) {_SUMMARIES}",
    "tokens_of_summaries": f"CAST(coalesce(sum(tokens), 0) AS bigint) {_SUMMARIES}",
    "compactions": f"count(before) {_SUMMARIES}",
    "tokens_saved_by_compactions": (
        "CAST(coalesce(sum(CASE WHEN before > after THEN before - after ELSE 0 END), 0) AS bigint) "
        f"{_SUMMARIES}"
    ),
    "cost_of_compactions": (
        "CASE WHEN count(cost) < count(before) THEN NULL ELSE coalesce(sum(cost), 0.0) END "
        f"{_SUMMARIES}"
    ),
}
"""The totals of an index by name, in the SQL that all engines know."""


class IndexedExchange(Struct, frozen=True):
    """An exchange without secrets. `number` is its query's, `lines` are those of `terms.lines`."""

    number: int
    at: str
    texts: Texts
    lines: str

    @property
    def digest(self) -> bytes:
        """The digest of query and reply, by which their vectors are known."""
        talk = "\0".join(text for _, text in self.texts[:2])
        return blake2b(talk.encode(), digest_size=16).digest()

    @property
    def json(self) -> str:
        """The texts as they are stored."""
        return msgspec.json.encode(self.texts).decode()


class IndexedSession(Struct, frozen=True, kw_only=True):
    """A session as the index stores it."""

    row: SessionRow
    size: int  # of the file when it was read
    changed: int
    exchanges: Sequence[IndexedExchange] = ()
    archived: int = -1  # the last query that its summary block covers
    summary: tuple[float | None, ...] = ()  # the block's columns of `message_summaries`
    items: str = ""  # the block's

    @property
    def link(self) -> Link:
        """The links of the session to others."""
        row = self.row
        ties = row.parent, row.merged, row.until, row.queries, row.mode, row.answered
        return Link(row.id, *ties)


def columns_of(session: IndexedSession) -> dict[str, Any]:
    """Return the columns of the table `sessions` but the key."""
    row = session.row
    agent, project, tags = row.agent.lower(), row.project.lower(), f" {' '.join(row.tags)} "
    searched = "\n".join((row.name, row.id, agent, project, tags, session.items)).lower()
    return {
        "id": row.id,
        "size": session.size,
        "changed": session.changed,
        "used": row.updated.timestamp() if row.updated else None,
        "state": row.state,
        "agent": agent,
        "project": project,
        "tags": tags,
        "searched": searched,
        "queries": row.queries,
        "tokens": row.tokens,
        "link": msgspec.json.encode(session.link).decode(),
        "row": msgspec.json.encode(row, enc_hook=lambda folder: None).decode(),
    }


class Condition(NamedTuple):
    """A test of a column of the table `sessions`."""

    column: str
    test: Literal["contains", ">=", "<"]
    value: str | float


class Phrase(NamedTuple):
    """Words that stand beside each other; of the last one perhaps only the beginning."""

    words: tuple[str, ...]
    is_beginning: bool = False


class Scope(Struct, frozen=True):
    """The exchanges that a search looks at: those of the sessions for which all conditions hold, or
    those of these sessions up to their last queries.
    """

    conditions: tuple[Condition, ...] = ()
    last_queries: Mapping[str, int] | None = None


EVERYTHING = Scope()


class Likely(NamedTuple):
    """An exchange that holds words of a query: its date, its place, how well it fits."""

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


class Engine(Protocol):
    """An open index, for one thread at a time. Every method raises IndexUnavailable."""

    @property
    def directory(self) -> Path:
        """The folder of the sessions."""

    @property
    def name(self) -> str:
        """The name of the index for a user, without a password."""

    def close(self) -> None:
        """Close the index."""

    def clear(self) -> None:
        """Delete what is from this folder, but the vectors, in one transaction."""

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return the rows that it gives."""

    def transaction(self, *, writes: bool = False) -> AbstractContextManager[None]:
        """Run everything in this context on one snapshot of the index, or as one change of it."""

    def damage(self) -> IndexUnavailable:
        """Return the error for an index with impossible content."""

    def version(self) -> object:
        """Return a value that is another after everything written, and in each open index; None:
        nothing that the index gave may be used again.
        """

    def stale(self, files: Sequence[tuple[int, str, int]]) -> tuple[list[Stamp], set[str]]:
        """Return those of a folder's files that are new or changed, and the ids that are gone."""

    def links(self) -> dict[str, Link]:
        """Return the links of all sessions, last used first, undated last."""

    def relatives(self, ids: Sequence[str]) -> dict[str, Link]:
        """Return the links of these sessions and of all that they are linked with, perhaps of more,
        last used first, undated last.
        """

    def newest_ids(self, conditions: Sequence[Condition], limit: int) -> list[str] | None:
        """Return the sessions for which all conditions hold, last used first; None where there are
        so few sessions that a list looks at all of them.
        """

    def beginnings(self) -> int:
        """Return how many listed sessions begin a conversation."""

    def rows(self, ids: Sequence[str]) -> dict[str, SessionRow]:
        """Return the indexed ones of these sessions."""

    def ids_where(
        self, conditions: Sequence[Condition] = (), among: Collection[str] | None = None
    ) -> set[str]:
        """Return the ids of the sessions, perhaps only of some, for which all conditions hold."""

    def figures(self) -> dict[str, int | float | None]:
        """Return counts, tokens, bytes and US dollars by the names of FIGURES; None: unknown."""

    def put(self, sessions: Sequence[IndexedSession]) -> None:
        """Replace sessions."""

    def drop(self, ids: Iterable[str]) -> None:
        """Delete sessions, and the vectors of texts that are nowhere else."""

    def erase(self, ids: Sequence[str]) -> None:
        """Delete sessions of this owner, in whichever folders they are."""

    def keep_vectors(self, rows: Sequence[tuple[bytes, str, bytes]]) -> None:
        """Store rows of (digest of an exchange's texts, space, concatenated vectors)."""

    def exchange_count(self) -> int:
        """Return the number of exchanges."""

    def count(self, phrases: Sequence[Phrase], most: int) -> int:
        """Return how many exchanges hold one of these phrases, at most `most`."""

    def likely(
        self, terms: Sequence[tuple[Sequence[Phrase], float]], scope: Scope, limit: int
    ) -> list[Likely]:
        """Return the exchanges that fit these terms with their weights, the best first."""

    def newest(self, phrases: Sequence[Phrase], scope: Scope, limit: int) -> list[Likely]:
        """Return the exchanges that hold one of these phrases, the newest first."""

    def words_at(self, positions: Iterable[Position]) -> dict[Position, str]:
        """Return the lines of the exchanges at these places, as `terms.lines` cut them."""

    def exchanges_at(self, positions: Iterable[Position]) -> dict[Position, StoredExchange]:
        """Return the exchanges at these places."""

    def texts_of(self, identity: str) -> list[StoredExchange]:
        """Return the exchanges of a session."""

    def vectors(
        self, space: str, scope: Scope, also: Collection[Position], embed: Callable[[], bytes]
    ) -> dict[Position, bytes]:
        """Return the vectors of exchanges in a space: of all, or of those in `also` and the nearest
        ones to the vector that `embed` gives.
        """

    def vectors_of(self, space: str, contents: Sequence[bytes]) -> list[tuple[bytes, str, bytes]]:
        """Return the vectors of texts with these digests, as `keep_vectors` takes them."""

    def unembedded(self, space: str, limit: int) -> list[tuple[bytes, str, str]]:
        """Return digests, queries and replies of ended sessions without vectors, the newest
        first.
        """
