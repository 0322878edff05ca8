"""The tables of a real model's answers, from the committed answers after each conversation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.embedded.answers import Answer, Question, compare, figure, gives, normal
from benchmarks.embedded.run import ARMS, PAIRS

FILES = "embedded-answers-*.json"
ABSENT, OLD, ECHO, OTHER, PART, NONE = REASONS = (
    "not before the model",
    "an older value",
    "the question again",
    "another fact's value",
    "part of the value",
    "no value",
)
"""Why an answer is wrong, the first that holds."""


class Answered(Struct, frozen=True):
    """What a file of answers has: the conversation with a seed, and its questions."""

    exchanges: int
    compactions: list[Any]
    contexts: dict[str, dict[str, float]]
    questions: list[Question]
    commit: str
    seed: int = 19


def read(folder: Path) -> list[Answered]:
    """Return the answers after each conversation, by seed. Raises FileNotFoundError."""
    paths = sorted(folder.glob(FILES))
    if not paths:
        raise FileNotFoundError(folder / FILES)
    return [msgspec.json.decode(path.read_bytes(), type=Answered) for path in paths]


def reason(question: Question, answer: Answer, values: Sequence[str]) -> str:
    """Return why an answer is wrong. `values` are those of all facts of the conversation."""
    if not answer.in_context:
        return ABSENT
    if answer.stale:
        return OLD
    if normal(answer.answer) in normal(question.question):
        return ECHO
    own = {question.expected, *question.replaced}
    others = [value for value in values if value not in own]
    if any(
        gives(answer.answer, one) for one in others if figure(one) not in figure(question.expected)
    ):
        return OTHER
    given = set(re.findall(r"\w{3,}", normal(answer.answer)))
    words = set(re.findall(r"\w{3,}", normal(question.expected)))
    return PART if given & words - set(re.findall(r"\w+", normal(question.question))) else NONE


def reasons(found: Sequence[Answered], arm: str) -> Counter[str]:
    """Count the reasons of the wrong answers from one context."""
    counts: Counter[str] = Counter()
    for one in found:
        values = [value for each in one.questions for value in (each.expected, *each.replaced)]
        for question in one.questions:
            answer = question.answers.get(arm)
            if answer is not None and not answer.right:
                counts[reason(question, answer, values)] += 1
    return counts


def text(folder: Path) -> str:
    """Return the tables of the answers and of the reasons, and the contexts compared."""
    return "\n".join(lines(read(folder)))


def lines(found: Sequence[Answered]) -> Iterator[str]:
    """Yield the lines of the tables. A cell has a number for each conversation."""
    seeds = ", ".join(f"{len(one.questions)} after seed {one.seed} ({one.commit})" for one in found)
    yield f"Questions: {seeds}. Compactions: {_of(len(one.compactions) for one in found)}.\n"
    yield "| | in the context | right answers | answers with an old value | tokens |"
    yield "|---|---|---|---|---|"
    for arm in ARMS:
        rows = [one.contexts.get(arm, {}) for one in found]
        cells = (
            _of(row.get(name) for row in rows)
            for name in ("in_context", "right", "stale", "tokens")
        )
        yield f"| {arm} | {' | '.join(cells)} |"
    yield ""
    yield f"| wrong answers | {' | '.join(REASONS)} |"
    yield f"|---|{'---|' * len(REASONS)}"
    for arm in ARMS:
        counts = reasons(found, arm)
        yield f"| {arm} | {' | '.join(str(counts[name]) for name in REASONS)} |"
    yield ""
    for one, two in PAIRS:
        both = [
            each for talk in found for each in talk.questions if {one, two} <= each.answers.keys()
        ]
        right = ([each.answers[arm].right for each in both] for arm in (one, two))
        pair = compare(*right)
        yield (
            f"- {one} against {two}, {len(both)} questions: {pair['both']} right in both, {pair['only_first']} only in "
            f"the first, {pair['only_second']} only in the second, {pair['neither']} in neither (p = {pair['p']:.2g}, "
            "sign test)"
        )


def _of(numbers: Iterator[float | None]) -> str:
    """Return a number for each conversation; a dash for one that was not measured."""
    return " / ".join("–" if one is None else f"{one:,.0f}" for one in numbers)
