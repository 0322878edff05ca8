"""Text measured in the columns of a terminal: cut, filled and broken to a width."""

from __future__ import annotations

import re

from prompt_toolkit.utils import get_cwidth

from chat_loop.display.text import one_line

Piece = tuple[str, str]
"""A style (`bold`, `dim`, `reverse`, `underline`, empty) and a text in it."""
Line = list[Piece]

# Terminals disagree on how wide these make the characters beside them, and a table must know.
_UNSURE = dict.fromkeys(
    (
        *(0x00AD, 0x034F),  # soft hyphen, grapheme joiner
        *range(0x200B, 0x200E),  # zero-width space and joiners
        *(
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),  # variation selectors
        *range(0x1F3FB, 0x1F400),  # skin tones
    )
)

# More than so many marks on one character would reach over the lines around it.
_MARK = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILED = re.compile(f"({_MARK}{{3}}){_MARK}+")


def plain(text: str, length: int) -> str:
    """`text` from outside on one line of at most `length` characters, each of which has a known
    width and height.
    """
    text = text[: length * 4]
    if text.isascii():
        return one_line(text, length)
    return _PILED.sub(r"\1", one_line(text.translate(_UNSURE), length))


def width_of(text: str) -> int:
    """How many columns `text` takes."""
    return len(text) if text.isascii() else get_cwidth(text)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns, its end replaced by `…` where it is too long."""
    if width_of(text) <= width:
        return text
    return f"{_taken(text, width - 1).rstrip()}…" if width > 0 else ""


def filled(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` columns; `right`: blanks stand before it."""
    text = cut(text, width)
    blanks = " " * (width - width_of(text))
    return blanks + text if right else text + blanks


def wrapped(text: str, width: int, most: int) -> list[str]:
    """`text` (one line) broken between words into at most `most` lines of at most `width`
    columns.
    """
    lines: list[str] = []
    line, room = "", width
    words = text.split(" ")[::-1]
    while words and len(lines) <= most:
        word = words.pop()
        needed = width_of(word) + bool(line)
        if needed <= room:
            line, room = f"{line} {word}" if line else word, room - needed
            continue
        if (
            needed > width and not line
        ):  # a word that fits no line: a path, or a language without blanks
            line = _taken(word, width) or word[:1]
            words.append(word[len(line) :])
        else:
            words.append(word)
        lines.append(line)
        line, room = "", width
    lines += [line] if line else []
    if len(lines) > most:
        lines = (
            [*lines[: most - 1], cut(f"{lines[most - 1]} {lines[most]}", width)] if most > 0 else []
        )
    return lines


def padded(line: Line, width: int, style: str = "") -> Line:
    """`line` in exactly `width` columns, its last pieces cut; `style` is added to all of it."""
    pieces: Line = []
    room = width
    for own, text in line:
        if room <= 0:
            break
        shown = cut(text, room)
        room -= width_of(shown)
        pieces.append((f"{own} {style}".strip(), shown))
    return [*pieces, (style, " " * room)] if room > 0 else pieces


def _taken(text: str, width: int) -> str:
    """The beginning of `text` that takes at most `width` columns, whole characters only."""
    if text.isascii():
        return text[: max(0, width)]
    for end, character in enumerate(text):
        width -= get_cwidth(character)
        if width < 0:
            return text[:end]
    return text
