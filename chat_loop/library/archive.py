"""The archive of a live conversation: its sealed ancestors, indexed in the background, read and
searched on request.

It never delays a prompt: as long as the index is not ready nothing is found. It raises nothing into
a turn either: what goes wrong is kept as a sentence. It is loaded when there is an archive.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from itertools import groupby
from pathlib import Path

from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library.archive_text import (
    MOST_HITS,
    RECALL_ROOM,
    ROOM,
    found_text,
    read_text,
    recall_text,
)
from chat_loop.library.archive_tools import READ, SEARCH
from chat_loop.library.index import Index, IndexedSession
from chat_loop.library.ranking import Position
from chat_loop.library.refresh import indexed
from chat_loop.library.search import Hit, Near, places_of, search, texts
from chat_loop.library.semantic import SemanticIndex
from chat_loop.sessions.chain import ChainReader, placed
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Session, SessionRow
from chat_loop.tokens import estimate

NOT_READY = "The archive is still being read. Try again in a moment."
NO_ARCHIVE = "There is no archive: nothing was said before what is in your context."
_WAIT_SECONDS = 5.0
"""Seconds that a tool call waits for the index."""


class ExchangeIndex:
    """Exchanges and an index of them in memory. Every method is safe in any thread."""

    def __init__(self, directory: Path = Path(), semantic: SemanticIndex | None = None) -> None:
        self._directory = directory
        self._semantic = semantic
        self._lock = threading.Lock()
        self._index = Index(directory, in_memory=True)
        self._sessions: dict[int, list[Exchange]] = {}
        """The exchanges of each session by its depth; the index numbers sessions in this order."""

    def add(self, exchanges: Iterable[Exchange]) -> None:
        """Add exchanges in the order in which they were said."""
        for depth, part in groupby(exchanges, key=lambda exchange: exchange.depth):
            there = self._sessions.setdefault(depth, [])
            more = list(part)
            row = SessionRow(id=str(depth), path=Path(), state="sealed", depth=depth)
            session = IndexedSession(
                row=row,
                size=0,
                changed=0,
                exchanges=[indexed(one, [text for _, text in texts(one)]) for one in more],
            )
            with self._lock:
                self._index.put([session], after=len(there))
                there += more

    def search(
        self,
        text: str,
        limit: int = MOST_HITS,
        without: Collection[str] = (),
        near: Near | None = None,
    ) -> list[Hit]:
        """Return the exchanges that fit a text best, the best first, of equals the newest.

        Those under the references `without` are left out. `near` gives what their meaning is near.
        """
        with self._lock:
            if not self._sessions:
                return []
            found = search(self._index, text, near or (lambda found: {}))
        said = list(self._sessions.values())
        scored = [(one, said[one.position[0] - 1][one.position[1] - 1]) for one in found]
        kept = [(one, exchange) for one, exchange in scored if exchange.ref not in without]
        return [
            Hit(exchange, one.strength, places_of(one, exchange))
            for one, exchange in kept[: max(0, limit)]
        ]

    def near(self, text: str, found: Collection[Position]) -> Mapping[Position, float]:
        """Return how near exchanges are to a text, by the vectors in the folder's index, if any."""
        if self._semantic is None:
            return {}
        try:
            with closing(Index(self._directory)) as stored:
                return self._semantic.near(self._index, text, found, stored=stored)
        except IndexUnavailable:
            return {}

    def close(self) -> None:
        """Give the memory back; nothing is found afterwards."""
        with self._lock:
            self._sessions = {}
            self._index.close()


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
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._ready = threading.Event()
        self._ready.set()
        self._followed = 0
        """The number of sessions that were followed; only the last one is read."""
        self._closed = False
        self._index: ExchangeIndex | None = None
        self._archived: tuple[tuple[Exchange, ...], ...] = ()
        self.problem = ""
        """Why the archive is not whole, as a sentence; empty when it is."""

    @property
    def ready(self) -> bool:
        """Tell whether everything there is can be found."""
        return self._ready.is_set()

    def __len__(self) -> int:
        """Return how many exchanges can be found."""
        return sum(map(len, self._archived)) if self.ready else 0

    def follow(self, session: Session, depth: int) -> None:
        """Have a thread read the ancestors of a session that begins, the depth-th of its chain."""
        with self._lock:
            if self._closed:
                return
            self._ready.clear()
            self._followed += 1
            arguments = session, depth, self._followed
        threading.Thread(target=self._read, args=arguments, daemon=True, name="archive").start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the index is ready, at most `timeout` seconds; return whether it is."""
        return self._ready.wait(timeout)

    def search(
        self,
        text: str,
        limit: int = MOST_HITS,
        without: Collection[str] = (),
        *,
        meaning: bool = False,
    ) -> list[Hit]:
        """Return the exchanges that fit a text best by their words, and by their `meaning` where
        the sentence model is installed, which takes its time; none while not ready.

        Those under the references `without` are left out.
        """
        index = self._index
        if index is None or not self.ready:
            return []
        near = (lambda found: index.near(text, found)) if meaning else None
        return index.search(text, limit, without, near)

    def recall(
        self, text: str, without: Collection[str] = (), room: int = RECALL_ROOM, known: str = ""
    ) -> tuple[str, tuple[str, ...]]:
        """Return what to attach to a new query, as `recall_text` does."""
        return recall_text(self.search(text, without=without), self._count, room, known)

    def call(
        self, name: str, arguments: Mapping[str, object], without: Collection[str] = ()
    ) -> str:
        """Run one of TOOLS for a model; whatever is wrong is said in a sentence. May wait."""
        wanted = {READ: "queries", SEARCH: "query"}.get(name)
        if wanted is None:
            return f"There is no tool of that name; there are {READ} and {SEARCH}."
        given = arguments.get(wanted)
        if isinstance(given, int) and not isinstance(given, bool):
            given = str(given)
        if not isinstance(given, str) or not given.strip():
            return f"{name} needs the argument “{wanted}”, a text."
        if self._closed or not self.wait(_WAIT_SECONDS):
            return NOT_READY
        archived = self._archived
        if not any(archived):
            return f"{NO_ARCHIVE} {self.problem}".rstrip()
        if name == READ:
            return read_text(archived[-1], given, ROOM, self._count)
        hits = self.search(given, without=without, meaning=True)
        text = found_text(hits, ROOM - self._count(self.problem), self._count, given)
        return f"{text}\n\n{self.problem}".rstrip()

    def close(self) -> None:
        """Give the memory back: at once, or when what is under way has ended."""
        with self._lock:
            self._closed = True
            self._ready.clear()
        if self._building.acquire(blocking=False):
            self._drop()
            self._building.release()

    def _read(self, session: Session, depth: int, number: int) -> None:
        """Read and index the ancestors of a session, unless another one was followed meanwhile.

        Whatever a thread dies of, the archive is ready afterwards, and the next one reads anew.
        """
        with self._building:
            if self._closed or number != self._followed:
                return
            problem = "reading it failed."
            try:
                chain = self._reader.read(session)
                archived = placed(chain, depth)
                known = self._archived
                if archived[: len(known)] != known:
                    self._drop()
                    known = ()
                if any(archived) and self._index is None:
                    self._index = ExchangeIndex(self._directory, self._semantic)
                if self._index is not None:
                    self._index.add(one for part in archived[len(known) :] for one in part)
                self._archived, self.problem, problem = archived, chain.broken, ""
            except (SessionError, OSError, MemoryError, sqlite3.Error) as error:
                problem = str(error)
            finally:
                if problem:
                    self._drop()
                    self.problem = f"The archive cannot be searched: {problem}"
                with self._lock:
                    if self._closed:
                        self._drop()
                    elif number == self._followed:
                        self._ready.set()

    def _drop(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index = None
        self._archived = ()
