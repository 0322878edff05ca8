"""What other programs do, in the smallest form that still does it, around the same summarisers.

All but the first write a new summary from the old one and the new words. What they send next is
that summary and the last exchanges in their own words, as many as the program itself carries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from benchmarks.factchain.summarisers import Style, Summariser, Task
from benchmarks.factchain.talk import Turn

Count = Callable[[str], int]

LIMIT = 6_500
"""Tokens of talk that the goals allow."""
TAIL = 3
"""Exchanges that follow a summary in their own words."""
USER_WORDS = 8_000
"""Tokens of the user's own messages that the last baseline keeps."""


def spoken(turns: Sequence[Turn]) -> str:
    return "\n\n".join(f"User: {turn.query}\n\nAssistant: {turn.reply}" for turn in turns)


def newest(texts: Sequence[str], room: int, count: Count) -> list[str]:
    """The last texts that fit in `room` tokens, in their order."""
    sizes = accumulate(count(text) for text in reversed(texts))
    fitting = sum(size <= room for size in sizes)
    return list(texts[len(texts) - fitting :])


@dataclass
class Truncating:
    """Forgets all but the newest messages."""

    count: Count
    said: list[str] = field(default_factory=list)

    async def compact(self, turns: Sequence[Turn]) -> None:
        self.said += [text for turn in turns for text in (turn.query, turn.reply)]

    @property
    def context(self) -> str:
        return "\n\n".join(newest(self.said, LIMIT, self.count))


@dataclass
class Recursive:
    """Writes a new summary from the old one and what was said since; `user_words` keeps the user's
    messages too.
    """

    summariser: Summariser
    style: Style
    count: Count
    user_words: int = 0
    summary: str = ""
    tail: Sequence[Turn] = ()
    queries: list[str] = field(default_factory=list)

    async def compact(self, turns: Sequence[Turn]) -> None:
        """A summary that fails leaves the old one, as programs do that go on regardless."""
        answer = await self.summariser.write(
            Task(span=spoken(turns), old=self.summary, style=self.style)
        )
        if answer.stop == "end" and answer.text.strip():
            self.summary = answer.text
        self.tail = turns[-TAIL:]
        self.queries += [turn.query for turn in turns]

    @property
    def context(self) -> str:
        kept = (
            newest(self.queries, self.user_words, self.count)
            if self.user_words
            else [spoken(self.tail)]
        )
        return "\n\n".join([self.summary, *kept])


Baseline = Truncating | Recursive
TRUNCATE, FREE, TEMPLATE, VERBATIM = (
    "truncate",
    "recursive, free",
    "recursive, template",
    "user's words + summary",
)


def baselines(summariser: Summariser, count: Count) -> dict[str, Baseline]:
    """All of them, fresh."""
    return {
        TRUNCATE: Truncating(count),
        FREE: Recursive(summariser, "free", count),
        TEMPLATE: Recursive(summariser, "template", count),
        VERBATIM: Recursive(summariser, "template", count, user_words=USER_WORDS),
    }
