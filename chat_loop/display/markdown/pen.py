"""Output to the terminal: text with attributes, and the newlines and blanks between, which wait
for what follows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby
from unicodedata import east_asian_width

from msgspec import Struct

WORD = 20
"""Columns. A word that begins so far before the margin is written as it comes, and one that is
longer is not moved.
"""
_PIECES = re.compile(" +|[^ ]+")
_CLOSING = frozenset("、。，．！？：；）」』】》〉〕ー々ゝ")
"""Wide characters that no line begins with."""


class Margin(Struct, frozen=True):
    """Where lines of prose are broken: their room in columns, the longest word that is moved, the
    column from which on one may not fit, and what the next line begins with: `bars` in `style`, and
    `indent` blanks.
    """

    room: int
    longest: int
    safe: int
    bars: str
    style: str
    indent: int


@lru_cache(maxsize=64)
def _margin(columns: int, bars: str, style: str, indent: int) -> Margin:
    room = max(1, columns - 1)
    if 2 * (len(bars) + indent) > room:
        bars, indent = "", 0
    bare = bars.rstrip(" ")
    longest = min(WORD, room // 2)
    return Margin(room, longest, room - longest, bare, style, indent + len(bars) - len(bare))


def width_of(text: str) -> int:
    """Columns that `text` takes, which holds no control character."""
    from rich.cells import cell_len  # loaded with the display's console

    return len(text) if text.isascii() else cell_len(text)


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text without blanks where a line may be broken: before and behind wide characters that
    are no emoji, which may be joined. Yield each part, and whether it is such a character.
    """
    for wide, signs in groupby(text, _is_wide):
        if wide:
            yield from ((sign, True) for sign in signs)
        else:
            yield "".join(signs), False


def _is_wide(sign: str) -> bool:
    return (
        sign >= "\u1100"
        and not "\U0001f000" <= sign < "\U00020000"
        and east_asian_width(sign) in "WF"
    )


class Pen:
    """Collects what is sent; `newlines` and `blanks` wait, `started` says whether anything was
    written.

    `columns`: how wide the terminal is; without it, lines are broken by the terminal alone.
    `column`: where it begins.
    """

    def __init__(self, columns: Callable[[], int] | None = None, column: int = 0) -> None:
        self.newlines = 0
        self.blanks = 0
        self.started = False
        self._columns = columns
        self._column = column
        self._margin: Margin | None = None
        self._safe = sys.maxsize
        """The column up to which a line can be filled without a look at its words."""
        self._held: list[tuple[str, str, int]] = []
        """A word that may not fit on the line: pieces of text, with their style and columns."""
        self._held_width = self._held_blanks = 0
        self._after_wide = False
        self._out: list[str] = []
        self._style = ""
        self._dots = 0

    def prose(self, bars: str, style: str, indent: int) -> None:
        """Break what follows between words. Its next lines begin with `bars` and
        `indent` blanks.
        """
        if self._columns is None:
            return
        self._margin = _margin(self._columns(), bars, style, indent)
        self._safe = self._margin.safe

    def put(self, text: str, style: str, *, whole: bool = False) -> None:
        """Write text that holds no newline, in `style`; the blanks at its end wait for what follows
        them.

        The blanks at its beginning belong to neither side, wherever a text was cut. `whole`: it
        never is; if it is a long word, it stands on the next line where it fits.
        """
        margin = self._margin
        if whole and margin is not None and self.blanks and not self.newlines and " " not in text:
            width = width_of(text)
            ends, fits = (
                self._column + self.blanks + width,
                width + margin.indent + len(margin.bars) < margin.room,
            )
            if width > margin.longest and ends >= margin.room and fits:
                self._begin_line(margin)
        if margin is not None and not (
            text.isascii() and self._column + self.blanks + len(text) <= self._safe
        ):
            self._prose(text, style, margin)
            return
        begun = text.lstrip(" ")
        self.blanks += len(text) - len(begun)
        body = begun.rstrip(" ")
        if body:
            self._write(body, style, width_of(body))
            self.blanks = len(begun) - len(body)

    def flow(self, text: str, style: str) -> str:
        """Return what is sent when `text` goes on with a line, and nothing else is to be sent
        before it.
        """
        if (
            text[-1] == " "
            or self.newlines
            or style != self._style
            or self._column + self.blanks + len(text) > self._safe
            or (self._margin is not None and not text.isascii())
        ):
            self.put(text, style)
            return self.sent()
        if self.blanks:
            text = " " * self.blanks + text
            self.blanks = 0
        self._column += len(text)
        return text

    def dots(self, count: int) -> str:
        """Return what makes a line of so many dots, which is taken back when something is
        written.
        """
        new, self._dots = count - self._dots, count
        sent = "\n" * self.newlines + "." * new
        self.newlines = self._column = 0
        return sent

    def plain(self) -> None:
        """The line ends, and with it all attributes."""
        if self._held:
            self._settle()
        self._margin, self._after_wide, self._safe = None, False, sys.maxsize
        if self._style:
            self._set("")

    def sent(self) -> str:
        """Return what was collected, once."""
        sent = "".join(self._out)
        self._out.clear()
        return sent

    def _write(self, body: str, style: str, width: int) -> None:
        """Write text that neither begins nor ends with blanks, behind the newlines and blanks that
        wait.
        """
        if self._dots:
            self._out.append("\r\x1b[K")
            self._dots = 0
        self._column = (0 if self.newlines else self._column) + self.blanks + width
        if self.newlines or self.blanks:
            self._gap(style)
        if style != self._style:
            self._set(style)
        self._out.append(body)
        self.started = True

    def _prose(self, text: str, style: str, margin: Margin) -> None:
        """Write text that may not fit on the line."""
        word = text.lstrip(" ")
        if len(word) < len(text):
            self._blank(len(text) - len(word), margin)
        if " " not in word and word.isascii():  # most tokens
            if word:
                self._word(word, style, len(word), margin)
            return
        for piece in _PIECES.findall(word):
            if piece[0] == " ":
                self._blank(len(piece), margin)
            else:
                for part, wide in _parts(piece):
                    self._word(part, style, width_of(part), margin, wide=wide)

    def _blank(self, count: int, margin: Margin) -> None:
        """Blanks, which end a word."""
        if self._held:
            self._settle()
        self.blanks += count
        self._after_wide, self._safe = False, margin.safe

    def _word(
        self, text: str, style: str, width: int, margin: Margin, *, wide: bool = False
    ) -> None:
        """Write a piece of a word, or hold it until it is known whether the word fits."""
        if (
            self.newlines
            or self.blanks
            or ((wide or self._after_wide) and width and text not in _CLOSING)
        ):
            if self._held:
                self._settle()
            if self.newlines or self._column + self.blanks <= margin.safe:
                self._broken(text, style, width, margin)
            else:
                self._held, self._held_width = [(text, style, width)], width
                self._held_blanks, self.blanks = self.blanks, 0
        elif self._held:
            self._held.append((text, style, width))
            self._held_width += width
        else:
            self._broken(text, style, width, margin)
        if self._held_width > margin.longest:
            self._settle()
        self._after_wide, self._safe = wide, -1 if wide or self._held else margin.safe

    def _settle(self) -> None:
        """The word that is held has ended, or is too long to be held: write it, on the next line if
        it does not fit.
        """
        margin = self._margin
        if margin is None:
            return
        if self._column + self._held_blanks + self._held_width <= margin.room:
            self.blanks = self._held_blanks
        else:
            self._begin_line(margin)
        held, self._held, self._held_width = self._held, [], 0
        for text, style, width in held:
            self._broken(text, style, width, margin)

    def _begin_line(self, margin: Margin) -> None:
        """The next line of prose, as far as its first word."""
        self.newlines, self.blanks = 1, 0
        if margin.bars:
            self._write(margin.bars, margin.style, len(margin.bars))
        self.blanks = margin.indent

    def _broken(self, text: str, style: str, width: int, margin: Margin) -> None:
        """Write a piece of a word that the terminal may break."""
        self._write(text, style, width)
        while self._column > margin.room + 1:
            self._column -= margin.room + 1

    def _gap(self, style: str) -> None:
        """Write the newlines and the blanks that waited, with the attributes that are the same on
        both sides.
        """
        if self._style and (self.newlines or style != self._style):
            self._set("")
        self._out.append("\n" * self.newlines + " " * self.blanks)
        self.newlines = self.blanks = 0

    def _set(self, style: str) -> None:
        if style != self._style:
            self._out.append(
                f"\x1b[{style}m" if not self._style else f"\x1b[0;{style}m" if style else "\x1b[0m"
            )
            self._style = style
