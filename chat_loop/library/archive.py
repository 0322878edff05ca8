"""The archive of a live conversation: its sealed ancestors, in the index of their folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import closing

from msgspec.structs import replace

from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library import archive_text, lineage
from chat_loop.library.archive_tools import READ, SEARCH
from chat_loop.library.index import Index
from chat_loop.library.library import Library
from chat_loop.library.search import Hit, search_chain
from chat_loop.library.semantic import SemanticIndex
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from chat_loop.tokens import estimate

NOT_READY = "The archive is still being read. Try again in a moment."
NO_ARCHIVE = "There is no archive: nothing was said before what is in your context."
WAIT_SECONDS = 5.0
"""The longest that a tool call waits for the index."""


class Archive:
    """The ancestors of a live session. Every method is safe in any thread; none raises."""

    def __init__(
        self,
        sessions: SessionManager,
        *,
        count: Callable[[str], int] = estimate,
        semantic: SemanticIndex | None = None,
    ) -> None:
        self._sessions = sessions
        self._semantic = semantic
        self._count = count
        self._thread: threading.Thread | None = None
        self._closed = False
        self._last_queries: dict[str, int] = {}  # of each ancestor, nearest first
        self._depth = 1
        self.problem = ""
        """The reason why the archive is incomplete, as a sentence; empty when it is complete."""

    @property
    def ready(self) -> bool:
        """True when the whole archive can be searched."""
        return not (self._closed or (self._thread is not None and self._thread.is_alive()))

    def follow(self, session: Session, depth: int) -> None:
        """Have a thread index the ancestors of a new session, the depth-th of its chain."""
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
        if not (self.ready and self._last_queries):
            return []
        semantic = self._semantic if meaning else None
        depths = {one: self._depth - back for back, one in enumerate(self._last_queries, 1)}
        hits: list[Hit] = []
        try:
            with closing(Index(self._sessions.directory)) as index:
                most = limit + len(without)
                for hit in search_chain(index, text, self._last_queries, most, semantic):
                    exchange = replace(hit.exchange, depth=depths[hit.row.id])
                    if exchange.ref not in without:
                        hits.append(replace(hit, exchange=exchange))
        except IndexUnavailable as error:
            self.problem = f"The archive cannot be searched: {error}"
        return hits[:limit]

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
        if not self._last_queries:
            return f"{NO_ARCHIVE} {self.problem}".rstrip()
        if name == READ:
            return self._read_parent(str(value))
        hits = self.search(str(value), without=without, meaning=True)
        room = archive_text.ROOM - self._count(self.problem)
        answer = archive_text.search_text(hits, room, self._count, str(value))
        return f"{answer}\n\n{self.problem}".rstrip()

    def close(self) -> None:
        """Find nothing from now on."""
        self._closed = True

    def _read_parent(self, request: str) -> str:
        """Return queries of the session before, word for word from its transcript."""
        parent, last = next(iter(self._last_queries.items()))
        try:
            session = self._sessions.load(self._sessions.session_file(parent)).session
        except SessionError as error:
            return error.message
        exchanges = [replace(one, depth=self._depth - 1) for one in session.up_to(last).exchanges]
        return archive_text.read_text(exchanges, request, archive_text.ROOM, self._count)

    def _read(self, session: Session, depth: int, before: threading.Thread | None) -> None:
        """Bring the index up to date and find the ancestors of a session in it."""
        if before is not None:
            before.join()
        if self._closed:
            return
        self.problem, self._last_queries = "", {}
        library = Library(self._sessions.directory, self._sessions.now, thorough=True)
        try:
            links = library.links()
        except (SessionError, MemoryError) as error:
            self.problem = f"The archive cannot be searched: {error}"
            return
        finally:
            library.close()
        link = lineage.link_of(session)
        links[link.id] = link
        ancestors = lineage.last_queries(link.id, links)
        parents = {one: last for one, last in ancestors.items() if one != link.id}
        for one in ancestors:
            for missing in links[one].parents:
                if missing not in links:
                    self.problem = f"The chain ends before {missing}: it is not in the folder."
        self._depth, self._last_queries = max(depth, len(parents) + 1), parents
