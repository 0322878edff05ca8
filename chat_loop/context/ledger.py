"""The ledger (pure): the sentences of a conversation that code carries along its chain as bytes.

Four steps make a child's summary block: *harvest* the sentences worth a line, *score* them,
*replace* those that a newer one replaces in so many words, and *fit* the rest into the room there
is. No model has a part in it. What a model writes only adds: its checked decisions and open points
are bullets among the lines, and a line that such a bullet repeats counts as a decision itself.

A line is a sentence as it was said, and in which session of the chain and by whom: `We use oak
because pine is soft. [2 user]`, or `[2 reply]` when only the model said it. A bullet has no such
mark. Nothing here knows a language: a sentence is judged by its speaker, its exact values, and a
label that somebody wrote before it ("Decision: …").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import fsum, log
from typing import Literal

import msgspec
from msgspec.structs import replace

from chat_loop.context import activity
from chat_loop.context.exact import Value, figures, find, normalize
from chat_loop.redact import Redactor
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Summary
from chat_loop.text import Role, sentences

Section = Literal["decisions", "pending", "key_facts"]
SECTIONS: tuple[Section, ...] = ("decisions", "pending", "key_facts")
Speaker = Literal["user", "reply", "narrative"]

OWN_WORDS = 20_000
"""A query of more characters was pasted; people write several pages themselves."""
LOOKED_AT = 60_000
"""Characters of one text that are read: half of them at its beginning, half at its end."""
PASTED_FACTS = 60
"""Sentences that are taken from one pasted text."""
_READ = 1_000
"""Characters of a line or bullet that are compared."""

REFERENCE = re.compile(r"\[[\d.,;\s–-]{1,40}(?:reply|user)?\]")
"""A place in the chain, or several, as bullets name them: `[2.14]`, `[3, 5-7]`. It is no value."""
_PLACE = re.compile(r" \[(\d{1,9}) (user|reply)\]\Z")
_END = re.compile(r"\s{0,3}\[[\d.,;\s–-]{1,40}\]\Z")
_ASKS = re.compile(r"[?？][\"'”’)\]»*_]{0,3}\Z|\A¿")
_LABEL = re.compile(
    r"[*_]{0,2}([^\W\d_][\w'’-]{1,20}(?: [\w'’-]{1,20}){0,2})[*_]{0,2}[:：][*_]{0,2}\s"
)
"""One to three words before a colon."""
_WORD = re.compile(r"[^\W\d_]+")
_PREFIX = 5
"""Letters by which two words count as forms of one."""

_LABELS = {
    "decision": (
        "decision decided agreed entscheidung beschlossen décision decisión decisione decisão "
        "besluit"
    ),
    "rule": "rule constraint regel vorgabe règle regla regola regra",
    "pending": "todo task open pending action aufgabe offen tâche tarea compito tarefa taak",
    "done": "done finished erledigt fertig fait hecho fatto feito gedaan gereed",
    "correction": (
        "correction update change korrektur änderung corrección correzione correção correctie"
    ),
}
LABELS: Mapping[str, str] = {
    word: kind for kind, words in _LABELS.items() for word in words.split()
}
"""The first word of a label -> what it says of its sentence. Any other label only adds weight."""


class Points(msgspec.Struct, frozen=True, kw_only=True):
    """Points that a line can score. The benchmark sets one to nothing to show what it earns."""

    label: float = 3.0
    marked: float = 3.0
    """A decision or an open point, by its label or a bullet of the model."""
    shape: tuple[float, ...] = (0.0, 2.0, 4.0, 6.0)
    """By what would be lost with the values: nothing, a bare number, a measure or name, an id."""
    words: float = 8.0
    """A full sentence, of `full_sentence` words; a shorter one gets a part of it, since what is
    said on the side is short.
    """
    full_sentence: int = 18
    replaces: bool = True
    follows: bool = True
    """A line that may give a newer value goes before the older one stays without it."""


POINTS = Points()


class Line(msgspec.Struct, frozen=True):
    """One line of a summary block. `ref` is empty when a model's narrative made it."""

    line: str
    section: Section
    text: str
    ref: str
    speaker: Speaker


class Sentence(msgspec.Struct, frozen=True):
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


class Fact(msgspec.Struct, frozen=True):
    """A sentence worth keeping, where it was said and by whom."""

    text: str
    ref: str
    speaker: Speaker
    values: tuple[str, ...]


class Kept(msgspec.Struct, frozen=True):
    """The child's block, and what did not get into it."""

    summary: Summary
    archived: tuple[Fact, ...]
    """Sentences with exact values that are now only in the sealed sessions."""
    superseded: int


class _Entry:
    """One line on its way: a parent's, carried as it is, or a new one."""

    def __init__(self, line: Line, said: Sentence, *, carried: bool = False) -> None:
        self.line = line
        self.said = said
        self.carried = carried
        self.section = line.section
        self.pasted = False
        self.gone = False
        self.kept = False
        self.score = 0.0
        self.near: list[_Entry] = []
        """Older ones that share a telling word or a value."""
        self.newer: _Entry | None = None
        """A line that may give a newer value of the same."""

    @property
    def fact(self) -> Fact:
        return Fact(self.line.text, self.line.ref, self.line.speaker, self.said.values)


def line(text: str, ref: str, speaker: str) -> str:
    """Write a sentence as the ledger holds it. It names its session only, so that a session's
    lines are one group.
    """
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
                speaker: Speaker = "reply" if place.group(2) == "reply" else "user"
                yield Line(whole, section, text, place.group(1), speaker)


def said_by_hand(edited: Summary, given: Summary, depth: int) -> Summary:
    """Return a block that was edited in its file: what `given` does not have counts as the user's
    own words.
    """

    def marked(section: Section) -> tuple[str, ...]:
        before: tuple[str, ...] = getattr(given, section)
        lines: tuple[str, ...] = getattr(edited, section)
        return tuple(
            whole
            if whole in before or _PLACE.search(whole[-30:])
            else line(_END.sub("", whole), str(depth), "user")
            for whole in lines
        )

    return replace(
        edited,
        decisions=marked("decisions"),
        pending=marked("pending"),
        key_facts=marked("key_facts"),
    )


# ---- harvest


def harvest(exchanges: Iterable[Exchange]) -> list[Fact]:
    """Return the sentences worth keeping with their values, in the order they were said."""
    return [entry.fact for entry in _entries(exchanges)]


def looked_at(text: str) -> str:
    """Return the part of a text that is read at all."""
    half = LOOKED_AT // 2
    return text if len(text) <= LOOKED_AT else f"{text[:half]}\n{text[-half:]}"


def _entries(exchanges: Iterable[Exchange]) -> list[_Entry]:
    """Return what a span says; a reply's echo of its query is left out."""
    found: list[_Entry] = []
    for exchange in exchanges:
        asked: set[str] = set()
        for said in _heard(exchange.query.text, "user"):
            asked |= said.figures
            found.append(_new(said, exchange.ref, "user"))
            found[-1].pasted = len(exchange.query.text) > OWN_WORDS
        if exchange.reply is not None:
            for said in _heard(exchange.reply.text, "reply"):
                if not (said.figures and said.figures <= asked):
                    found.append(_new(said, exchange.ref, "reply"))
    return found


def _new(said: Sentence, ref: str, speaker: Speaker) -> _Entry:
    section: Section = "key_facts"
    if speaker == "user" and said.label in ("decision", "rule"):
        section = "decisions"  # nobody has decided what only a model has named
    elif speaker == "user" and said.label == "pending":
        section = "pending"
    return _Entry(Line(line(said.text, ref, speaker), section, said.text, ref, speaker), said)


@lru_cache(maxsize=512)
def _heard(text: str, speaker: Speaker) -> tuple[Sentence, ...]:
    """Return the sentences of one text that are worth a line; each text is read once.

    Those are the user's unless they only ask or say next to nothing, and the reply's that hold an
    exact value. Of what was pasted or quoted only exact values count.
    """
    pasted = speaker == "user" and len(text) > OWN_WORDS
    found: list[Sentence] = []
    for one in sentences(looked_at(text)):
        if pasted and len(found) >= PASTED_FACTS:
            break
        if one.role in ("heading", "code") or len(one.text) < 4:
            continue
        said = read(one.text)
        strict = pasted or speaker == "reply" or one.role in ("row", "quoted")
        if _is_worth_a_line(said, one.role, strict=strict):
            found.append(said)
    return tuple(found)


def _is_worth_a_line(said: Sentence, role: Role, *, strict: bool) -> bool:
    if role == "command":
        return True
    if _ASKS.search(said.text) and not said.label:
        return bool(said.exactness > 1 and not strict)
    if strict:
        known = said.label not in ("", "other")
        tells = said.exactness > 1 or (said.exactness and len(said.words) > 2)
        return bool(tells or known) and not said.text.endswith(":")
    return bool(said.values or said.label) or len(said.words) > 2


@lru_cache(maxsize=8192)
def read(text: str) -> Sentence:
    """Read a sentence, a line of a block or a bullet: its values, its words, its label."""
    text = text[:_READ]
    found = find(text)
    exact = [value for value in found if value.kind != "name"]
    label = _LABEL.match(text)
    outside, position = [], label.end() if label is not None else 0
    for value in exact:
        outside.append(text[position : value.start])
        position = max(position, value.end)
    outside.append(text[position:])
    words = _WORD.findall(" ".join(outside).casefold())
    first = label.group(1).casefold().split()[0] if label is not None else ""
    return Sentence(
        text=text,
        values=tuple(value.text for value in found),
        exactness=max(map(_exactness, found), default=0),
        normals=tuple(normalize(value.text) for value in exact),
        measures=frozenset(value.unit or value.kind for value in exact),
        figures=frozenset(one for value in exact for one in _bare(value)),
        words=frozenset(word[:_PREFIX] for word in words),
        label=LABELS.get(first, "other") if label is not None else "",
    )


def forget() -> None:
    """Forget what was read."""
    _heard.cache_clear()
    read.cache_clear()


def _exactness(value: Value) -> int:
    if value.kind in ("number", "quote"):
        return 1
    return 2 if value.kind in ("quantity", "date", "time", "name", "code", "identifier") else 3


def _bare(value: Value) -> list[str]:
    """Return a measure as its numbers, since an echo may leave its unit out."""
    plain = figures(value.text) if value.kind in ("quantity", "number") else []
    return plain or [normalize(value.text)]


# ---- compare

_SAME, _LOOSELY = 0.8, 0.7
"""The share of a sentence's words that another must hold to repeat it, or a line a bullet."""
_DONE = 0.5
"""The share of an open point's words that a sentence must hold to report it done."""
_RELATED = 0.16
"""From this likeness on an older line does not stay where the newer has no room."""
_RIVAL = 0.5
"""From this likeness on the user is asked which of two branches is right."""
_NEAR, _KEYS = 40, 4
"""Sentences that are compared through one common word, the newest, and words that are tried."""


class _Weights(dict[str, float]):
    """The weight of each word: the rarer, the heavier. An unknown word weighs most."""

    def __init__(self, everything: Iterable[Sentence]) -> None:
        counts: Counter[str] = Counter()
        total = 1
        for said in everything:
            counts.update(said.words)
            total += 1
        super().__init__((word, log(1 + total / number)) for word, number in counts.items())
        self._most = log(1 + total)

    def __missing__(self, word: str) -> float:
        return self._most

    def of(self, words: Iterable[str]) -> float:
        return fsum(map(self.__getitem__, words))  # in any order the same


class Index:
    """Sentences by their words and values."""

    def __init__(self, everything: Iterable[Sentence]) -> None:
        self._weights = _Weights(everything)
        self._near: dict[str, list[int]] = {}

    def add(self, number: int, said: Sentence) -> None:
        for key in (*said.words, *said.figures):
            self._near.setdefault(key, []).append(number)

    def near(self, said: Sentence) -> list[int]:
        """Return the numbers of added sentences that share a telling word or a value."""
        keys = [key for key in (*said.figures, *said.words) if key in self._near]
        keys.sort(key=lambda key: (len(self._near[key]), key))
        return sorted({number for key in keys[:_KEYS] for number in self._near[key][-_NEAR:]})

    def covered(self, one: Sentence, other: Sentence) -> float:
        """Return how much of what `one` says in words `other` says too, from 0 to 1."""
        if one.words <= other.words:
            return 1.0
        return self._weights.of(one.words & other.words) / self._weights.of(one.words)

    def says(self, other: Sentence, one: Sentence) -> bool:
        """Tell whether `other` says what `one` says: all its values and nearly all its words."""
        same = set(one.normals) <= set(other.normals) and not _apart(one, other)
        least = _SAME if one.normals else 1.0
        return same and self.covered(one, other) >= least

    def tells(self, line: Sentence, bullet: Sentence) -> bool:
        """Tell whether a line says what a model's bullet says in other words."""
        same = set(bullet.normals) <= set(line.normals)
        return same and self.covered(bullet, line) >= _LOOSELY

    def likeness(self, new: Sentence, old: Sentence) -> float:
        """Return how surely a sentence gives another value of what an older one is about, from 0
        to 1: then nothing else differs.
        """
        if not (new.measures & old.measures) or set(new.normals) & set(old.normals):
            return 0.0
        common = self._weights.of(new.words & old.words)
        least = min(self._weights.of(new.words), self._weights.of(old.words))
        return common / least * (1.0 if _varies(new, old) else 0.75) if common else 0.0


def _replaces(new: Sentence, old: Sentence) -> bool:
    """Tell whether a sentence replaces another in so many words: it says all that the older one
    says and gives another value beside, or its label announces a correction of the last value.
    """
    if not (new.measures & old.measures):
        return False
    named = old.figures < new.figures and old.words <= new.words
    return named or (new.label == "correction" and _varies(new, old) and not _apart(new, old))


def _varies(new: Sentence, old: Sentence) -> bool:
    """Tell whether two sentences differ in their last value only."""
    same = new.normals[:-1] == old.normals[:-1] and new.normals != old.normals
    return bool(old.normals) and same and new.measures == old.measures


def _apart(one: Sentence, other: Sentence) -> bool:
    """Tell whether each of two sentences has words of its own: they may be about two things."""
    return bool(one.words - other.words and other.words - one.words)


def unsaid(facts: Sequence[Fact], lines: Iterable[str]) -> list[Fact]:
    """Return the facts with exact values that none of the lines says."""
    there = [read(one) for one in lines]
    index = Index(there)
    for number, said in enumerate(there):
        index.add(number, said)
    return [
        fact
        for fact in facts
        if fact.values
        and not any(index.says(there[at], read(fact.text)) for at in index.near(read(fact.text)))
    ]


def rivals(older: Sequence[Line], newer: Sequence[Line]) -> list[tuple[int, int]]:
    """Return pairs of positions of which the newer line may give another value of the same."""
    first, second = ([read(one.text) for one in side] for side in (older, newer))
    index = Index([*first, *second])
    for number, said in enumerate(first):
        index.add(number, said)
    found = []
    for number, said in enumerate(second):
        scored = [
            (index.likeness(said, first[at]), at)
            for at in index.near(said)
            if not _apart(said, first[at])
        ]
        strength, at = max(scored, default=(0.0, 0))
        if strength >= _RIVAL:
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
    carried = [_Entry(item, read(item.text), carried=True) for item in items(parent)]
    pinned = [_Entry(Line(pin, "key_facts", pin, "", "user"), read(pin)) for pin in pins]
    said, ahead, bullets = _entries(fresh), _entries(tail), _bullets(narrative)
    index = _compare([*pinned, *carried, *said, *ahead, *bullets])
    superseded = _replace([*said, *ahead], index)
    live = [entry for entry in (*carried, *said) if not entry.gone]
    there = {id(entry) for entry in (*pinned, *live)}
    lines = [entry for entry in live if not _is_said(entry, there, index)]
    lines += [entry for entry in bullets if not _is_told(entry, lines, index)]
    if _all_fit(lines, room, count):
        for entry in lines:
            entry.kept = True
    else:
        _score(lines, index)
        _fit(lines, room, count)
    chosen = sorted((entry for entry in lines if entry.kept), key=_place)
    made = _without_secrets(chosen, parent, narrative)
    summary = replace(
        narrative or Summary(background=parent.background),
        decisions=made["decisions"],
        pending=made["pending"],
        key_facts=made["key_facts"],
        pinned=tuple(dict.fromkeys(pins)),
        files=activity.files(parent.files, fresh),
        tools=activity.tools(parent.tools, fresh),
    )
    left = [entry.fact for entry in live if not entry.kept]
    archived = unsaid(left, [*(entry.line.text for entry in chosen), *pins])
    return Kept(summary, tuple(archived), superseded)


def _bullets(narrative: Summary | None) -> list[_Entry]:
    """Return the narrative's decisions and open points, which were checked, each once."""
    sections: tuple[Section, ...] = ("decisions", "pending")
    found: dict[str, _Entry] = {}
    for section in sections if narrative is not None else ():
        lines: tuple[str, ...] = getattr(narrative, section)
        for whole in lines:
            made = Line(whole, section, whole, "", "narrative")
            found.setdefault(whole, _Entry(made, read(REFERENCE.sub("", whole))))
    return list(found.values())


def _compare(entries: Sequence[_Entry]) -> Index:
    """Find for each entry the older ones that may be about the same."""
    index = Index(entry.said for entry in entries)
    for number, entry in enumerate(entries):
        entry.near = [entries[at] for at in index.near(entry.said)]
        index.add(number, entry.said)
    return index


def _replace(entries: Iterable[_Entry], index: Index) -> int:
    """Mark what newer sentences replace, and open points that are done; return how many values
    were replaced. Pasted text replaces nothing.
    """
    superseded = 0
    for new in entries if POINTS.replaces else ():
        if new.pasted:
            continue
        near = [old for old in new.near if not old.gone]
        if new.said.label == "done":
            closed = [old for old in near if old.section == "pending"]
            _mark_best(new, closed, index)
        elif new.said.figures:
            older = [old for old in near if _may_replace(new, old)]
            superseded += _mark_best(
                new, [old for old in older if _replaces(new.said, old.said)], index
            )
    return superseded


def _may_replace(new: _Entry, old: _Entry) -> bool:
    """Tell whether a speaker may touch a line: no reply what the user decided, and a task is only
    done, never replaced.
    """
    if new.line.speaker == "reply" and old.line.speaker == "user":
        return old.section == "key_facts" and old.said.figures <= new.said.figures
    return old.section != "pending"


def _mark_best(new: _Entry, older: Iterable[_Entry], index: Index) -> int:
    """Mark the best match as gone; in doubt between two that say different things none is."""
    scored = [(index.covered(old.said, new.said), old) for old in older]
    best = max((score for score, _ in scored), default=0.0)
    winners = [old for score, old in scored if score == best and best >= _DONE]
    if len({old.said.words for old in winners}) > 1:
        return 0
    for old in winners:
        old.gone = True
    return len(winners)


def _is_said(entry: _Entry, there: set[int], index: Index) -> bool:
    """Tell whether a pin or an older line says the same; then this one needs no line."""
    for old in entry.near:
        if id(old) in there and index.says(old.said, entry.said):
            there.discard(id(entry))
            if old.section == "key_facts":
                old.section = entry.section
            return True
    return False


def _is_told(bullet: _Entry, lines: Sequence[_Entry], index: Index) -> bool:
    """Tell whether a line says what a bullet says. If it is the user's it is moved to where the
    bullet belongs: the model knows what is a decision.
    """
    if any(bullet.line.line == line.line.line for line in lines):
        return True
    for old in bullet.near:
        if not old.gone and old.line.ref and index.tells(old.said, bullet.said):
            if old.section == "key_facts" and old.line.speaker == "user":
                old.section = bullet.section
            return True
    return False


def _all_fit(lines: Sequence[_Entry], room: int, count: Callable[[str], int]) -> bool:
    """Tell whether there is room for all lines; then none needs a score."""
    whole = "".join(f"- {entry.line.line}\n" for entry in lines)
    # a text of more characters has more tokens: it need not be counted
    return len(whole) <= _CHARACTERS * room and count(whole) <= room


def _score(lines: Sequence[_Entry], index: Index) -> None:
    """Give every line its points, and find for each one that may give a newer value."""
    points = POINTS
    for entry in lines:
        said = entry.said
        entry.score = (
            points.label * bool(said.label)
            + points.marked * (entry.section != "key_facts")
            + points.shape[said.exactness]
            + points.words * min(1.0, len(said.words) / points.full_sentence)
        )
    there = {id(entry) for entry in lines if entry.section != "pending"}
    for new in lines if points.follows else ():
        older = [old for old in new.near if id(old) in there and old.line.ref != new.line.ref]
        scored = [(index.likeness(new.said, old.said), at) for at, old in enumerate(older)]
        likeness, at = max(scored, default=(0.0, 0))
        if likeness >= _RELATED and not new.pasted:
            older[at].newer = new
            new.score = max(new.score, older[at].score)


def _fit(lines: Sequence[_Entry], room: int, count: Callable[[str], int]) -> None:
    """Keep the lines of the highest scores as far as there is room, of equal ones the newer.

    An older value does not stay where one that may have replaced it goes: the newer comes first.
    """
    groups: set[tuple[Section, str]] = set()

    def take(entry: _Entry) -> bool:
        nonlocal room
        mark = entry.line.line.removeprefix(entry.line.text)  # it stands once for many
        needed = count(f"- {entry.line.text}\n")
        if mark and (entry.section, mark) not in groups:
            needed += count(mark)
        if needed > room:
            return False
        entry.kept = True
        groups.add((entry.section, mark))
        room -= needed
        return True

    for at in sorted(range(len(lines)), key=lambda at: (lines[at].score, at), reverse=True):
        if room < _LEAST_LINE:
            break
        chain = [lines[at]]
        while (newer := chain[-1].newer) is not None and not newer.kept and len(chain) < _CHAIN:
            chain.append(newer)
        for one in reversed(chain):
            if not one.kept and not take(one):
                break


_LEAST_LINE = 3
"""Tokens: with less room than this no line is looked for any more."""
_CHARACTERS = 8
"""Characters that a token has at most, on an average of sentences."""
_CHAIN = 8
"""Values of one thing, each newer than the one before, that are followed."""


def _place(entry: _Entry) -> tuple[int, bool]:
    """Order lines session by session, the user's before the model's; bullets come last."""
    session = int(entry.line.ref.partition(".")[0]) if entry.line.ref else 10**9
    return session, entry.line.speaker != "user"


def _without_secrets(
    chosen: Sequence[_Entry], *others: Summary | None
) -> dict[str, tuple[str, ...]]:
    """Return the lines by section, the new ones without secrets. `others` stand beside them."""
    redactor = Redactor(*(summary_block.render(other) for other in others if other is not None))
    fresh = [entry for entry in chosen if not entry.carried]
    whole = redactor("\n".join(entry.line.line for entry in fresh)).split("\n")
    clean = whole if len(whole) == len(fresh) else [redactor(entry.line.line) for entry in fresh]
    written = dict(zip(map(id, fresh), clean, strict=True))
    return {
        section: tuple(
            written.get(id(entry), entry.line.line) for entry in chosen if entry.section == section
        )
        for section in SECTIONS
    }
