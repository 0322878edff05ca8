"""The facts of a segment, the facts that replace others, and sentences that only look like facts.

A segment contains 24 facts in the languages of its profile. Three in ten are announced ("Decision:
…"); four in ten are said by the model alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from msgspec.structs import replace

from benchmarks.factchain.talk import SEGMENTS, Fact
from benchmarks.factchain.wording import (
    ANCHORED,
    KINDS,
    PROFILES,
    Filling,
    Sentence,
    Shape,
    Speaker,
    language,
)

FACTS = 24
"""Facts per segment."""
ANNOUNCED = 0.3
BY_USER = 0.6
BEGUN = (6, 5, 5, 4)
"""The number of values in each segment that will be replaced later; the last number is that of all later
segments but the last, which has none.
"""
MOST_REPLACED = 6
SOON = 0.6
"""The probability that a value is replaced in a segment with room for its successor. From the third
segment after the value on, and in the last two segments, it is replaced whenever there is room.
"""
TWINS, SUPPOSITIONS = 3, 2
"""Near-duplicates (a fact's sentence about another subject) and hypotheticals per segment; they are
not scored.
"""
_TRIES = 500


@dataclass(frozen=True, slots=True)
class Saying:
    """A sentence that must be said in a segment. If set, `label` announces it."""

    text: str
    speaker: Speaker
    language: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A value that has not been replaced yet."""

    fact: Fact
    shape: Shape
    filling: Filling


class Deck:
    """A deck that deals every card once before any card comes again."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._left: dict[str, list[str]] = {}

    def deal(self, name: str, cards: Sequence[str]) -> str:
        left = self._left.setdefault(name, [])
        if not left:
            left += self._random.sample(list(cards), len(cards))
        return left.pop()


class Planter:
    """Plants the facts of one conversation, segment by segment."""

    def __init__(self, profile: str, random: Random, shift: int, segments: int = SEGMENTS) -> None:
        self.facts: list[Fact] = []
        self._profile = profile
        self._random = random
        self._shift = shift
        self._segments = segments
        self._deck = Deck(random)
        self._waiting: list[_Waiting] = []
        self._used: set[tuple[str, ...]] = set()
        """The subjects of each shape, the values of each type, and the anchors of each sentence."""

    def room(self, segment: int) -> dict[str, int]:
        """Return the number of facts of each language in a segment."""
        mix = PROFILES[self._profile]
        room = dict(mix.fixed)
        if mix.rotating:
            code = mix.rotating[(segment + self._shift) % len(mix.rotating)]
            room[code] = FACTS - sum(room.values())
        return room

    def segment(self, segment: int) -> list[Saying]:
        """Plant a segment's facts; return all sentences that must be said."""
        room = self.room(segment)
        rotating = PROFILES[self._profile].rotating
        sayings = [self._successor(waiting, segment) for waiting in self._due(segment, room)]
        places = [code for code, left in room.items() for _ in range(left)]
        begun = 0 if segment == self._segments else BEGUN[min(segment, len(BEGUN)) - 1]
        for code in self._random.sample(places, begun):
            if (
                code not in rotating or segment + len(rotating) <= self._segments
            ):  # the language comes again later
                sayings.append(self.plant("update", code, segment))
                room[code] -= 1
        kinds = [kind for kind in KINDS if kind != "update"]
        for code, left in room.items():
            sayings += [
                self.plant(self._deck.deal(code, kinds), code, segment) for _ in range(left)
            ]
        codes = sorted(room)
        for code in self._random.choices(codes, k=TWINS):
            shape, _, sentence = self._fresh(self._random.choice(kinds), code)
            sayings.append(Saying(sentence.text, shape.speaker, code))
        for code in self._random.choices(codes, k=SUPPOSITIONS):
            words = language(self._profile, code)
            decoy = self._deck.deal(f"{code} decoys", words.decoys)
            sayings.append(Saying(Filling(self._random, words.slots).fill(decoy), "user", code))
        return sayings

    def _due(self, segment: int, room: dict[str, int]) -> list[_Waiting]:
        """Return the values to replace in this segment, and subtract their places from `room`."""
        late = segment >= self._segments - 1
        due: list[_Waiting] = []
        for waiting in list(self._waiting):
            code = waiting.fact.language
            certain = late or segment - waiting.fact.segment > 2
            if (
                len(due) < MOST_REPLACED + 2 * late
                and room.get(code)
                and (certain or self._random.random() < SOON)
            ):
                self._waiting.remove(waiting)
                room[code] -= 1
                due.append(waiting)
        return due

    def plant(self, kind: str, code: str, segment: int, speaker: Speaker | None = None) -> Saying:
        """Plant one fact; without a `speaker`, chance decides who states it."""
        if speaker is None:
            speaker = "user" if self._random.random() < BY_USER else "model"
        shape, filling, sentence = self._fresh(kind, code, speaker)
        fact = self._add(shape, filling, sentence, code, segment)
        if kind == "update":
            self._waiting.append(_Waiting(fact, shape, filling))
        return self._saying(fact)

    def replace_oldest(self, segment: int) -> Saying:
        """Return the successor of the value that has waited longest for one."""
        return self._successor(self._waiting.pop(0), segment)

    def _successor(self, waiting: _Waiting, segment: int) -> Saying:
        """Return the saying with the new value, and record in the old fact what replaced it."""
        old = waiting.fact
        for _ in range(_TRIES):
            sentence = waiting.filling.sentence(waiting.shape.update)
            if not self._used & self._marks("update", sentence):
                break
        else:
            raise ValueError(f"{waiting.shape.name} has no more values")
        new = self._add(waiting.shape, waiting.filling, sentence, old.language, segment)
        self.facts[old.number - 1] = replace(old, superseded_by=new.number, superseded_in=segment)
        return self._saying(new)

    def _fresh(
        self, kind: str, code: str, speaker: Speaker | None = None
    ) -> tuple[Shape, Filling, Sentence]:
        """Return a sentence whose subject and value are new in this conversation."""
        words = language(self._profile, code)
        shapes = [shape for shape in words.shapes[kind] if speaker in (None, shape.speaker)]
        for _ in range(_TRIES):
            name = self._deck.deal(f"{code} {kind} {speaker}", [shape.name for shape in shapes])
            shape = next(shape for shape in shapes if shape.name == name)
            filling = Filling(self._random, words.slots)
            sentence = filling.sentence(shape.text)
            subject = (code, name, *(filling.chosen[slot] for slot in shape.subject))
            if subject not in self._used and not self._used & self._marks(kind, sentence):
                self._used |= {subject, *self._marks(kind, sentence)}
                return shape, filling, sentence
        raise ValueError(f"{kind} in {code} has no more subjects")

    def _marks(self, kind: str, sentence: Sentence) -> set[tuple[str, ...]]:
        return (
            {("anchors", *sentence.marked)}
            if kind in ANCHORED
            else {("value", value) for value in sentence.marked}
        )

    def _add(
        self, shape: Shape, filling: Filling, sentence: Sentence, code: str, segment: int
    ) -> Fact:
        self._used |= self._marks(shape.kind, sentence)
        fact = Fact(
            number=len(self.facts) + 1,
            kind=shape.kind,
            language=code,
            speaker=shape.speaker,
            announced=self._random.random() < ANNOUNCED,
            segment=segment,
            sentence=sentence.text,
            values=sentence.marked,
            keys=sentence.keys,
            question=filling.fill(shape.question),
        )
        self.facts.append(fact)
        return fact

    def _saying(self, fact: Fact) -> Saying:
        labels = language(self._profile, fact.language).labels
        group = fact.kind if fact.kind in labels else "other"
        label = self._random.choice(labels[group]) if fact.announced else ""
        return Saying(fact.sentence, fact.speaker, fact.language, label)
