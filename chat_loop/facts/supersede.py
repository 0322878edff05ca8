"""Supersession (pure): which statements a newer one replaces, and which tasks it closes.

A statement is replaced only where the newer one says so: it names the old value beside its own, or
a label announces it ("Correction: …"). Otherwise both stay, the newer one later: two services with
similar names are two facts. That a newer sentence looks like a new value of the same only decides
which of them goes first where not all have room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from chat_loop.facts.canon import figures, normal
from chat_loop.facts.reading import Reading, dimension, shared
from chat_loop.facts.statement import Statement, closes
from chat_loop.facts.words import content, generic, tokens

Measured = Mapping[str, frozenset[str]]
_BUCKET = 40
"""Statements that are compared through one common word, the newest."""
_CLAUSES = re.compile(
    r"[,;:–—(]\s|\s(?:because|since|so|and|but|which|weil|denn|und|aber|damit|parce|car|et|mais|porque|y|pero|perché|ma|pois"
    r"|omdat|want|maar)\s"
)


_NAMING = ("id", "path", "url", "email", "identifier")
"""Values that name what a sentence is about when it also holds a measure: "room 12 is 30 m²"."""
_ENOUGH = 1.7
"""What the words in common must weigh where the sentences have other words as well."""


_RELATED = 0.8
"""The same for a statement that may be about the same: it only decides which of the two goes
first.
"""
_UNCUED = 2.0
"""The same where nothing says that something has changed; then the newer sentence may have nothing
else, either.
"""


class Outcome(Struct, frozen=True):
    """Positions of statements -> the position of the one that replaced or closed them.

    `doubtful`: -> the position of one that may give a newer value of the same, but does not say so.
    """

    replaced: dict[int, int]
    closed: dict[int, int]
    doubtful: dict[int, int]


def supersede(statements: Sequence[Statement], newer: int, *, all_doubts: bool = True) -> Outcome:
    """Compare the statements from position `newer` on with all before them, in the order they were
    said; the others as well with `all_doubts`, but they replace and close nothing any more.
    """
    index = _Index()
    replaced: dict[int, int] = {}
    closed: dict[int, int] = {}
    doubtful: dict[int, int] = {}
    for number, statement in enumerate(statements):
        if statement.may_replace and (all_doubts or number >= newer):
            if number >= newer and statement.corrects is not None:
                replaced[statement.corrects] = number
            live = [at for at in index.near(statement) if at not in replaced and at not in closed]
            for old in _best(
                statement, [at for at in live if at not in doubtful], statements, index.weigh
            ):
                said = number >= newer and _says_so(statement, statements[old])
                (replaced if said else doubtful)[old] = number
            for old in live if number >= newer else ():
                if old not in replaced and closes(statement, statements[old]):
                    closed[old] = number
        index.add(number, statement)
    return Outcome(replaced, closed, doubtful)


def elders(staying: Sequence[Statement], going: Sequence[Statement]) -> list[tuple[int, int]]:
    """Pairs of positions: what stays, and what goes although it may be the newer word on the same.

    That it replaces the older is not sure enough to let that go; but the older should not stand
    alone. Both sequences are in the order they were said; a statement is older than those of later
    sessions of the chain.
    """
    index = _Index()
    for number, statement in enumerate(staying):
        index.add(number, statement)
    pairs = []
    for number, newer in enumerate(going):
        related = [
            (_related(newer, staying[at], index.weigh), at)
            for at in (index.near(newer) if newer.own.measured else ())
            if _session(staying[at]) < _session(newer)
        ]
        strength, at = max(related, default=(0.0, -1))
        if strength >= _RELATED:
            pairs.append((at, number))
    return pairs


def _session(statement: Statement) -> int:
    return int(statement.ref.partition(".")[0]) if statement.ref[:1].isdigit() else 0


class _Index:
    """Statements by the beginnings of their words, and by everything but their value."""

    def __init__(self) -> None:
        self._words: dict[str, list[int]] = {}
        self._frames: dict[object, list[int]] = {}

    def add(self, number: int, statement: Statement) -> None:
        for key in _keys(statement.reading):
            self._words.setdefault(key, []).append(number)
        self._frames.setdefault(_frame(statement.reading), []).append(number)

    def weigh(self, stem_: str) -> float:
        """How much a word says about what a sentence is about: less the more sentences have it."""
        return 1.0 / (1.0 + 0.15 * max(0, len(self._words.get(stem_[:4], ())) - 2))

    def near(self, statement: Statement) -> list[int]:
        """What a statement could replace, oldest first: without cue and value, what is worded the
        same.
        """
        own = statement.own
        if not (
            own.cues & {"update", "swap", "done"} or own.label in ("update", "done") or own.measured
        ):
            return self._frames.get(_frame(statement.reading), [])[-_BUCKET:]
        found: set[int] = set()
        for key in _keys(statement.reading):
            found.update(self._words.get(key, ())[-_BUCKET:])
        return sorted(found)


def _keys(reading: Reading) -> Iterator[str]:
    """The beginnings of a sentence's words (of long compounds the end too), and its values: rooms
    have numbers.
    """
    for word in reading.about:
        yield word[:4]
        if len(word) > 8:
            yield word[-6:-2]
    yield from (f"={value}" for value in reading.normals)


def _frame(reading: Reading) -> object:
    return frozenset(reading.about), frozenset(reading.measured), reading.marks


def _best(
    new: Statement,
    live: Sequence[int],
    statements: Sequence[Statement],
    weigh: Callable[[str], float],
) -> list[int]:
    """The best match among the live statements: several when they are about the same, none when it
    is not clear.
    """
    scored: list[tuple[float, int]] = []
    for at in live:
        old = statements[at]
        if _has_authority(new, old):
            score = _same_subject(new, old, weigh)
            if score > 0:
                scored.append((score, at))
    if not scored:
        return []
    best = max(score for score, _ in scored)
    winners = [at for score, at in scored if score == best]
    subjects = {frozenset(statements[at].reading.about) for at in winners}
    return winners if len(subjects) == 1 else []


def _says_so(new: Statement, old: Statement) -> bool:
    """Whether a statement names what it replaces, or a label announces it and they differ in their
    last value only.
    """
    before, after = old.reading, new.own
    labeled = after.label == "update"
    if not (labeled or after.cues & {"update", "swap"}):
        return False
    changed = [
        kind
        for kind, values in after.measured.items()
        if before.measured.get(kind, values) != values
    ]
    if not changed or (labeled and _last_differs(before, after)):
        return True
    return len(after.normals) > len(before.normals) and any(
        _names(after.measured, before.measured, k) for k in changed
    )


def _names(after: Measured, before: Measured, kind: str) -> bool:
    """Whether a sentence holds all that another measures of a kind, perhaps without units: "not 30
    but 45 seconds".
    """
    figure = {figure for value in before[kind] for figure in figures(value)}
    return before[kind] <= after[kind] or bool(
        figure and figure <= after.get("number", frozenset())
    )


def _last_differs(old: Reading, new: Reading) -> bool:
    """Whether the last values of two sentences measure the same, and all values before them are
    equal.
    """
    before, after = ([value for value in one.values if value.kind != "name"] for one in (old, new))
    if not before or not after or dimension(before[-1]) != dimension(after[-1]):
        return False
    return [normal(one.text) for one in before[:-1]] == [normal(one.text) for one in after[:-1]]


def _has_authority(new: Statement, old: Statement) -> bool:
    """A reply never touches what the user decided or ruled, and corrects the user only in so many
    words.
    """
    if old.kind == "task":
        return False
    if new.speaker == "user" or old.speaker != "user":
        return old.kind != "rule" or new.speaker == "user"
    return old.kind == "fact" and "update" in new.own.cues


def _same_subject(new: Statement, old: Statement, weigh: Callable[[str], float]) -> float:
    """How surely `new` says something else about what `old` is about; 0 when it does not, or not
    surely.
    """
    before, after = old.reading.measured, new.own.measured
    changed = [kind for kind, values in after.items() if kind in before and before[kind] != values]
    cue = bool(new.own.cues & {"update", "swap"}) or new.own.label == "update"
    if not cue and _same_frame(new.reading, old.reading, changed):
        return 1.0 if new.ref != old.ref else 0.0
    if not cue and (not changed or new.ref == old.ref or "maybe" in new.own.cues):
        return 0.0
    if not changed:
        return _switched(new, old)
    if _apart(old.reading, new.reading) or _other_key(before, new.reading.measured):
        return 0.0
    if not cue and len(_openings(old.reading) & _openings(new.reading)) < 2:
        return 0.0  # what follows is not free
    return _shared_subject(new, old, changed, weigh, cue=cue)


def _related(new: Statement, old: Statement, weigh: Callable[[str], float]) -> float:
    """What the words weigh that `new` has in common with an older statement that measures the same
    otherwise.
    """
    before, after = old.reading.measured, new.own.measured
    changed = [kind for kind, values in after.items() if kind in before and before[kind] != values]
    if not changed or new.ref == old.ref or not _openings(old.reading) & _openings(new.reading):
        return 0.0
    if _apart(old.reading, new.reading) or _other_key(before, new.reading.measured):
        return 0.0
    if _named_apart(old.reading, new.reading):
        return 0.0
    _, left, _ = shared(old.reading.about, new.reading.about)
    return sum(weigh(stem_) for stem_ in old.reading.about if stem_ not in left)


def _apart(old: Reading, new: Reading) -> bool:
    """Whether both are marked, and not the same: flat B, flat C."""
    return bool(old.marks and new.marks and old.marks != new.marks)


def _shared_subject(
    new: Statement,
    old: Statement,
    changed: Sequence[str],
    weigh: Callable[[str], float],
    *,
    cue: bool,
) -> float:
    """The same by the words that the two have in common and by those that only one of them has."""
    before, after = old.reading.measured, new.own.measured
    mentions = _mentions(before, after, changed)
    zone_old, zone_new = _zone(old.reading, changed), _zone(new.own, changed)
    _, left, _ = shared(zone_old, new.reading.stems)
    _, _, right = shared(old.reading.stems, zone_new)
    left, right = _telling(left), _telling(right)
    telling = [stem for stem in _telling(zone_old) if stem not in left]
    if not telling:
        return 0.0
    if new.ref == old.ref and not mentions and (left or right):
        return 0.0
    score = len(telling) + mentions - 0.4 * len(left) - 0.1 * len(right)
    if cue and _nothing_else(old, left, right, len(telling), mentions=mentions):
        return score
    if (len(left) == 1 == len(right)) or _named_apart(old.reading, new.reading):
        return 0.0  # they differ in one word, as the staging gateway and the production gateway do
    strength, other = sum(map(weigh, telling)), sum(map(weigh, left))
    if not cue:
        return score if strength >= _UNCUED and strength >= 2 * other and not right else 0.0
    return score if strength >= _ENOUGH and strength >= other else 0.0


def _nothing_else(
    old: Statement, left: Sequence[str], right: Sequence[str], common: int, *, mentions: bool
) -> bool:
    """Whether what two sentences do not share is too little to tell them apart."""
    if left and right and (not mentions or common < 2):
        return False
    return not right or mentions or common >= 2 or (len(old.reading.about) == 1 and len(right) == 1)


def _named_apart(old: Reading, new: Reading) -> bool:
    """Whether both sentences name somebody or something, and not the same: Ben's shoe size, Anna's
    shoe size.
    """
    before = {value.text.casefold() for value in old.values if value.kind == "name"}
    after = {value.text.casefold() for value in new.values if value.kind == "name"}
    return bool(before and after) and not any(
        _part(one, other) for one in before for other in after
    )


def _part(one: str, other: str) -> bool:
    return one in other or other in one


def _other_key(before: Measured, after: Measured) -> bool:
    """Whether two sentences measure the same of different things, such as of room 12 and room
    14.
    """
    measures = any(kind not in _NAMING for kind in before.keys() & after.keys())
    return measures and any(
        kind in before and kind in after and not before[kind] & after[kind] for kind in _NAMING
    )


def _mentions(before: Measured, after: Measured, changed: Sequence[str]) -> bool:
    """Whether the new sentence names the old value beside its own: "not 30 but 45"."""
    bare = {figure for kind in after for value in after[kind] for figure in figures(value)}
    for kind in changed:
        old = {figure for value in before[kind] for figure in figures(value)} or before[kind]
        if (old <= bare or before[kind] <= after[kind]) and after[kind] - before[kind]:
            return True
    return False


def _openings(reading: Reading) -> frozenset[str]:
    return frozenset(word[:4] for word in reading.about)


def _telling(stems: Sequence[str]) -> tuple[str, ...]:
    common = generic()
    return tuple(stem for stem in stems if stem not in common)


def _same_frame(new: Reading, old: Reading, changed: Sequence[str]) -> bool:
    """Whether two sentences differ in one value and in nothing else that tells."""
    if len(changed) != 1 or not new.about or set(new.measured) != set(old.measured):
        return False
    if len(new.stems) < 2 and new.frame != old.frame:
        return False
    return (
        frozenset(new.about) == frozenset(old.about)
        and new.marks == old.marks
        and _last_differs(old, new)
    )


def _switched(new: Statement, old: Statement) -> float:
    """Whether a decision was taken back for another: "MariaDB instead of PostgreSQL"."""
    if "swap" not in new.own.cues or old.kind not in ("decision", "fact") or new.kind == "task":
        return 0.0
    first = content(tokens(_CLAUSES.split(old.reading.text, maxsplit=1)[0]), old.reading.language)
    common, left, _ = shared(_telling(first), new.reading.stems)
    return float(common) if common >= 2 and not left and new.ref != old.ref else 0.0


def _zone(reading: Reading, changed: Sequence[str]) -> tuple[str, ...]:
    """The stems of the clauses that hold the changed values; reasons and asides are left out."""
    spots = tuple(value.start for value in reading.values if dimension(value) in changed)
    inside = _around(reading.text, spots, reading.language)
    zone = tuple(stem for stem in reading.stems if stem in inside)
    return zone if _telling(zone) else reading.stems


@lru_cache(maxsize=2048)
def _around(text: str, spots: tuple[int, ...], language: str) -> frozenset[str]:
    bounds = [0, *(match.end() for match in _CLAUSES.finditer(text)), len(text) + 1]
    kept = [
        text[low:high]
        for low, high in pairwise(bounds)
        if any(low <= spot < high for spot in spots)
    ]
    return frozenset(content(tokens(" ".join(kept)), language))
