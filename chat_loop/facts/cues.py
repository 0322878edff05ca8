"""Cues (pure): which of the phrases of `cue_tables` stand in a sentence, found in one pass over its
words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from chat_loop.facts.cue_tables import LABELS, TABLES
from chat_loop.facts.lexicon import lexicon

_GAP = frozenset({"*"})
_GAP_WORDS = 4
_Words = tuple[frozenset[str], ...]


_Phrase = tuple[str, bool, _Words]
"""A kind, whether it must open the sentence, and the words behind the first."""


@dataclass(slots=True)
class _Starts:
    """The phrases that begin with one word: that word alone, with a certain second word, or with a
    gap behind it.
    """

    single: list[_Phrase] = field(default_factory=list)
    pairs: dict[str, list[_Phrase]] = field(default_factory=dict)
    gapped: list[tuple[frozenset[str], _Phrase]] = field(default_factory=list)
    """With the words one of which must stand somewhere behind the gap."""

    def add(self, kind: str, opens: bool, rest: _Words) -> None:
        if not rest:
            self.single.append((kind, opens, ()))
        elif rest[0] == _GAP:
            self.gapped.append((rest[1] if len(rest) > 1 else frozenset(), (kind, opens, rest)))
        else:
            for second in rest[0]:
                self.pairs.setdefault(second, []).append((kind, opens, rest))

    def phrases(self, second: str, present: frozenset[str]) -> list[_Phrase]:
        """Those that can stand before the word `second` in a sentence of the words `present`."""
        found = [*self.single, *self.pairs.get(second, ())]
        if self.gapped:
            found += [
                phrase
                for needed, phrase in self.gapped
                if not needed or not needed.isdisjoint(present)
            ]
        return found


_OPENERS = lexicon(
    """
    please just really seriously bloß einfach surtout and but so also ok okay well then yes no oh ah bitte und aber
    ja nein dann et mais donc alors oui non svp y pero entonces sí por favor e ma allora sì ed mas então sim en dus
    dan graag
    """
)
_LABEL = re.compile(
    r"[*_]{0,3}([^\W\d_]{2,20})(?: [^\W\d_]{2,12}){0,2}[*_]{0,3}(?:\s?:[*_]{0,3}|\s[-–—])\s"
)


@cache
def _table(language: str) -> Mapping[str, _Starts]:
    table: dict[str, _Starts] = {}
    for line in TABLES.get(language, "").strip().split("\n"):
        kind, _, phrases = line.partition(": ")
        for phrase in phrases.split(", "):
            words = phrase.replace("-", " ").replace(".", " ").split()
            opens = words[:1] == ["^"]
            first, *rest = (frozenset(word.split("/")) for word in words[opens:])
            for word in first:
                table.setdefault(word, _Starts()).add(kind, opens, tuple(rest))
    return table


@cache
def _labels() -> Mapping[str, str]:
    pairs = (line.partition(": ") for line in LABELS.strip().split("\n"))
    return {word: kind for kind, _, words in pairs for word in words.split()}


def label(sentence: str) -> str:
    """What the sentence announces itself as ("Decision: ..."), or ""."""
    match = _LABEL.match(sentence)
    return _labels().get(match.group(1).lower(), "") if match else ""


def cues(words: Sequence[str], language: str) -> frozenset[str]:
    """The kinds of all phrases that stand among the words of one sentence, but for those that mean
    nothing there.
    """
    table = _table(language)
    starts = [(at, table[word]) for at, word in enumerate(words) if word in table]
    if not starts:
        return frozenset()
    present = frozenset(words)
    found: list[tuple[str, int]] = []
    idle: set[int] = set()
    opening = 0
    while opening < len(words) - 1 and words[opening] in _OPENERS:
        opening += 1
    for at, start in starts:
        for kind, opens, rest in start.phrases(
            words[at + 1] if at + 1 < len(words) else "", present
        ):
            if opens and at != opening and not (at < opening and words[at] in _OPENERS):
                continue
            end = _end(words, at + 1, rest)
            if end and kind == "idle":
                idle.update(range(at, end))
            elif end:
                found.append((kind, at))
    return frozenset(kind for kind, at in found if at not in idle or kind == "note")


def _end(words: Sequence[str], at: int, rest: _Words) -> int:
    """Where the words from `at` on stop matching `rest` whole; 0 when they do not."""
    for number, expected in enumerate(rest):
        if expected == _GAP:
            later = rest[number + 1 :]
            ends = (_end(words, at + skipped, later) for skipped in range(_GAP_WORDS + 1))
            return next((end for end in ends if end), 0)
        if at >= len(words) or words[at] not in expected:
            return 0
        at += 1
    return at
