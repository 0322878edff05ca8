"""Colours for code, line by line: comments, strings, numbers and words that a language keeps for
itself.

A line is coloured when it is whole, with what the lines before left open (a comment, a long string)
as its only state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from chat_loop.display.markdown import words

MAX_LENGTH = 2000
"""Characters of a line that is coloured."""


class Language(Struct, frozen=True, kw_only=True):
    """`line`: what begins a comment to the line's end; `quotes`: of strings that end on their line.

    `block`: what goes over lines, as its beginning, its end and its kind.
    """

    line: tuple[str, ...] = ()
    block: tuple[tuple[str, str, str], ...] = ()
    quotes: str = "\"'"
    keywords: frozenset[str] = frozenset()
    any_case: bool = False


_SLASHES = (("/*", "*/", "comment"),)
_TICKS = (*_SLASHES, ("`", "`", "string"))
_TRIPLE = (('"""', '"""', "string"), ("'''", "'''", "string"))


_BASES = {
    "python py python3": Language(keywords=words.PYTHON, line=("#",), block=_TRIPLE),
    "bash sh shell zsh console": Language(keywords=words.SHELL, line=("#",)),
    "c h cpp c++ cc hpp java kotlin kt csharp cs c# scala swift php": Language(
        keywords=words.C_FAMILY, line=("//",), block=_SLASHES
    ),
    "javascript js jsx typescript ts tsx node": Language(
        keywords=words.JAVASCRIPT, line=("//",), block=_TICKS
    ),
    "rust rs": Language(keywords=words.RUST, line=("//",), block=_SLASHES, quotes='"'),
    "go golang": Language(keywords=words.GO, line=("//",), block=_TICKS),
    "ruby rb": Language(keywords=words.RUBY_AND_LUA, line=("#",)),
    "lua": Language(keywords=words.RUBY_AND_LUA, line=("--",), block=(("[[", "]]", "string"),)),
    "sql postgresql sqlite mysql": Language(
        keywords=words.SQL, line=("--",), block=_SLASHES, any_case=True
    ),
    "yaml yml toml ini cfg conf dockerfile docker makefile make r perl nginx": Language(
        keywords=frozenset(("true", "false", "null", "yes", "no")), line=("#",)
    ),
    "json jsonc json5": Language(
        keywords=frozenset(("true", "false", "null")), line=("//",), quotes='"'
    ),
    "html xml svg": Language(block=(("<!--", "-->", "comment"),), quotes='"'),
    "css": Language(block=_SLASHES),
}
_LANGUAGES = {name: language for names, language in _BASES.items() for name in names.split()}
_CHANGES = ("diff", "patch")


class Colours:
    """The lines of one block of code in `language`, in their order."""

    def __init__(self, language: str) -> None:
        self._name = language.lower()
        self._language = _LANGUAGES.get(self._name)
        self._pattern = _pattern(self._language) if self._language is not None else None
        self._open = ""
        self._kind = ""

    def line(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the line in pieces with their kinds (comment, string, number, keyword, name …)."""
        if self._name in _CHANGES:
            kinds = {"+": "added", "-": "removed", "@": "name"}
            yield text, kinds.get(text[:1], "")
            return
        if self._language is None or self._pattern is None or len(text) > MAX_LENGTH:
            yield text, ""
            return
        yield from self._highlight(text, self._language, self._pattern)

    def _highlight(
        self, text: str, language: Language, pattern: re.Pattern[str]
    ) -> Iterator[tuple[str, str]]:
        done = at = 0
        if self._open:
            at = done = self._close_open(text, 0)
            if at:
                yield text[:at], self._kind
        while match := pattern.search(text, at):
            begin, at = match.span()
            kind = match.lastgroup or ""
            if kind == "block":
                closing, kind = next(
                    (end, kind) for sign, end, kind in language.block if sign == match.group()
                )
                self._open, self._kind = closing, kind
                at = self._close_open(text, at)
            elif kind == "word":
                word = match.group()
                known = (word.lower() if language.any_case else word) in language.keywords
                kind = "keyword" if known else "name" if text[at : at + 1] == "(" else ""
            if kind:
                if begin > done:
                    yield text[done:begin], ""
                yield text[begin:at], kind
                done = at
        if done < len(text):
            yield text[done:], ""

    def _close_open(self, text: str, start: int) -> int:
        """Return the end of the open comment or string on this line, else the line's end."""
        end = text.find(self._open, start)
        if end < 0:
            return len(text)
        end += len(self._open)
        self._open = ""
        return end


@cache
def _pattern(language: Language) -> re.Pattern[str]:
    blocks = "|".join(re.escape(sign) for sign, _, _ in language.block)
    lines = "|".join(rf"(?<![\w$&]){re.escape(sign)}.*" for sign in language.line)
    strings = "|".join(rf"{quote}(?:[^{quote}\\]|\\.)*{quote}" for quote in language.quotes)
    parts = {
        "block": blocks,
        "comment": lines,
        "string": strings,
        "number": r"\b\d[\w.]*",
        "word": r"[^\W\d]\w*",
    }
    return re.compile(
        "|".join(f"(?P<{name}>{pattern})" for name, pattern in parts.items() if pattern)
    )
