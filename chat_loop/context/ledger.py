"""The ledger (pure): picks the sentences that code carries along the chain, byte for byte."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain, islice
from math import fsum, log
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.caches import cached_by_size
from chat_loop.context import activity
from chat_loop.context.exact import figures, find, may_have_values, normalize
from chat_loop.context.grounding import REFERENCE
from chat_loop.context.sources import STEM, call_text, source_lines, stems
from chat_loop.context.statements import statements, without_place
from chat_loop.library.terms import common_words, fold
from chat_loop.redact import Redactor, is_clean
from chat_loop.sessions.records import Exchange, Summary

Section = Literal["decisions", "pending", "key_facts"]
SECTIONS: tuple[Section, ...] = ("decisions", "pending", "key_facts")
Speaker = Literal["user", "reply", "narrative"]

OWN_WORDS = 20_000  # characters; people type several pages, but a longer query was pasted
LOOKED_AT = 60_000  # characters read from one text, half at each end
READ_AHEAD = 4_000_000  # characters of exchanges whose sentences are kept
PASTED_FACTS = 60  # the most sentences taken from one pasted text
MOST_SOURCES = 10  # the most lines of results taken from one exchange

_MARK = re.compile(r" \[(\d{1,9}) (user|reply)\]\Z")
_QUESTION = re.compile(r"[?？][\"'”’)\]»*_]{0,3}\Z|\A¿")
_EXCLAIMED = re.compile(r"[!！][\"'”’)\]»*_]{0,3}\Z")
_YEAR = re.compile(r"(?:19|20)\d\d")
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


_NAMING = frozenset(("code", "quote", "identifier"))
"""The kinds of values that only name something."""
_NAMING_OR_PATH = _NAMING | {"path"}


LABEL_POINTS = 3.0  # for a label, and again for a decision or a pending point
SHAPE_POINTS = (0.0, 2.0, 4.0, 6.0)  # by the exactness of its values
EXPLAINED = -4.0  # for a reply's sentence whose only values are code: it explains something
WORD_POINTS = 8.0  # for 18 words; shorter sentences get fewer, since asides are short
NEWER = 0.16  # the least likeness at which a line gives an older one a newer value
_KEYS = 8  # the rarest words and figures of a line by which similar ones are found
_NEAREST = 20  # the most lines that one of them finds, the last ones


class LedgerLine(Struct, frozen=True, dict=True):
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
        if not self.ref:
            return ""
        return f" [{self.session} {self.speaker}]"

    @cached_property
    def whole(self) -> str:
        """The line as it is written in the block."""
        return self.text + self.mark


class ParsedSentence(Struct, frozen=True):
    """A sentence in a form for comparison. `exactness` is the loss if its values disappear: 0 for
    none, 1 for a bare number, 2 for a measure, 3 for a path or id. The remaining fields ignore
    names. `normals` are the values in a uniform spelling, in order. `measures` are their units or
    kinds, such as `min` or `path`. `traits` are both. `figures` are the numbers without units, and
    the other values. `words` are the beginnings of the words outside the values.
    """

    text: str
    values: tuple[str, ...]
    exactness: int
    normals: tuple[str, ...]
    normal_set: frozenset[str]
    measures: frozenset[str]
    traits: frozenset[str]
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
    """The child's block, the lines with values that did not fit, and the replaced ones, each with
    the line that replaced it or says that it is done.
    """

    summary: Summary
    archived: tuple[LedgerLine, ...] = ()
    replaced: tuple[tuple[LedgerLine, LedgerLine], ...] = ()

    @property
    def archived_values(self) -> frozenset[str]:
        """The values of the lines that did not fit, in a uniform spelling."""
        return frozenset(value for line in self.archived for value in read(line.text).values)

    @property
    def superseded(self) -> int:
        """The number of values that were replaced."""
        return sum(read(newer.text).label != "done" for _, newer in self.replaced)


class Candidate(Struct, frozen=True, eq=False):
    """A line that may stand in the block, and its parsed sentence. Two are never the same, even if
    they say the same.
    """

    line: LedgerLine
    sentence: ParsedSentence


def items(summary: Summary) -> Iterator[LedgerLine]:
    """Yield the lines of a summary block that the ledger may carry, in order."""
    for section in SECTIONS:
        lines: tuple[str, ...] = getattr(summary, section)
        for whole in lines:
            mark = _MARK.search(whole[-30:])
            if mark is None:
                yield LedgerLine(whole, section)
                continue
            text = whole[: len(whole) - len(mark.group())]
            speaker: Speaker = "user"
            if mark[2] == "reply":
                speaker = "reply"
            yield LedgerLine(text, section, mark[1], speaker)


def collect(exchanges: Iterable[Exchange], redactor: Redactor | None = None) -> list[Candidate]:
    """Return the sentences worth keeping, in order, without secrets and echoes."""
    redactor = redactor or Redactor()
    candidates: list[Candidate] = []
    for exchange in exchanges:
        query = exchange.query.text
        reply = ""
        if exchange.reply is not None:
            reply = exchange.reply.text
        pasted = len(query) > OWN_WORDS
        query = _clip(query)
        reply = _clip(reply)
        said = read_clean(query, reply, pasted)
        if said is None:
            said = tuple(_read_exchange(redactor(query), redactor(reply), pasted))
        called = "\n".join(map(call_text, filter(activity.is_done, exchange.uses)))
        for speaker, sentence in said:
            if called and speaker == "user" and _is_order(sentence, called):
                continue
            section: Section = "key_facts"
            if speaker == "user" and sentence.label in ("decisions", "pending"):
                section = sentence.label
            is_pasted = pasted and speaker == "user"
            line = LedgerLine(sentence.text, section, exchange.ref, speaker, is_pasted)
            candidates.append(Candidate(line, sentence))
        if exchange.uses:
            candidates += _sources(exchange, said, redactor)
    return candidates


def _sources(exchange: Exchange, said: _Said, redactor: Redactor) -> Iterator[Candidate]:
    """Yield the lines of results from which the reply took values. They count as said by the reply,
    but as pasted: they neither decide anything nor replace another line.
    """
    lines: dict[str, None] = {}
    for speaker, sentence in said:
        if speaker == "reply":
            lines |= dict.fromkeys(source_lines(exchange, sentence.text, sentence.values))
    for text in (*islice(lines, MOST_SOURCES), *activity.commits(exchange)):
        line = LedgerLine(redactor(text), "key_facts", exchange.ref, "reply", pasted=True)
        yield Candidate(line, read(line.text))


def _is_order(sentence: ParsedSentence, called: str) -> bool:
    """Return True for a sentence that asks only for what was `called`: its telling words are there,
    and its values, which only name something.
    """
    if sentence.label or not sentence.measures <= _NAMING_OR_PATH:
        return False
    names = all(value.strip("`\"'") in called for value in sentence.values)
    return names and _telling(sentence.words) <= stems(called)


def _telling(words: Iterable[str]) -> set[str]:
    """Return the beginnings of words that say something of what a text is about."""
    common = common_words(STEM)
    return {word for word in words if fold(word) not in common}


def _clip(text: str) -> str:
    """Return a text, or only both ends of a long one."""
    if len(text) <= LOOKED_AT:
        return text
    return f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"


def read_ahead(parent: Summary | None, exchanges: Sequence[Exchange]) -> None:
    """Parse the sources of a block before it is needed, to fill the caches of the slowest step."""
    collect(exchanges)
    _candidates(items(parent or Summary()))


@cached_by_size(READ_AHEAD)  # a context is read in the background before it is compacted
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
    if pasted:
        said = islice(said, PASTED_FACTS)
    are_courtesies = _only_exclaims(query) and _only_exclaims(reply)
    for sentence in said:
        asked |= sentence.figures
        if not (are_courtesies and _is_courtesy(sentence, reply)):
            yield "user", sentence
    for sentence in _worth_keeping(reply, borrowed=True):
        is_echo = sentence.figures and sentence.figures <= asked
        if not (is_echo or _is_courtesy(sentence, query)):
            yield "reply", sentence


def _only_exclaims(text: str) -> bool:
    return text.rstrip().endswith(("!", "！")) and all(
        _EXCLAIMED.search(part.text) for part in statements(text)
    )


def _is_courtesy(sentence: ParsedSentence, other: str) -> bool:
    """Return True for an exclamation without a label, and without a value other than a year, that
    shares no telling word with what the `other` speaker says.
    """
    if not _EXCLAIMED.search(sentence.text) or sentence.label:
        return False
    if not all(map(_YEAR.fullmatch, sentence.values)):
        return False
    return stems(other).isdisjoint(_telling(sentence.words))


def _worth_keeping(text: str, borrowed: bool) -> Iterator[ParsedSentence]:
    """Yield the sentences of a text that say something, without headings and code. A `borrowed`
    sentence, which is not the user's own, needs an exact value or a known label, and so does a
    question.
    """
    for part in statements(text):
        if part.role in ("heading", "code") or len(part.text) <= 3:
            continue
        if part.role == "command":
            yield read(part.text)
            continue
        is_borrowed = borrowed or part.role in ("row", "quoted")
        if is_borrowed:
            rest = without_place(part.text)
            if rest != part.text and not may_have_values(rest):
                continue
        # most of a reply has nothing exact, and is not parsed any further
        needs_value = is_borrowed or _QUESTION.search(part.text)
        if not needs_value or may_have_values(part.text) or _LABEL.match(part.text):
            sentence = read(part.text)
            if _is_worth_keeping(sentence, is_borrowed):
                yield sentence


def _is_worth_keeping(sentence: ParsedSentence, borrowed: bool) -> bool:
    """Return True unless a sentence says next to nothing or is a question. One of the user with an
    exact value may tell something, but not if it only names what it asks about.
    """
    if _QUESTION.search(sentence.text) and not sentence.label:
        tells = not sentence.measures <= _NAMING
        return tells and sentence.exactness > 1 and not borrowed
    if not borrowed:
        if sentence.values or sentence.label:
            return True
        common = common_words(STEM)
        return len(sentence.words) > 2 and any(fold(word) not in common for word in sentence.words)
    if sentence.text.endswith(":"):
        return False
    least = 1 if len(sentence.words) > 2 else 2
    return sentence.exactness >= least or sentence.label not in ("", "other")


@lru_cache(maxsize=2048)  # enough for a block and a span; a large session would take 50 MB
def read(text: str) -> ParsedSentence:
    """Parse the first 1,000 characters of a sentence: its values, words and label."""
    text = text[:1_000]
    values = find(text)
    label: Label = ""
    position = 0
    if (labeled := _LABEL.match(text)) is not None:
        label = LABELS.get(labeled[1].casefold().split()[0], "other")
        position = labeled.end()
    outside = ""
    exactness = 0
    is_code = bool(values)
    normals: list[str] = []
    measures: set[str] = set()
    bare: set[str] = set()
    for value in values:
        exactness = max(exactness, _EXACTNESS.get(value.kind, 3))
        is_code = is_code and value.kind in ("code", "quote")
        if value.kind == "name":
            continue
        normal = normalize(value.text)
        normals.append(normal)
        measures.add(value.unit or value.kind)
        numbers: list[str] = []
        if value.kind in ("quantity", "number"):
            numbers = figures(value.text)  # an echo may omit the unit of a measure
        bare.update(numbers or [normal])
        outside += f"{text[position : value.start]} "
        position = max(position, value.end)
    return ParsedSentence(
        text=text,
        values=tuple([value.text for value in values]),
        exactness=exactness,
        normals=tuple(normals),
        normal_set=frozenset(normals),
        measures=frozenset(measures),
        traits=frozenset(measures.union(normals)),
        figures=frozenset(bare),
        words=stems(outside + text[position:]),
        label=label,
        is_code=is_code,
    )


def _older(candidates: Sequence[Candidate], telling: Set[str]) -> dict[Candidate, list[Candidate]]:
    """Return for each candidate the similar earlier ones, which share its rarest `telling` words or
    figures, in order. They also share a trait if it has any and closes no open point.
    """
    found: dict[Candidate, list[Candidate]] = {}
    positions: dict[str, list[int]] = defaultdict(list)  # of a word or figure, in order
    for number, candidate in enumerate(candidates):
        sentence = candidate.sentence
        traits = sentence.traits
        is_done = sentence.label == "done"
        keys = (sentence.words & telling or sentence.words) | sentence.figures
        rarest = sorted([(len(positions[key]), key) for key in keys if key in positions])[:_KEYS]
        if candidate.line.ref and not traits and not is_done:
            rarest = rarest[:1]  # it can only repeat a line that has all of its words
        near: set[int] = set()
        for _, key in rarest:
            near.update(positions[key][-_NEAREST:])
        older = [candidates[at] for at in sorted(near)]
        if traits and not is_done:
            older = [each for each in older if not traits.isdisjoint(each.sentence.traits)]
        found[candidate] = older
        for key in keys:
            positions[key].append(number)
    return found


class WordIndex:
    """The weights of all words, the rarer the more, and for each candidate similar earlier ones."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        numbers = Counter(chain.from_iterable(each.sentence.words for each in candidates))
        total = 1 + len(candidates)
        self._weights = {word: log(1 + total / number) for word, number in numbers.items()}
        self._telling = _telling(self._weights)
        self._weight_of: dict[Candidate, float] = {}
        self._telling_of: dict[Candidate, float] = {}
        for each in candidates:
            self._weight_of[each] = self.weight(each.sentence.words)
            self._telling_of[each] = self.weight(each.sentence.words & self._telling)
        self._older = _older(candidates, self._telling)

    def older(self, candidate: Candidate) -> Sequence[Candidate]:
        """Return the similar earlier candidates, in order."""
        return self._older[candidate]

    def weight(self, words: Iterable[str]) -> float:
        """Return the total weight of `words`."""
        return fsum(map(self._weights.__getitem__, words))

    def covered(self, one: Candidate, other: Candidate) -> float:
        """Return the share of the words of `one` that `other` also has, by weight, from 0 to 1."""
        words = one.sentence.words
        others = other.sentence.words
        if words <= others:
            return 1.0
        return self.weight(words & others) / self._weight_of[one]

    def repeats(self, one: Candidate, other: Candidate, *, bullet: bool = False) -> bool:
        """Return True if `other` has all values of `one` and nearly all of its words."""
        sentence = one.sentence
        before = other.sentence
        if not sentence.normal_set <= before.normal_set:
            return False
        if not bullet and sentence.apart(before):
            return False
        least = 1.0
        if bullet:
            least = 0.7
        elif sentence.normals:
            least = 0.8
        return self.covered(one, other) >= least

    def likeness(self, new: Candidate, old: Candidate) -> float:
        """Return the likelihood, from 0 to 1, that `new` only gives `old` a new value."""
        sentence = new.sentence
        before = old.sentence
        is_other = sentence.normal_set.isdisjoint(before.normal_set)
        if not is_other or sentence.measures.isdisjoint(before.measures):
            return 0.0
        shared = self.weight(sentence.words & before.words & self._telling)
        if not shared:
            return 0.0
        share = shared / min(self._telling_of[new], self._telling_of[old])
        if not sentence.varies(before):
            share *= 0.75
        return share


def ledger(
    parent: Summary | None,
    narrative: Summary | None,
    span: Sequence[Exchange],
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
    carried = _candidates(items(parent))
    if branch is not None:
        carried += _candidates(items(branch))
        carried.sort(key=lambda candidate: candidate.line.session)
    pinned = _candidates(LedgerLine(pin, "key_facts") for pin in pins)
    new = collect(span, redactor)
    ahead = collect(tail, redactor)
    sections_of: dict[str, Section] = dict.fromkeys(narrative.decisions, "decisions")
    for text in narrative.pending:
        sections_of.setdefault(text, "pending")
    bullets = _candidates(LedgerLine(text, section) for text, section in sections_of.items())

    index = WordIndex([*pinned, *carried, *new, *ahead, *bullets])
    later = [*new, *ahead, *bullets]
    if branch is not None:
        later = [*carried, *later]
    replaced = _replaced(later, index)
    live = [candidate for candidate in (*carried, *new) if candidate not in replaced]
    sections = _without_repetitions(pinned, live, bullets, index)
    scores = _scores(sections, index)
    kept = _fitting(sections, scores, room, count)

    # by session, the user's lines before the model's; a narrative's bullets come last
    ordered = sorted(kept, key=lambda each: (each.line.session, each.line.speaker != "user"))
    lists: dict[Section, list[str]] = {section: [] for section in SECTIONS}
    for each in ordered:
        lists[sections[each]].append(each.line.whole)
    summary = replace(
        narrative,
        decisions=tuple(lists["decisions"]),
        pending=tuple(lists["pending"]),
        key_facts=tuple(lists["key_facts"]),
        pinned=tuple(dict.fromkeys(pins)),
        files=activity.files(parent.files, span),
        tools=activity.tools(parent.tools, span),
    )
    left_out = sections.keys() - kept
    archived = (each.line for each in live if each in left_out and each.sentence.values)
    pairs = ((old.line, newer.line) for old, newer in replaced.items())
    return LedgerBlock(summary, tuple(archived), tuple(pairs))


def _candidates(lines: Iterable[LedgerLine]) -> list[Candidate]:
    """Return lines as candidates. References in a narrative's bullets are not read as values."""
    candidates = []
    for line in lines:
        text = line.text
        if not line.ref:
            text = REFERENCE.sub("", text)
        candidates.append(Candidate(line, read(text)))
    return candidates


def _replaced(later: Iterable[Candidate], index: WordIndex) -> dict[Candidate, Candidate]:
    """Return the candidates that `later` ones replace or complete, each with that later one."""
    gone: dict[Candidate, Candidate] = {}
    for new in later:
        best = 0.5
        winners: list[Candidate] = []
        for old in index.older(new):
            if old in gone or not _may_replace(new, old):
                continue
            share = index.covered(old, new)
            if share > best:
                best = share
                winners = []
            if share == best:
                winners.append(old)
        if len({old.sentence.words for old in winners}) > 1:
            continue  # if two different lines match equally well, neither is replaced
        gone |= dict.fromkeys(winners, new)
    return gone


def _may_replace(new: Candidate, old: Candidate) -> bool:
    """Return True if `new` completes an open point, or gives an older line another value."""
    is_done = new.sentence.label == "done"
    if new.line.pasted or (old.line.section == "pending") != is_done:
        return False
    if is_done:
        return True
    overrides = new.line.speaker == "user" or old.line.speaker == "reply"
    # a model's line counts if it names the old value as well: "from 30 to 45 s"
    is_named = old.sentence.figures <= new.sentence.figures and old.line.section == "key_facts"
    is_bullet = not new.line.ref
    replaces = new.sentence.replaces(old.sentence, in_other_words=is_bullet)
    return replaces and (overrides or is_named)


def _without_repetitions(
    pinned: Sequence[Candidate],
    live: Sequence[Candidate],
    bullets: Sequence[Candidate],
    index: WordIndex,
) -> dict[Candidate, Section]:
    """Return the candidates that say nothing again, in order, each with its section of the block. A
    key fact takes the section of its repetition.
    """
    sections: dict[Candidate, Section] = {}
    written: set[str] = set()
    originals = {*pinned, *live}
    sourced = {candidate for candidate in live if candidate.line.ref}
    section_of = {candidate: candidate.line.section for candidate in (*pinned, *live, *bullets)}
    for candidate in (*live, *bullets):
        is_bullet = candidate not in originals
        earlier = originals
        if is_bullet:
            earlier = sourced
        repeated = _repeated(candidate, earlier, index, bullet=is_bullet)
        if repeated is None:
            if candidate.line.whole not in written:
                sections[candidate] = section_of[candidate]
                written.add(candidate.line.whole)
            continue
        originals.discard(candidate)
        marks = not is_bullet or repeated.line.speaker == "user"
        if section_of[repeated] == "key_facts" and marks:
            section_of[repeated] = section_of[candidate]
    return {candidate: section_of[candidate] for candidate in sections}


def _repeated(
    candidate: Candidate, earlier: Set[Candidate], index: WordIndex, *, bullet: bool
) -> Candidate | None:
    """Return the first of the `earlier` candidates that a candidate repeats."""
    for old in index.older(candidate):
        if old in earlier and index.repeats(candidate, old, bullet=bullet):
            return old
    return None


class _Scores(Struct, frozen=True):
    """The loss without each candidate, and for some of them the one with its newer value."""

    points: Mapping[Candidate, float]
    newer: Mapping[Candidate, Candidate]


def _scores(sections: Mapping[Candidate, Section], index: WordIndex) -> _Scores:
    """Score candidates, given with their sections. A newer value counts as much as the older line
    that it is most like; of several newer values, the most alike counts.
    """
    points = {each: _points(each, section) for each, section in sections.items()}
    newer: dict[Candidate, Candidate] = {}
    likenesses: dict[Candidate, float] = {}  # of each candidate to its newer value
    for new in sections:
        if new.line.pasted or not new.sentence.measures:
            continue
        nearest = NEWER
        worth = points[new]
        for old in index.older(new):
            likeness = index.likeness(new, old)
            is_open = sections.get(old, "pending") == "pending"
            if likeness < NEWER or is_open or not _is_said_before(old.line, new.line):
                continue
            if likeness >= likenesses.get(old, NEWER):
                newer[old] = new
                likenesses[old] = likeness
            if likeness >= nearest:
                nearest = likeness
                worth = max(points[new], points[old])
        points[new] = worth
    return _Scores(points, newer)


def newer_values(said: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Map sentences, given in order with their references and places, to those that give them a
    newer value: the newest, if several do.
    """
    lines = _candidates(
        LedgerLine(text, "key_facts", ref, "user") for text, (ref, _) in said.items()
    )
    newer = _scores(dict.fromkeys(lines, "key_facts"), WordIndex(lines)).newer
    found: dict[str, str] = {}
    for old in reversed(lines):
        if old in newer:
            new = newer[old].line.text
            found[old.line.text] = found.get(new, new)
    return found


def _is_said_before(first: LedgerLine, second: LedgerLine) -> bool:
    """Return True if the first of two lines, in their order, was said in an earlier exchange.
    Carried lines name only their session, in which each speaker's lines are in order.
    """
    if first.ref != second.ref:
        return True
    return "." not in first.ref and first.speaker == second.speaker


def _points(candidate: Candidate, section: Section) -> float:
    """Return the loss without a candidate by itself."""
    sentence = candidate.sentence
    line = candidate.line
    points = LABEL_POINTS * (bool(sentence.label) + (section != "key_facts"))
    points += SHAPE_POINTS[sentence.exactness]
    points += WORD_POINTS * min(1.0, len(sentence.words) / 18)
    if sentence.is_code and line.speaker == "reply" and not line.pasted:
        points += EXPLAINED
    return points


def _fitting(
    sections: Mapping[Candidate, Section],
    scores: _Scores,
    room: int,
    count: Callable[[str], int],
) -> list[Candidate]:
    """Return the highest-scoring candidates that fit, in their order. A newer value is chosen
    before the older one.
    """
    selected: set[Candidate] = set()
    groups: set[tuple[Section, str]] = set()
    newest_first = list(sections)[::-1]
    for best in sorted(newest_first, key=lambda each: -scores.points[each]):
        for candidate in (scores.newer.get(best, best), best):
            if candidate in selected:
                continue
            mark = candidate.line.mark
            group = (sections[candidate], mark)
            needed = count(f"- {candidate.line.text}\n")
            if group not in groups:  # neighbors share one line with their mark
                needed += count(mark)
            if needed > room:
                break
            selected.add(candidate)
            groups.add(group)
            room -= needed
        if room < 3:
            break
    return [candidate for candidate in sections if candidate in selected]
