"""What a search finds: exchanges, with the parts of their texts that fit."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.library.indexed import Texts
from chat_loop.sessions.records import Exchange, SessionRow


class TextRange(Struct, frozen=True):
    """Characters `start` to `end` of an exchange's `texts[part]`."""

    part: int
    start: int
    end: int


class Hit(Struct, frozen=True):
    """An exchange that fits a query, its strength from 0 to 1, and its best sentences first."""

    exchange: Exchange
    texts: Texts
    row: SessionRow
    strength: float
    matches: tuple[TextRange, ...] = ()
    listed: int | None = None  # the number of its conversation in lists

    @property
    def related(self) -> bool:
        """True if only its meaning fits: it contains no word of the query."""
        return not self.matches


def fused(own: Sequence[Hit], shared: Sequence[Hit]) -> list[Hit]:
    """Join the hits of a folder and of a library that it shares by their ranks. One in both has the
    better rank and the folder's words; of two with the same rank, the stronger one comes first.
    """
    best: dict[tuple[str, int], tuple[int, Hit]] = {}
    for hits in (own, shared):
        for rank, hit in enumerate(hits):
            key = hit.row.id, hit.exchange.number
            known = best.get(key)
            if known is None:
                best[key] = rank, hit
            elif rank < known[0]:
                best[key] = rank, known[1]
    order = sorted(best.values(), key=lambda found: (found[0], -found[1].strength))
    return [hit for _, hit in order]
