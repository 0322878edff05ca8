"""The ledger (pure): the sentences of a conversation that code carries along its chain as bytes.

Four steps make a child's summary block: harvest the sentences worth a line, replace those that a
newer one replaces in so many words, score the rest, and fit it into the room there is. A model's
checked decisions and open points are bullets among the lines. Nothing here knows a language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import fsum, log
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.context import activity
from chat_loop.context.exact import figures, find, normalize
from chat_loop.redact import Redactor
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Summary
from chat_loop.text import sentences

Section = Literal["decisions", "pending", "key_facts"]
SECTIONS: tuple[Section, ...] = ("decisions", "pending", "key_facts")
Speaker = Literal["user", "reply", "narrative"]

OWN_WORDS = 20_000
"""A query of more characters was pasted; people write several pages themselves."""
LOOKED_AT = 60_000
"""Characters of one text that are read: half of them at its beginning, half at its end."""
PASTED_FACTS = 60
"""Sentences that are taken from one pasted text."""

REFERENCE = re.compile(r"\[[\d.,;\s–-]{1,40}(?:reply|user)?\]")
"""A place in the chain, or several, as bullets name them: `[2.14]`, `[3, 5-7]`. It is no value."""
_PLACE = re.compile(r" \[(\d{1,9}) (user|reply)\]\Z")
_BULLET_PLACE = re.compile(r"\s{0,3}\[[\d.,;\s–-]{1,40}\]\Z")
_ASKS = re.compile(r"[?？][\"'”’)\]»*_]{0,3}\Z|\A¿")
_LABEL = re.compile(
    r"[*_]{0,2}([^\W\d_][\w'’-]{1,20}(?: [\w'’-]{1,20}){0,2})[*_]{0,2}[:：][*_]{0,2}\s"
)
"""One to three words before a colon."""
_WORD = re.compile(r"[^\W\d_]+")

LABELS: Mapping[str, str] = {
    word: kind
    for kind, words in (
        (
            "decision",
            "decision decided agreed entscheidung beschlossen décision decisión decisione",
        ),
        ("decision", "decisão besluit"),
        ("rule", "rule constraint regel vorgabe règle regla regola regra"),
        ("pending", "todo task open pending action aufgabe offen tâche tarea compito tarefa taak"),
        ("done", "done finished erledigt fertig fait hecho fatto feito gedaan gereed"),
        ("correction", "correction update change korrektur änderung corrección correzione"),
        ("correction", "correção correctie"),
    )
    for word in words.split()
}
"""The first word of a label -> what it says of its sentence. Any other label only adds weight."""
_SECTIONS: Mapping[str, Section] = {
    "decision": "decisions",
    "rule": "decisions",
    "pending": "pending",
}
_EXACTNESS = {"number": 1, "quote": 1} | dict.fromkeys(
    ("quantity", "date", "time", "name", "code", "identifier"), 2
)
"""The loss if a value were gone, by its kind: a bare number, a measure; for all others 3."""


class Points(Struct, frozen=True, kw_only=True):
    """Points that a line can score. The benchmark sets one to nothing to show what it earns."""

    label: float = 3.0
    marked: float = 3.0
    """A decision or an open point, by its label or a bullet of the model."""
    shape: tuple[float, ...] = (0.0, 2.0, 4.0, 6.0)
    """By the exactness of its values."""
    words: float = 8.0
    """A sentence of at least 18 words; a shorter one gets a part of it, since what is said on the
    side is short.
    """
    follows: bool = True
    """A line that may give a newer value goes before the older one stays without it."""


POINTS = Points()


class Line(Struct, frozen=True):
    """One line of a summary block. `ref` is empty when a model's narrative made it."""

    line: str
    section: Section
    text: str
    ref: str
    speaker: Speaker


class Sentence(Struct, frozen=True):
    """A sentence as it is compared with others."""

    text: str
    values: tuple[str, ...]
    exactness: int
    """The loss if its values were gone: 0 nothing, 1 a bare number, 2 a measure, 3 a path or id."""
    normals: tuple[str, ...]
    """The values in one spelling, in order, but for names."""
    measures: frozenset[str]
    """The kinds of its values, such as `min` or `path`."""
    figures: frozenset[str]
    """The numbers of its measures, without units, and all other values in one spelling."""
    words: frozenset[str]
    """The beginnings of the words outside its values."""
    label: str
    """The kind of label it begins with; `other` for one that is not known, empty for none."""

    def varies(self, other: Sentence) -> bool:
        """Tell whether two sentences differ in their last value only."""
        same = self.normals[:-1] == other.normals[:-1] and self.normals != other.normals
        return bool(other.normals) and same and self.measures == other.measures

    def apart(self, other: Sentence) -> bool:
        """Tell whether each has words of its own: the two may be about two things."""
        return bool(self.words - other.words and other.words - self.words)

    def replaces(self, old: Sentence) -> bool:
        """Tell whether it says all that an older sentence says and another value beside, or its
        label announces a correction of the last value.
        """
        if not (self.measures & old.measures):
            return False
        named = old.figures < self.figures and old.words <= self.words
        return named or (self.label == "correction" and self.varies(old) and not self.apart(old))


class Kept(Struct, frozen=True):
    """The child's block, and what did not get into it."""

    summary: Summary
    archived: tuple[Line, ...]
    """Sentences with exact values that are now only in the sealed sessions."""
    superseded: int


class _Entry(Struct, eq=False):
    """A line on its way into the block."""

    line: Line
    said: Sentence
    section: Section
    pasted: bool = False
    gone: bool = False
    score: float = 0.0
    near: list[_Entry] = field(default_factory=list)
    """Older ones that share a telling word or a value."""
    newer: _Entry | None = None
    """A line that may give a newer value of the same."""


def line(text: str, ref: str, speaker: str) -> str:
    """Write a sentence as the ledger holds it, under its session: `2.14` becomes `[2 user]`."""
    return f"{text} [{ref.partition('.')[0]} {speaker}]"


def items(summary: Summary) -> Iterator[Line]:
    """Yield the lines of a summary block that the ledger may carry, in order."""
    for section in SECTIONS:
        lines: tuple[str, ...] = getattr(summary, section)
        for whole in lines:
            place = _PLACE.search(whole[-30:])
            if place is None:
                yield Line(whole, section, whole, "", "narrative")
            else:
                text = whole[: len(whole) - len(place.group())]
                speaker: Speaker = "reply" if place[2] == "reply" else "user"
                yield Line(whole, section, text, place[1], speaker)


def said_by_hand(edited: Summary, given: Summary, depth: int) -> Summary:
    """Return a block that was edited in its file: what `given` lacks counts as the user's words."""
    changed = {}
    for section in SECTIONS:
        before: tuple[str, ...] = getattr(given, section)
        lines: tuple[str, ...] = getattr(edited, section)
        changed[section] = tuple(
            whole
            if whole in before or _PLACE.search(whole[-30:])
            else line(_BULLET_PLACE.sub("", whole), str(depth), "user")
            for whole in lines
        )
    return replace(edited, **changed)


# ---- harvest


def harvest(exchanges: Iterable[Exchange]) -> list[Line]:
    """Return the sentences worth keeping, without secrets, in the order they were said."""
    return [entry.line for entry in _entries(exchanges, Redactor())]


def _entries(exchanges: Iterable[Exchange], redactor: Redactor) -> list[_Entry]:
    """Return what a span says; a reply's echo of its query is left out."""
    found: list[_Entry] = []
    for exchange in exchanges:
        asked: set[str] = set()
        pasted = len(exchange.query.text) > OWN_WORDS
        for said in _heard(exchange.query.text, redactor, pasted=pasted):
            asked |= said.figures
            section = _SECTIONS.get(said.label, "key_facts")
            found.append(_entry(said, section, exchange.ref, "user", pasted=pasted))
        if exchange.reply is not None:
            # nobody has decided what only a model has named: its labels count for nothing
            for said in _heard(exchange.reply.text, redactor, reply=True):
                if not (said.figures and said.figures <= asked):
                    found.append(_entry(said, "key_facts", exchange.ref, "reply"))
    return found


def _entry(
    said: Sentence, section: Section, ref: str, speaker: Speaker, *, pasted: bool = False
) -> _Entry:
    made = Line(line(said.text, ref, speaker), section, said.text, ref, speaker)
    return _Entry(made, said, section, pasted)


def _heard(
    text: str, redactor: Redactor, *, pasted: bool = False, reply: bool = False
) -> Iterator[Sentence]:
    """Yield the sentences of one text that are worth a line.

    Those are the user's unless they only ask or say next to nothing, and the reply's that hold an
    exact value. Of what was pasted or quoted only exact values count.
    """
    if len(text) > LOOKED_AT:
        text = f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    left = PASTED_FACTS if pasted else LOOKED_AT
    for one in sentences(redactor(text)):
        if one.role in ("heading", "code") or len(one.text) < 4:
            continue
        said = read(one.text)
        if one.role == "command":
            worth = True
        elif _ASKS.search(said.text) and not said.label:
            worth = said.exactness > 1 and not (pasted or reply or one.role in ("row", "quoted"))
        elif pasted or reply or one.role in ("row", "quoted"):
            tells = said.exactness > 1 or (said.exactness > 0 and len(said.words) > 2)
            worth = (tells or said.label not in ("", "other")) and not said.text.endswith(":")
        else:
            worth = bool(said.values or said.label) or len(said.words) > 2
        if worth and left:
            left -= 1
            yield said


@lru_cache(maxsize=8192)
def read(text: str) -> Sentence:
    """Read the first 1,000 characters of a sentence: its values, its words, its label."""
    text = text[:1_000]
    found = find(text)
    exact = [value for value in found if value.kind != "name"]
    label = _LABEL.match(text)
    outside, position = [], label.end() if label is not None else 0
    bare: set[str] = set()
    for value in exact:
        outside.append(text[position : value.start])
        position = max(position, value.end)
        # an echo may leave the unit of a measure out
        numbers = figures(value.text) if value.kind in ("quantity", "number") else []
        bare.update(numbers or [normalize(value.text)])
    outside.append(text[position:])
    words = _WORD.findall(" ".join(outside).casefold())
    first = label[1].casefold().split()[0] if label is not None else ""
    return Sentence(
        text=text,
        values=tuple(value.text for value in found),
        exactness=max((_EXACTNESS.get(value.kind, 3) for value in found), default=0),
        normals=tuple(normalize(value.text) for value in exact),
        measures=frozenset(value.unit or value.kind for value in exact),
        figures=frozenset(bare),
        words=frozenset(word[:5] for word in words),  # forms of one word begin alike
        label=LABELS.get(first, "other") if label is not None else "",
    )


# ---- compare


class Index:
    """Sentences by their words and values. The rarer a word, the more it weighs."""

    def __init__(self, everything: Iterable[Sentence]) -> None:
        counts: Counter[str] = Counter()
        total = 1
        for said in everything:
            counts.update(said.words)
            total += 1
        self._weights = {word: log(1 + total / number) for word, number in counts.items()}
        self._most = log(1 + total)
        self._near: dict[str, list[int]] = {}

    def add(self, number: int, said: Sentence) -> None:
        for key in (*said.words, *said.figures):
            self._near.setdefault(key, []).append(number)

    def near(self, said: Sentence) -> list[int]:
        """Return the numbers of added sentences that share a telling word or a value: of the four
        rarest the newest 40 each.
        """
        keys = [key for key in (*said.figures, *said.words) if key in self._near]
        keys.sort(key=lambda key: (len(self._near[key]), key))
        return sorted({number for key in keys[:4] for number in self._near[key][-40:]})

    def weight(self, words: Iterable[str]) -> float:
        return fsum(self._weights.get(word, self._most) for word in words)

    def covered(self, one: Sentence, other: Sentence) -> float:
        """Return how much of what `one` says in words `other` says too, from 0 to 1."""
        if one.words <= other.words:
            return 1.0
        return self.weight(one.words & other.words) / self.weight(one.words)

    def says(self, other: Sentence, one: Sentence, *, bullet: bool = False) -> bool:
        """Tell whether `other` says what `one` says: all its values and nearly all its words. A
        model's bullet says it in other words.
        """
        if not set(one.normals) <= set(other.normals) or (not bullet and one.apart(other)):
            return False
        return self.covered(one, other) >= (0.7 if bullet else 0.8 if one.normals else 1.0)

    def likeness(self, new: Sentence, old: Sentence) -> float:
        """Return how surely a sentence gives another value of what an older one is about, from 0
        to 1: then nothing else differs.
        """
        if not (new.measures & old.measures) or set(new.normals) & set(old.normals):
            return 0.0
        common = self.weight(new.words & old.words)
        least = min(self.weight(new.words), self.weight(old.words))
        return common / least * (1.0 if new.varies(old) else 0.75) if common else 0.0


def unsaid(facts: Sequence[Line], lines: Iterable[str]) -> list[Line]:
    """Return the facts with exact values that none of the lines says."""
    there = [read(one) for one in lines]
    index = Index(there)
    for number, said in enumerate(there):
        index.add(number, said)
    return [
        fact
        for fact in facts
        if (said := read(fact.text)).values
        and not any(index.says(there[at], said) for at in index.near(said))
    ]


def rivals(older: Sequence[Line], newer: Sequence[Line]) -> list[tuple[int, int]]:
    """Return pairs of positions of which the newer line may give another value of the same."""
    first, second = ([read(one.text) for one in side] for side in (older, newer))
    index = Index([*first, *second])
    for number, said in enumerate(first):
        index.add(number, said)
    found = []
    for number, said in enumerate(second):
        close = [at for at in index.near(said) if not said.apart(first[at])]
        strength, at = max(((index.likeness(said, first[at]), at) for at in close), default=(0, 0))
        if strength >= 0.5:
            found.append((at, number))
    return found


# ---- the block


def ledger(
    parent: Summary | None,
    narrative: Summary | None,
    fresh: Sequence[Exchange],
    tail: Sequence[Exchange],
    pins: Sequence[str],
    room: int,
    count: Callable[[str], int],
) -> Kept:
    """Make the child's whole block: decisions, open points and key facts in `room` tokens, pins
    and files beside them.

    `tail` stays in the context word for word: its corrections count, its facts need no line.
    """
    parent = parent or Summary()
    redactor = Redactor(*(summary_block.render(one) for one in (parent, narrative) if one))
    carried = [_Entry(item, read(item.text), item.section) for item in items(parent)]
    pinned = [_entry(read(pin), "key_facts", "", "user") for pin in pins]
    said, ahead = _entries(fresh, redactor), _entries(tail, redactor)
    told = narrative or Summary()
    bullets = [
        _Entry(Line(text, section, text, "", "narrative"), read(REFERENCE.sub("", text)), section)
        for section in SECTIONS[:2]
        for text in dict.fromkeys(told.decisions if section == "decisions" else told.pending)
        if section == "decisions" or text not in told.decisions
    ]
    everything = [*pinned, *carried, *said, *ahead, *bullets]
    index = Index(entry.said for entry in everything)
    for number, entry in enumerate(everything):
        entry.near = [everything[at] for at in index.near(entry.said)]
        index.add(number, entry.said)
    superseded = _replace([*said, *ahead], index)
    live = [entry for entry in (*carried, *said) if not entry.gone]
    lines = _without_repetitions(pinned, live, bullets, index)
    if count("".join(f"- {entry.line.line}\n" for entry in lines)) > room:
        _score(lines, index)
        lines = _fitting(lines, room, count)
    # session by session, the user's before the model's; bullets come last
    lines.sort(
        key=lambda one: (int(one.line.ref.partition(".")[0] or 10**9), one.line.speaker != "user")
    )
    kept = {
        section: tuple(entry.line.line for entry in lines if entry.section == section)
        for section in SECTIONS
    }
    summary = replace(
        narrative or Summary(background=parent.background),
        **kept,
        pinned=tuple(dict.fromkeys(pins)),
        files=activity.files(parent.files, fresh),
        tools=activity.tools(parent.tools, fresh),
    )
    there = set(lines)
    left = [entry.line for entry in live if entry not in there]
    archived = unsaid(left, [*(entry.line.text for entry in lines), *pins])
    return Kept(summary, tuple(archived), superseded)


def _replace(entries: Iterable[_Entry], index: Index) -> int:
    """Mark what newer sentences replace, and open points that are done; return how many values
    were replaced. Pasted text replaces nothing, and no reply what the user decided.
    """
    superseded = 0
    for new in entries:
        done, by_user = new.said.label == "done", new.line.speaker == "user"
        scored = [
            (index.covered(old.said, new.said), old)
            for old in new.near
            if not (old.gone or new.pasted) and (old.section == "pending") == done
            if done or new.said.replaces(old.said)
            if done
            or by_user
            or old.line.speaker != "user"
            or (old.section == "key_facts" and old.said.figures <= new.said.figures)
        ]
        best = max((score for score, _ in scored), default=0.0)
        winners = [old for score, old in scored if score == best >= 0.5]
        if len({old.said.words for old in winners}) > 1:
            continue  # in doubt between two that say different things none is replaced
        for old in winners:
            old.gone = True
        superseded += 0 if done else len(winners)
    return superseded


def _without_repetitions(
    pinned: Sequence[_Entry], live: Sequence[_Entry], bullets: Sequence[_Entry], index: Index
) -> list[_Entry]:
    """Return the lines that no pin and no older line says; what is said twice has the section of
    the more telling one, since the model knows what is a decision.
    """
    lines: list[_Entry] = []
    there = {*pinned, *live}
    for entry in live:
        older = (old for old in entry.near if old in there and index.says(old.said, entry.said))
        if (first := next(older, None)) is None:
            lines.append(entry)
            continue
        there.discard(entry)
        if first.section == "key_facts":
            first.section = entry.section
    written = {entry.line.line for entry in lines}
    for bullet in bullets:
        if bullet.line.line in written:
            continue
        older = (
            old
            for old in bullet.near
            if old.line.ref and not old.gone and index.says(old.said, bullet.said, bullet=True)
        )
        if (first := next(older, None)) is None:
            lines.append(bullet)
        elif first.section == "key_facts" and first.line.speaker == "user":
            first.section = bullet.section
    return lines


def _score(lines: Sequence[_Entry], index: Index) -> None:
    """Give every line its points, and find for each one that may give a newer value."""
    points = POINTS
    for entry in lines:
        said = entry.said
        entry.score = (
            points.label * bool(said.label)
            + points.marked * (entry.section != "key_facts")
            + points.shape[said.exactness]
            + points.words * min(1.0, len(said.words) / 18)
        )
    there = {entry for entry in lines if entry.section != "pending"}
    for new in lines if points.follows else ():
        older = [old for old in new.near if old in there and old.line.ref != new.line.ref]
        scored = [(index.likeness(new.said, old.said), at) for at, old in enumerate(older)]
        likeness, at = max(scored, default=(0.0, 0))
        if likeness >= 0.16 and not new.pasted:
            older[at].newer = new
            new.score = max(new.score, older[at].score)


def _fitting(lines: Sequence[_Entry], room: int, count: Callable[[str], int]) -> list[_Entry]:
    """Return the lines of the highest scores as far as there is room, of equal ones the newer.

    An older value does not stay where one that may have replaced it goes: the newer comes first.
    """
    kept: set[_Entry] = set()
    groups: set[tuple[Section, str]] = set()
    for at in sorted(range(len(lines)), key=lambda at: (lines[at].score, at), reverse=True):
        chain = [lines[at]]
        while (newer := chain[-1].newer) is not None and newer not in kept and len(chain) < 8:
            chain.append(newer)
        for entry in reversed(chain):
            if entry in kept:
                continue
            group = (entry.section, entry.line.line.removeprefix(entry.line.text))
            needed = count(f"- {entry.line.text}\n")
            if group not in groups:  # the place of neighbors stands once
                needed += count(group[1])
            if needed > room:
                break
            kept.add(entry)
            groups.add(group)
            room -= needed
        if room < 3:
            break
    return [entry for entry in lines if entry in kept]
