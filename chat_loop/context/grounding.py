"""Grounding (pure): tells the bullets of a narrative that the conversation bears out from those that
say nothing, such as "Nothing pending at this time", in any language and without a list of phrases.

A bullet is borne out by a sentence that shares its telling words, or by an exact value. A bullet
that says that there is nothing shares only function words with what was said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import log

from msgspec.structs import replace

from chat_loop.context.exact import find
from chat_loop.library.terms import Term, drop_common, related, terms, words
from chat_loop.sessions.records import Summary
from chat_loop.text import sentences

ALONE = 0.2  # the least share of a bullet's telling words, by weight, in one sentence
REFERRED = 0.1  # the same for the exchange that the bullet refers to
_ALIKE = 0.5  # the least certainty that two words mean the same
_PART = 3  # the least letters of a compound's other part: "spending" is no kind of "pending"
REFERENCE = re.compile(r"\[[\d.,;\s–-]{1,40}(?:reply|user)?\]")
"""A bullet's reference to places in the chain: `[2.14]`, `[3, 5-7]`. It is not a value."""
_SPEAKER = re.compile(r"^\[([\d.]{1,20})\] (?:User|Assistant|Tool|File)[^:\n]{0,40}: ", re.MULTILINE)
_PLACE = re.compile(r"\d{1,9}\.\d{1,9}")
_NOW = frozenset(("time", "moment", "momento", "momentan", "point", "zeitpunkt", "zeit", "stage"))
"""Nouns of phrases that mean "now". Like function words, they tell nothing of a bullet's subject."""


class Grounds:
    """The sentences of a span, given as the transcripts of its exchanges, by their words."""

    def __init__(self, transcripts: Iterable[str]) -> None:
        self._sentences = 0
        self._places: dict[str, set[int]] = defaultdict(set)  # word -> numbers of its sentences
        self._forms: dict[str, set[str]] = defaultdict(set)  # first or last letters -> words
        self._of: dict[str, range] = {}  # reference of an exchange -> numbers of its sentences
        for transcript in transcripts:
            self._add(transcript)

    def _add(self, transcript: str) -> None:
        first = self._sentences
        for sentence in sentences(_SPEAKER.sub("", transcript)):
            for word in words(sentence.text):
                self._places[word].add(self._sentences)
                self._forms[word[:3]].add(word)
                self._forms[f"-{word[-3:]}"].add(word)
            self._sentences += 1
        for place in set(_SPEAKER.findall(transcript)):
            self._of[place] = range(first, self._sentences)

    def refers(self, bullet: str) -> list[str]:
        """Return the exchanges of the span to which a bullet refers."""
        named = (place for mark in REFERENCE.findall(bullet) for place in _PLACE.findall(mark))
        return [place for place in named if place in self._of]

    def bears_out(self, bullet: str) -> bool:
        """Return True if a bullet has a source: a sentence that shares its telling words, or an
        exact value, which `verify` looks up.
        """
        bare = REFERENCE.sub("", bullet)
        if any(value.kind != "number" for value in find(bare)):
            return True
        shares = self._shares(bare)
        if max(shares.values(), default=0.0) >= ALONE:
            return True
        for place in self.refers(bullet):
            if any(shares.get(number, 0.0) >= REFERRED for number in self._of[place]):
                return True
        return False

    def _shares(self, text: str) -> dict[int, float]:
        """Return, by sentence, the share of a text's telling words that it has, by weight."""
        asked = [term for term in drop_common(terms(text)) if term.text not in _NOW]
        found: dict[int, float] = defaultdict(float)
        whole = 0.0
        for term in asked:
            places = self._where(term)
            weight = log(1 + self._sentences / (len(places) or 0.5))
            whole += weight
            for number, certainty in places.items():
                found[number] += weight * certainty
        return {number: weight / whole for number, weight in found.items()}

    def _where(self, term: Term) -> dict[int, float]:
        """Return the sentences with a term or with a form of it, and how certain that is."""
        if len(term.words) > 1:
            places = [self._places.get(word, set()) for word in term.words]
            return dict.fromkeys(set.intersection(*places), 1.0)
        word = term.words[0]
        alike = {word, *self._forms.get(word[:3], ()), *self._forms.get(f"-{word[-3:]}", ())}
        found: dict[int, float] = {}
        for other in alike:
            begins = other[:3] == word[:3]
            is_compound = abs(len(other) - len(word)) >= _PART
            certainty = related(term, other) if begins or is_compound else 0.0
            if certainty >= _ALIKE:
                for number in self._places.get(other, ()):
                    found[number] = max(found.get(number, 0.0), certainty)
        return found


def drop_groundless(narrative: Summary, transcripts: Sequence[str]) -> Summary:
    """Return a narrative without the decisions and open points that nothing in its span bears out.
    If its topics share no words with the span either, as in another language, only references
    count: a narrative that has some refers to what each bullet comes from.
    """
    grounds = Grounds(transcripts)
    known = [topic for topic in narrative.topics if grounds.bears_out(topic)]
    every = (*narrative.topics, *narrative.decisions, *narrative.pending)
    if known or not narrative.topics:
        keeps = grounds.bears_out
    elif any(map(grounds.refers, every)):

        def keeps(bullet: str) -> bool:
            return bool(grounds.refers(bullet))

    else:
        return narrative
    return replace(
        narrative,
        decisions=tuple(filter(keeps, narrative.decisions)),
        pending=tuple(filter(keeps, narrative.pending)),
    )
