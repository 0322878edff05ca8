"""Answers: is the value there, exactly and alone? Counts by context, and contexts compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import comb

from msgspec import Struct, field

from benchmarks.factchain.scoring import flat, holds
from benchmarks.factchain.talk import Fact

_AMOUNT = re.compile(r"[£$€]?(\d[\d.,]*)(?: [a-z]+)?")


class Answer(Struct, frozen=True, kw_only=True):
    """The model's answer to a question from one context."""

    answer: str
    right: bool
    stale: bool
    """True if the answer gives a value that was replaced."""
    in_context: bool
    """True if FactChain's scoring finds the fact in the context."""
    prompt_tokens: int
    attached: str = ""
    """The passages that the program attached from the archive."""


class Question(Struct, frozen=True, kw_only=True):
    """A question about one fact, and its answers by context."""

    question: str
    expected: str
    replaced: tuple[str, ...]
    kind: str
    segment: int
    answers: dict[str, Answer] = field(default_factory=dict)


def normal(text: str) -> str:
    """Return a text without mere formatting: capitals, emphasis, extra blanks, and commas between
    digits.
    """
    plain = re.sub(r"[*`]", "", text.casefold())
    return flat(re.sub(r"(?<=\d),(?=\d{3})", "", plain))


def figure(value: str) -> str:
    """Return what an answer must contain: the number of an amount, else the whole value."""
    amount = _AMOUNT.fullmatch(normal(value))
    return amount[1] if amount else normal(value)


def gives(answer: str, value: str) -> bool:
    """Return True if an answer contains a value as a whole."""
    text, wanted = normal(answer), figure(value)
    if wanted != normal(value):  # "16GB" is 16 GB, and "£1200" is £1,200
        text = re.sub(r"(?<=\d)(?=[a-z])|(?<=[£$€])(?=\d)", " ", text)
    return holds(text, wanted)


def judge(answer: str, fact: Fact, facts: Sequence[Fact]) -> bool:
    """Return True if an answer gives a fact's value and no value of another fact."""
    [value] = fact.values
    others = {other.values[0] for other in facts} - {value}
    rivals = [other for other in others if figure(other) not in figure(value)]
    return gives(answer, value) and not any(gives(answer, rival) for rival in rivals)


def compare(first: Sequence[bool], second: Sequence[bool]) -> dict[str, float]:
    """Compare two contexts question by question; `p` is the p-value of the exact sign test."""
    cases = Counter(zip(first, second, strict=True))
    better, worse = cases[True, False], cases[False, True]
    tail = sum(comb(better + worse, k) for k in range(min(better, worse) + 1))
    return {
        "both": cases[True, True],
        "only_first": better,
        "only_second": worse,
        "neither": cases[False, False],
        "p": round(min(1.0, 2 * tail / 2 ** (better + worse)), 5),
    }


def score(answers: Sequence[Answer]) -> dict[str, float]:
    """Count the answers from one context."""
    return {
        "right": sum(each.right for each in answers),
        "percent": round(100 * sum(each.right for each in answers) / len(answers), 1),
        "in_context": sum(each.in_context for each in answers),
        "stale": sum(each.stale for each in answers),
        "with_attached": sum(bool(each.attached) for each in answers),
    }
