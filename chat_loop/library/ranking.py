"""Ranking (pure): how well exchanges fit a query, by the sentences that hold its terms.

An exchange is as good as its best sentence. What that sentence lacks may stand elsewhere in the
exchange, or in those around it, and counts less there: what a talk is about is often said once.
Where vectors are known as well, how near an exchange is in meaning counts beside how much of the
query it covers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log, sqrt

from msgspec import Struct

from chat_loop.library.terms import ASKS, SAME, TELLS, Term, ids

Position = tuple[int, int]
"""A session and the position of an exchange in it."""

AROUND = ((0, 0.8), (-1, 0.45), (1, 0.45), (-2, 0.2), (2, 0.2))
"""The weight of a term elsewhere in the exchange, or so many exchanges before or after it.
Chosen on five of LoCoMo's ten dialogues.
"""
_ASKING, _TELLING = 0.85, 1.15
_STEPS = 25
"""Scores that differ by less than this part of the best one count as equal."""
_LEAST_EXCHANGES = 6
_RARE_WORDS, _LEAST_RARITY = 2.0, 2.0
"""A sentence is strong with as much as two words have that occur once; in a tiny archive almost
every word does.
"""
_COMPARED = 10
"""So many sentences of a later exchange are looked at for another value: logs have thousands."""


class Asked(Struct, frozen=True):
    """A term, how much it tells, and how surely other words mean it, 0 to 1.

    `forms` are words, or several with blanks between them; `match` finds them in FTS5.
    """

    term: Term
    weight: float
    forms: Mapping[str, float]
    match: str


class Question(Struct, frozen=True):
    """The terms of a query, among `total` exchanges. `weak`: only words that say nothing."""

    asked: tuple[Asked, ...]
    weak: bool
    total: int

    @property
    def has_meaning(self) -> bool:
        """Ids have none."""
        return not all(one.term.exact or one.term.of for one in self.asked)


class Sentence(Struct, frozen=True):
    """A line of an exchange that holds terms: its number, its marks, how surely each is meant."""

    number: int
    marks: str
    held: dict[int, float]


class Scored(Struct, frozen=True):
    """The fit of an exchange: how many ids of the query it holds, and its score.

    `coverage`, 0 to about 1: how much of the query is there or around it. `strength`, 0 to 1: how
    surely it is what the query is about. `sentences` hold a term, the best first.
    """

    position: Position
    exact: int
    score: float
    coverage: float
    strength: float
    sentences: tuple[Sentence, ...]


def rarity(everything: int, count: int) -> float:
    """Return how much it tells that an exchange holds a word that `count` of all hold."""
    everything = max(everything, _LEAST_EXCHANGES)
    return log(1 + (everything - count + 0.5) / (count + 0.5))


def rank(
    question: Question, said: Mapping[Position, str], candidates: Iterable[Position]
) -> list[Scored]:
    """Return the candidates, the best first; of equals the last one first.

    `said` has the lines of the candidates and of what stands around them.
    """
    reader = _Reader(question.asked)
    read = {position: reader.read(lines) for position, lines in said.items()}
    whole = {position: _together(sentences) for position, sentences in read.items()}
    found = [
        _scored(question, position, read[position], whole)
        for position in candidates
        if position in read
    ]
    found.reverse()
    best = max((one.score for one in found), default=0.0) or 1.0
    return sorted(found, key=lambda one: (-one.exact, -round(one.score / best * _STEPS)))


def fuse(found: Sequence[Scored], near: Mapping[Position, float]) -> list[Scored]:
    """Return what was found in one order of words and meaning.

    `near` is how near in meaning exchanges are to the query; one that has no vector yet counts as
    if it were the nearest.
    """
    nearest = max(near.values(), default=0.0)

    def worth(one: Scored) -> float:
        # Half of a query says less than half of what the whole says. The power was chosen on five
        # of LoCoMo's dialogues and on the tuning half of `benchmarks.recall`.
        return near.get(one.position, nearest) + one.coverage * sqrt(one.coverage)

    return sorted(found, key=lambda one: (-one.exact, -worth(one)))


def newer(
    question: Question,
    hit: Scored,
    found: Iterable[Scored],
    values: Callable[[Position, int], frozenset[str]],
) -> Position | None:
    """Return the latest exchange that says the same as a hit's best sentence with another value.

    The same as far as was asked. `values` gives `values_of` a sentence by its exchange and number.
    """
    if not hit.sentences:
        return None
    best = hit.sentences[0]
    keys = {
        term
        for term, surely in best.held.items()
        if surely >= SAME and not question.asked[term].term.exact
    }
    weights = [one.weight for one in question.asked]
    if 2 * sum(weights[term] for term in keys) < sum(weights):
        return None
    asked = {one.term.text for one in question.asked}
    old = values(hit.position, best.number) - asked
    for later in sorted(found, key=lambda one: one.position, reverse=True):
        if later.position <= hit.position:
            return None
        for sentence in later.sentences[:_COMPARED]:
            same = all(sentence.held.get(term, 0.0) >= SAME for term in keys)
            if same and ASKS not in sentence.marks:
                new = values(later.position, sentence.number) - asked
                if not old & new and {*map(_shape, old)} & {*map(_shape, new)}:
                    return later.position
    return None


class _Reader:
    """Finds the terms of a query in the lines of exchanges."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._words: dict[str, list[tuple[int, float]]] = {}
        self._phrases: list[tuple[str, int, float]] = []
        for term, one in enumerate(asked):
            for form, surely in one.forms.items():
                if " " in form:
                    self._phrases.append((f" {form} ", term, surely))
                else:
                    self._words.setdefault(form, []).append((term, surely))

    def read(self, lines: str) -> list[Sentence]:
        """Return the lines that hold a term."""
        found = []
        for number, line in enumerate(lines.split("\n")):
            marks, _, said = line.partition(" ")
            if held := self._held(said):
                found.append(Sentence(number, marks, held))
        return found

    def _held(self, said: str) -> dict[int, float]:
        held: dict[int, float] = {}
        for word in self._words.keys() & set(said.split(" ")):
            for term, surely in self._words[word]:
                if surely > held.get(term, 0.0):
                    held[term] = surely
        for phrase, term, surely in self._phrases:
            if phrase in f" {said} " and surely > held.get(term, 0.0):
                held[term] = surely
        return held


def _together(sentences: Iterable[Sentence]) -> dict[int, float]:
    held: dict[int, float] = {}
    for sentence in sentences:
        for term, surely in sentence.held.items():
            if surely > held.get(term, 0.0):
                held[term] = surely
    return held


def _scored(
    question: Question,
    position: Position,
    sentences: Sequence[Sentence],
    whole: Mapping[Position, Mapping[int, float]],
) -> Scored:
    asked, (session, at) = question.asked, position
    around = [(whole.get((session, at + step), {}), weight) for step, weight in AROUND]
    near = [
        max(weight * held.get(term, 0.0) for held, weight in around) for term in range(len(asked))
    ]
    beside = sum(one.weight * near[term] for term, one in enumerate(asked))
    scores = {one.number: _score(asked, near, beside, one) for one in sentences}
    ordered = sorted(sentences, key=lambda one: (-scores[one.number], one.number))
    score = scores[ordered[0].number] if ordered else 0.0
    here = whole[position]
    return Scored(
        position=position,
        exact=sum(one.term.exact and here.get(term, 0.0) >= 1.0 for term, one in enumerate(asked)),
        score=score,
        coverage=max(score, beside) / (sum(one.weight for one in asked) or 1.0),
        strength=_strength(question, ordered[0]) if ordered and not question.weak else 0.0,
        sentences=tuple(ordered),
    )


def _score(
    asked: Sequence[Asked], near: Sequence[float], beside: float, sentence: Sentence
) -> float:
    """Return what a sentence tells, with `beside` for what stands around it."""
    score = beside
    for term, surely in sentence.held.items():
        if surely > near[term]:
            score += asked[term].weight * (surely - near[term])
    asking = _ASKING if ASKS in sentence.marks else 1.0
    return score * asking * (_TELLING if TELLS in sentence.marks else 1.0)


def _strength(question: Question, sentence: Sentence) -> float:
    """Return how much of the query one sentence holds, and whether that is more than chance."""
    rarest = rarity(question.total, 1)
    weights = [min(one.weight, rarest) for one in question.asked]
    held = sum(weights[term] * surely for term, surely in sentence.held.items())
    likely = (0.6 if ASKS in sentence.marks else 1.0) * (1.0 if TELLS in sentence.marks else 0.8)
    chance = min(1.0, held / (_RARE_WORDS * max(rarest, _LEAST_RARITY)))
    return min(1.0, likely * held / (sum(weights) or 1.0) * chance)


def values_of(sentence: str) -> frozenset[str]:
    """Return the ids and numbers of a sentence."""
    return frozenset((*ids(sentence), *re.findall(r"(?<![^\W_])\d{1,2}(?![^\W_])", sentence)))


def _shape(value: str) -> str:
    """`14:30` -> `0:0`, `db-7.internal` -> `a-0.a`."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", value))
