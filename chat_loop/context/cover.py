"""Cover (pure): the child's summary block, made of the parent's lines, the span's sentences and the
narrative.

No model has a part in it but for the narrative, whose bullets come last and only when no line says
the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context import activity, rank
from chat_loop.context.ledger import REFERENCE, Item, Section, items, line
from chat_loop.facts import judge
from chat_loop.facts.extract import Candidate, Found, candidates
from chat_loop.facts.reading import Reading, read, shared
from chat_loop.facts.statement import Statement
from chat_loop.facts.supersede import elders, supersede
from chat_loop.facts.words import language, tokens
from chat_loop.redact import Redactor
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Summary

_SECTIONS: dict[judge.Kind, Section] = {
    "decision": "decisions",
    "rule": "decisions",
    "rejected": "decisions",
    "task": "pending",
    "done": "key_facts",
    "fact": "key_facts",
}
_NARRATIVE_WEIGHT = 2.0
_LEAST_TO_REPLACE = 3
"""What weighs less, such as pasted text, replaces nothing."""
_NEAR = 40
"""Lines with a word or value in common that are compared, the newest."""
_ROUNDS = 3
"""How often newer values take the places of older ones: each time others may fall out."""
_LEAST_CHARACTERS = 2
"""A token has more characters than this: below so many for each nothing has to go."""
_LEAST_LINE = 3
"""Tokens: with less room than this no line is looked for any more."""
_READ = 1_000
"""Characters of a line or bullet that are compared."""
T = TypeVar("T")


class Kept(Struct, frozen=True):
    """The child's block, and what did not get into it."""

    summary: Summary
    archived: tuple[Found, ...]
    """Sentences with exact values that are now only in the sealed sessions."""
    superseded: int
    closed: int


@dataclasses.dataclass(slots=True, eq=False)
class _Entry:
    """One line on its way: a parent's, carried as it is, or a new one."""

    line: str
    section: Section
    found: Found
    statement: Statement
    order: int
    weight: float
    carried: bool
    kept: bool = False
    doubtful: bool = False
    """Whether a newer line may give another value of the same; then this one is the first to go."""

    @property
    def reading(self) -> Reading:
        return self.statement.reading


def ledger(
    parent: Summary | None,
    narrative: Summary | None,
    fresh: Sequence[Exchange],
    tail: Sequence[Exchange],
    pins: Sequence[str],
    room: int,
    count: Callable[[str], int],
) -> Kept:
    """Make the child's whole block: decisions, pending and key facts in `room` tokens, pins and
    files beside them.

    `tail` stays in the context word for word: its corrections count, its facts need no line.
    """
    parent = parent or Summary()
    entries = [_carried(item, number) for number, item in enumerate(items(parent))]
    harvested = candidates([*fresh, *tail])
    places = {id(candidate): len(entries) + number for number, candidate in enumerate(harvested)}
    older = len(entries)
    entries += [_new(candidate, places) for candidate in harvested]
    tight = sum(len(entry.line) for entry in entries) > _LEAST_CHARACTERS * room
    outcome = supersede([entry.statement for entry in entries], older, all_doubts=tight)
    for old, new in (*outcome.replaced.items(), *outcome.doubtful.items()):
        entries[new].weight = max(entries[new].weight, entries[old].weight)
    for old in outcome.doubtful:
        entries[old].doubtful = True
    gone = outcome.replaced.keys() | outcome.closed.keys()
    staying = {exchange.ref for exchange in tail}
    live = [
        entry
        for number, entry in enumerate(entries)
        if number not in gone
        and (entry.carried or (entry.found.ref not in staying and _worth_a_line(entry.found)))
    ]
    lines = _without_repetitions(live, pins)
    room = _choose(lines, room, count)
    chosen = _by_session([entry for entry in lines if entry.kept])
    _without_secrets([entry for entry in chosen if not entry.carried], parent, narrative)
    archived = _archived(live, chosen, pins)
    narrative = narrative or Summary(background=parent.background)
    decisions, pending = _untold(narrative, chosen, room, count)
    summary = replace(
        narrative,
        decisions=(*_section(chosen, "decisions"), *decisions),
        pending=(*_section(chosen, "pending"), *pending),
        key_facts=_section(chosen, "key_facts"),
        pinned=tuple(dict.fromkeys(pins)),
        files=activity.files(parent.files, fresh),
        tools=activity.tools(parent.tools, fresh),
    )
    return Kept(summary, archived, len(outcome.replaced), len(outcome.closed))


def _archived(
    live: Sequence[_Entry], chosen: Sequence[_Entry], pins: Sequence[str]
) -> tuple[Found, ...]:
    """The sentences with exact values that neither a line nor a pin says."""
    said = Said[str]()
    for reading in (*(entry.reading for entry in chosen), *map(read_line, pins)):
        said.add(reading, reading.text)
    return tuple(
        entry.found
        for entry in live
        if not entry.kept and entry.reading.normals and said.where(entry.reading) is None
    )


def _without_secrets(entries: Sequence[_Entry], *others: Summary | None) -> None:
    """Take secrets out of lines, all at once as long as that leaves a line for each. `others` stand
    beside them.
    """
    redactor = Redactor(*(summary_block.render(other) for other in others if other is not None))
    whole = redactor("\n".join(entry.line for entry in entries)).split("\n")
    for number, entry in enumerate(entries):
        entry.line = whole[number] if len(whole) == len(entries) else redactor(entry.line)


def _by_session(entries: Sequence[_Entry]) -> list[_Entry]:
    """Lines session by session, the user's before those that only the model said."""

    def place(entry: _Entry) -> tuple[int, bool]:
        return int(entry.found.ref.partition(".")[0] or 0), entry.found.speaker != "user"

    return sorted(entries, key=place)


def _section(chosen: Sequence[_Entry], section: Section) -> tuple[str, ...]:
    return tuple(entry.line for entry in chosen if entry.section == section)


def _worth_a_line(found: Found) -> bool:
    """That something is done closes its task; it is kept only for what is exact in it."""
    return found.kind != "done" or bool(found.values)


def read_line(text: str) -> Reading:
    """Read a line of a block, or a bullet."""
    return read(text[:_READ], language(tokens(text[:_READ]), "en"))


def statement_of(item: Item) -> Statement:
    """A block's line as it is compared with others."""
    return _carried(item, 0).statement


def _carried(item: Item, order: int) -> _Entry:
    """A parent's line, with the weight that its words give it."""
    reading = read_line(item.text)
    speaker: judge.Speaker = "user" if item.speaker == "user" else "reply"
    judged = judge.verdict(reading, "said", speaker, False)
    kind = _KINDS[item.section]
    if judged is not None and _SECTIONS[judged[0]] == item.section:
        kind = judged[0]
    weight = float(judged[1] if judged else judge.LEAST_CARRIED)
    if item.speaker == "narrative":
        weight = _NARRATIVE_WEIGHT
    found = Found(
        item.text,
        item.ref,
        speaker,
        kind,
        tuple(value.text for value in reading.values),
        int(weight),
    )
    statement = Statement(reading, reading, kind, speaker, item.ref or "narrative")
    return _Entry(item.line, item.section, found, statement, order, weight, True)


_KINDS: dict[Section, judge.Kind] = {
    "decisions": "decision",
    "pending": "task",
    "key_facts": "fact",
}


def _new(candidate: Candidate, places: dict[int, int]) -> _Entry:
    found = candidate.found
    statement = Statement(
        candidate.reading,
        candidate.own,
        found.kind,
        found.speaker,
        found.ref,
        may_replace=found.weight >= _LEAST_TO_REPLACE,
        corrects=places.get(id(candidate.corrects)),
    )
    text = line(found.text, found.ref, found.speaker)
    order = places[id(candidate)]
    return _Entry(text, _SECTIONS[found.kind], found, statement, order, float(found.weight), False)


class Said(Generic[T]):
    """Sentences that stand somewhere, found by the values and the words they hold."""

    def __init__(self) -> None:
        self._by_value: dict[str, list[tuple[Reading, T]]] = {}
        self._by_word: dict[str, list[tuple[Reading, T]]] = {}

    def add(self, reading: Reading, what: T) -> None:
        for normal in reading.normals:
            self._by_value.setdefault(normal, []).append((reading, what))
        for stem in reading.about:
            self._by_word.setdefault(stem[:4], []).append((reading, what))

    def where(self, reading: Reading, loosely: bool = False) -> T | None:
        """What says the same: it has all the values and most of the words, and differs only by
        having more.
        """
        near: Sequence[tuple[Reading, T]]
        if reading.normals:
            near = min((self._by_value.get(normal, []) for normal in reading.normals), key=len)[
                -_NEAR:
            ]
        else:
            buckets = sorted((self._by_word.get(stem[:4], []) for stem in reading.about), key=len)
            near = [pair for bucket in buckets[:3] for pair in bucket[-_NEAR:]]
        for other, what in near:
            if reading.normals <= other.normals and _same_words(reading, other, loosely):
                return what
        return None


def _same_words(one: Reading, other: Reading, loosely: bool) -> bool:
    """Whether nothing tells two sentences apart; loosely, whether they share half of their
    words.
    """
    common, left, right = shared(one.about, other.about)
    if loosely:
        return common >= 0.5 * len(one.about)
    return not (left and right) and common >= 0.6 * len(one.about) and one.marks == other.marks


def _without_repetitions(live: Sequence[_Entry], pins: Sequence[str]) -> list[_Entry]:
    """The lines that say something which no pin and no earlier line says; the earlier one gains by
    it.
    """
    pinned, said = Said[str](), Said[_Entry]()
    for pin in pins:
        pinned.add(read_line(pin), pin)
    lines: list[_Entry] = []
    for entry in live:
        if pinned.where(entry.reading) is not None:
            continue
        twin = said.where(entry.reading)
        if twin is None or twin.section != entry.section:
            lines.append(entry)
            said.add(entry.reading, entry)
        elif not entry.carried:
            twin.weight += 0.5
    return lines


def _choose(lines: Sequence[_Entry], room: int, count: Callable[[str], int]) -> int:
    """Mark the lines that are worth their tokens until the room is full, and return what is left of
    it.

    An older value does not stay where one that may have replaced it goes: the newer takes its place
    in the order.
    """
    total = max(1, len(lines))
    scores = [
        rank.worth(entry.found, entry.reading, entry.weight, bare=entry.section != "key_facts")
        + rank.RECENT_POINTS * entry.order / total
        - rank.DOUBT_POINTS * entry.doubtful
        for entry in lines
    ]
    left = _fill(lines, scores, room, count)
    for _ in range(_ROUNDS):
        staying = [number for number, entry in enumerate(lines) if entry.kept]
        going = [number for number, entry in enumerate(lines) if not entry.kept]
        if not going:
            break
        pairs = elders(
            [lines[number].statement for number in staying],
            [lines[number].statement for number in going],
        )
        if not pairs:
            break
        for old, new in pairs:
            scores[going[new]] = max(scores[going[new]], scores[staying[old]])
            scores[staying[old]] -= rank.DOUBT_POINTS
        left = _fill(lines, scores, room, count)
    return left


def _fill(
    lines: Sequence[_Entry], scores: Sequence[float], room: int, count: Callable[[str], int]
) -> int:
    """Mark the lines of the highest scores as kept, as far as there is room; return what is left of
    it.
    """
    groups: set[tuple[Section, str]] = set()
    for number in sorted(range(len(lines)), key=scores.__getitem__, reverse=True):
        entry = lines[number]
        mark = entry.line.removeprefix(entry.found.text)  # it stands once for many
        group = (entry.section, mark)
        needed = count(f"- {entry.found.text}\n") + (
            count(mark) if mark and group not in groups else 0
        )
        entry.kept = room >= _LEAST_LINE and needed <= room
        if entry.kept:
            groups.add(group)
            room -= needed
    return room


def _untold(
    narrative: Summary, chosen: Sequence[_Entry], room: int, count: Callable[[str], int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The narrative's decisions and open points that no line says, as long as there is room."""
    said = Said[_Entry]()
    for entry in chosen:
        said.add(entry.reading, entry)
    present = {entry.line for entry in chosen}

    def kept(bullets: Sequence[str]) -> tuple[str, ...]:
        nonlocal room
        added: list[str] = []
        for bullet in bullets:
            needed = count(f"- {bullet}\n")
            bare = read_line(REFERENCE.sub("", bullet))
            if needed <= room and bullet not in present and said.where(bare, loosely=True) is None:
                present.add(bullet)
                added.append(bullet)
                room -= needed
        return tuple(added)

    return kept(narrative.decisions), kept(narrative.pending)
