"""An index of exchanges in memory, like the library's index of a folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from chat_loop.library.hits import Hit, TextRange
from chat_loop.library.index import Index
from chat_loop.library.indexed import IndexedSession
from chat_loop.library.refresh import indexed_exchange, texts
from chat_loop.library.search import matches_of, search
from chat_loop.library.semantic import SemanticIndex
from chat_loop.sessions.records import Exchange, SessionRow


class ExchangeIndex:
    """Exchanges and their index. The sessions are numbered in the order in which they came."""

    def __init__(self, index: Any = None) -> None:
        self.index: Any = index or Index(Path(), in_memory=True)
        self._sessions: list[list[Exchange]] = []

    def add(self, exchanges: Iterable[Exchange]) -> None:
        """Add sessions, given as exchanges in the order in which they were said."""
        for depth, part in groupby(exchanges, key=lambda exchange: exchange.depth):
            session = list(part)
            self._sessions.append(session)
            identity = str(len(self._sessions))
            row = SessionRow(id=identity, folder=Path(), state="sealed", depth=depth)
            stored = [indexed_exchange(one) for one in session]
            self.index.put([IndexedSession(row=row, size=0, changed=0, exchanges=stored)])

    def search(
        self,
        text: str,
        limit: int = 5,
        without: Collection[str] = (),
        semantic: SemanticIndex | None = None,
    ) -> list[Hit]:
        """Return the hits, best first, except those with a reference in `without`."""
        hits: list[Hit] = []
        ranked = search(self.index, text, semantic)
        stored = self.index.exchanges_at(one.position for one in ranked)
        for one in ranked:
            session = stored[one.position].id
            exchange = self._sessions[int(session) - 1][one.position[1] - 1]
            if len(hits) < limit and exchange.ref not in without:
                matches = matches_of(one, texts(exchange))
                hits.append(hit_of(exchange, one.strength, matches, session))
        return hits

    def close(self) -> None:
        """Free the memory."""
        self.index.close()


def hit_of(
    exchange: Exchange, strength: float, matches: tuple[TextRange, ...] = (), session: str = "1"
) -> Hit:
    """Return a hit in a session about which only its id is known."""
    row = SessionRow(id=session, folder=Path(), state="sealed")
    return Hit(exchange, texts(exchange), row, strength, matches)
