"""The methods of other programs, in their smallest form, around the same summarizers.

Each compacts automatically when its next request is as full as chat-loop's would be. What a summary,
and the words that follow it, may take grows with the window. All leave out older results of tools
first, as many programs do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Protocol

from benchmarks.factchain.meter import Meter
from benchmarks.factchain.summarisers import FREE as FREELY
from benchmarks.factchain.summarisers import TEMPLATE as BY_TEMPLATE
from benchmarks.factchain.summarisers import Style, Summariser, Task
from benchmarks.factchain.talk import Turn
from chat_loop.context.budget import Limits, trigger

Count = Callable[[str], int]

WHOLE = 3
"""The newest exchanges whose results of tools are not left out."""
LEFT_OUT = "[The result was left out.]"
SUMMARY_SHARE = 0.2
"""The share of the window that a summary may take, which is the room for a reply."""
TAIL_SHARE = 0.3
"""The share of the limit that words after a summary take: the largest of the programs that were read."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a request at which a method compacts, of its summary, and of the words that
    follow it.
    """

    limit: int
    summary: int
    tail: int


def budget(window: int) -> Budget:
    """Return the budget of the methods in a window."""
    limit = trigger(window, Limits())
    return Budget(limit, int(window * SUMMARY_SHARE), int(limit * TAIL_SHARE))


def messages(turn: Turn, *, whole: bool) -> list[str]:
    """Return the messages of an exchange, without the results of its tools unless it is `whole`."""
    texts = [turn.query]
    for call in turn.calls:
        texts += [f"{call.name} {call.target}", call.result if whole else LEFT_OUT]
    return [*texts, turn.reply]


def said(turns: Sequence[Turn], whole: int = WHOLE) -> list[str]:
    """Return the messages of exchanges, of which only the newest `whole` have their results."""
    cut = len(turns) - whole
    return [text for at, turn in enumerate(turns) for text in messages(turn, whole=at >= cut)]


def spoken(turns: Sequence[Turn]) -> str:
    return "\n\n".join(f"User: {turn.query}\n\nAssistant: {turn.reply}" for turn in turns)


def newest(texts: Sequence[str], room: int, count: Count) -> list[str]:
    """Return the last texts that fit in `room` tokens, in their order."""
    sizes = accumulate(count(text) for text in reversed(texts))
    fitting = sum(size <= room for size in sizes)
    return list(texts[len(texts) - fitting :])


async def have(turn: Turn, arm: Baseline) -> None:
    """Have an exchange: one request for each call of a tool, and one for the reply."""
    pieces = [*arm.pieces, turn.query]
    for call in turn.calls:
        arm.meter.record(pieces, f"{call.name} {call.target}")
        pieces += [f"{call.name} {call.target}", call.result]
    arm.meter.record(pieces, turn.reply)
    await arm.add(turn)


class Baseline(Protocol):
    """A method. `compactions` is how often it has compacted."""

    meter: Meter
    compactions: int

    @property
    def pieces(self) -> list[str]:
        """The messages of the next request before the query."""
        ...

    async def add(self, turn: Turn) -> None:
        """Add an exchange, and compact if the next request is full."""
        ...

    async def sized(self, size: int) -> str:
        """Return the context in exactly `size` tokens, or a little less."""
        ...


@dataclass
class Newest:
    """A baseline that keeps the newest exchanges. When they do not fit, the oldest are dropped until
    the rest takes no more than `share` of the limit.
    """

    count: Count
    budget: Budget
    meter: Meter
    share: float = 1.0
    whole: int = WHOLE
    """The newest exchanges whose results of tools are not left out."""
    turns: list[Turn] = field(default_factory=list)
    compactions: int = 0

    @property
    def pieces(self) -> list[str]:
        return said(self.turns, self.whole)

    def _size(self) -> int:
        return sum(map(self.count, self.pieces))

    async def add(self, turn: Turn) -> None:
        self.turns.append(turn)
        if self._size() > self.budget.limit:
            self.compactions += 1
            while self._size() > self.share * self.budget.limit:
                self.turns.pop(0)

    async def sized(self, size: int) -> str:
        return "\n\n".join(newest(self.pieces, size, self.count))


@dataclass
class Recursive:
    """A baseline that writes a new summary from the old one and the exchanges since. Then follow
    the newest exchanges, or with `user_words`, the newest messages of the user.
    """

    count: Count
    budget: Budget
    meter: Meter
    summariser: Summariser
    style: Style
    user_words: bool = False
    summary: str = ""
    turns: list[Turn] = field(default_factory=list)
    covered: int = 0
    """The exchanges that the summary covers."""
    compactions: int = 0

    @property
    def pieces(self) -> list[str]:
        return [*self._head(self.budget.tail), *said(self.turns[self.covered :])]

    def _head(self, room: int) -> list[str]:
        """Return the summary, after the newest messages of the user that it covers."""
        queries = [turn.query for turn in self.turns[: self.covered]] if self.user_words else []
        return [*newest(queries, room, self.count), *filter(None, [self.summary])]

    def _size(self) -> int:
        return sum(map(self.count, self.pieces))

    async def add(self, turn: Turn) -> None:
        self.turns.append(turn)
        if self._size() > self.budget.limit:
            await self._compact(0 if self.user_words else self.budget.tail)

    async def _compact(self, tail: int) -> None:
        """Write a summary of all but the newest exchanges that fit in `tail` tokens. If that fails,
        keep the old one, as other programs do.
        """
        fresh = self.turns[self.covered :]
        sizes = ["\n".join(messages(turn, whole=True)) for turn in fresh]
        kept = min(len(newest(sizes, tail, self.count)), len(fresh) - 1)
        span = fresh[: len(fresh) - kept]
        asked = [*self.pieces, FREELY if self.style == "free" else BY_TEMPLATE]
        answer = await self.summariser.write(
            Task(
                span="\n\n".join(turn.text for turn in span),
                old=self.summary,
                style=self.style,
                max_tokens=self.budget.summary,
            )
        )
        self.meter.record(asked, answer.text)
        if answer.stop == "end" and answer.text.strip():
            self.summary = answer.text
        self.covered += len(span)
        self.compactions += 1

    async def sized(self, size: int) -> str:
        if self._size() > size:
            await self._compact(0 if self.user_words else size - self.budget.summary)
        texts = [turn.query for turn in self.turns] if self.user_words else said(self.turns)
        room = size - self.count(self.summary)
        return "\n\n".join([self.summary, *newest(texts, room, self.count)])


TRUNCATE, HALF, EVERYTHING = "truncate", "truncate, half at once", "whole conversation"
FREE, TEMPLATE, VERBATIM = "recursive, free", "recursive, template", "user's words + summary"


def baselines(
    summariser: Summariser, count: Count, window: int, head: tuple[str, ...]
) -> dict[str, Baseline]:
    """Return all baselines of a window, newly made. Their requests begin with `head`."""
    room = budget(window)
    endless = replace(room, limit=sys.maxsize)

    def meter() -> Meter:
        return Meter(count, head)

    return {
        TRUNCATE: Newest(count, room, meter()),
        HALF: Newest(count, room, meter(), share=0.5),
        FREE: Recursive(count, room, meter(), summariser, "free"),
        TEMPLATE: Recursive(count, room, meter(), summariser, "template"),
        VERBATIM: Recursive(count, room, meter(), summariser, "template", user_words=True),
        EVERYTHING: Newest(count, endless, meter(), whole=sys.maxsize),
    }
