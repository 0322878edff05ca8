"""The three ways to search: by words, by meaning, by both; over the same exchanges, with what they
cost.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from chat_loop.context.archive import common_words
from chat_loop.search.fuse import Found, exactly, fused
from chat_loop.search.meaning import Embedder, Vectors
from chat_loop.search.passages import passages
from chat_loop.search.ranking import texts
from chat_loop.search.text import Search
from chat_loop.search.wordpiece import familiar
from chat_loop.sessions.records import Exchange

CANDIDATES = 60
NAMES = ("text", "meaning", "both")


@dataclass(slots=True)
class Costs:
    """CPU seconds and counts of everything that was embedded and asked; no passage is embedded
    twice.
    """

    embedding: float = 0.0
    exchanges: int = 0
    vectors: int = 0
    embedded: dict[str, bytes] = field(default_factory=dict)
    asking: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})


class Engines:
    """An index of one conversation, or of several one after the other."""

    def __init__(self, exchanges: Sequence[Exchange], embedder: Embedder, costs: Costs) -> None:
        self._exchanges = exchanges
        self._embedder = embedder
        self._costs = costs
        self._places = {exchange.ref: at for at, exchange in enumerate(exchanges)}
        self._search = Search(common_words())
        self._search.add(exchanges)
        started = time.process_time()
        rows: list[int] = []
        joined = bytearray()
        for at, exchange in enumerate(exchanges):
            found = passages(exchange)
            new = [passage for passage in found if passage not in costs.embedded]
            costs.embedded |= {passage: embedder.embed(passage) for passage in new}
            costs.exchanges += bool(new)
            costs.vectors += len(new)
            rows += [at] * len(found)
            joined += b"".join(costs.embedded[passage] for passage in found)
        self._vectors = Vectors(rows, bytes(joined))
        costs.embedding += time.process_time() - started

    def ask(self, question: str) -> dict[str, list[int]]:
        """The places of the exchanges that each way finds, the best first."""
        started = time.process_time()
        hits = self._search.search(question, CANDIDATES)
        found = [
            Found(
                self._places[hit.exchange.ref],
                hit.score,
                hit.strength,
                exactly(question, (text for _, text in texts(hit.exchange))),
            )
            for hit in hits
        ]
        worded = time.process_time()
        near = self._vectors.nearest(self._embedder.embed(question), CANDIDATES)
        meant = time.process_time()
        both = fused(found, near, familiar=familiar(question))
        ended = time.process_time()
        spent = {"text": worded - started, "meaning": meant - worded, "both": ended - started}
        for name, seconds in spent.items():
            self._costs.asking[name].append(seconds)
        return {
            "text": [one.key for one in found],
            "meaning": [key for key, _ in near],
            "both": both,
        }

    def near(self, question: str) -> list[tuple[int, float]]:
        """The places of the exchanges whose meaning is nearest, with their similarity."""
        return self._vectors.nearest(self._embedder.embed(question), CANDIDATES)

    def close(self) -> None:
        """Give the memory back."""
        self._search.close()


def recalls(ranks: Sequence[int]) -> tuple[float, float, float]:
    """The shares of the right exchanges that come first, among five and among ten; a rank counts
    from 0.
    """
    return (_share(ranks, 1), _share(ranks, 5), _share(ranks, 10))


def _share(ranks: Sequence[int], first: int) -> float:
    return sum(rank < first for rank in ranks) / max(1, len(ranks))
