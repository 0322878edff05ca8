"""One order of what full text and meaning have found (pure); where the rows are from does not
matter to it.

A hit of full text counts by the square of how surely it is what the query is about: next to nothing
when a question is asked in other words than those that were used, and more than any similarity when
they are the same. The weights were chosen on the tuning half of `benchmarks.recall`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from chat_loop.search.sentences import spans
from chat_loop.search.terms import terms, words
from chat_loop.search.wordpiece import familiar as familiar_with

Key = TypeVar("Key")

_SURE = 1.5
"""What a hit of strength 1 counts, in similarities."""
_WORDS, _SURE_OF_WORDS = 0.8, 1 / 6
"""What the best hit of full text counts besides when the sentence model knows hardly a word of the
query; all of it from this strength of the surest hit on.
"""
_LEAST = 0.3
"""What is left of similarities then."""
_FOREIGN, _FAMILIAR = 0.4, 0.9
"""Pieces per word: `familiar` of a German question and of an English one, about."""
FLOOR, _HIGHER = 0.34, 0.3
"""What is farther from a query is about something else; so much nearer it must be when the model
knows none of the words. `benchmarks.recall` chose the floor on its tuning half: there it gives the
largest sum of two shares, that of the questions whose answer is among the first five, and that of
the questions without an answer that find nothing.
"""


class Found(Struct, Generic[Key], frozen=True):
    """A hit of full text: its score (above 0), how surely it is meant (0 to 1), and how many ids of
    the query it holds.

    `ranking.Hit` has the first two, `exactly` counts the last.
    """

    key: Key
    score: float
    strength: float
    exact: int = 0


def exactly(query: str, texts: Iterable[str]) -> int:
    """How many of the ids, numbers and paths of a query stand in a sentence of these texts as they
    are.
    """
    wanted = [f" {' '.join(term.words)} " for term in terms(query) if term.exact]
    if not wanted:
        return 0
    said = [f" {' '.join(words(text[start:end]))} " for text in texts for start, end in spans(text)]
    return sum(any(one in sentence for sentence in said) for one in wanted)


def _trust(familiar: float) -> float:
    """How far the sentence model can be believed about a query, 0 to 1."""
    return min(1.0, max(0.0, (familiar - _FOREIGN) / (_FAMILIAR - _FOREIGN)))


def near_enough(
    query: str, meaning: Iterable[tuple[Key, float]], worded: Container[Key], floor: float = FLOOR
) -> list[tuple[Key, float]]:
    """Leave out the keys that only meaning has found, not full text (`worded`), and that are too
    far from the query.

    All of them when the query consists of ids: those have no meaning.
    """
    if all(term.exact or term.of for term in terms(query)):
        return [pair for pair in meaning if pair[0] in worded]
    least = floor + _HIGHER * (1.0 - _trust(familiar_with(query)))
    return [pair for pair in meaning if pair[1] >= least or pair[0] in worded]


def fused(
    text: Sequence[Found[Key]],
    meaning: Sequence[tuple[Key, float]],
    *,
    familiar: float = 1.0,
    unknown: Container[Key] = (),
) -> list[Key]:
    """Every key of both once, the best first: those that hold most ids of the query, then by what
    both say.

    `text` and `meaning` (a key and its similarity) are sorted, the best first; of what fits as well
    the first comes first. `familiar`, 0 to 1, is `wordpiece.familiar` of the query: the model reads
    English, and other languages badly. Keys in `unknown` have no vector; each of them counts as if
    it were as near as the nearest.
    """
    if not meaning:
        return list(dict.fromkeys(found.key for found in text))
    trust = _trust(familiar)
    nearest = max(similarity for _, similarity in meaning)
    farthest = min(similarity for _, similarity in meaning)
    weight = _LEAST + (1.0 - _LEAST) * trust
    best = max((found.score for found in text), default=0.0) or 1.0
    surest = max((found.strength for found in text), default=0.0)
    worth = _WORDS * (1.0 - trust) * min(1.0, surest / _SURE_OF_WORDS)
    scores: dict[Key, float] = {}
    exact: dict[Key, int] = {}
    for key, similarity in meaning:
        scores.setdefault(key, weight * (similarity - farthest))
    said: dict[Key, float] = {}
    for found in text:
        if found.key not in said:
            near = (
                weight * (nearest - farthest)
                if found.key in unknown
                else scores.get(found.key, 0.0)
            )
            said[found.key] = near + _SURE * found.strength**2 + worth * found.score / best
            exact[found.key] = found.exact
    order = list(dict.fromkeys([*said, *scores]))
    scores |= said
    return sorted(order, key=lambda key: (-exact.get(key, 0), -scores[key]))
