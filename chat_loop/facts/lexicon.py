"""Word lists (pure): how the tables of words in this package are written."""

from __future__ import annotations


def lexicon(words: str) -> frozenset[str]:
    """The words of a text that lists them with blanks between."""
    return frozenset(words.split())
