"""The archive of a live conversation: its sealed ancestors, in the index of their folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from typing import TypeVar

from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.library import archive_text
from chat_loop.library.archive_text import MAX_HITS
from chat_loop.library.archive_tools import READ, SEARCH
from chat_loop.library.index import Index
from chat_loop.library.library import Library
from chat_loop.library.search import Hit, search_chain
from chat_loop.library.semantic import SemanticIndex
from chat_loop.sessions.chain import last_queries, link_of
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from chat_loop.tokens import estimate

NOT_READY = "The archive is still being read. Try again in a moment."
NO_ARCHIVE = "There is no archive: nothing was said before what is in your context."
CANNOT = "The archive cannot be searched"
CALL_SECONDS, RECALL_SECONDS = 5.0, 1.0
"""The longest that a tool call and a query wait until many new files are indexed."""

T = TypeVar("T")


class Archive:
    """The ancestors of a live session, for any thread. What it does may take a while."""

    def __init__(
        self,
        sessions: SessionManager,
        session: Session,
        *,
        count: Callable[[str], int] = estimate,
        semantic: SemanticIndex | None = None,
    ) -> None:
        self._sessions = sessions
        self._link = link_of(session)
        self._depth = session.depth
        self._count = count
        self._semantic = semantic

    def search(self, text: str, without: Collection[str] = ()) -> list[Hit]:
        """Return the hits by words, best first; none where the index cannot be used."""
        try:
            return self._ask(
                lambda index: search_chain(
                    index, text, self._ancestors(index), self._depth, MAX_HITS, without
                ),
                RECALL_SECONDS,
            )
        except (SessionError, TimeoutError, MemoryError):
            return []

    def recall(
        self,
        text: str,
        without: Collection[str] = (),
        room: int = archive_text.RECALL_ROOM,
        known: str = "",
    ) -> tuple[str, tuple[str, ...]]:
        """Return what to attach to a new query, as `recall_text` does."""
        return archive_text.recall_text(self.search(text, without), self._count, room, known)

    def call(
        self, name: str, arguments: Mapping[str, object], without: Collection[str] = ()
    ) -> str:
        """Run one of TOOLS for a model; errors are returned as sentences."""
        parameter = {READ: "queries", SEARCH: "query"}[name]
        value = arguments.get(parameter)
        if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
            return f"{name} needs the argument “{parameter}”, a text."
        text = str(value)

        def answer(index: Index) -> str:
            ancestors = self._ancestors(index)
            if not ancestors:
                return NO_ARCHIVE
            if name == READ:  # the session before, word for word from its transcript
                parent, last = next(iter(ancestors.items()))
                loaded = self._sessions.load(self._sessions.session_file(parent))
                depth = max(self._depth - 1, len(ancestors))
                exchanges = [
                    replace(exchange, depth=depth)
                    for exchange in loaded.session.up_to(last).exchanges
                ]
                return archive_text.read_text(exchanges, text, archive_text.ROOM, self._count)
            hits = search_chain(
                index, text, ancestors, self._depth, MAX_HITS, without, self._semantic
            )
            return archive_text.search_text(hits, archive_text.ROOM, self._count)

        try:
            return self._ask(answer, CALL_SECONDS)
        except TimeoutError:
            return NOT_READY
        except (SessionError, MemoryError) as error:
            return f"{CANNOT}: {error}"

    def _ask(self, question: Callable[[Index], T], seconds: float) -> T:
        """Return the answer of the folder's index. Raises SessionError, and TimeoutError when there
        is more to index than `seconds` suffice for; the next call goes on from there.
        """
        until = time.monotonic() + seconds

        def check(done: int, of: int) -> None:
            if time.monotonic() > until and done < of:
                raise TimeoutError

        with closing(Library(self._sessions.directory, check)) as library:
            return library.ask(question)

    def _ancestors(self, index: Index) -> dict[str, int]:
        """Return the last query that counts of each ancestor, nearest first."""
        links = {**index.links(), self._link.id: self._link}
        ancestors = last_queries(self._link.id, links)
        del ancestors[self._link.id]
        return ancestors
