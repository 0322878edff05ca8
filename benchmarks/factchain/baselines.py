"""The methods of other programs, in their smallest form, around the same summarizers.

All except the first write a new summary from the old one and the new messages. Their next request
contains that summary and the last exchanges verbatim, as many as the program itself keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from benchmarks.factchain.summarisers import Style, Summariser, Task
from benchmarks.factchain.talk import Turn

Count = Callable[[str], int]

LIMIT = 6_500
"""The tokens of talk that the goals allow."""
TAIL = 3
"""The number of exchanges that follow a summary verbatim."""
USER_WORDS = 8_000
"""The tokens of the user's own messages that the last baseline keeps."""


def spoken(turns: Sequence[Turn]) -> str:
    return "\n\n".join(f"User: {turn.query}\n\nAssistant: {turn.reply}" for turn in turns)


def newest(texts: Sequence[str], room: int, count: Count) -> list[str]:
    """Return the last texts that fit in `room` tokens, in their order."""
    sizes = accumulate(count(text) for text in reversed(texts))
    fitting = sum(size <= room for size in sizes)
    return list(texts[len(texts) - fitting :])


@dataclass
class Truncating:
    """A baseline that keeps only the newest messages."""

    count: Count
    said: list[str] = field(default_factory=list)

    async def compact(self, turns: Sequence[Turn]) -> None:
        self.said += [text for turn in turns for text in (turn.query, turn.reply)]

    @property
    def context(self) -> str:
        return "\n\n".join(newest(self.said, LIMIT, self.count))


@dataclass
class Recursive:
    """A baseline that writes a new summary from the old one and the messages since. With
    `user_words`, it also keeps that many tokens of the user's messages.
    """

    summariser: Summariser
    style: Style
    count: Count
    user_words: int = 0
    summary: str = ""
    tail: Sequence[Turn] = ()
    queries: list[str] = field(default_factory=list)

    async def compact(self, turns: Sequence[Turn]) -> None:
        """Write a summary. If that fails, keep the old one, as other programs do."""
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
    """Return all baselines, newly made."""
    return {
        TRUNCATE: Truncating(count),
        FREE: Recursive(summariser, "free", count),
        TEMPLATE: Recursive(summariser, "template", count),
        VERBATIM: Recursive(summariser, "template", count, user_words=USER_WORDS),
    }
