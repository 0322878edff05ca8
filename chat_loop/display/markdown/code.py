"""Colors for code: comments, strings, numbers and reserved words, line by line.

Pygments takes 13 times as long, which would be most of a reply's CPU time.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

MAX_LENGTH = 2000  # characters; a longer line is not colored
_CHANGES = {"+": "added", "-": "removed", "@": "name"}
"""The kind of a line of a diff by its first character."""

Block = tuple[str, str, str]
"""A comment or a string that may span lines: its opening, its closing and its kind."""


class Language(msgspec.Struct, frozen=True):
    """A language of `languages.toml`."""

    names: str
    comment: str = ""
    quotes: str = "\"'"
    blocks: tuple[Block, ...] = ()
    keywords: str = ""
    any_case: bool = False


class CodeColors:
    """Colors the lines of one block in order. A comment or a string may span several lines."""

    def __init__(self, language: str) -> None:
        language = language.lower()
        self._is_diff = language in ("diff", "patch")
        self._language = _languages().get(language) if language else None
        if self._language is not None:
            self._pattern, self._keywords = _scanner(self._language)
        self._open: Block | None = None

    def line(self, text: str) -> list[tuple[str, str]]:
        """Return the line in pieces with their kinds (comment, string, number, keyword, name …)."""
        if self._is_diff:
            return [(text, _CHANGES.get(text[:1], ""))]
        if self._language is None or len(text) > MAX_LENGTH:
            return [(text, "")]
        pieces: list[tuple[str, str]] = []
        done = 0
        if self._open is not None:
            _, closing, kind = self._open
            end = text.find(closing)
            done = len(text)
            if end >= 0:
                done = end + len(closing)
                self._open = None
            pieces.append((text[:done], kind))
        for match in self._pattern.finditer(text, done):
            part = match[0]
            kind = match.lastgroup or ""
            if kind == "word":
                kind = self._kind_of_word(part, is_called=text.startswith("(", match.end()))
            elif kind.startswith("block"):
                block = self._language.blocks[int(kind.removeprefix("block"))]
                opening, closing, kind = block
                if not part.endswith(closing) or len(part) < len(opening + closing):
                    self._open = block
            if kind:
                pieces.append((text[done : match.start()], ""))
                pieces.append((part, kind))
                done = match.end()
        pieces.append((text[done:], ""))
        return [piece for piece in pieces if piece[0]]

    def _kind_of_word(self, word: str, *, is_called: bool) -> str:
        """Return the kind of a word; empty for one that is not colored."""
        assert self._language is not None
        if self._language.any_case:
            word = word.lower()
        if word in self._keywords:
            return "keyword"
        return "name" if is_called else ""


@cache
def _languages() -> dict[str, Language]:
    data = Path(__file__).with_name("languages.toml").read_bytes()
    by_name: dict[str, Language] = {}
    for language in msgspec.toml.decode(data, type=dict[str, list[Language]])["languages"]:
        by_name |= dict.fromkeys(language.names.split(), language)
    return by_name


@cache
def _scanner(language: Language) -> tuple[re.Pattern[str], frozenset[str]]:
    """Return a pattern with a group for each kind of text, and the set of reserved words."""
    parts = {}
    for number, (opening, closing, _) in enumerate(language.blocks):
        parts[f"block{number}"] = rf"{re.escape(opening)}(?:.*?{re.escape(closing)}|.*)"
    if language.comment:
        parts["comment"] = rf"(?<![\w$&]){re.escape(language.comment)}.*"
    parts["string"] = "|".join(rf"{quote}(?:[^{quote}\\]|\\.)*{quote}" for quote in language.quotes)
    parts["number"] = r"\b\d[\w.]*"
    parts["word"] = r"[^\W\d]\w*"
    pattern = "|".join(f"(?P<{name}>{part})" for name, part in parts.items())
    return re.compile(pattern), frozenset(language.keywords.split())
