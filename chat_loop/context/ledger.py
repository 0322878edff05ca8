"""The ledger (pure): picks the sentences that code carries along the chain, byte for byte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice
from math import fsum, log
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.context import activity
from chat_loop.context.exact import figures, find, may_hold_values, normalize
from chat_loop.context.grounding import REFERENCE
from chat_loop.context.sources import source_lines, stems
from chat_loop.context.statements import statements, without_place
from chat_loop.redact import Redactor, is_clean
from chat_loop.sessions.records import Exchange, Summary

Section = Literal["decisions", "pending", "key_facts"]
SECTIONS: tuple[Section, ...] = ("decisions", "pending", "key_facts")
Speaker = Literal["user", "reply", "narrative"]

OWN_WORDS = 20_000  # characters; people type several pages, but a longer query was pasted
LOOKED_AT = 60_000  # characters read from one text, half at each end
PASTED_FACTS = 60  # the most sentences taken from one pasted text
MOST_SOURCES = 10  # the most lines of results taken from one exchange

_PLACE = re.compile(r" \[(\d{1,9}) (user|reply)\]\Z")
_QUESTION = re.compile(r"[?？][\"'”’)\]»*_]{0,3}\Z|\A¿")
_LABEL = re.compile(
    r"[*_]{0,2}([^\W\d_][\w'’-]{1,20}(?: [\w'’-]{1,20}){0,2})[*_]{0,2}[:：][*_]{0,2}\s"
)
"""One to three words before a colon."""

Label = Literal["decisions", "pending", "done", "correction", "other", ""]
LABELS: dict[str, Label] = {
    **dict.fromkeys(("decision", "decided", "agreed", "rule", "constraint"), "decisions"),
    **dict.fromkeys(("todo", "task", "open", "pending", "action"), "pending"),
    **dict.fromkeys(("done", "finished"), "done"),
    **dict.fromkeys(("correction", "update", "change"), "correction"),
}
"""The first word of a label, and its effect. Any other label only adds weight."""
_EXACTNESS = {"number": 1, "quote": 1} | dict.fromkeys(
    ("quantity", "date", "time", "name", "code", "identifier"), 2
)
"""The loss if a value disappears, by its kind. It is 3 for kinds that are not listed."""


LABEL_POINTS = 3.0  # for a label, and again for a decision or a pending point
SHAPE_POINTS = (0.0, 2.0, 4.0, 6.0)  # by the exactness of its values
EXPLAINED = -4.0  # for a reply's sentence whose only values are code: it explains something
WORD_POINTS = 8.0  # for 18 words; shorter sentences get fewer, since asides are short
NEWER = 0.16  # the least likeness at which a line gives an older one a newer value


class Line(Struct, frozen=True, dict=True):
    """One line of a summary block. `ref` is empty if it comes from a model's narrative."""

    text: str
    section: Section
    ref: str = ""
    speaker: Speaker = "narrative"
    pasted: bool = False

    @cached_property
    def session(self) -> int:
        """The chain's session in which it was said. A narrative's lines sort after all others."""
        return int(self.ref.partition(".")[0] or 10**9)

    @cached_property
    def mark(self) -> str:
        """The suffix with its session and speaker: ` [2 user]` if `ref` is `2.14`."""
        return f" [{self.session} {self.speaker}]" if self.ref else ""

    @cached_property
    def whole(self) -> str:
        """The line as it is written in the block."""
        return self.text + self.mark


class ParsedSentence(Struct, frozen=True):
    """A sentence in a form for comparison. `exactness` is the loss if its values disappear: 0 for
    none, 1 for a bare number, 2 for a measure, 3 for a path or id. The remaining fields ignore
    names. `normals` are the values in a uniform spelling, in order. `measures` are their units or
    kinds, such as `min` or `path`. `figures` are the numbers without units, and the other values.
    `words` are the beginnings of the words outside the values.
    """

    text: str
    values: tuple[str, ...]
    exactness: int
    normals: tuple[str, ...]
    normal_set: frozenset[str]
    measures: frozenset[str]
    figures: frozenset[str]
    words: frozenset[str]
    label: Label
    is_code: bool  # all of its values are code and quotations

    def varies(self, other: ParsedSentence) -> bool:
        """Return True if the two sentences differ only in their last value."""
        same = self.normals[:-1] == other.normals[:-1] and self.normals != other.normals
        return bool(other.normals) and same and self.measures == other.measures

    def apart(self, other: ParsedSentence) -> bool:
        """Return True if each has words that the other lacks: they may be about two things."""
        return not (self.words <= other.words or other.words <= self.words)

    def replaces(self, old: ParsedSentence, *, in_other_words: bool = False) -> bool:
        """Return True if it repeats an older sentence and adds a value, or if it corrects it."""
        if self.measures.isdisjoint(old.measures):
            return False
        if old.figures < self.figures:
            telling = old.words
            if in_other_words:
                telling = frozenset(word for word in telling if len(word) > 3) or telling
            if telling <= self.words:
                return True
        return self.label == "correction" and self.varies(old) and not self.apart(old)


_Said = tuple[tuple[Speaker, ParsedSentence], ...]


class LedgerBlock(Struct, frozen=True):
    """The child's block, the lines with values that did not fit, and a count of replaced values."""

    summary: Summary
    archived: tuple[Line, ...] = ()
    superseded: int = 0

    @property
    def archived_values(self) -> frozenset[str]:
        """The values of the lines that did not fit, in a uniform spelling."""
        return frozenset(value for line in self.archived for value in read(line.text).values)


class Entry(Struct, eq=False):
    """A candidate for the block. `older` are similar earlier ones; `newer` has its newer value."""

    line: Line
    sentence: ParsedSentence
    section: Section
    weight: float = 0.0  # of its words
    replaced: bool = False
    score: float = 0.0
    older: list[Entry] = field(default_factory=list)
    newer: Entry | None = None


def items(summary: Summary) -> Iterator[Line]:
    """Yield the lines of a summary block that the ledger may carry, in order."""
    for section in SECTIONS:
        lines: tuple[str, ...] = getattr(summary, section)
        for whole in lines:
            place = _PLACE.search(whole[-30:])
            if place is None:
                yield Line(whole, section)
            else:
                text = whole[: len(whole) - len(place.group())]
                yield Line(text, section, place[1], "reply" if place[2] == "reply" else "user")


def collect(exchanges: Iterable[Exchange], redactor: Redactor | None = None) -> list[Entry]:
    """Return the sentences worth keeping, in order, without secrets and echoes."""
    redactor = redactor or Redactor()
    entries: list[Entry] = []
    for exchange in exchanges:
        query, reply = exchange.query.text, exchange.reply.text if exchange.reply else ""
        pasted, query, reply = len(query) > OWN_WORDS, _clip(query), _clip(reply)
        said = read_clean(query, reply, pasted)
        if said is None:
            said = tuple(_read_exchange(redactor(query), redactor(reply), pasted))
        for speaker, sentence in said:
            section: Section = "key_facts"
            if speaker == "user" and sentence.label in ("decisions", "pending"):
                section = sentence.label
            is_pasted = pasted and speaker == "user"
            line = Line(sentence.text, section, exchange.ref, speaker, is_pasted)
            entries.append(Entry(line, sentence, section))
        if exchange.uses:
            entries += _sources(exchange, said, redactor)
    return entries


def _sources(exchange: Exchange, said: _Said, redactor: Redactor) -> Iterator[Entry]:
    """Yield the lines of results from which the reply took values. They count as said by the reply,
    but as pasted: they neither decide anything nor replace another line.
    """
    sentences = [sentence for speaker, sentence in said if speaker == "reply"]
    lines = chain.from_iterable(
        source_lines(exchange, sentence.text, sentence.values) for sentence in sentences
    )
    told = chain(islice(dict.fromkeys(lines), MOST_SOURCES), activity.commits(exchange))
    for text in told:
        line = Line(redactor(text), "key_facts", exchange.ref, "reply", pasted=True)
        yield Entry(line, read(line.text), line.section)


def _clip(text: str) -> str:
    """Return a text, or only both ends of a long one."""
    if len(text) <= LOOKED_AT:
        return text
    return f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"


def read_ahead(parent: Summary | None, exchanges: Sequence[Exchange]) -> None:
    """Parse the sources of a block before it is needed, to fill the caches of the slowest step."""
    collect(exchanges)
    _entries(items(parent or Summary()))


@lru_cache(maxsize=1024)  # a context is read in the background before it is compacted
def read_clean(query: str, reply: str, pasted: bool) -> _Said | None:
    """Return the sentences of `_read_exchange`, or None if the texts may contain secrets."""
    if not (is_clean(query) and is_clean(reply)):
        return None
    return tuple(_read_exchange(query, reply, pasted))


def _read_exchange(
    query: str, reply: str, pasted: bool
) -> Iterator[tuple[Speaker, ParsedSentence]]:
    """Yield the sentences of an exchange that are worth keeping, each with its speaker."""
    asked: set[str] = set()
    said = _worth_keeping(query, borrowed=pasted)
    for sentence in islice(said, PASTED_FACTS if pasted else None):
        asked |= sentence.figures
        yield "user", sentence
    for sentence in _worth_keeping(reply, borrowed=True):
        if not (sentence.figures and sentence.figures <= asked):  # else it is an echo
            yield "reply", sentence


def _worth_keeping(text: str, borrowed: bool) -> Iterator[ParsedSentence]:
    """Yield the sentences of a text that say something, without headings and code. A `borrowed`
    sentence, which is not the user's own, needs an exact value or a known label.
    """
    for part in statements(text):
        if part.role in ("heading", "code") or len(part.text) <= 3:
            continue
        is_borrowed = (borrowed or part.role in ("row", "quoted")) and part.role != "command"
        # most of a reply has nothing exact, and is not parsed any further
        rest = without_place(part.text) if is_borrowed else part.text
        if rest != part.text and not may_hold_values(rest):
            continue
        if not is_borrowed or may_hold_values(part.text) or _LABEL.match(part.text):
            sentence = read(part.text)
            if part.role == "command" or _is_worth_keeping(sentence, is_borrowed):
                yield sentence


def _is_worth_keeping(sentence: ParsedSentence, borrowed: bool) -> bool:
    """Return True unless a sentence says next to nothing or is a question without exact values."""
    if _QUESTION.search(sentence.text) and not sentence.label:
        return sentence.exactness > 1 and not borrowed
    if not borrowed:
        return bool(sentence.values or sentence.label) or len(sentence.words) > 2
    exact = sentence.exactness > (0 if len(sentence.words) > 2 else 1)
    return (exact or sentence.label not in ("", "other")) and not sentence.text.endswith(":")


@lru_cache(maxsize=2048)  # enough for a block and a span; a large session would take 50 MB
def read(text: str) -> ParsedSentence:
    """Parse the first 1,000 characters of a sentence: its values, words and label."""
    text = text[:1_000]
    values = find(text)
    exact = [value for value in values if value.kind != "name"]
    normals = tuple(normalize(value.text) for value in exact)
    label = _LABEL.match(text)
    outside, position = "", label.end() if label is not None else 0
    bare: set[str] = set()
    for value, normal in zip(exact, normals, strict=True):
        outside += f"{text[position : value.start]} "
        position = max(position, value.end)
        # an echo may omit the unit of a measure
        numbers = figures(value.text) if value.kind in ("quantity", "number") else []
        bare.update(numbers or [normal])
    first = label[1].casefold().split()[0] if label is not None else ""
    return ParsedSentence(
        text=text,
        values=tuple(value.text for value in values),
        exactness=max((_EXACTNESS.get(value.kind, 3) for value in values), default=0),
        normals=normals,
        normal_set=frozenset(normals),
        measures=frozenset(value.unit or value.kind for value in exact),
        figures=frozenset(bare),
        words=stems(outside + text[position:]),
        label=LABELS.get(first, "other") if label is not None else "",
        is_code=bool(values) and all(value.kind in ("code", "quote") for value in values),
    )


class WordIndex:
    """The weights of all words: the rarer a word, the more it weighs. Creating the index also sets
    `weight` and `older` of each entry.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        counts = Counter(chain.from_iterable(entry.sentence.words for entry in entries))
        total = 1 + len(entries)
        self._weights = {word: log(1 + total / number) for word, number in counts.items()}
        places: dict[str, list[int]] = {}
        for number, entry in enumerate(entries):
            sentence = entry.sentence
            entry.weight = self.weight(sentence.words)
            known = []
            for key in sentence.words | sentence.figures:
                if (before := places.get(key)) is None:
                    places[key] = [number]
                else:
                    known.append((len(before), key))
            rarest = sorted(known)[:4]
            near = {at for _, key in rarest for at in places[key][-40:]}
            entry.older = [entries[at] for at in sorted(near)]
            for _, key in known:
                places[key].append(number)

    def weight(self, words: Iterable[str]) -> float:
        """Return the total weight of `words`."""
        return fsum(map(self._weights.__getitem__, words))

    def covered(self, entry: Entry, other: Entry) -> float:
        """Return the share of an entry's words that `other` also has, by weight, from 0 to 1."""
        words, others = entry.sentence.words, other.sentence.words
        return 1.0 if words <= others else self.weight(words & others) / entry.weight

    def repeats(self, entry: Entry, other: Entry, *, bullet: bool = False) -> bool:
        """Return True if `other` has all of an entry's values and nearly all of its words."""
        sentence, before = entry.sentence, other.sentence
        if not sentence.normal_set <= before.normal_set:
            return False
        if not bullet and sentence.apart(before):
            return False
        least = 0.7 if bullet else 0.8 if sentence.normals else 1.0
        return self.covered(entry, other) >= least

    def likeness(self, new: Entry, old: Entry) -> float:
        """Return the likelihood, from 0 to 1, that `new` only gives `old` a new value."""
        sentence, before = new.sentence, old.sentence
        is_other = sentence.normal_set.isdisjoint(before.normal_set)
        if not is_other or sentence.measures.isdisjoint(before.measures):
            return 0.0
        common = self.weight(sentence.words & before.words)
        share = common / min(new.weight, old.weight) if common else 0.0
        return share * (1.0 if sentence.varies(before) else 0.75)


def ledger(
    parent: Summary | None,
    narrative: Summary | None,
    fresh: Sequence[Exchange],
    tail: Sequence[Exchange],
    pins: Sequence[str],
    room: int,
    count: Callable[[str], int],
    *,
    branch: Summary | None = None,
) -> LedgerBlock:
    """Make the child's block: pins, files, tools, and up to `room` tokens of decisions, pending
    points and facts. `tail` stays in the context, so only its corrections count. `branch` is the
    block of a second parent.
    """
    parent = parent or Summary()
    narrative = narrative or Summary(background=parent.background)
    redactor = Redactor(repr(parent), repr(narrative))  # new redaction marks continue their numbers
    carried = _entries(items(parent))
    if branch is not None:
        carried += _entries(items(branch))
        carried.sort(key=lambda entry: entry.line.session)
    pinned = _entries(Line(pin, "key_facts") for pin in pins)
    new, ahead = collect(fresh, redactor), collect(tail, redactor)
    sections_of: dict[str, Section] = dict.fromkeys(narrative.decisions, "decisions")
    for text in narrative.pending:
        sections_of.setdefault(text, "pending")
    bullets = _entries(Line(text, section) for text, section in sections_of.items())
    everything = [*pinned, *carried, *new, *ahead, *bullets]
    index = WordIndex(everything)
    superseded = _replace([*(carried if branch else ()), *new, *ahead, *bullets], index)
    live = [entry for entry in (*carried, *new) if not entry.replaced]
    candidates = _without_repetitions(pinned, live, bullets, index)
    _score(candidates, index)
    lines = _fitting(candidates, room, count)
    left_out = set(candidates).difference(lines)
    # by session, the user's lines before the model's; a narrative's bullets come last
    lines.sort(key=lambda entry: (entry.line.session, entry.line.speaker != "user"))
    sections = {
        section: tuple(entry.line.whole for entry in lines if entry.section == section)
        for section in SECTIONS
    }
    summary = replace(
        narrative,
        **sections,
        pinned=tuple(dict.fromkeys(pins)),
        files=activity.files(parent.files, fresh),
        tools=activity.tools(parent.tools, fresh),
    )
    archived = (entry.line for entry in live if entry in left_out and entry.sentence.values)
    return LedgerBlock(summary, tuple(archived), superseded)


def _entries(lines: Iterable[Line]) -> list[Entry]:
    """Return lines as entries. The references in a narrative's bullets are not read as values."""
    return [
        Entry(line, read(line.text if line.ref else REFERENCE.sub("", line.text)), line.section)
        for line in lines
    ]


def _replace(entries: Iterable[Entry], index: WordIndex) -> int:
    """Mark lines that newer ones replace or complete. Return the number of replaced values."""
    superseded = 0
    for new in entries:
        done, bullet = new.sentence.label == "done", not new.line.ref
        scored: list[tuple[float, Entry]] = []
        for old in new.older:
            if old.replaced or new.line.pasted or (old.section == "pending") != done:
                continue
            overrides = new.line.speaker == "user" or old.line.speaker == "reply"
            # a model's line counts if it names the old value as well: "from 30 to 45 s"
            named = old.sentence.figures <= new.sentence.figures and old.section == "key_facts"
            replaces = new.sentence.replaces(old.sentence, in_other_words=bullet)
            if done or (replaces and (overrides or named)):
                scored.append((index.covered(old, new), old))
        best = max((score for score, _ in scored), default=0.0)
        winners = [old for score, old in scored if score == best >= 0.5]
        if len({old.sentence.words for old in winners}) > 1:
            continue  # if two different lines match equally well, neither is replaced
        for old in winners:
            old.replaced = True
        superseded += 0 if done else len(winners)
    return superseded


def _without_repetitions(
    pinned: Sequence[Entry], live: Sequence[Entry], bullets: Sequence[Entry], index: WordIndex
) -> list[Entry]:
    """Return the lines without repetitions. A key fact takes the section of its repetition."""
    lines: list[Entry] = []
    written: set[str] = set()
    originals = {*pinned, *live}
    sourced = {entry for entry in live if entry.line.ref}
    for entry in (*live, *bullets):
        bullet = entry not in originals
        candidates = sourced if bullet else originals
        repeated = next(
            (
                old
                for old in entry.older
                if old in candidates and index.repeats(entry, old, bullet=bullet)
            ),
            None,
        )
        if repeated is None:
            if entry.line.whole not in written:
                lines.append(entry)
                written.add(entry.line.whole)
            continue
        originals.discard(entry)
        if repeated.section == "key_facts" and (not bullet or repeated.line.speaker == "user"):
            repeated.section = entry.section
    return lines


def _score(lines: Sequence[Entry], index: WordIndex) -> None:
    """Score lines by the loss without them, and link each one to its newer value, if any."""
    for entry in lines:
        sentence = entry.sentence
        explains = sentence.is_code and entry.line.speaker == "reply" and not entry.line.pasted
        entry.score = EXPLAINED * explains + (
            LABEL_POINTS * (bool(sentence.label) + (entry.section != "key_facts"))
            + SHAPE_POINTS[sentence.exactness]
            + WORD_POINTS * min(1.0, len(sentence.words) / 18)
        )
    candidates = {entry for entry in lines if entry.section != "pending"}
    for new in lines:
        older = [old for old in new.older if old in candidates and old.line.ref != new.line.ref]
        scored = [(index.likeness(new, old), at) for at, old in enumerate(older)]
        likeness, at = max(scored, default=(0.0, 0))
        if likeness >= NEWER and not new.line.pasted:
            older[at].newer = new
            new.score = max(new.score, older[at].score)


def _fitting(lines: Sequence[Entry], room: int, count: Callable[[str], int]) -> list[Entry]:
    """Return the highest-scoring lines that fit. A newer value is chosen before the older one."""
    selected: set[Entry] = set()
    groups: set[tuple[Section, str]] = set()
    newest_first = list(reversed(lines))
    for best in sorted(newest_first, key=lambda entry: -entry.score):
        for entry in (best.newer or best, best):
            if entry in selected:
                continue
            group = (entry.section, entry.line.mark)
            needed = count(f"- {entry.line.text}\n")
            if group not in groups:  # neighbors share one mark
                needed += count(group[1])
            if needed > room:
                break
            selected.add(entry)
            groups.add(group)
            room -= needed
        if room < 3:
            break
    return [entry for entry in lines if entry in selected]
