"""Ranking (pure): how well exchanges fit a query, by the sentences that hold its terms.

An exchange is as good as its best sentence. What that sentence lacks may stand elsewhere in the
exchange, or in those around it, and counts less there: what a talk is about is often said once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from operator import mul

from msgspec import Struct

from chat_loop.library.engine import Phrase, Position
from chat_loop.library.terms import QUESTION_MARK, VALUE_MARK, Term, related

AROUND = ((0, 0.8), (-1, 0.45), (1, 0.45), (-2, 0.2), (2, 0.2))
"""The weight of a term so many exchanges away, chosen on five of LoCoMo's ten dialogues."""
_ASKING, _TELLING = 0.85, 1.15
HALF = log(2)  # the rarity of a word that half of all exchanges contain
_STEPS = 25  # scores that differ by less than this part of the best one count as equal
_LEAST_EXCHANGES = 6
_RARE_WORDS, _LEAST_RARITY = 2.0, 2.0  # a strong sentence is worth two words that occur once


class QueryTerm(Struct, frozen=True):
    """A term, its weight, and the phrases for it and its other forms."""

    term: Term
    weight: float
    match: tuple[Phrase, ...]


class Question(Struct, frozen=True):
    """The terms of a query, among `total` exchanges. `weak`: it has only common words."""

    terms: tuple[QueryTerm, ...]
    weak: bool
    total: int


class MatchedSentence(Struct, frozen=True):
    """A line of an exchange that holds terms: its number, its marks, how surely each is meant."""

    number: int
    marks: str
    certainty: Sequence[float]


Matches = Mapping[Position, Sequence[MatchedSentence]]


class RankedExchange(Struct, frozen=True):
    """An exchange and its score, with the sentences that hold a term, best first."""

    position: Position
    exact: int
    score: float
    coverage: float  # how much of the query is there or around it
    strength: float  # how surely it is meant
    sentences: tuple[MatchedSentence, ...]


def rarity(everything: int, count: int) -> float:
    """Return the weight of a word that `count` of all exchanges contain."""
    everything = max(everything, _LEAST_EXCHANGES)
    return log(1 + (everything - count + 0.5) / (count + 0.5))


def match(
    question: Question, lines: Mapping[Position, str]
) -> dict[Position, list[MatchedSentence]]:
    """Return the lines that hold terms, of each exchange."""
    spoken = {position: {*text.split()} for position, text in lines.items()}
    asked = [asked.term for asked in question.terms]
    certainties = _certainties(asked, set[str]().union(*spoken.values()))
    phrases = {phrase for phrase in certainties if " " in phrase}
    matches = {}
    for position, text in lines.items():
        held = phrases | (certainties.keys() & spoken[position])
        matches[position] = (
            _matched(text, {word: certainties[word] for word in held}) if held else []
        )
    return matches


def rank(
    question: Question, matches: Matches, candidates: Iterable[Position]
) -> list[RankedExchange]:
    """Return the candidates, best first, of equals the last; `matches` also has those around."""
    whole = {
        position: _highest([sentence.certainty for sentence in sentences])
        for position, sentences in matches.items()
        if sentences
    }
    ranked = [
        _scored(question, position, matches[position], whole)
        for position in reversed([*candidates])
        if position in matches
    ]
    best = max((exchange.score for exchange in ranked), default=0.0) or 1.0
    return sorted(ranked, key=lambda found: (-found.exact, -round(found.score / best * _STEPS)))


def _matched(text: str, certainties: Mapping[str, Sequence[float]]) -> list[MatchedSentence]:
    """Return the lines that hold one of these words or phrases."""
    matched = []
    for number, line in enumerate(text.split("\n")):
        padded = f"{line} "  # the marks end in a blank
        found = [certainty for word, certainty in certainties.items() if f" {word} " in padded]
        if found:
            marks, _, _ = line.partition(" ")
            matched.append(MatchedSentence(number, marks, _highest(found)))
    return matched


def _certainties(asked: Sequence[Term], spoken: Iterable[str]) -> dict[str, list[float]]:
    """Return how surely each phrase asked for, and each word, means each of the terms."""
    nothing = [0.0] * len(asked)
    certainties: dict[str, list[float]] = {}
    alike: dict[str, list[int]] = {}  # the terms that words with this beginning or end may mean
    for at, term in enumerate(asked):
        if len(term.words) > 1:
            phrase = certainties.setdefault(" ".join(term.words), nothing[:])
            phrase[at] = 1.0
        else:
            for edge in {term.words[0][:3], term.words[0][-4:]}:
                alike.setdefault(edge, []).append(at)
    for word in spoken:
        certainty = nothing[:]
        for at in (*alike.get(word[:3], ()), *alike.get(word[-4:], ())):
            certainty[at] = related(asked[at], word)
        if any(certainty):
            certainties[word] = certainty
    return certainties


def fuse(
    ranked: Sequence[RankedExchange], nearness: Mapping[Position, float]
) -> list[RankedExchange]:
    """Return one order of words and meaning; what has no vector yet counts as the nearest."""
    nearest = max(nearness.values(), default=0.0)

    def worth(exchange: RankedExchange) -> float:
        # Half of a query says less than half of what the whole says. The power was chosen on five
        # of LoCoMo's dialogues and on the tuning half of `benchmarks.recall`.
        near = nearness.get(exchange.position, nearest)
        return near + exchange.coverage * sqrt(exchange.coverage)

    return sorted(ranked, key=lambda exchange: (-exchange.exact, -worth(exchange)))


def _highest(several: Sequence[Sequence[float]]) -> Sequence[float]:
    """Return the highest certainty of each term."""
    first, *others = several
    return [*map(max, first, *others)] if others else first


def _scored(
    question: Question,
    position: Position,
    sentences: Sequence[MatchedSentence],
    whole: Mapping[Position, Sequence[float]],
) -> RankedExchange:
    """Return how well an exchange fits. `whole` has the terms of the exchanges around it."""
    session, at = position
    weights = [asked.weight for asked in question.terms]
    nothing = [0.0] * len(weights)
    around = [nothing]
    for step, share in AROUND:
        if (certainty := whole.get((session, at + step))) is not None:
            around.append([share * part for part in certainty])
    near = _highest(around)
    beside = sum(map(mul, weights, near))
    scores: dict[int, float] = {}
    for sentence in sentences:
        score = sum(map(mul, weights, map(max, sentence.certainty, near)))
        score *= _ASKING if QUESTION_MARK in sentence.marks else 1.0
        scores[sentence.number] = score * (_TELLING if VALUE_MARK in sentence.marks else 1.0)
    ordered = sorted(sentences, key=lambda sentence: -scores[sentence.number])
    best = scores[ordered[0].number] if ordered else 0.0
    return RankedExchange(
        position=position,
        exact=sum(
            asked.term.exact and certainty >= 1.0
            for asked, certainty in zip(question.terms, whole.get(position, nothing), strict=True)
        ),
        score=best,
        coverage=max(best, beside) / (sum(weights) or 1.0),
        strength=_strength(question, ordered[0]) if ordered else 0.0,
        sentences=tuple(ordered),
    )


def _strength(question: Question, best: MatchedSentence) -> float:
    """Return how much of a query its best sentence holds, and how much more that is than chance."""
    if question.weak:
        return 0.0
    rarest = rarity(question.total, 1)
    limited = [min(asked.weight, rarest) for asked in question.terms]
    part: float = sum(map(mul, limited, best.certainty))
    likely = 0.6 if QUESTION_MARK in best.marks else 1.0
    likely *= 1.0 if VALUE_MARK in best.marks else 0.8
    chance = min(1.0, part / (_RARE_WORDS * max(rarest, _LEAST_RARITY)))
    return min(1.0, likely * part / (sum(limited) or 1.0) * chance)
