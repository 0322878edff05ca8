"""Harvest (pure): the sentences of a span that must not be lost, word for word, found by code in
both speakers' words.

Only what users say in their own words makes rules; the same sentence in a reply or in a pasted text
is at most a fact.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.facts import judge
from chat_loop.facts.canon import figures, normal
from chat_loop.facts.fillers import without_filler
from chat_loop.facts.judge import Kind, Speaker
from chat_loop.facts.reading import Reading, read, shared
from chat_loop.facts.words import language, tokens
from chat_loop.sessions.records import Exchange
from chat_loop.text import Sentence, sentences

OWN_WORDS = 20_000
"""A query of more characters than this is something pasted; people write several pages
themselves.
"""
LOOKED_AT = 60_000
"""Characters of one text that are read: half of them at its beginning, half at its end."""
LONGEST_JOIN = 300
"""Characters of a sentence together with the one that it leans on."""
PASTED_FACTS = 60
"""Sentences that are taken from one pasted text."""
LONG_REPLY = 6
"""Sentences of one reply that keep their full weight."""
_HEARD = 12
"""Sentences with values that a vague correction is compared with."""
_LONGEST_REASON = 16
"""Words of a sentence that gives a reason without saying so."""
_HEAVIEST = 12


class Found(Struct, frozen=True):
    """One sentence worth keeping. `weight`: how much would be lost with it, from 1 to 12."""

    text: str
    ref: str
    speaker: Speaker
    kind: Kind
    values: tuple[str, ...]
    weight: int


@dataclasses.dataclass(slots=True, eq=False)
class Candidate:
    """A sentence on its way into the ledger. What it leans on may still be joined to it, and echoes
    add weight.
    """

    found: Found
    reading: Reading
    own: Reading
    """The correction alone, when it was joined to what it corrects; otherwise the same as
    `reading`.
    """
    corrects: Candidate | None = None
    base: Reading | None = None
    """For a vague correction, the statement it corrects without earlier corrections of it."""
    echoed: bool = False


@dataclasses.dataclass(slots=True)
class _Turn:
    """One speaker's text while it is read."""

    ref: str
    speaker: Speaker
    pasted: bool
    made: list[Candidate] = dataclasses.field(default_factory=list)
    before: Reading | None = None
    """The sentence before the current one, and what it became."""
    kept_before: Candidate | None = None


def harvest(exchanges: Sequence[Exchange]) -> list[Found]:
    """The sentences worth keeping, in the order they were said, none of them twice."""
    return [candidate.found for candidate in candidates(exchanges)]


def candidates(exchanges: Sequence[Exchange]) -> list[Candidate]:
    """Like `harvest`, with what was read. A vague correction stands beside what it corrects."""
    harvester = _Harvester()
    for exchange in exchanges:
        harvester.hear(exchange)
    return harvester.kept


def looked_at(text: str) -> str:
    """The part of a text that is read at all."""
    half = LOOKED_AT // 2
    return text if len(text) <= LOOKED_AT else f"{text[:half]}\n{text[-half:]}"


class _Harvester:
    """Goes through a span once and remembers what the next sentences may lean on or repeat."""

    def __init__(self) -> None:
        self.kept: list[Candidate] = []
        self._language = "en"
        self._asked: frozenset[str] = frozenset()
        """The values of the newest query, which the reply may echo."""
        self._question: Reading | None = None
        """The question that the last text ended with, which a short answer needs."""
        self._heard: deque[tuple[Reading, Candidate | None]] = deque(maxlen=_HEARD)
        self._user: set[str] = set()
        """The words of all queries."""
        self._recent: list[list[Candidate]] = []
        """What the last exchanges gave, newest last."""

    def hear(self, exchange: Exchange) -> None:
        self._recent = [*self._recent[-1:], []]
        self._asked = frozenset()
        self._say(exchange.query.text, exchange.ref, "user")
        if exchange.reply is not None:
            self._say(exchange.reply.text, exchange.ref, "reply")

    def _say(self, text: str, ref: str, speaker: Speaker) -> None:
        turn = _Turn(ref, speaker, len(text) > OWN_WORDS and speaker == "user")
        self._language = language(tokens(text[:800]), self._language)
        if speaker == "user":
            self._user.update(tokens(looked_at(text)))
        for sentence in sentences(looked_at(text)):
            if sentence.role == "code":
                continue
            if turn.pasted and len(turn.made) >= PASTED_FACTS:
                break
            plain = without_filler(sentence.text)
            reading = read(plain, language(tokens(plain), self._language, 2), False)
            candidate = self._taken(turn, sentence, reading)
            if candidate is not None and candidate is not turn.kept_before:
                turn.made.append(candidate)
                self._recent[-1].append(candidate)
            if reading.measured:
                self._heard.append((reading, candidate))
                if speaker == "user":
                    self._asked |= _bare(reading)
            turn.before, turn.kept_before = reading, candidate
        if speaker == "reply":
            for candidate in turn.made[LONG_REPLY:]:
                candidate.found = replace(
                    candidate.found, weight=max(1, candidate.found.weight - 1)
                )
        self._question = (
            turn.before if turn.before is not None and judge.asks(turn.before.text) else None
        )
        self.kept += turn.made

    def _taken(self, turn: _Turn, sentence: Sentence, own: Reading) -> Candidate | None:
        """What a sentence becomes: a new candidate, a longer one that was there before, or
        nothing.
        """
        verdict = judge.verdict(own, sentence.role, turn.speaker, turn.pasted)
        if verdict is None and _gives_reason(own, turn):
            verdict = ("fact", 1)
        if verdict is None:
            return None
        kind, weight = verdict
        if turn.speaker == "reply" and kind in ("decision", "rejected") and not self._told(own):
            kind = "fact"  # nobody has decided what only a model has named
        if turn.speaker == "user" and not turn.pasted and judge.vague_update(own):
            corrected = self._corrected(own)
            if corrected is not None:
                base, old = corrected
                joined = _join(base, own)
                kind, least = (old.found.kind, old.found.weight) if old is not None else ("fact", 1)
                return Candidate(
                    _found(joined, turn, kind, max(weight, least)), joined, own, old, base
                )
        reading = own
        leans = judge.leans(own) or (
            turn.before is None and self._question is not None and judge.answers(own)
        )
        if sentence.role == "said" and leans:
            before = self._leaned_on(own, turn)
            if before is None:
                weight -= 2
            else:
                reading = _join(before, own)
                if turn.kept_before is not None and before is turn.kept_before.reading:
                    return _grown(turn.kept_before, reading, kind, weight)
        if weight < 1 or self._said_already(reading, own, turn.speaker):
            return None
        return Candidate(_found(reading, turn, kind, weight), reading, reading)

    def _told(self, own: Reading) -> bool:
        """Whether the user has said all words of a sentence's values."""
        return all(self._user.issuperset(tokens(value.text)) for value in own.values)

    def _leaned_on(self, own: Reading, turn: _Turn) -> Reading | None:
        """The sentence without which `own` says nothing: the one before it, or the question that it
        answers.
        """
        before = turn.kept_before.reading if turn.kept_before is not None else turn.before
        if before is None or len(before.words) < 3:
            before = self._question
        if (
            before is None
            or len(before.text) + len(own.text) > LONGEST_JOIN
            or len(before.words) < 3
        ):
            return None
        return before

    def _corrected(self, own: Reading) -> tuple[Reading, Candidate | None] | None:
        """The newest statement whose value "make it 45 instead" can mean, and its candidate when it
        has one.
        """
        for heard, candidate in reversed(self._heard):
            if candidate is not None and candidate.found.kind == "rule":
                continue
            base = heard if candidate is None else candidate.base or candidate.reading
            fits = len(base.text) + len(own.text) <= LONGEST_JOIN
            if base.about and fits and judge.same_measure(heard.measured, own.measured):
                return base, candidate
        return None

    def _said_already(self, reading: Reading, own: Reading, speaker: Speaker) -> bool:
        """Whether a sentence only repeats what this exchange or the one before it said; the first
        gains by it.
        """
        for candidate in (item for group in reversed(self._recent) for item in group):
            if _repeats(own, candidate.reading, speaker):
                if not candidate.echoed and candidate.found.speaker == "user":
                    heavier = min(_HEAVIEST, candidate.found.weight + 1)
                    candidate.found = replace(candidate.found, weight=heavier)
                candidate.echoed = True
                return True
        return speaker == "reply" and bool(own.normals) and _bare(own) <= self._asked


def _found(reading: Reading, turn: _Turn, kind: Kind, weight: int) -> Found:
    values = tuple(value.text for value in reading.values)
    return Found(reading.text, turn.ref, turn.speaker, kind, values, max(1, min(_HEAVIEST, weight)))


def _grown(candidate: Candidate, reading: Reading, kind: Kind, weight: int) -> Candidate:
    """A candidate with the next sentence joined to it."""
    old = candidate.found
    candidate.found = replace(
        old,
        text=reading.text,
        values=tuple(value.text for value in reading.values),
        kind=max(old.kind, kind, key=_STRENGTH.index),
        weight=max(old.weight, weight),
    )
    candidate.own = reading if candidate.own is candidate.reading else candidate.own
    candidate.reading = reading
    return candidate


_STRENGTH: tuple[Kind, ...] = ("fact", "done", "task", "decision", "rejected", "rule")


def _join(before: Reading, own: Reading) -> Reading:
    return read(f"{before.text} {own.text}", own.language or before.language)


def _gives_reason(own: Reading, turn: _Turn) -> bool:
    """Whether a sentence goes on about the user's decision before it: "We take oak. It was cheaper
    than beech."
    """
    before = turn.kept_before
    if (
        before is None
        or turn.speaker != "user"
        or not 2 < len(own.words) <= _LONGEST_REASON
        or judge.asks(own.text)
    ):
        return False
    decided = before.found.kind in ("decision", "rejected") and "reason" not in before.reading.cues
    return decided and judge.leans(own)


def _repeats(own: Reading, said: Reading, speaker: Speaker) -> bool:
    """Whether `said` has all values of a sentence and enough of its words; a reply is an echo with
    fewer of them.
    """
    if not own.normals <= said.normals:
        return False
    common, left, right = shared(own.about, said.about)
    if speaker == "reply":
        return common >= len(own.about) * (0.34 if own.normals else 0.6)
    return common >= len(own.about) * 0.6 and not (left and right)


def _bare(reading: Reading) -> frozenset[str]:
    """The values of a sentence as an echo may shorten them: figures without units."""
    return frozenset(
        " ".join(figures(value.text)) or normal(value.text) for value in reading.values
    )
