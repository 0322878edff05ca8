"""A team's library: the shared library that the config names, in PostgreSQL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library.filters import SessionFilter
from chat_loop.library.hits import Hit
from chat_loop.library.indexed import TEXTS, IndexedSession, Scope, StoredExchange, VectorRow
from chat_loop.library.search import find
from chat_loop.library.semantic import SemanticIndex
from chat_loop.library.shared import Answer, Cursor, SharedPage, SharedRows
from chat_loop.sessions.records import EPOCH, Header, Query, Reply, Session, SessionRow
from chat_loop.sessions.rows import Stale, Stamps
from chat_loop.team.postgres import Postgres

AGAIN_SECONDS = 20.0  # before a library that failed is tried again

T = TypeVar("T")


class TeamLibrary:
    """The library at a URL for the sessions of a folder, for any thread: each keeps a connection.
    When it fails, one answer tells that; the folder's own answers go on until it answers again.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._lock = threading.Lock()  # of what follows
        self._connections: dict[int, Postgres] = {}
        self._problem = ""
        self._is_told = False
        self._until = 0.0

    def page(
        self, wanted: SessionFilter, limit: int, after: Cursor | None = None
    ) -> Answer[SharedPage]:
        """Return the next `limit` wanted sessions, last used first, and their relatives."""
        return self._answer(lambda database: database.page(wanted, limit, after), SharedPage())

    def family(self, ids: Sequence[str]) -> Answer[SharedPage]:
        """Return sessions with their relatives."""
        return self._answer(lambda database: database.family(ids), SharedPage())

    def rows(self, ids: Sequence[str], forked: Sequence[str] = ()) -> Answer[SharedRows]:
        """Return the rows of sessions, and the running totals of those that others fork."""

        def read(database: Postgres) -> SharedRows:
            running = database.running_totals(forked)
            return SharedRows(database.rows(ids), running)

        return self._answer(read, SharedRows({}, {}))

    def search(
        self, text: str, wanted: SessionFilter, limit: int, semantic: SemanticIndex | None
    ) -> Answer[list[Hit]]:
        """Return at most `limit` exchanges that fit, best first."""
        scope = Scope(conditions=wanted.conditions())
        return self._answer(lambda database: find(database, text, scope, limit, semantic), [])

    def session(self, identity: str) -> Answer[Session | None]:
        """Return a session with queries and replies only and without secrets, or None."""

        def read(database: Postgres) -> Session | None:
            row = database.rows([identity]).get(identity)
            exchanges = database.texts_of(identity)
            if row is None or not exchanges:
                return None
            try:
                return _session(row, exchanges)
            except ValueError:
                raise database.damage() from None

        return self._answer(read, None)

    def stale(self, files: Stamps) -> Stale:
        """Compare the folder's files with the stored ones. Raises IndexUnavailable."""
        with self._connected() as database:
            return database.stale(files)

    def push(self, sessions: Sequence[IndexedSession], gone: Collection[str]) -> None:
        """Store sessions of the folder, and drop those whose files are gone from it. Raises
        IndexUnavailable.
        """
        with self._connected() as database:
            if gone:
                database.drop(gone)
            if sessions:
                database.put(sessions)

    def lacking(self, limit: int) -> list[bytes]:
        """Return the digests of this owner's exchanges without vectors, last changed first. Raises
        IndexUnavailable.
        """
        with self._connected() as database:
            return database.lacking(limit)

    def keep_vectors(self, rows: Sequence[VectorRow]) -> None:
        """Store vectors of exchanges. Raises IndexUnavailable."""
        with self._connected() as database:
            database.keep_vectors(rows)

    def erase(self, ids: Sequence[str]) -> None:
        """Delete this owner's sessions, whichever folders they are in. Those that are still in the
        folder are stored again later, as they are then. Raises SessionError.
        """
        try:
            with self._connected() as database:
                database.erase(ids)
        except IndexUnavailable as error:
            hint = "Run the command again when the library answers."
            raise SessionError(f"{error} It may still have the words.", hint) from error

    def check(self) -> str:
        """Return a sentence that the library answers. Raises IndexUnavailable."""
        with self._connected() as database:
            return f"{database.name} answers"

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            connections = [*self._connections.values()]
            self._connections.clear()
        for connection in connections:
            connection.close()

    def _answer(self, ask: Callable[[Postgres], T], otherwise: T) -> Answer[T]:
        """Return an answer that one snapshot gives, or why there is none."""
        try:
            with self._connected(pauses=True) as database, database.transaction():
                return Answer(ask(database))
        except IndexUnavailable:
            with self._lock:
                if self._is_told:
                    return Answer(otherwise)
                self._is_told = True
                return Answer(otherwise, f"{self._problem} This machine's own index is used.")

    @contextmanager
    def _connected(self, *, pauses: bool = False) -> Iterator[Postgres]:
        """Lend this thread's connection, which is closed when something fails. If none can be made,
        or if it `pauses`, the next call fails at once for a while. Raises IndexUnavailable.
        """
        thread = threading.get_ident()
        with self._lock:
            connection = self._connections.get(thread)
            if connection is None and time.monotonic() < self._until:
                raise IndexUnavailable(self._problem)
        try:
            if connection is None:
                connection = Postgres(self._folder, self._url)
                with self._lock:
                    self._connections[thread] = connection
                    self._is_told = False
            yield connection
        except IndexUnavailable as error:
            with self._lock:
                self._connections.pop(thread, None)
                if pauses or connection is None:
                    self._problem = str(error)
                    self._until = time.monotonic() + AGAIN_SECONDS
            if connection is not None:
                connection.close()
            raise


def _session(row: SessionRow, stored: Sequence[StoredExchange]) -> Session:
    """Return a session with the queries and replies in the library. Raises ValueError."""
    entries: list[Query | Reply] = []
    for exchange in stored:
        at = datetime.fromisoformat(exchange.at)
        query, reply, *_ = TEXTS.decode(exchange.texts)
        entries.append(Query(number=exchange.number, at=at, text=query[1]))
        if reply[1]:
            entries.append(Reply(number=exchange.number, at=at, text=reply[1]))
    header = Header(
        id=row.id,
        created=row.created or EPOCH,
        agent=row.agent,
        parent=row.parent,
        name=row.name,
        tags=row.tags,
        project=row.project,
        git_branch=row.git_branch,
        mode=row.mode,
    )
    return Session(header=header, entries=tuple(entries))
