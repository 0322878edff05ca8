"""The ledger (pure): the sentences of a conversation that code carries along its chain as bytes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import fsum, log
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.context import activity
from chat_loop.context.exact import figures, find, normalize
from chat_loop.redact import Redactor
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Summary
from chat_loop.text import Sentence, sentences

Section = Literal["decisions", "pending", "key_facts"]
SECTIONS: tuple[Section, ...] = ("decisions", "pending", "key_facts")
Speaker = Literal["user", "reply", "narrative"]

OWN_WORDS = 20_000  # a query of more characters was pasted; people write several pages themselves
LOOKED_AT = 60_000  # characters of one text that are read, at its beginning and at its end
PASTED_FACTS = 60  # sentences that are taken from one pasted text

REFERENCE = re.compile(r"\[[\d.,;\s–-]{1,40}(?:reply|user)?\]")
"""A place in the chain, or several, as bullets name them: `[2.14]`, `[3, 5-7]`. It is no value."""
_PLACE = re.compile(r" \[(\d{1,9}) (user|reply)\]\Z")
_QUESTION = re.compile(r"[?？][\"'”’)\]»*_]{0,3}\Z|\A¿")
_LABEL = re.compile(
    r"[*_]{0,2}([^\W\d_][\w'’-]{1,20}(?: [\w'’-]{1,20}){0,2})[*_]{0,2}[:：][*_]{0,2}\s"
)
"""One to three words before a colon."""
_WORD = re.compile(r"[^\W\d_]+")

Label = Literal["decisions", "pending", "done", "correction", "other", ""]
LABELS: dict[str, Label] = {
    **dict.fromkeys(("decision", "decided", "agreed", "rule", "constraint"), "decisions"),
    **dict.fromkeys(("todo", "task", "open", "pending", "action"), "pending"),
    **dict.fromkeys(("done", "finished"), "done"),
    **dict.fromkeys(("correction", "update", "change"), "correction"),
}
"""The first word of a label, and what it does; any other label only adds weight."""
_EXACTNESS = {"number": 1, "quote": 1} | dict.fromkeys(
    ("quantity", "date", "time", "name", "code", "identifier"), 2
)
"""The loss if a value were gone, by its kind: a bare number, a measure; for all others 3."""


LABEL_POINTS = 3.0  # of a line for its label, and the same for a decision or an open point
SHAPE_POINTS = (0.0, 2.0, 4.0, 6.0)  # by the exactness of its values
WORD_POINTS = 8.0  # for 18 words; a shorter sentence gets a part, since asides are short
NEWER = 0.16  # the likeness from which a line counts as a newer value of an older one


class Line(Struct, frozen=True):
    """One line of a summary block. `ref` is empty when a model's narrative made it."""

    text: str
    section: Section
    ref: str = ""
    speaker: Speaker = "narrative"
    pasted: bool = False

    @property
    def session(self) -> int:
        """The session of the chain in which it was said; a narrative's comes after all."""
        return int(self.ref.partition(".")[0] or 10**9)

    @property
    def mark(self) -> str:
        """Its session and its speaker as they stand at its end: of `2.14` ` [2 user]`."""
        return f" [{self.session} {self.speaker}]" if self.ref else ""

    @property
    def whole(self) -> str:
        """The line as it stands in the block."""
        return self.text + self.mark


class ParsedSentence(Struct, frozen=True):
    """A sentence as it is compared with others. `exactness` is the loss if its values were gone: 0
    nothing, 1 a bare number, 2 a measure, 3 a path or id. `normals` are the values in one spelling,
    without names, `measures` their kinds, such as `min` or `path`, `figures` the numbers without
    units and all other values, and `words` the beginnings of the words outside of them.
    """

    text: str
    values: tuple[str, ...]
    exactness: int
    normals: tuple[str, ...]
    measures: frozenset[str]
    figures: frozenset[str]
    words: frozenset[str]
    label: Label

    def varies(self, other: ParsedSentence) -> bool:
        """Return True when two sentences differ in their last value only."""
        same = self.normals[:-1] == other.normals[:-1] and self.normals != other.normals
        return bool(other.normals) and same and self.measures == other.measures

    def apart(self, other: ParsedSentence) -> bool:
        """Return True when each has words of its own: the two may be about two things."""
        return bool(self.words - other.words and other.words - self.words)

    def replaces(self, old: ParsedSentence, *, in_other_words: bool = False) -> bool:
        """Return True when it has all of an older one and another value, or corrects it."""
        if not (self.measures & old.measures):
            return False
        telling = frozenset(word for word in old.words if len(word) > 3) or old.words
        telling = telling if in_other_words else old.words
        named = old.figures < self.figures and telling <= self.words
        return named or (self.label == "correction" and self.varies(old) and not self.apart(old))


class LedgerBlock(Struct, frozen=True):
    """The child's block, the exact lines left to the archive, and the count of values replaced."""

    summary: Summary
    archived: tuple[Line, ...] = ()
    superseded: int = 0


class _Entry(Struct, eq=False):
    """A line on its way into the block, the `older` ones like it, and perhaps its `newer` value."""

    line: Line
    sentence: ParsedSentence
    section: Section
    replaced: bool = False
    score: float = 0.0
    older: list[_Entry] = field(default_factory=list)
    newer: _Entry | None = None


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


def collect(exchanges: Iterable[Exchange], redactor: Redactor | None = None) -> list[Line]:
    """Return the sentences worth keeping in their order, without secrets and echoes."""
    redactor = redactor or Redactor()
    lines: list[Line] = []
    for exchange in exchanges:
        query, reply = exchange.query.text, exchange.reply
        pasted = len(query) > OWN_WORDS
        asked: set[str] = set()
        said = (
            sentence
            for part, sentence in _read_all(query, redactor)
            if _is_worth_keeping(part, sentence, pasted)
        )
        for sentence in islice(said, PASTED_FACTS if pasted else None):
            asked |= sentence.figures
            section: Section = "key_facts"
            if sentence.label in ("decisions", "pending"):
                section = sentence.label
            lines.append(Line(sentence.text, section, exchange.ref, "user", pasted))
        for part, sentence in _read_all(reply.text if reply else "", redactor):
            echo = bool(sentence.figures) and sentence.figures <= asked
            if not echo and _is_worth_keeping(part, sentence, borrowed=True):
                lines.append(Line(sentence.text, "key_facts", exchange.ref, "reply"))
    return lines


def _read_all(text: str, redactor: Redactor) -> Iterator[tuple[Sentence, ParsedSentence]]:
    """Yield the sentences of a text but for headings and code."""
    if len(text) > LOOKED_AT:
        text = f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    for part in sentences(redactor(text)):
        if part.role not in ("heading", "code") and len(part.text) > 3:
            yield part, read(part.text)


def _is_worth_keeping(part: Sentence, sentence: ParsedSentence, borrowed: bool) -> bool:
    """Return True unless it says next to nothing; only exact values count of `borrowed` words."""
    borrowed = borrowed or part.role in ("row", "quoted")
    if part.role == "command":
        return True
    if _QUESTION.search(sentence.text) and not sentence.label:
        return sentence.exactness > 1 and not borrowed
    if not borrowed:
        return bool(sentence.values or sentence.label) or len(sentence.words) > 2
    exact = sentence.exactness > (0 if len(sentence.words) > 2 else 1)
    return (exact or sentence.label not in ("", "other")) and not sentence.text.endswith(":")


@lru_cache(maxsize=2048)  # of a block and a compacted span; a large session's would take 50 MB
def read(text: str) -> ParsedSentence:
    """Read the first 1,000 characters of a sentence: its values, its words, its label."""
    text = text[:1_000]
    exact_values = find(text)
    exact = [value for value in exact_values if value.kind != "name"]
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
    return ParsedSentence(
        text=text,
        values=tuple(value.text for value in exact_values),
        exactness=max((_EXACTNESS.get(value.kind, 3) for value in exact_values), default=0),
        normals=tuple(normalize(value.text) for value in exact),
        measures=frozenset(value.unit or value.kind for value in exact),
        figures=frozenset(bare),
        words=frozenset(word[:5] for word in words),  # forms of one word begin alike
        label=LABELS.get(first, "other") if label is not None else "",
    )


class WordIndex:
    """Sentences by number, words and values. The rarer a word, the more it weighs."""

    def __init__(self, everything: Iterable[ParsedSentence]) -> None:
        counts: Counter[str] = Counter()
        self._places: dict[str, list[int]] = {}
        total = 0
        for total, sentence in enumerate(everything, 1):
            counts.update(sentence.words)
            for key in (*sentence.words, *sentence.figures):
                self._places.setdefault(key, []).append(total - 1)
        self._most = log(2 + total)
        self._weights = {word: log(1 + (1 + total) / number) for word, number in counts.items()}

    def near(self, sentence: ParsedSentence, before: int) -> list[int]:
        """Return numbers below `before` of sentences with the same rare words or values."""
        keys = [key for key in (*sentence.figures, *sentence.words) if key in self._places]
        ends = {key: bisect_left(self._places[key], before) for key in keys}
        rarest = sorted((end, key) for key, end in ends.items() if end)[:4]
        return sorted(
            {at for end, key in rarest for at in self._places[key][max(0, end - 40) : end]}
        )

    def weight(self, words: Iterable[str]) -> float:
        """Return how much words weigh together."""
        return fsum(self._weights.get(word, self._most) for word in words)

    def covered(self, sentence: ParsedSentence, other: ParsedSentence) -> float:
        """Return the share of the words of a sentence that `other` has too, from 0 to 1."""
        if sentence.words <= other.words:
            return 1.0
        return self.weight(sentence.words & other.words) / self.weight(sentence.words)

    def repeats(
        self, sentence: ParsedSentence, other: ParsedSentence, *, bullet: bool = False
    ) -> bool:
        """Return True when `other` has all values and nearly all words of a sentence."""
        values, words = set(sentence.normals), 0.8 if sentence.normals else 1.0
        if not values.issubset(other.normals) or (not bullet and sentence.apart(other)):
            return False
        return self.covered(sentence, other) >= (0.7 if bullet else words)

    def likeness(self, new: ParsedSentence, old: ParsedSentence) -> float:
        """Return how surely a sentence only gives an older one another value, from 0 to 1."""
        if not (new.measures & old.measures) or set(new.normals) & set(old.normals):
            return 0.0
        common = self.weight(new.words & old.words)
        least = min(self.weight(new.words), self.weight(old.words))
        return common / least * (1.0 if new.varies(old) else 0.75) if common else 0.0


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
    """Make the child's block: pins, files, and in `room` tokens decisions, open points and facts.
    `tail` stays in the context: only its corrections count. `branch` is a second parent's block.
    """
    parent = parent or Summary()
    narrative = narrative or Summary(background=parent.background)
    redactor = Redactor(summary_block.render(parent), summary_block.render(narrative))
    carried = _entries(items(parent))
    if branch is not None:
        carried += _entries(items(branch))
        carried.sort(key=lambda entry: entry.line.session)
    pinned = _entries(Line(pin, "key_facts") for pin in pins)
    new, ahead = _entries(collect(fresh, redactor)), _entries(collect(tail, redactor))
    sections_of: dict[str, Section] = dict.fromkeys(narrative.decisions, "decisions")
    for text in narrative.pending:
        sections_of.setdefault(text, "pending")
    bullets = _entries(Line(text, section) for text, section in sections_of.items())
    everything = [*pinned, *carried, *new, *ahead, *bullets]
    index = WordIndex(entry.sentence for entry in everything)
    for number, entry in enumerate(everything):
        entry.older = [everything[at] for at in index.near(entry.sentence, number)]
    superseded = _replace([*(carried if branch else ()), *new, *ahead, *bullets], index)
    live = [entry for entry in (*carried, *new) if not entry.replaced]
    candidates = lines = _without_repetitions(pinned, live, bullets, index)
    if count("".join(f"- {entry.line.whole}\n" for entry in lines)) > room:
        lines = _fitting(lines, index, room, count)
    left_out = set(candidates).difference(lines)
    # session by session, the user's before the model's; bullets come last
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


def _entries(lines: Iterable[Line]) -> list[_Entry]:
    """Return lines as entries; the references in a narrative's bullets are no values."""
    return [
        _Entry(line, read(line.text if line.ref else REFERENCE.sub("", line.text)), line.section)
        for line in lines
    ]


def _replace(entries: Iterable[_Entry], index: WordIndex) -> int:
    """Mark what newer sentences replace, and open points that are done; return how many values."""
    superseded = 0
    for new in entries:
        done, bullet = new.sentence.label == "done", not new.line.ref
        scored: list[tuple[float, _Entry]] = []
        for old in new.older:
            if old.replaced or new.line.pasted or (old.section == "pending") != done:
                continue
            overrides = new.line.speaker == "user" or old.line.speaker == "reply"
            # a model's bullet counts when it names the old value as well: "from 30 to 45 s"
            named = old.sentence.figures <= new.sentence.figures and old.section == "key_facts"
            replaces = new.sentence.replaces(old.sentence, in_other_words=bullet)
            if done or (replaces and (overrides or named)):
                scored.append((index.covered(old.sentence, new.sentence), old))
        best = max((score for score, _ in scored), default=0.0)
        winners = [old for score, old in scored if score == best >= 0.5]
        if len({old.sentence.words for old in winners}) > 1:
            continue  # in doubt between two that say different things none is replaced
        for old in winners:
            old.replaced = True
        superseded += 0 if done else len(winners)
    return superseded


def _without_repetitions(
    pinned: Sequence[_Entry], live: Sequence[_Entry], bullets: Sequence[_Entry], index: WordIndex
) -> list[_Entry]:
    """Return the lines that repeat no older one; a repeated line takes a bullet's section."""
    lines: list[_Entry] = []
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
                if old in candidates and index.repeats(entry.sentence, old.sentence, bullet=bullet)
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


def _fitting(
    lines: Sequence[_Entry], index: WordIndex, room: int, count: Callable[[str], int]
) -> list[_Entry]:
    """Return the lines of the highest scores that fit, a newer value before the older one."""
    for entry in lines:
        sentence = entry.sentence
        entry.score = (
            LABEL_POINTS * (bool(sentence.label) + (entry.section != "key_facts"))
            + SHAPE_POINTS[sentence.exactness]
            + WORD_POINTS * min(1.0, len(sentence.words) / 18)
        )
    candidates = {entry for entry in lines if entry.section != "pending"}
    for new in lines:
        older = [old for old in new.older if old in candidates and old.line.ref != new.line.ref]
        scored = [(index.likeness(new.sentence, old.sentence), at) for at, old in enumerate(older)]
        likeness, at = max(scored, default=(0.0, 0))
        if likeness >= NEWER and not new.line.pasted:
            older[at].newer = new
            new.score = max(new.score, older[at].score)
    selected: set[_Entry] = set()
    groups: set[tuple[Section, str]] = set()
    newest_first = list(reversed(lines))
    for best in sorted(newest_first, key=lambda entry: -entry.score):
        for entry in (best.newer or best, best):
            if entry in selected:
                continue
            group = (entry.section, entry.line.mark)
            needed = count(f"- {entry.line.text}\n")
            if group not in groups:  # the mark of neighbors stands once
                needed += count(group[1])
            if needed > room:
                break
            selected.add(entry)
            groups.add(group)
            room -= needed
        if room < 3:
            break
    return [entry for entry in lines if entry in selected]
