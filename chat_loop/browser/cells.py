"""Text measured in the columns of a terminal: cut, filled and broken to a width."""

from __future__ import annotations

import re

from prompt_toolkit.utils import get_cwidth

from chat_loop.display.text import one_line

Line = list[tuple[str, str]]
"""Pieces: a style (`bold`, `dim`, `reverse`, empty) and a text in it."""

# Terminals disagree on how wide these make the characters beside them: soft hyphen, joiners,
# variation selectors, skin tones.
_UNSURE = re.compile(
    "[\u00ad\u034f\u200b-\u200d\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef\U0001f3fb-\U0001f3ff]"
)
# More than so many marks on one character would reach over the lines around it.
_MARK = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILED = re.compile(f"({_MARK}{{3}}){_MARK}+")


def plain(text: str, length: int) -> str:
    """Return foreign text on one line of at most `length` characters of known width."""
    text = text[: length * 4]
    if text.isascii():
        return one_line(text, length)
    return _PILED.sub(r"\1", one_line(_UNSURE.sub("", text), length))


def width_of(text: str) -> int:
    """Return how many columns `text` takes."""
    return len(text) if text.isascii() else get_cwidth(text)


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` columns, `…` at its end where it is too long."""
    if width_of(text) <= width:
        return text
    return f"{_beginning(text, width - 1).rstrip()}…" if width > 0 else ""


def filled(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` in exactly `width` columns; `right`: blanks stand before it."""
    text = cut(text, width)
    blanks = " " * (width - width_of(text))
    return blanks + text if right else text + blanks


def wrapped(text: str, width: int, most: int) -> list[str]:
    """Return `text` broken between words into at most `most` lines of at most `width` columns."""
    lines: list[str] = []
    while text and len(lines) < most:
        line = _beginning(text, width) or text[:1]
        if len(line) < len(text) and len(lines) == most - 1:
            line = cut(text, width)
        elif len(line) < len(text) and (blank := text.rfind(" ", 0, len(line) + 1)) > 0:
            line = text[:blank]
        lines.append(line)
        text = text[len(line) :].lstrip(" ")
    return lines


def padded(line: Line, width: int, style: str = "") -> Line:
    """Return `line` in exactly `width` columns; `style` is added to all of it."""
    pieces: Line = []
    for own, text in line:
        shown = cut(text, width)
        width -= width_of(shown)
        pieces.append((f"{own} {style}".strip(), shown))
    return [*pieces, (style, " " * width)]


def _beginning(text: str, width: int) -> str:
    """Return the beginning of `text` in at most `width` columns, whole characters only."""
    if text.isascii():
        return text[: max(0, width)]
    for end, character in enumerate(text):
        width -= get_cwidth(character)
        if width < 0:
            return text[:end]
    return text
