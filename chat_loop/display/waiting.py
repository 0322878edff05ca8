"""The waiting line: one line of a terminal that is drawn again while something lasts, and then
taken back.
"""

from __future__ import annotations

import time
from typing import TextIO

from chat_loop.display.text import cut_to

SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TURN_SECONDS = 0.12
CALM_SECONDS = 1.0
"""How often is looked for something to draw while nothing is waited for."""
SOON_SECONDS = 0.3
"""What is there sooner shows nothing of it."""
_ERASE = "\r\x1b[K"


def waiting_line(text: str, seconds: float, columns: int, *, symbols: bool) -> str:
    """`text`, a sign that turns where symbols can be shown, and from one second on the seconds, on
    less than `columns`.

    A full line would be broken by some terminals, and what is broken could not be taken back.
    """
    if not symbols:
        text = text.replace("…", "...").encode("ascii", "backslashreplace").decode()
    sign = f" {SIGNS[int(seconds / TURN_SECONDS) % len(SIGNS)]}" if symbols else ""
    passed = f"{sign} {int(seconds)} s" if seconds >= 1 else sign
    return cut_to(text, columns - 1 - len(passed), "…" if symbols else "") + passed


class Waiting:
    """The line on `out`. `text` is what is waited for, else what `draw` says; `more` how far it is;
    `hint` what helps.

    Where nothing can be drawn again (`redraws` is false) nothing is drawn.
    """

    def __init__(self, out: TextIO, *, redraws: bool, symbols: bool) -> None:
        self.redraws = redraws
        self.text = self.more = self.hint = ""
        self.since = time.monotonic()
        self.lasts = False
        self._out = out
        self._symbols = symbols
        self._drawn = ""

    def begin(self, text: str = "") -> None:
        """Something is waited for from now on."""
        self.text, self.more, self.hint, self.since, self.lasts = (
            text,
            "",
            "",
            time.monotonic(),
            True,
        )

    def count(self, done: int, of: int) -> None:
        """Sessions are read; safe in any thread."""
        if not self.lasts:
            self.since, self.lasts = time.monotonic(), True
        self.text, self.more = "Reading sessions:", f" {done:,} of {of:,}"

    def end(self) -> None:
        """Nothing is waited for any more."""
        self.erase()
        self.text, self.more, self.hint, self.lasts = "", "", "", False

    def draw(self, otherwise: str, columns: int) -> None:
        """Draw the line as it is by now, once it lasts long enough; `otherwise` is the text where
        there is none.
        """
        seconds = time.monotonic() - self.since
        if not (self.redraws and self.lasts) or (seconds < SOON_SECONDS and not self._drawn):
            return
        line = waiting_line(
            f"{self.text or otherwise}{self.more}{self.hint}",
            seconds,
            columns,
            symbols=self._symbols,
        )
        if line != self._drawn:
            self._write(line)

    def show(self, columns: int) -> None:
        """Draw the text at once."""
        self._write(cut_to(f"{self.text}{self.hint}", columns - 1))

    def erase(self) -> None:
        """Take the line back."""
        if self._drawn:
            self._drawn = ""
            self._out.write(_ERASE)
            self._out.flush()

    def _write(self, line: str) -> None:
        # Over what stands there: a line that is erased first would flicker.
        self._out.write(f"\r{line}\x1b[K" if self._drawn else line)
        self._out.flush()
        self._drawn = line
