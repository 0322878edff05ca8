"""The archive of a live conversation: its sealed ancestors, indexed in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path

from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library import archive_text
from chat_loop.library.archive_tools import READ, SEARCH
from chat_loop.library.index import Index, IndexedSession
from chat_loop.library.refresh import indexed_exchange
from chat_loop.library.search import Hit, places_of, search, texts
from chat_loop.library.semantic import SemanticIndex
from chat_loop.sessions.chain import ChainReader, chain_exchanges
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Session, SessionRow
from chat_loop.tokens import estimate

NOT_READY = "The archive is still being read. Try again in a moment."
NO_ARCHIVE = "There is no archive: nothing was said before what is in your context."
WAIT_SECONDS = 5.0
"""The longest that a tool call waits for the index."""


class ExchangeIndex:
    """Exchanges and an index of them in memory. Every method is safe in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._sessions: list[list[Exchange]] = []
        """The exchanges of each session; the index numbers sessions in this order, from 1."""

    def add(self, exchanges: Iterable[Exchange]) -> None:
        """Add sessions, as exchanges in the order in which they were said."""
        for depth, part in groupby(exchanges, key=lambda exchange: exchange.depth):
            session = list(part)
            stored = [indexed_exchange(one, [text for _, text in texts(one)]) for one in session]
            with self._lock:
                self._index = self._index or Index(Path(), in_memory=True)
                self._sessions.append(session)
                identity = str(len(self._sessions))
                row = SessionRow(id=identity, path=Path(), state="sealed", depth=depth)
                self._index.put([IndexedSession(row=row, size=0, changed=0, exchanges=stored)])

    def search(
        self,
        text: str,
        limit: int = archive_text.MAX_HITS,
        without: Collection[str] = (),
        semantic: SemanticIndex | None = None,
        vectors: Index | None = None,
    ) -> list[Hit]:
        """Return the hits, best first, except those with a reference in `without`."""
        hits: list[Hit] = []
        with self._lock:
            index = self._index
            for one in search(index, text, semantic, vectors=vectors) if index is not None else ():
                session, position = one.position
                exchange = self._sessions[session - 1][position - 1]
                if len(hits) < limit and exchange.ref not in without:
                    hits.append(Hit(exchange, one.strength, places_of(one, exchange)))
        return hits

    def close(self) -> None:
        """Remove everything and free the memory; searches find nothing until something is added."""
        with self._lock:
            if self._index is not None:
                self._index.close()
            self._index, self._sessions = None, []


class Archive:
    """The ancestors of a live session. Every method is safe in any thread; none raises."""

    def __init__(
        self,
        sessions: SessionManager,
        *,
        count: Callable[[str], int] = estimate,
        semantic: SemanticIndex | None = None,
    ) -> None:
        self._reader = ChainReader(sessions)
        self._directory = sessions.directory
        self._semantic = semantic
        self._count = count
        self._thread: threading.Thread | None = None
        self._closed = False
        self._index = ExchangeIndex()
        self._archived: tuple[tuple[Exchange, ...], ...] = ()
        self.problem = ""
        """The reason why the archive is incomplete, as a sentence; empty when it is complete."""

    @property
    def ready(self) -> bool:
        """True when the whole archive can be searched."""
        return not (self._closed or (self._thread is not None and self._thread.is_alive()))

    def follow(self, session: Session, depth: int) -> None:
        """Have a thread read the ancestors of a new session, the depth-th of its chain."""
        if not self._closed:
            arguments = session, depth, self._thread
            thread = threading.Thread(
                target=self._read, args=arguments, daemon=True, name="archive"
            )
            thread.start()
            self._thread = thread  # only now can another thread wait for it

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the index is ready, at most `timeout` seconds; return whether it is."""
        if self._thread is not None and not self._closed:
            self._thread.join(timeout)
        return self.ready

    def search(
        self,
        text: str,
        limit: int = archive_text.MAX_HITS,
        without: Collection[str] = (),
        *,
        meaning: bool = False,
    ) -> list[Hit]:
        """Return the hits by words, and by `meaning` where the sentence model is installed."""
        if not self.ready:
            return []
        if meaning and self._semantic is not None:
            with suppress(IndexUnavailable), closing(Index(self._directory)) as vectors:
                return self._index.search(text, limit, without, self._semantic, vectors)
        return self._index.search(text, limit, without)

    def recall(
        self,
        text: str,
        without: Collection[str] = (),
        room: int = archive_text.RECALL_ROOM,
        known: str = "",
    ) -> tuple[str, tuple[str, ...]]:
        """Return what to attach to a new query, as `recall_text` does."""
        hits = self.search(text, without=without)
        return archive_text.recall_text(hits, self._count, room, known)

    def call(
        self, name: str, arguments: Mapping[str, object], without: Collection[str] = ()
    ) -> str:
        """Run one of TOOLS for a model; errors are returned as sentences. May wait."""
        parameter = {READ: "queries", SEARCH: "query"}[name]
        value = arguments.get(parameter)
        if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
            return f"{name} needs the argument “{parameter}”, a text."
        if not self.wait(WAIT_SECONDS):
            return NOT_READY
        archived = self._archived
        if not any(archived):
            return f"{NO_ARCHIVE} {self.problem}".rstrip()
        if name == READ:
            return archive_text.read_text(archived[-1], str(value), archive_text.ROOM, self._count)
        hits = self.search(str(value), without=without, meaning=True)
        room = archive_text.ROOM - self._count(self.problem)
        answer = archive_text.search_text(hits, room, self._count, str(value))
        return f"{answer}\n\n{self.problem}".rstrip()

    def close(self) -> None:
        """Free the memory, at once or when the running read has ended."""
        self._closed = True
        if self._thread is None or not self._thread.is_alive():
            self._index.close()

    def _read(self, session: Session, depth: int, before: threading.Thread | None) -> None:
        """Read and index the ancestors of a session."""
        if before is not None:
            before.join()
        if self._closed:
            return
        try:
            chain = self._reader.read(session)
            archived = chain_exchanges(chain, depth)
            if archived[: len(self._archived)] != self._archived:
                self._index.close()
                self._archived = ()
            self._index.add(one for part in archived[len(self._archived) :] for one in part)
            self._archived, self.problem = archived, chain.problem
        except (SessionError, IndexUnavailable, OSError, MemoryError) as error:
            self._index.close()
            self._archived = ()
            self.problem = f"The archive cannot be searched: {error}"
        if self._closed:
            self._index.close()
