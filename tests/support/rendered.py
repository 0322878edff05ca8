"""Markdown as a terminal receives it: cut into pieces, rendered, and stripped of styles."""

from __future__ import annotations

import re
import unicodedata

from chat_loop.display.markdown.markdown_stream import MarkdownStream
from chat_loop.display.markdown.theme import PLAIN, theme_of

SGR = re.compile(r"\x1b\[[0-9;]*m")


def painter(
    columns: int = 80,
    *,
    theme: str = "auto",
    color: bool = True,
    wraps: bool = False,
) -> MarkdownStream:
    return MarkdownStream(theme_of(theme) if color else PLAIN, lambda: columns, wraps=wraps)


def sent(pieces: list[str], columns: int = 80, *, wraps: bool = False) -> str:
    """Return the output that the terminal receives for a text in pieces."""
    made = painter(columns, wraps=wraps)
    return "".join([*map(made.feed, pieces), made.finish()])


def plain(text: str, columns: int = 80) -> str:
    return SGR.sub("", sent([text], columns))


def cut(text: str, sizes: list[int]) -> list[str]:
    """Return `text` in pieces of `sizes` characters; the sizes are used in turn."""
    pieces, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        pieces.append(text[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


def obeyed(text: str) -> set[str]:
    """Return the characters of `text` that a terminal obeys or hides."""
    return {
        sign
        for sign in text
        if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") and sign not in "\n\t"
    } | {
        sign
        for sign in text
        if unicodedata.bidirectional(sign) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI")
    }
