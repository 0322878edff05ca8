"""Search by meaning in an index: the vectors of its exchanges, and the nearest ones to a question.

Vectors are known by a digest of the texts that they are of: a session that is read anew keeps
them. Nothing heavy is loaded before something is embedded or searched: the prompt makes one of
these.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from chat_loop.errors import ModelError
from chat_loop.library import vectors

if TYPE_CHECKING:
    from chat_loop.library.index import Index
    from chat_loop.library.ranking import Position

Key = TypeVar("Key")

AT_ONCE = 8
"""Exchanges that are embedded between two looks at what else there is to do."""
NEAREST = 60
FLOOR, _BELOW, _HIGHER = 0.28, 0.08, 0.3
"""Where even the nearest exchange is farther from a question than the floor, all are about
something else; otherwise those are found that are not much below it. The floor is so much higher
when the model knows none of the question's words. `benchmarks.recall` chose it on its tuning half,
for the questions that are answered and for those that rightly find nothing.
"""
_FOREIGN, _FAMILIAR = 0.4, 0.8
"""`vectors.familiar` of a German question and of an English one, about."""
_LEAST = 0.2
"""The factor on similarities where the model knows hardly a word of the question."""


class SemanticIndex:
    """The sentence model and the vectors of one index. Every method is safe in any thread.

    `problem` says why it cannot be used, as a sentence; then it finds nothing.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._told = ""
        self._lock = threading.Lock()
        self._embedder: vectors.Embedder | None = None
        self._stamp: tuple[int, int | None] = (0, None)
        self._vectors: vectors.Vectors | None = None
        self._contents: list[bytes] = []
        self._missing: list[int] = []

    def embed_some(self, index: Index) -> bool:
        """Embed a few exchanges of ended sessions that have no vectors, the newest first.

        Return False, with the model given back, when there are none. Raises IndexUnavailable.
        """
        if self.problem or not vectors.available():
            return False
        with self._lock:
            self._missing = self._missing or missing(index)
            chosen, self._missing = self._missing[:AT_ONCE], self._missing[AT_ONCE:]
            embedder = self._loaded() if chosen else None
            if embedder is None:
                self._embedder = None
                return False
            found = index.ask(
                "SELECT content, CAST(query AS TEXT), CAST(reply AS TEXT) FROM exchanges "
                f"WHERE key IN ({', '.join(map(str, chosen))})"
            )
            index.keep_vectors(
                (content, vectors.SPACE, embedder.exchange(query, reply))
                for content, query, reply in found
            )
            return True

    def load(self, index: Index) -> None:
        """Load what `near` needs, if there are vectors. Raises IndexUnavailable."""
        if not self.problem and vectors.available():
            with self._lock:
                if self._read(index):
                    self._loaded()

    def near(
        self,
        index: Index,
        question: str,
        also: Collection[Position],
        where: str = "",
        values: Sequence[object] = (),
        *,
        stored: Index | None = None,
    ) -> dict[Position, float]:
        """Return how near exchanges are to a question: those in `also` that have vectors, and the
        nearest unless they are far.

        `where` is a condition on `e`, the exchanges, that begins with AND. The vectors are in
        `stored`, where that is another index. Raises IndexUnavailable.
        """
        if self.problem or not vectors.available():
            return {}
        with self._lock:
            known = self._read(stored or index)
            embedder = self._loaded() if known is not None else None
            if known is None or embedder is None:
                return {}
            numbers = {content: number for number, content in enumerate(self._contents)}
            found = index.ask(
                "SELECT CAST(e.session AS INTEGER), CAST(e.position AS INTEGER), e.content "
                f"FROM exchanges e WHERE 1 {where}",
                values,
            )
            places = {
                (session, position): numbers[content]
                for session, position, content in found
                if content in numbers
            }
            asked = {places[place] for place in also if place in places}
            nearest = dict(
                known.nearest(embedder.embed(question), NEAREST, set(places.values()), asked)
            )
        near = {place: nearest[number] for place, number in places.items() if number in nearest}
        return believed(question, near, also)

    def untold(self) -> str:
        """Return `problem` when it was not returned before."""
        told, self._told = self._told, self.problem
        return "" if told == self.problem else self.problem

    def _loaded(self) -> vectors.Embedder | None:
        if self._embedder is None:
            try:
                self._embedder = vectors.load()
            except ModelError as error:
                self.problem = error.message
        return self._embedder

    def _read(self, index: Index) -> vectors.Vectors | None:
        """Return the vectors that there are, read anew when there are others, more, or fewer."""
        [stamp] = index.ask("SELECT count(*), max(rowid) FROM vectors")
        if stamp != self._stamp:
            found = index.ask(
                "SELECT content, data FROM vectors WHERE space = ? AND typeof(data) = 'blob' "
                f"AND length(data) % {vectors.DIMENSIONS} = 0 AND length(data) ORDER BY rowid",
                (vectors.SPACE,),
            )
            self._contents = [content for content, _ in found]
            rows = [
                number
                for number, (_, data) in enumerate(found)
                for _ in range(len(data) // vectors.DIMENSIONS)
            ]
            joined = b"".join(data for _, data in found)
            self._vectors = vectors.Vectors(rows, joined) if rows else None
            self._stamp = stamp
        return self._vectors


def believed(
    question: str, near: Mapping[Key, float], also: Collection[Key], floor: float = FLOOR
) -> dict[Key, float]:
    """Return how near exchanges are to a question, the less the worse the model reads it.

    Those that are too far and are not in `also` are left out.
    """
    trust = (vectors.familiar(question) - _FOREIGN) / (_FAMILIAR - _FOREIGN)
    trust = min(1.0, max(0.0, trust))
    least, weight = floor + _HIGHER * (1.0 - trust), _LEAST + (1.0 - _LEAST) * trust
    fits = max(near.values(), default=0.0) >= least
    return {
        key: weight * nearness
        for key, nearness in near.items()
        if (fits and nearness >= least - _BELOW) or key in also
    }


def missing(index: Index, limit: int = -1) -> list[int]:
    """Return the keys of exchanges of ended sessions that have no vectors, the newest first.

    With a `limit` that many, in no order. Raises IndexUnavailable.
    """
    found = index.ask(
        "SELECT e.key FROM exchanges e JOIN sessions s ON s.key = e.session WHERE s.state != "
        "'unsealed' AND e.content NOT IN (SELECT content FROM vectors WHERE space = ?) "
        f"{'ORDER BY s.changed DESC, e.position' if limit < 0 else ''} LIMIT ?",
        (vectors.SPACE, limit),
    )
    return [int(key) for (key,) in found]
