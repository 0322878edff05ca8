"""Reading one sentence (pure): its words, exact values and cues, and what it is about apart from
its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from chat_loop.facts.canon import Value, normal
from chat_loop.facts.cues import cues, label
from chat_loop.facts.exact import find
from chat_loop.facts.units import MONTHS, UNITS, WEEKDAYS
from chat_loop.facts.words import LIMITS, NEGATIONS, alike, content, generic, stopwords, tokens

_KEYS = frozenset({"name", "identifier"})
"""Values that say what a sentence is about rather than what it says of it."""
_DECISIVE = NEGATIONS | LIMITS
_EXACT = {
    "id": 3,
    "path": 3,
    "url": 3,
    "email": 3,
    "phone": 3,
    "address": 3,
    "version": 3,
    "code": 2,
    "identifier": 2,
}
_MEASURED = frozenset(
    {
        "quantity",
        "number",
        "date",
        "day",
        "time",
        "version",
        "address",
        "phone",
        "id",
        "path",
        "url",
        "email",
        "quote",
        "code",
    }
)


class Reading(NamedTuple):
    """A sentence as the ledger compares it. `stems`: its content words in order, without those
    inside values.
    """

    text: str
    language: str
    words: tuple[str, ...]
    values: tuple[Value, ...]
    cues: frozenset[str]
    label: str
    stems: tuple[str, ...]
    about: tuple[str, ...]
    """The stems that tell this subject from another."""
    frame: tuple[str, ...]
    """All words outside measured values."""
    marks: frozenset[str]
    """Single letters and figures outside values, which tell "tile A" from "tile B"."""
    normals: frozenset[str]
    """The values in one spelling."""
    measured: Mapping[str, frozenset[str]]
    """The values that a newer one may replace, by the kind of thing they measure."""

    @property
    def exactness(self) -> int:
        """How much is lost with its values: 0 nothing, 1 a bare number or a name, 2 a measure, 3 a
        path or an id.
        """
        return max((_worth(value) for value in self.values), default=0)


def _worth(value: Value) -> int:
    if value.kind in _EXACT:
        return _EXACT[value.kind]
    if value.kind in ("date", "time"):
        return 2
    if value.kind == "quantity":
        return 2 if value.unit in _SHORT_UNITS else 1
    return 1


_SHORT_UNITS = frozenset(name for name, _ in UNITS.values())
_DIMENSIONS = dict(UNITS.values())


def dimension(value: Value) -> str:
    """What a value measures, so that minutes can replace hours and 15:40 can replace 3 pm."""
    if value.kind == "quantity":
        return _DIMENSIONS.get(value.unit, f"count of {value.unit}")
    return "when" if value.kind in ("date", "day") else value.kind


@lru_cache(maxsize=4096)
def read(sentence: str, language: str, whole: bool = True) -> Reading:
    """Read one sentence of at most a few hundred characters, in the language its speaker uses.

    Not `whole`: when it holds neither a value nor a cue, that is all there is to know, and the rest
    stays empty.
    """
    words = tokens(sentence)
    found = tuple(find(sentence, language == "de", words))
    said = cues(words, language or "en")
    announced = label(sentence)
    if not (whole or found or said or announced) and _DECISIVE.isdisjoint(words):
        return Reading(
            sentence, language, words, (), said, "", (), (), words, frozenset(), frozenset(), {}
        )
    outside = _outside(sentence, found) if found else words
    stems = content(outside, language)
    common = generic()
    return Reading(
        text=sentence,
        language=language,
        words=words,
        values=found,
        cues=said,
        label=announced,
        stems=stems,
        about=tuple(stem for stem in stems if stem not in common),
        frame=tuple(outside),
        marks=frozenset(
            word
            for word in outside
            if (len(word) == 1 or word.isdigit()) and word not in stopwords()
        ),
        normals=frozenset(normal(value.text) for value in found) if found else frozenset(),
        measured=_measured(found) if found else {},
    )


def _measured(found: tuple[Value, ...]) -> Mapping[str, frozenset[str]]:
    kinds: dict[str, set[str]] = {}
    for value in found:
        if value.kind in _MEASURED:
            kinds.setdefault(dimension(value), set()).add(normal(value.text))
    return {kind: frozenset(items) for kind, items in kinds.items()}


def _outside(sentence: str, found: tuple[Value, ...]) -> Sequence[str]:
    """The words of a sentence that are not part of a measured value; what is counted stays."""
    pieces: list[str] = []
    position = 0
    for value in found:
        if value.kind in _KEYS:
            continue
        pieces.append(sentence[position : value.start])
        position = value.end
        if value.kind == "quantity" and value.unit not in _SHORT_UNITS:
            pieces.append(value.unit)
    pieces.append(sentence[position:])
    return [
        word for word in tokens(" ".join(pieces)) if word not in WEEKDAYS and word not in MONTHS
    ]


def shared(
    one: tuple[str, ...], other: tuple[str, ...]
) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """How many stems two sentences have in common, and the stems that only the one and only the
    other has.
    """
    left = [stem for stem in one if stem not in other]
    right = [stem for stem in other if stem not in one]
    common = len(one) - len(left)
    if left and right:
        for stem in tuple(left):
            for candidate in right:
                if (stem[:3] == candidate[:3] or stem[-4:] == candidate[-4:]) and alike(
                    stem, candidate
                ):
                    left.remove(stem)
                    right.remove(candidate)
                    common += 1
                    break
    return common, tuple(left), tuple(right)
