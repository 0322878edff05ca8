"""The waiting line: one line of a terminal, redrawn while the user waits and then erased."""

from __future__ import annotations

import time
from typing import TextIO

from chat_loop.display.text import cut_to

SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TURN_SECONDS = 0.12
CALM_SECONDS = 1.0
"""The interval between ticks while nothing is waited for."""
SOON_SECONDS = 0.3
"""The delay before the line appears."""
_ERASE = "\r\x1b[K"


def waiting_line(text: str, seconds: float, columns: int, *, symbols: bool) -> str:
    """Return `text`, a spinner where symbols can be shown, and the seconds, on less than `columns`:
    some terminals wrap a full line, which could not be erased.
    """
    if not symbols:
        text = text.replace("…", "...").encode("ascii", "backslashreplace").decode()
    sign = f" {SIGNS[int(seconds / TURN_SECONDS) % len(SIGNS)]}" if symbols else ""
    passed = f"{sign} {int(seconds)} s" if seconds >= 1 else sign
    return cut_to(text, columns - 1 - len(passed), "…" if symbols else "") + passed


class Waiting:
    """The line on `out`: `text` names the work, `more` its progress, `hint` a key that helps.

    Nothing is drawn without `redraws`.
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
        """Start to wait."""
        self.text, self.more, self.hint = text, "", ""
        self.since, self.lasts = time.monotonic(), True

    def count(self, done: int, of: int) -> None:
        """Show that sessions are read; safe in any thread."""
        if not self.lasts:
            self.since, self.lasts = time.monotonic(), True
        self.text, self.more = "Reading sessions:", f" {done:,} of {of:,}"

    def end(self) -> None:
        """Stop to wait, and erase the line."""
        self.erase()
        self.text, self.more, self.hint, self.lasts = "", "", "", False

    def draw(self, default: str, columns: int) -> None:
        """Draw the line after a short delay; `default` is the text where there is none."""
        seconds = time.monotonic() - self.since
        if not (self.redraws and self.lasts) or (seconds < SOON_SECONDS and not self._drawn):
            return
        line = waiting_line(
            f"{self.text or default}{self.more}{self.hint}",
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
        """Erase the line."""
        if self._drawn:
            self._drawn = ""
            self._out.write(_ERASE)
            self._out.flush()

    def _write(self, line: str) -> None:
        # Overwrite the old line: one that is erased first would flicker.
        self._out.write(f"\r{line}\x1b[K" if self._drawn else line)
        self._out.flush()
        self._drawn = line
