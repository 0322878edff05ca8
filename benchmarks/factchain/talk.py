"""What a generated conversation is: exchanges in segments, and the facts that were planted in
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from benchmarks.factchain.wording import Speaker

SEGMENTS = 10


class Fact(Struct, frozen=True, kw_only=True):
    """One planted fact. `values` must be found whole; for types with a value one of `keys` must
    stand beside it.
    """

    number: int
    """From 1, in the order of planting."""
    kind: str
    language: str
    speaker: Speaker
    announced: bool
    segment: int
    """From 1."""
    sentence: str
    """As it stands in the talk, without its announcement; its first letter may be small there."""
    values: tuple[str, ...]
    keys: tuple[str, ...]
    question: str
    superseded_by: int | None = None
    superseded_in: int | None = None
    """The segment that holds its successor."""

    @property
    def core(self) -> str:
        """What of the sentence is in the talk letter by letter."""
        return self.sentence[1:]

    def stale(self, segment: int) -> bool:
        """Whether it has been replaced by the end of `segment`."""
        return self.superseded_in is not None and self.superseded_in <= segment

    def live(self, segment: int) -> bool:
        """Whether it has been said, and not been replaced, by the end of `segment`."""
        return self.segment <= segment and not self.stale(segment)


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange."""

    query: str
    reply: str


class Talk(Struct, frozen=True, kw_only=True):
    """A whole conversation."""

    profile: str
    seed: int
    facts: tuple[Fact, ...]
    segments: tuple[tuple[Turn, ...], ...]
    pins: tuple[str, ...]
    """Pinned in the first segment."""

    def turns(self, upto: int = SEGMENTS) -> tuple[Turn, ...]:
        """The exchanges of the first `upto` segments."""
        return tuple(turn for segment in self.segments[:upto] for turn in segment)

    def text(self, upto: int = SEGMENTS) -> str:
        """Every word that was said or pinned by the end of segment `upto`."""
        return "\n\n".join(
            [*self.pins, *(text for turn in self.turns(upto) for text in (turn.query, turn.reply))]
        )
