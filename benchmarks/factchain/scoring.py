"""Decide if a text contains a fact (pure functions): its whole value next to a word of its subject,
or all its anchors in one line.

Only a whole value counts: `5 min` is not in `25 min`, and `src/a.py:4` is not in `src/a.py:42`.
"Next to" means in the same line, or in the same sentence if the line is a long message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from benchmarks.factchain.talk import Fact
from benchmarks.factchain.wording import ANCHORED

SHORT_LINE = 300
"""The most characters of a line that counts as one statement, such as a bullet of a summary."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NUMBERED = re.compile(r"\S*\d\S*")
_REFERENCE = re.compile(r"\[\d{1,6}(?:\.\d{1,6})?[^\[\]\n]{0,40}\]")
_AROUND = ".,;:!?()[]{}<>\"'`*_~„“”«»‘’¿¡|"
_BEFORE, _AFTER = "./\\-_,@", "./\\-_,@:=&#"
"""Characters that join a value to the text before or after it."""


def flat(text: str) -> str:
    """Return the text with every run of blanks replaced by one blank."""
    return " ".join(text.split())


def holds(text: str, value: str) -> bool:
    """Return True if `text` contains `value` as a whole; both are flat."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        before, after = text[max(0, start - 2) : start][::-1], text[end : end + 2]
        if not _goes_on(before, value[0], _BEFORE) and not _goes_on(after, value[-1], _AFTER):
            return True
        start = text.find(value, start + 1)
    return False


def _goes_on(beyond: str, edge: str, joints: str) -> bool:
    """Return True if the text beyond a value's edge belongs to it. `beyond` reads outward."""
    if not beyond or not edge.isalnum():
        return False
    return beyond[0].isalnum() or (beyond[0] in joints and len(beyond) > 1 and beyond[1].isalnum())


@dataclass(frozen=True)
class Context:
    """A text in which facts are searched, cut into statements once."""

    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for line in (flat(line) for line in self.text.split("\n")) if line)

    @cached_property
    def folded_lines(self) -> tuple[str, ...]:
        return tuple(line.casefold() for line in self.lines)

    @cached_property
    def statements(self) -> tuple[tuple[str, str], ...]:
        """Each line, or the sentences of a long line; each as it is, and case-folded."""
        return tuple(
            (statement, statement.casefold())
            for line in self.lines
            for statement in ([line] if len(line) <= SHORT_LINE else _SENTENCE_END.split(line))
        )

    def has(self, fact: Fact) -> bool:
        """Return True if the text contains the fact."""
        if fact.kind in ANCHORED:
            anchors = [flat(anchor).casefold() for anchor in fact.values]
            return any(all(holds(line, anchor) for anchor in anchors) for line in self.folded_lines)
        keys = [flat(key).casefold() for key in fact.keys]
        values = [flat(value) for value in fact.values]
        return any(
            any(key in folded for key in keys) and all(holds(statement, value) for value in values)
            for statement, folded in self.statements
        )

    def names(self, fact: Fact) -> bool:
        """Return True if the fact's value is anywhere in the text, with or without its subject."""
        return all(any(holds(line, flat(value)) for line in self.lines) for value in fact.values)


def survived(context: Context, facts: Iterable[Fact]) -> set[int]:
    """Return the numbers of the facts that the context contains."""
    return {fact.number for fact in facts if context.has(fact)}


def stale(context: Context, facts: Sequence[Fact], segment: int) -> set[int]:
    """Return the numbers of replaced facts that are in the context without their successor."""
    by_number = {fact.number: fact for fact in facts}
    return {
        fact.number
        for fact in facts
        if fact.stale(segment)
        and fact.superseded_by is not None
        and context.has(fact)
        and not context.names(_newest(fact, by_number, segment))
    }


def _newest(fact: Fact, by_number: dict[int, Fact], segment: int) -> Fact:
    """Return the last successor that has been said by the end of `segment`."""
    while fact.superseded_by is not None and fact.stale(segment):
        fact = by_number[fact.superseded_by]
    return fact


def invented(text: str, source: str) -> tuple[str, ...]:
    """Return the words with digits in `text` that do not occur in `source`. References such as
    `[2.14 reply]` do not count.
    """
    said = flat(source)
    words = (word.strip(_AROUND) for word in _NUMBERED.findall(_REFERENCE.sub(" ", text)))
    return tuple(
        word
        for word in dict.fromkeys(words)
        if word and not word.endswith("…") and not holds(said, word)
    )


def share(part: int, whole: int) -> float | None:
    """Return a share in percent; None if `whole` is zero."""
    return 100 * part / whole if whole else None
