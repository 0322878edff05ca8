"""A generated conversation: exchanges in segments, and the facts that were planted in them."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from benchmarks.factchain.wording import Speaker

SEGMENTS = 10


class Fact(Struct, frozen=True, kw_only=True):
    """One planted fact. A context must contain `values` whole. For types with a value, one of
    `keys` must be next to it.
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
    """As in the talk, without its announcement; there, its first letter may be lower case."""
    values: tuple[str, ...]
    keys: tuple[str, ...]
    question: str
    superseded_by: int | None = None
    superseded_in: int | None = None
    """The segment that contains its successor."""

    @property
    def core(self) -> str:
        """The part of the sentence that the talk contains letter by letter."""
        return self.sentence[1:]

    def stale(self, segment: int) -> bool:
        """Return True if the fact has been replaced by the end of `segment`."""
        return self.superseded_in is not None and self.superseded_in <= segment

    def live(self, segment: int) -> bool:
        """Return True if the fact has been said and not been replaced by the end of `segment`."""
        return self.segment <= segment and not self.stale(segment)


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call with its only argument, and the result."""

    name: str
    target: str
    result: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange."""

    query: str
    reply: str
    calls: tuple[Called, ...] = ()

    @property
    def text(self) -> str:
        """All that was said in it."""
        results = (f"{call.name} {call.target}\n{call.result}" for call in self.calls)
        return "\n\n".join((self.query, *results, self.reply))


class Talk(Struct, frozen=True, kw_only=True):
    """A whole conversation."""

    profile: str
    seed: int
    facts: tuple[Fact, ...]
    segments: tuple[tuple[Turn, ...], ...]
    pins: tuple[str, ...]
    """Pinned in the first segment."""

    def turns(self, upto: int | None = None) -> tuple[Turn, ...]:
        """Return the exchanges of all segments, or of the first `upto`."""
        return tuple(turn for segment in self.segments[:upto] for turn in segment)

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that are called."""
        return frozenset(call.name for turn in self.turns() for call in turn.calls)

    def text(self, upto: int | None = None) -> str:
        """Return all text that was said or pinned, by the end of segment `upto` if there is one."""
        return "\n\n".join([*self.pins, *(turn.text for turn in self.turns(upto))])
