"""Breaks lines between words, into runs of text with the spaces or newlines before them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, field

from chat_loop.display.markdown.blocks import UnwrappedLine
from chat_loop.display.markdown.inline import Span
from chat_loop.display.sanitizer import cells

LONGEST_WORD = 40  # columns; a longer word is not moved to the next line
_PIECES = re.compile(" +|[^ ]+")
_WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f"
    "\uff00-\uff60\uffe0-\uffe6\U00017000-\U00018cff\U0001b000-\U0001b2ff\U00020000-\U0003fffd"
)
"""Wide characters except emoji, which may be joined."""
_PARTS = re.compile(f"([{_WIDE}])|[^{_WIDE}]+")
_CLOSING = frozenset("、。，．！？：；）」』】》〉〕ー々ゝ")
"""Wide characters that must not begin a line."""


class StyledRun(Struct, frozen=True):
    """Text in one style without spaces, and the spaces and newlines before it."""

    gap: str
    text: str
    style: str


class Word(Struct):
    """An unbreakable piece of a line, after `blanks` spaces. Unless it `stays_whole`, it is broken
    where it is long.
    """

    blanks: int
    parts: list[Span] = field(default_factory=list)
    width: int = 0
    stays_whole: bool = False


def words_of(line: UnwrappedLine) -> list[Word]:
    """Return a line's words. Text may be broken before and after a wide character."""
    words: list[Word] = []
    blanks = 0
    joins = False
    wide_before = False
    for span in line.spans:
        for piece in _PIECES.findall(span.text):
            if piece[0] == " ":
                blanks = blanks + len(piece)
                joins = False
                continue
            for part in _PARTS.finditer(piece):
                wide = part[1] is not None
                breaks = (wide or wide_before) and part[0] not in _CLOSING
                if not joins or breaks:
                    words.append(Word(blanks))
                words[-1].parts.append(Span(part[0], span.style))
                words[-1].width += cells(part[0])
                words[-1].stays_whole |= span.stays_whole
                blanks = 0
                joins = True
                wide_before = wide
    return words


def runs_of(line: UnwrappedLine, gap: str, columns: int | None, column: int = 0) -> list[StyledRun]:
    """Return the runs of a line that begins at `column` after `gap`, wrapped to `columns` unless
    that is None. The last word of a growing line is left out if more text could move it.
    """
    runs: list[StyledRun] = []
    if columns is None or not line.wraps:
        _add(runs, gap, (*line.prefix, *line.spans))
        return runs
    room = max(1, columns - 1)
    usual = min(LONGEST_WORD, room * 2 // 3)
    prefix = line.next_prefix
    indent = sum(cells(span.text) for span in line.next_prefix)
    if 2 * indent > room:
        prefix = ()
        indent = 0
    gap = _add(runs, gap, line.prefix)
    column += sum(cells(span.text) for span in line.prefix)
    begin = column
    words = words_of(line)
    growing = not line.complete and words and not line.spans[-1].text.endswith(" ")
    for word in words:
        longest = room - indent if word.stays_whole else usual
        is_full = column > begin and column + word.blanks + word.width > room
        breaks = is_full and word.width <= longest
        near_end = column + word.blanks > room - longest
        if growing and word is words[-1] and (breaks or near_end):
            break
        if breaks:
            gap = _add(runs, "\n", prefix)
            column = indent
        else:
            gap = gap + " " * word.blanks
            column = column + word.blanks
        gap = _add(runs, gap, word.parts)
        column += word.width
        while column > room + 1:
            column -= room + 1
    return runs


def _add(runs: list[StyledRun], gap: str, spans: Sequence[Span]) -> str:
    """Add the runs of `spans` and return the spaces after the last one."""
    for span in spans:
        for piece in _PIECES.findall(span.text):
            if piece[0] == " ":
                gap += piece
            else:
                runs.append(StyledRun(gap, piece, span.style))
                gap = ""
    return gap
