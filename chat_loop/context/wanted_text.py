"""A text to look for (pure): tells if others say it, in the same words or with the same values in
other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chat_loop.context.ledger import read
from chat_loop.context.sources import stems
from chat_loop.context.statements import statements
from chat_loop.errors import UsageError
from chat_loop.library.terms import by_script, drop_common, terms, words

LONGEST = 1_000  # characters
AROUND = 500  # characters on each side of a place that are read for its sentence
SHARE = 0.8  # the least share of the telling words that a text in other words has
FEW = 2  # so few telling words must all be there


class WantedText:
    """A text to look for. Blanks, newlines and capitals do not matter. It is found whole: `5 min`
    is not in `25 min`.
    """

    def __init__(self, text: str) -> None:
        """Raises UsageError for a text that shows nothing, and for a long one."""
        parts = text.split()
        self.text = " ".join(parts)
        if not any(map(str.isprintable, "".join(parts))):
            raise UsageError("There is nothing to look for.", "Give some words or a value.")
        if len(self.text) > LONGEST:
            hint = "A sentence or a value is enough."
            raise UsageError(f"That text has more than {LONGEST:,} characters.", hint)
        middle = r"\s+".join(map(re.escape, parts))
        before = r"(?<![^\W_])(?<!\d[.,:])" * _is_joined(self.text[0])
        after = r"(?![^\W_]|[.,:]\d)" * _is_joined(self.text[-1])
        self._phrase = re.compile(f"{before}{middle}{after}", re.IGNORECASE)
        self._figures = read(self.text).figures
        telling = drop_common(terms(self.text))
        self._words = stems(" ".join(term.text for term in telling if term.plain))
        self._exact: set[str] = set()
        for term in telling:
            if term.exact:
                self._exact.update(term.words)
        self._least = len(self._words)
        if self._least > FEW:
            self._least = round(SHARE * self._least)

    def is_in(self, text: str) -> bool:
        """Return True if a text has it word for word."""
        return self._phrase.search(text) is not None

    def is_told_by(self, sentence: str) -> bool:
        """Return True if a sentence has it word for word, or all its values and most of its telling
        words.
        """
        if self.is_in(sentence):
            return True
        if len(self._words) + len(self._figures | self._exact) < FEW:
            return False
        if len(self._words & stems(sentence)) < self._least:
            return False
        return self._exact <= {*words(sentence)} and self._figures <= read(sentence).figures

    def told_in(self, text: str) -> str:
        """Return the first sentence of a text that tells it, maybe in other words; "" for none."""
        folded = text.casefold()
        if sum(word in folded for word in self._words) < self._least:
            return ""
        return next(self._told(text), "")

    def sentence_in(self, text: str) -> str:
        """Return the sentence of a text with its first place, or what is around that."""
        place = self._phrase.search(text)
        if place is None:
            return self.told_in(text)
        start = max(0, place.start() - AROUND)
        around = text[start : place.end() + AROUND]
        first = around.rfind("\n", 0, place.start() - start) + 1
        last = around.find("\n", place.end() - start)
        if last < 0:
            last = len(around)
        line = around[first:last]
        for part in statements(line):
            if self.is_in(part.text):
                return part.text
        return " ".join(line.split())

    def _told(self, text: str) -> Iterator[str]:
        return (part.text for part in statements(text) if self.is_told_by(part.text))


def _is_joined(character: str) -> bool:
    """Return True if a character belongs to a word that blanks end."""
    return character.isalnum() and len(by_script(character)) == 1
