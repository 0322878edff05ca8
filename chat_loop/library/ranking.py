"""Ranking (pure): how well exchanges fit a query, by the sentences that hold its terms.

An exchange is as good as its best sentence. What that sentence lacks may stand elsewhere in the
exchange, or in those around it, and counts less there: what a talk is about is often said once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

from msgspec import Struct

from chat_loop.library.terms import QUESTION_MARK, VALUE_MARK, Term

Position = tuple[int, int]
"""A session and the position of an exchange in it."""

AROUND = ((0, 0.8), (-1, 0.45), (1, 0.45), (-2, 0.2), (2, 0.2))
"""The weight of a term so many exchanges away, chosen on five of LoCoMo's ten dialogues."""
_ASKING, _TELLING = 0.85, 1.15
_STEPS = 25  # scores that differ by less than this part of the best one count as equal
_LEAST_EXCHANGES = 6
_RARE_WORDS, _LEAST_RARITY = 2.0, 2.0  # a strong sentence is worth two words that occur once


class QueryTerm(Struct, frozen=True):
    """A term, its weight, the certainty of each of its forms, and their FTS5 expression."""

    term: Term
    weight: float
    forms: Mapping[str, float]
    match: str


class Question(Struct, frozen=True):
    """The terms of a query, among `total` exchanges. `weak`: it has only common words."""

    terms: tuple[QueryTerm, ...]
    weak: bool
    total: int


class MatchedSentence(Struct, frozen=True):
    """A line of an exchange that holds terms: its number, its marks, how surely each is meant."""

    number: int
    marks: str
    certainty: dict[int, float]


class RankedExchange(Struct, frozen=True):
    """An exchange and its score, with the sentences that hold a term, best first.

    `coverage`: how much of the query is there or around it; `strength`: how surely it is meant.
    """

    position: Position
    exact: int
    score: float
    coverage: float
    strength: float
    sentences: tuple[MatchedSentence, ...]


def rarity(everything: int, count: int) -> float:
    """Return the weight of a word that `count` of all exchanges contain."""
    everything = max(everything, _LEAST_EXCHANGES)
    return log(1 + (everything - count + 0.5) / (count + 0.5))


def rank(
    question: Question, lines: Mapping[Position, str], candidates: Iterable[Position]
) -> list[RankedExchange]:
    """Return the candidates, best first, of equals the last; `lines` also has those around."""
    words: dict[str, dict[int, float]] = {}
    phrases: dict[str, dict[int, float]] = {}
    for term, one in enumerate(question.terms):
        for form, surely in one.forms.items():
            (phrases if " " in form else words).setdefault(form, {})[term] = surely
    sentences: dict[Position, list[MatchedSentence]] = {}
    for position, text in lines.items():
        sentences[position] = []
        for number, line in enumerate(text.split("\n")):
            marks, _, spoken = line.partition(" ")
            held = [words[word] for word in words.keys() & set(spoken.split(" "))]
            held += [phrases[one] for one in phrases if f" {one} " in f" {spoken} "]
            if held:
                best = _highest(held) if len(held) > 1 else held[0]
                sentences[position].append(MatchedSentence(number, marks, best))
    whole = {
        position: _highest([one.certainty for one in each]) for position, each in sentences.items()
    }
    ranked = [
        _scored(question, position, sentences[position], whole)
        for position in candidates
        if position in sentences
    ]
    ranked.reverse()
    best_score = max((one.score for one in ranked), default=0.0) or 1.0
    return sorted(ranked, key=lambda one: (-one.exact, -round(one.score / best_score * _STEPS)))


def fuse(
    ranked: Sequence[RankedExchange], nearness: Mapping[Position, float]
) -> list[RankedExchange]:
    """Return one order of words and meaning; what has no vector yet counts as the nearest."""
    nearest = max(nearness.values(), default=0.0)

    def worth(one: RankedExchange) -> float:
        # Half of a query says less than half of what the whole says. The power was chosen on five
        # of LoCoMo's dialogues and on the tuning half of `benchmarks.recall`.
        return nearness.get(one.position, nearest) + one.coverage * sqrt(one.coverage)

    return sorted(ranked, key=lambda one: (-one.exact, -worth(one)))


def _highest(several: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Return the highest certainty of each term."""
    held: dict[int, float] = {}
    for one in several:
        for term, surely in one.items():
            if surely > held.get(term, 0.0):
                held[term] = surely
    return held


def _scored(
    question: Question,
    position: Position,
    sentences: Sequence[MatchedSentence],
    whole: Mapping[Position, Mapping[int, float]],
) -> RankedExchange:
    """Return how well an exchange fits. `whole` has the terms of the exchanges around it."""
    asked, (session, at) = question.terms, position
    weights = [one.weight for one in asked]
    around = [(whole.get((session, at + step), {}), weight) for step, weight in AROUND]
    near = [
        max(weight * held.get(term, 0.0) for held, weight in around) for term in range(len(asked))
    ]
    beside = sum(weight * near[term] for term, weight in enumerate(weights))
    scores: dict[int, float] = {}
    for sentence in sentences:
        score = beside
        for term, surely in sentence.certainty.items():
            score += weights[term] * max(0.0, surely - near[term])
        score *= _ASKING if QUESTION_MARK in sentence.marks else 1.0
        scores[sentence.number] = score * (_TELLING if VALUE_MARK in sentence.marks else 1.0)
    ordered = sorted(sentences, key=lambda one: (-scores[one.number], one.number))
    best = scores[ordered[0].number] if ordered else 0.0
    strength = 0.0
    if ordered and not question.weak:
        # how much of the query the best sentence holds, and whether that is more than chance
        marks = ordered[0].marks
        rarest = rarity(question.total, 1)
        limited = [min(weight, rarest) for weight in weights]
        held = sum(limited[term] * surely for term, surely in ordered[0].certainty.items())
        likely = (0.6 if QUESTION_MARK in marks else 1.0) * (1.0 if VALUE_MARK in marks else 0.8)
        chance = min(1.0, held / (_RARE_WORDS * max(rarest, _LEAST_RARITY)))
        strength = min(1.0, likely * held / (sum(limited) or 1.0) * chance)
    here = whole[position]
    return RankedExchange(
        position=position,
        exact=sum(one.term.exact and here.get(term, 0.0) >= 1.0 for term, one in enumerate(asked)),
        score=best,
        coverage=max(best, beside) / (sum(weights) or 1.0),
        strength=strength,
        sentences=tuple(ordered),
    )
