"""Ranking (pure): how well exchanges fit a query, judged by the sentences that contain its terms.

An exchange is as good as its best sentence. Terms that this sentence lacks count less if they occur
elsewhere in the exchange, or in those around it: the topic of a talk is often named only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import log, sqrt
from operator import mul

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.library.indexed import Phrase, Position
from chat_loop.library.terms import QUESTION_MARK, VALUE_MARK, Term, related

AROUND = ((0, 0.8), (-1, 0.45), (1, 0.45), (-2, 0.2), (2, 0.2))
"""Distances in exchanges, and a term's weight there, tuned on five of LoCoMo's ten dialogues."""
_ASKING = 0.85
_TELLING = 1.15
DAY = 0.4  # the strength of what was said on a day that the query names: just enough to attach it
HALF = log(2)  # the rarity of a word that half of all exchanges contain
_STEPS = 25  # the best score has this many steps, to which all scores are rounded
_LEAST_EXCHANGES = 6
# a strong sentence weighs as much as two unique words
_RARE_WORDS = 2.0
_LEAST_RARITY = 2.0


class QueryTerm(Struct, frozen=True):
    """A term, its weight, and the phrases for it and its other forms."""

    term: Term
    weight: float
    match: tuple[Phrase, ...]


class SearchQuery(Struct, frozen=True, dict=True):
    """The terms of a query over `total` exchanges. A `weak` query has only common words."""

    terms: tuple[QueryTerm, ...]
    weak: bool
    total: int

    @cached_property
    def weights(self) -> list[float]:
        """The weights of the terms."""
        return [asked.weight for asked in self.terms]

    @cached_property
    def exact(self) -> list[int]:
        """The numbers of the terms that are exact."""
        return [at for at, asked in enumerate(self.terms) if asked.term.exact]

    @cached_property
    def rarest(self) -> float:
        """The weight of a word that one exchange contains."""
        return rarity(self.total, 1)

    @cached_property
    def limited(self) -> list[float]:
        """The weights, none above that of a word that one exchange contains."""
        return [min(weight, self.rarest) for weight in self.weights]


class MatchedSentence(Struct, frozen=True):
    """A line of an exchange with its number, its marks, and the certainty that it has each term."""

    number: int
    marks: str
    certainty: Sequence[float]


Matches = Mapping[Position, Sequence[MatchedSentence]]


class RankedExchange(Struct, frozen=True):
    """An exchange and its score, with the sentences that contain a term, best first."""

    position: Position
    exact: int
    score: float
    coverage: float  # the share of the query that is in the exchange or around it
    strength: float  # the likelihood that the query means it, 0 to 1
    sentences: tuple[MatchedSentence, ...]


def rarity(everything: int, count: int) -> float:
    """Return the weight of a word that `count` of all exchanges contain."""
    everything = max(everything, _LEAST_EXCHANGES)
    return log(1 + (everything - count + 0.5) / (count + 0.5))


def match(
    question: SearchQuery, lines: Mapping[Position, str]
) -> dict[Position, list[MatchedSentence]]:
    """Return the lines of each exchange that contain terms."""
    asked = [asked.term for asked in question.terms]
    spoken = {*" ".join(lines.values()).split()}
    # a blank on both sides makes a word or phrase whole
    certainties = {f" {word} ": found for word, found in _certainties(asked, spoken).items()}
    matches: dict[Position, list[MatchedSentence]] = {}
    for position, text in lines.items():
        flat = f"{text} ".replace("\n", " ")
        held = {word: certainties[word] for word in certainties if word in flat}
        matches[position] = _matched(text, held) if held else []
    return matches


def rank(
    question: SearchQuery, matches: Matches, candidates: Iterable[Position]
) -> list[RankedExchange]:
    """Return the candidates, best first; later ones come first among equals. `matches` also has the
    exchanges around them.
    """
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
    """Return the lines that contain one of these words or phrases, with blanks around them."""
    matched = []
    for number, line in enumerate(text.split("\n")):
        padded = f"{line} "  # the marks end in a blank
        found = [certainty for word, certainty in certainties.items() if word in padded]
        if found:
            marks, _, _ = line.partition(" ")
            matched.append(MatchedSentence(number, marks, _highest(found)))
    return matched


def _certainties(asked: Sequence[Term], spoken: Iterable[str]) -> dict[str, list[float]]:
    """Return the certainties that each phrase of the query, and each spoken word, means a term."""
    nothing = [0.0] * len(asked)
    certainties: dict[str, list[float]] = {}
    alike: dict[str, list[int]] = {}  # beginnings and ends of words -> the terms they may mean
    for at, term in enumerate(asked):
        if len(term.words) > 1:
            phrase = certainties.setdefault(" ".join(term.words), nothing[:])
            phrase[at] = 1.0
        else:
            for edge in {term.words[0][:3], term.words[0][-4:]}:
                alike.setdefault(edge, []).append(at)
    for word in spoken:
        near = (*alike.get(word[:3], ()), *alike.get(word[-4:], ()))
        if not near:
            continue
        certainty = nothing[:]
        for at in near:
            certainty[at] = related(asked[at], word)
        if any(certainty):
            certainties[word] = certainty
    return certainties


def fuse(
    ranked: Sequence[RankedExchange], nearness: Mapping[Position, float]
) -> list[RankedExchange]:
    """Return the exchanges in one order by words and meaning. Without a vector, one counts as near
    as the nearest.
    """
    nearest = max(nearness.values(), default=0.0)

    def worth(exchange: RankedExchange) -> float:
        # Half of a query says less than half as much as the whole. The exponent was tuned on five
        # of LoCoMo's dialogues and on the tuning half of `benchmarks.recall`.
        near = nearness.get(exchange.position, nearest)
        return near + exchange.coverage * sqrt(exchange.coverage)

    return sorted(ranked, key=lambda exchange: (-exchange.exact, -worth(exchange)))


def with_day(ranked: Sequence[RankedExchange], said: Sequence[Position]) -> list[RankedExchange]:
    """Put what was `said` on a day that the query names behind what fits the query's words well."""
    found_by_words = {found.position: found for found in ranked}
    of_day = found_by_words.keys() & {*said}
    fitting = [found for found in ranked if found.strength >= DAY]
    others = [found for found in ranked if found.strength < DAY]
    beginning = (MatchedSentence(0, "", ()),)
    new = [
        RankedExchange(position, 0, 0.0, 0.0, DAY, beginning)
        for position in said
        if position not in of_day
    ]
    told = [replace(found, strength=DAY) for found in others if found.position in of_day]
    return [*fitting, *told, *new, *(found for found in others if found.position not in of_day)]


def _highest(several: Sequence[Sequence[float]]) -> Sequence[float]:
    """Return the highest certainty of each term."""
    first, *others = several
    return [*map(max, first, *others)] if others else first


def _scored(
    question: SearchQuery,
    position: Position,
    sentences: Sequence[MatchedSentence],
    whole: Mapping[Position, Sequence[float]],
) -> RankedExchange:
    """Return an exchange with its scores. `whole` also has the terms of the exchanges around it."""
    session, at = position
    weights = question.weights
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
    own = whole.get(position, nothing)
    return RankedExchange(
        position=position,
        exact=sum(own[number] >= 1.0 for number in question.exact),
        score=best,
        coverage=max(best, beside) / (sum(weights) or 1.0),
        strength=_strength(question, ordered[0]) if ordered else 0.0,
        sentences=tuple(ordered),
    )


def _strength(question: SearchQuery, best: MatchedSentence) -> float:
    """Return the share of a query that its best sentence contains, less what chance may explain."""
    if question.weak:
        return 0.0
    limited = question.limited
    part: float = sum(map(mul, limited, best.certainty))
    likely = 0.6 if QUESTION_MARK in best.marks else 1.0
    likely *= 1.0 if VALUE_MARK in best.marks else 0.8
    chance = min(1.0, part / (_RARE_WORDS * max(question.rarest, _LEAST_RARITY)))
    return min(1.0, likely * part / (sum(limited) or 1.0) * chance)
