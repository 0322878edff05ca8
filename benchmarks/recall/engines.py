"""The three ways to search (by words, by meaning, by both) over the same exchanges, with their
costs.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from benchmarks.support.exchanges import ExchangeIndex
from chat_loop.library.indexed import Corpus, Position
from chat_loop.library.semantic import SemanticIndex
from chat_loop.library.vectors import DIMENSIONS, Embedder, Vectors, weigh
from chat_loop.sessions.records import Exchange

CANDIDATES = 60
NAMES = ("text", "meaning", "both")


@dataclass(slots=True)
class Costs:
    """CPU seconds and counts of everything that was embedded and searched. No passage is embedded
    twice.
    """

    embedding: float = 0.0
    exchanges: int = 0
    vectors: int = 0
    embedded: dict[tuple[str, str], bytes] = field(default_factory=dict)
    asking: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})


class Engines:
    """An index of one conversation, or of several in a row."""

    def __init__(self, exchanges: Sequence[Exchange], embedder: Embedder, costs: Costs) -> None:
        self._embedder = embedder
        self._costs = costs
        self._positions: list[Position] = []
        self._refs = {one.ref: at for at, one in enumerate(exchanges)}
        sizes: dict[int, int] = {}  # of each session, in the order of the index
        for one in exchanges:
            sizes[one.depth] = sizes.get(one.depth, 0) + 1
            self._positions.append(([*sizes].index(one.depth) + 1, sizes[one.depth]))
        self._places = {position: at for at, position in enumerate(self._positions)}
        self._index = ExchangeIndex()
        self._index.add(exchanges)
        vectors: list[bytes] = []
        started = time.process_time()
        for exchange in exchanges:
            said = (exchange.query.text, exchange.reply.text if exchange.reply else "")
            if said not in costs.embedded:
                costs.embedded[said] = embedder.exchange(*said)
                costs.exchanges += 1
                costs.vectors += len(costs.embedded[said]) // DIMENSIONS
            vectors.append(costs.embedded[said])
        self._vectors = Vectors(dict(enumerate(vectors)))
        costs.embedding += time.process_time() - started

    def ask(self, question: str) -> dict[str, list[int]]:
        """Return the positions of the exchanges that each way finds, the best first."""
        started = time.process_time()
        text = self._index.search(question, CANDIDATES)
        worded = time.process_time()
        meant = self.near(question)
        embedded = time.process_time()
        both = self._index.search(question, CANDIDATES, semantic=_Nearness(self))
        spent = (worded - started, embedded - worded, time.process_time() - embedded)
        for name, seconds in zip(NAMES, spent, strict=True):
            self._costs.asking[name].append(seconds)
        hits = {"text": text, "both": both}
        found = {
            name: [self._refs[one.exchange.ref] for one in some] for name, some in hits.items()
        }
        return found | {"meaning": [at for at, _ in meant]}

    def weighed(self, question: str, found: Collection[Position]) -> dict[Position, float]:
        """Return the weights of near exchanges; the order is judged, floors are measured
        separately.
        """
        similar = self._similar(question)
        nearest = {at for at, _ in self._nearest(similar)}
        nearest.update(self._places[position] for position in found)
        near = {self._positions[at]: similar[at] for at in nearest}
        return weigh(question, near, near)

    def near(self, question: str) -> list[tuple[int, float]]:
        """Return the positions of the exchanges nearest in meaning, with their similarity."""
        return self._nearest(self._similar(question))

    def _similar(self, question: str) -> list[float]:
        similar: list[float] = self._vectors.similarities(self._embedder.embed(question)).tolist()
        return similar

    @staticmethod
    def _nearest(similar: Sequence[float]) -> list[tuple[int, float]]:
        return nlargest(CANDIDATES, enumerate(similar), key=lambda pair: (pair[1], pair[0]))

    def close(self) -> None:
        """Free the memory."""
        self._index.close()


def recalls(ranks: Sequence[int]) -> tuple[float, float, float]:
    """Return the shares of questions whose right exchange is first, among the first five and among
    the first ten. A rank counts from 0.
    """
    return (_share(ranks, 1), _share(ranks, 5), _share(ranks, 10))


def _share(ranks: Sequence[int], first: int) -> float:
    return sum(rank < first for rank in ranks) / max(1, len(ranks))


class _Nearness(SemanticIndex):
    """The vectors of the engines instead of those of an index."""

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines

    def near(
        self, index: Corpus, question: str, also: Collection[Position], *_: object, **__: object
    ) -> dict[Position, float]:
        return self._engines.weighed(question, also)
