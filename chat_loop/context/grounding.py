"""Grounding (pure): tells the bullets of a narrative that have a source in the conversation from
those that say nothing, such as "Nothing pending at this time", in any language and without a list
of phrases.

A bullet is borne out by a sentence that shares its telling words, or by an exact value. A bullet
that says that there is nothing shares only function words with what was said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from math import log

from msgspec.structs import replace

from chat_loop.context.exact import find
from chat_loop.context.messages import prompt
from chat_loop.library.terms import SAME, Term, drop_common, related, terms, words
from chat_loop.sessions.records import Summary
from chat_loop.text import sentences

SHARE = 0.15  # the least share of a bullet's telling words, by weight, in one sentence
ALONE = 0.25  # the same for the only bullet of a section: that is where "nothing" stands
ABOUT_US = 0.5  # the same for a bullet with words of our own request, or that refers to another
REFERRED = 0.1  # the same for the exchange that the bullet refers to
LETTERS = 5  # the least letters of the telling words in that sentence
_ALIKE = 0.5  # the least certainty that two words mean the same
_PART = 3  # the least letters of a compound's other part: "spending" is no kind of "pending"
_LAST = 6  # the least letters of a compound's last part: "getroffen" is no kind of "offen"
REFERENCE = re.compile(r"\[[\d.,;\s–-]{1,40}(?:reply|user)?\]")
"""A bullet's reference to places in the chain: `[2.14]`, `[3, 5-7]`. It is not a value."""
_SPEAKER = re.compile(
    r"^\[([\d.]{1,20})\] (?:User|Assistant|Tool|File)[^:\n]{0,40}: ", re.MULTILINE
)
_HIRAGANA = re.compile("[\u3040-\u309f]+")  # it is Japanese grammar
_REF = re.compile(r"\d{1,9}\.\d{1,9}")
_NOW = ("time", "moment", "momento", "momentan", "point", "zeitpunkt", "zeit", "stage")
_EMPTY = frozenset((*_NOW, "user", "assistant"))
"""Nouns of phrases that mean "now", and the speakers. Like function words, they tell nothing."""


@cache
def _own_words() -> frozenset[str]:
    """Return the telling words with which a summary is asked for, such as "pending"."""
    found: set[str] = set()
    for name in ("system", "request", "form"):
        telling = _telling(prompt(f"summary_{name}.txt"))
        found.update(term.text for term in telling if term.plain)
    return frozenset(found)


class Grounds:
    """The sentences of a span, given as the transcripts of its exchanges, by their words."""

    def __init__(self, transcripts: Iterable[str]) -> None:
        self._sentences = 0
        self._numbers: dict[str, set[int]] = defaultdict(set)  # word -> numbers of its sentences
        self._forms: dict[str, set[str]] = defaultdict(set)  # first or last letters -> words
        self._of: dict[str, range] = {}  # reference of an exchange -> numbers of its sentences
        for transcript in transcripts:
            self._add(transcript)

    def _add(self, transcript: str) -> None:
        first = self._sentences
        for sentence in sentences(_SPEAKER.sub("", transcript)):
            for word in words(sentence.text):
                self._numbers[word].add(self._sentences)
                self._forms[word[:3]].add(word)
                self._forms[f"-{word[-3:]}"].add(word)
            self._sentences += 1
        for ref in set(_SPEAKER.findall(transcript)):
            self._of[ref] = range(first, self._sentences)

    def refers(self, bullet: str) -> list[str]:
        """Return the exchanges of the span to which a bullet refers."""
        found: list[str] = []
        for mark in REFERENCE.findall(bullet):
            found += filter(self._of.__contains__, _REF.findall(mark))
        return found

    def bears_out(self, bullet: str, *, alone: bool = False) -> bool:
        """Return True if a bullet, perhaps the only one of its section, has a source: a sentence
        that shares its telling words, or an exact value, which `verify` looks up.
        """
        bare = REFERENCE.sub("", bullet)
        if any(value.kind != "number" for value in find(bare)):
            return True
        asked = _telling(bare)
        shares, letters = self._shares(asked)
        refs = self.refers(bullet)
        for ref in refs:
            if any(shares.get(number, 0.0) >= REFERRED for number in self._of[ref]):
                return True
        least = ALONE if alone else SHARE
        if refs or any(_is_own(term) for term in asked):
            least = ABOUT_US
        full = (share for number, share in shares.items() if letters[number] >= LETTERS)
        return max(full, default=0.0) >= least

    def _shares(self, asked: Sequence[Term]) -> tuple[dict[int, float], dict[int, int]]:
        """Return, by sentence, the share of telling words that it has, by weight, and how many
        letters these have. The words of our own request are in no sentence.
        """
        found: dict[int, float] = defaultdict(float)
        letters: dict[int, int] = defaultdict(int)
        whole = 0.0
        for term in asked:
            found_in: dict[int, float] = {}
            if not _is_own(term):
                found_in = self._where(term)
            length = len(term.text) if term.text.isascii() else LETTERS
            weight = log(1 + self._sentences / (len(found_in) or 0.5))
            whole += weight
            for number, certainty in found_in.items():
                found[number] += weight * certainty
                letters[number] += length
        return {number: weight / whole for number, weight in found.items()}, letters

    def _where(self, term: Term) -> dict[int, float]:
        """Return the sentences with a term or with a form of it, and how certain that is."""
        if len(term.words) > 1:
            numbers = [self._numbers.get(word, set()) for word in term.words]
            return dict.fromkeys(set.intersection(*numbers), 1.0)
        word = term.words[0]
        found: dict[int, float] = {}
        for other in {word, *self._forms.get(word[:3], ()), *self._forms.get(f"-{word[-3:]}", ())}:
            if not _is_form(word, other):
                continue
            certainty = related(term, other)
            if certainty >= _ALIKE:
                for number in self._numbers.get(other, ()):
                    found[number] = max(found.get(number, 0.0), certainty)
        return found


def _is_form(word: str, other: str) -> bool:
    """Return True if two words begin alike, or if one may be the last part of the other."""
    short, long = sorted((word, other), key=len)
    return word[:3] == other[:3] or (len(short) >= _LAST and len(long) - len(short) >= _PART)


def _telling(text: str) -> list[Term]:
    """Return the words of a text that say something about its subject."""
    telling = []
    for term in drop_common(terms(text)):
        is_empty = term.text in _EMPTY or _is_common(term.text)
        if not is_empty and not _HIRAGANA.fullmatch(term.text):
            telling.append(term)
    return telling


def _is_common(word: str) -> bool:
    """Return True for a form of a function word, such as "needed"."""
    forms = (word.removesuffix(ending) for ending in ("s", "ed", "ing"))
    return any(len(form) >= 4 and not drop_common((Term(form, (form,)),)) for form in forms)


def _is_own(term: Term) -> bool:
    """Return True for a form of a word of our own request."""
    return any(related(term, word) >= SAME for word in _own_words())


def drop_groundless(narrative: Summary, transcripts: Sequence[str]) -> Summary:
    """Return a narrative without the decisions and open points that nothing in its span bears out.
    If its topics share no words with the span either, as in another language, only references
    count: a narrative that has some refers to what each bullet comes from.
    """
    grounds = Grounds(transcripts)
    if narrative.topics and not any(map(grounds.bears_out, narrative.topics)):
        return _only_referring(narrative, grounds)
    return replace(
        narrative,
        decisions=_borne_out(narrative.decisions, grounds),
        pending=_borne_out(narrative.pending, grounds),
    )


def _borne_out(bullets: Sequence[str], grounds: Grounds) -> tuple[str, ...]:
    """Return the bullets of a section that have a source."""
    alone = len(bullets) == 1
    return tuple(bullet for bullet in bullets if grounds.bears_out(bullet, alone=alone))


def _only_referring(narrative: Summary, grounds: Grounds) -> Summary:
    """Return a narrative with the decisions and open points that refer to the span, or all if no
    bullet does.
    """
    if not any(map(grounds.refers, (*narrative.topics, *narrative.decisions, *narrative.pending))):
        return narrative
    return replace(
        narrative,
        decisions=tuple(filter(grounds.refers, narrative.decisions)),
        pending=tuple(filter(grounds.refers, narrative.pending)),
    )
