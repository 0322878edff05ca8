"""The archive of a live conversation: its sealed ancestors, indexed in the background, read and
searched on request.

It never delays a prompt: as long as the index is not ready nothing is found. It raises nothing into
a turn either: what goes wrong is kept as a sentence. It is loaded when there is an archive.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from functools import cache
from itertools import islice

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
from chat_loop.library.fulltext import FullText
from chat_loop.library.index import Index
from chat_loop.library.ranking import Position, newer, values_of
from chat_loop.library.search import Hit, Near, hit_of, search, spoken_in, texts
from chat_loop.library.semantic import SemanticIndex
from chat_loop.library.terms import lines
from chat_loop.library.text_tables import TABLES, count_words, insert
from chat_loop.sessions.chain import ChainReader, placed
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Session
from chat_loop.text import Sentence
from chat_loop.tokens import estimate

NOT_READY = "The archive is still being read. Try again in a moment."
NO_ARCHIVE = "There is no archive: nothing was said before what is in your context."
_WAIT_SECONDS = 5.0
"""Seconds that a tool call waits for the index."""
_BATCH = 200
"""Exchanges that are added under one lock: a query waits for no more than these."""


class ExchangeIndex:
    """Exchanges and their full-text index, in memory. Every method is safe in any thread.

    The place of an exchange is that of its reference: `2.14` is query 14 of the second session.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._exchanges: dict[Position, Exchange] = {}
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.executescript(
            "CREATE TABLE exchanges (key INTEGER PRIMARY KEY, session INTEGER, position INTEGER); "
            f"CREATE UNIQUE INDEX exchanges_place ON exchanges (session, position); {TABLES}"
        )
        self._fulltext = FullText(
            lambda statement, values=(): self._database.execute(statement, values).fetchall()
        )

    def __len__(self) -> int:
        """Return how many exchanges there are."""
        return len(self._exchanges)

    def add(self, exchanges: Iterable[Exchange]) -> None:
        """Add the exchanges that are not there yet, in the order in which they were said."""
        rest = iter(exchanges)
        while batch := list(islice(rest, _BATCH)):
            with self._lock, self._database:
                rows = []
                for exchange in batch:
                    place = (exchange.depth, exchange.query.number)
                    if place not in self._exchanges:
                        self._exchanges[place] = exchange
                        key = len(self._exchanges)
                        self._database.execute(
                            "INSERT INTO exchanges VALUES (?, ?, ?)", (key, *place)
                        )
                        rows.append((key, lines(*(text for _, text in texts(exchange)))))
                count_words(self._database, insert(self._database, rows))

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
        where = "AND e.session || '.' || e.position NOT IN (SELECT value FROM json_each(?))"
        with self._lock:
            if not self._exchanges:
                return []
            refs = [json.dumps(list(without))]
            question, found = search(self._fulltext, text, near, where, refs)

        @cache
        def spoken(place: Position) -> list[tuple[int, Sentence]]:
            return spoken_in(self._exchanges[place])

        @cache
        def values(place: Position, number: int) -> frozenset[str]:
            return values_of(spoken(place)[number][1].text)

        hits = []
        for one in found[: max(0, limit)]:
            later = newer(question, one, found, values)
            ref = self._exchanges[later].ref if later is not None else ""
            hits.append(hit_of(self._exchanges[one.position], spoken(one.position), one, ref))
        return hits

    def close(self) -> None:
        """Give the memory back; nothing is found afterwards."""
        with self._lock:
            self._exchanges = {}
            self._database.close()


class Archive:
    """The ancestors of the session that `follow` was last told. Every method is safe in any thread;
    none raises.
    """

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
        self._wanted: tuple[Session, int] | None = None
        self._closed = False
        self._index: ExchangeIndex | None = None
        self._archived: tuple[tuple[Exchange, ...], ...] = ()
        self._ids: tuple[str, ...] = ()
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
        """Turn to the ancestors of a session that begins, the depth-th of its chain.

        Return at once: a thread reads them.
        """
        with self._lock:
            if self._closed:
                return
            self._ready.clear()
            self._wanted = (session, depth)
        threading.Thread(target=self._work, daemon=True, name="archive").start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the index is ready, at most `timeout` seconds; return whether it is."""
        return self._ready.wait(timeout)

    def search(self, text: str, limit: int = MOST_HITS, without: Collection[str] = ()) -> list[Hit]:
        """Return the exchanges whose words fit a text best; none while not ready.

        Those under the references `without` are left out.
        """
        index = self._index
        return index.search(text, limit, without) if index is not None and self.ready else []

    def search_all(self, text: str, without: Collection[str] = ()) -> list[Hit]:
        """Search by words and, where the sentence model is installed, by meaning.

        Takes its time.
        """
        index = self._index
        if index is None or not self.ready:
            return []
        return index.search(text, without=without, near=lambda found: self._near(text, found))

    def _near(self, text: str, found: Collection[Position]) -> dict[Position, float]:
        """Return how near exchanges are to a text; their vectors are those of the folder's index.

        Nothing without an index that can be used.
        """
        if self._semantic is None:
            return {}
        here = {
            (identity, position): (exchange.depth, exchange.query.number)
            for identity, exchanges in zip(self._ids, self._archived, strict=False)
            for position, exchange in enumerate(exchanges, 1)
        }
        ids = json.dumps(self._ids)
        chosen = "SELECT key FROM sessions WHERE id IN (SELECT value FROM json_each(?))"
        try:
            with closing(Index(self._directory)) as index:
                there = {
                    (session, position): here[identity, position]
                    for identity, session, position in index.ask(
                        "SELECT s.id, e.session, e.position FROM exchanges e "
                        f"JOIN sessions s ON s.key = e.session WHERE s.key IN ({chosen})",
                        (ids,),
                    )
                    if (identity, position) in here
                }
                known = set(found)
                also = {place for place, position in there.items() if position in known}
                where = f"AND e.session IN ({chosen})"
                near = self._semantic.near(index, text, also, where, (ids,))
        except IndexUnavailable:
            return {}
        return {there[place]: nearness for place, nearness in near.items() if place in there}

    def recall(
        self, text: str, without: Collection[str] = (), room: int = RECALL_ROOM, known: str = ""
    ) -> tuple[str, tuple[str, ...]]:
        """Return what to attach to a new query, and the references it is from.

        That is ("", ()) when nothing fits, and at most `room` tokens. It says nothing that stands
        in `known`.
        """
        hits = self.search(text, without=without)
        if not hits:
            return "", ()
        return recall_text(hits, self._count, room, known)

    def call(
        self, name: str, arguments: Mapping[str, object], without: Collection[str] = ()
    ) -> str:
        """Run one of TOOLS for a model. Whatever is wrong is said in a sentence.

        Waits some seconds for an index that is being built: not for the thread that draws.
        """
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
        room = ROOM - self._count(self.problem)
        text = found_text(self.search_all(given, without), room, self._count, given)
        return f"{text}\n\n{self.problem}" if self.problem else text

    def close(self) -> None:
        """Give the memory back: at once, or when what is under way has ended."""
        with self._lock:
            self._closed = True
            self._ready.clear()
        if self._building.acquire(blocking=False):
            self._drop()
            self._building.release()

    def _work(self) -> None:
        """Read what was wanted last, one thread at a time.

        Whatever a thread dies of, the archive is ready afterwards, and the next one reads anew.
        """
        with self._building:
            with self._lock:
                wanted, self._wanted = self._wanted, None
            if wanted is None:
                return
            problem = "reading it failed."
            try:
                self._build(*wanted)
                problem = ""
            except (SessionError, OSError, MemoryError, sqlite3.Error) as error:
                problem = str(error)
            finally:
                if problem:
                    self._drop()
                    self.problem = f"The archive cannot be searched: {problem}"
                with self._lock:
                    if self._closed:
                        self._drop()
                    elif self._wanted is None:
                        self._ready.set()

    def _build(self, session: Session, depth: int) -> None:
        chain = self._reader.read(session)
        archived = placed(chain, depth)
        known = self._archived
        if archived[: len(known)] != known:
            self._drop()
            known = ()
        self.problem = chain.broken
        self._archived = archived
        self._ids = tuple(loaded.session.header.id for loaded in reversed(chain.loaded))
        if any(archived):
            if self._index is None:
                self._index = ExchangeIndex()
            self._index.add(exchange for part in archived[len(known) :] for exchange in part)

    def _drop(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index = None
        self._archived = ()
