"""Meaning beside the index: the vectors of exchanges, made in the background, and the nearest ones
to a question.

Nothing heavy is loaded before something is embedded or searched: the prompt makes one of these.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from chat_loop.errors import ModelError
from chat_loop.sessions.records import Exchange, Query, Reply

if TYPE_CHECKING:
    from chat_loop.library.index import Index
    from chat_loop.search.meaning import Embedder, Vectors

AT_ONCE = 8
"""Exchanges that are embedded between two looks at what else there is to do."""
_EPOCH = datetime.fromtimestamp(0).astimezone()


class Meanings:
    """The sentence model and the vectors of one index. Every method is safe in any thread.

    `problem` says why it cannot be used, as a sentence; then it finds nothing.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._told = ""
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._stamp: tuple[int, int | None] | None = None
        self._vectors: Vectors | None = None
        self._missing: list[int] = []

    def embed_some(self, index: Index) -> bool:
        """Embed a few exchanges of ended sessions that have no vectors, the newest first; whether
        there are more.

        The model is given back when there are none. Raises IndexUnavailable.
        """
        from chat_loop.search import meaning
        from chat_loop.search.passages import passages

        if self.problem or not meaning.available():
            return False
        with self._lock:
            space = meaning.Embedder.name
            self._missing = self._missing or missing(index, space)
            keys, self._missing = self._missing[:AT_ONCE], self._missing[AT_ONCE:]
            embedder = self._loaded() if keys else None
            if embedder is None:
                self._embedder = None
                return False
            found = index.ask(
                "SELECT key, CAST(query AS TEXT), CAST(reply AS TEXT) FROM exchanges WHERE "
                f"key IN ({_listed(keys)})"
            )
            index.keep_vectors(
                (
                    key,
                    space,
                    b"".join(
                        embedder.embed(passage) for passage in passages(_exchange(query, reply))
                    ),
                )
                for key, query, reply in found
            )
            return True

    def load(self, index: Index) -> None:
        """Load what `nearest` needs, if there are vectors. Raises IndexUnavailable."""
        from chat_loop.search import meaning

        if not self.problem and meaning.available():
            with self._lock:
                if self._read(index, meaning.Embedder.name):
                    self._loaded()

    def nearest(
        self, index: Index, question: str, limit: int, among: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """The keys of the exchanges that are nearest to a question, with their similarity; nothing
        without vectors.

        Raises IndexUnavailable.
        """
        from chat_loop.search import meaning

        if self.problem or not meaning.available():
            return []
        with self._lock:
            vectors = self._read(index, meaning.Embedder.name)
            if not vectors or (among is not None and not among):
                return []
            embedder = self._loaded()
            return (
                [] if embedder is None else vectors.nearest(embedder.embed(question), limit, among)
            )

    def has(self, index: Index, keys: Collection[int]) -> set[int]:
        """Those of the exchanges that have vectors. Raises IndexUnavailable."""
        from chat_loop.search import meaning

        query = f"SELECT exchange FROM vectors WHERE space = ? AND exchange IN ({_listed(keys)})"
        return {key for (key,) in index.ask(query, (meaning.Embedder.name,))}

    def untold(self) -> str:
        """Return `problem` when it was not returned before."""
        told, self._told = self._told, self.problem
        return "" if told == self.problem else self.problem

    def _loaded(self) -> Embedder | None:
        if self._embedder is None:
            from chat_loop.search import meaning

            try:
                self._embedder = meaning.load()
            except ModelError as error:
                self.problem = error.message
        return self._embedder

    def _read(self, index: Index, space: str) -> Vectors | None:
        from chat_loop.search import meaning

        count, last = index.ask("SELECT count(*), max(key) FROM vectors WHERE space = ?", (space,))[
            0
        ]
        if (count, last) != self._stamp:  # a key is given once: others are there, or more, or fewer
            found = index.ask(
                "SELECT exchange, data FROM vectors WHERE space = ? AND typeof(data) = 'blob' "
                f"AND length(data) % {meaning.DIMENSIONS} = 0 ORDER BY exchange",
                (space,),
            )
            rows = [key for key, data in found for _ in range(len(data) // meaning.DIMENSIONS)]
            self._vectors = (
                meaning.Vectors(rows, b"".join(data for _, data in found)) if rows else None
            )
            self._stamp = (count, last)
        return self._vectors


def missing(index: Index, space: str, limit: int = -1) -> list[int]:
    """The keys of at most `limit` exchanges of ended sessions that have no vectors, the newest
    first.

    Raises IndexUnavailable.
    """
    query = (
        "SELECT e.key FROM exchanges e JOIN sessions s ON s.key = e.session "
        "WHERE s.state != 'unsealed' AND e.key NOT IN (SELECT exchange FROM vectors WHERE "
        "space = ?) "
        f"{'ORDER BY s.changed DESC, e.position' if limit < 0 else ''} LIMIT ?"
    )
    return [key for (key,) in index.ask(query, (space, limit))]


def _listed(keys: Collection[int]) -> str:
    return ", ".join(str(int(key)) for key in keys)


def _exchange(query: str, reply: str) -> Exchange:
    answer = Reply(number=1, at=_EPOCH, text=reply) if reply else None
    return Exchange(Query(number=1, at=_EPOCH, text=query), answer)


def keys_of(index: Index, sessions: Sequence[str]) -> dict[int, tuple[str, int]]:
    """The exchanges of sessions: key -> (session's id, position). Raises IndexUnavailable."""
    marks = ", ".join("?" * len(sessions))
    found = index.ask(
        "SELECT e.key, s.id, e.position FROM exchanges e JOIN sessions s ON s.key = "
        f"e.session WHERE s.id IN ({marks})",
        list(sessions),
    )
    return {key: (identity, position) for key, identity, position in found}
