"""The screen of a chat: finished text, which scrolls up, and below it the lines that still change.

Text is printed once, line by line, and never touched again. While an application draws the bottom
of the screen (`input/composer.py`), the changing lines are right above the composer: the line that
is still being written, the rows of an unfinished table, and the waiting line.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TextIO

from chat_loop.display.sanitizer import cells, cut_to, rows_of

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TURN_SECONDS = 0.12
SOON_SECONDS = 0.3  # the delay before the waiting line appears
PAUSE_SECONDS = 2.0  # the silence in a reply after which the waiting line appears again
STOP_HINT = " · Esc to stop"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Waiting:
    """The work that the user waits for: its name, its progress, and a hint about a key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.text = self.progress = self.hint = ""
        self.is_active = False
        self._clock = clock
        self._since = self._delay = 0.0

    def begin(self, text: str, *, hint: str = STOP_HINT, at_once: bool = False) -> None:
        """Start waiting; the line appears after a short delay, or at once."""
        self.text = text
        self.progress = ""
        self.hint = hint
        self.is_active = True
        self._since = self._clock()
        self._delay = 0.0 if at_once else SOON_SECONDS

    def postpone(self) -> None:
        """Hide the line until the incoming reply pauses."""
        self.progress = ""
        self._since = self._clock()
        self._delay = PAUSE_SECONDS

    def end(self) -> None:
        """Stop waiting."""
        self.text = ""
        self.progress = ""
        self.hint = ""
        self.is_active = False

    def next_turn(self) -> float | None:
        """Return the seconds until the line changes, or None if there is nothing to wait for."""
        if not self.is_active:
            return None
        return max(TURN_SECONDS, self._since + self._delay - self._clock())

    def line(self, columns: int) -> str:
        """Return the text with a spinner and the seconds; empty while the line is hidden."""
        seconds = self._clock() - self._since
        if not self.is_active or seconds < self._delay:
            return ""
        text = f"{self.text}{self.progress}"
        spinner = f" {SPINNER[int(seconds / TURN_SECONDS) % len(SPINNER)]}"
        passed = spinner
        if seconds >= 1:
            passed = f"{spinner} {int(seconds)} s"
        if cells(text) + len(passed) + len(self.hint) < columns:
            return text + passed + self.hint
        return cut_to(text, columns - 1 - len(passed)) + passed


class Screen:
    """Accepts text as a file does. Without an application, the text goes straight to `out`."""

    def __init__(self, out: TextIO, waiting: Waiting, *, plain: bool = False) -> None:
        self.encoding = out.encoding or "utf-8"
        self._out = out
        self._plain = plain
        self.waiting = waiting
        self._repaint: Callable[[], None] | None = None
        self._settled: list[str] = []
        self._open = self._unsettled = ""
        self._below = ""
        """What is shown below the reply until one of its blocks ends."""
        self._ends_empty = True  # true at the start and after an empty line

    def isatty(self) -> bool:
        return self._out.isatty() and not self._plain

    def fileno(self) -> int:
        return self._out.fileno()

    def flush(self) -> None:
        """Do nothing: `write` passes the text on at once."""

    def write(self, text: str, *, breaks: bool = True) -> int:
        """Print text. An unfinished line is drawn with the changing lines until it ends. If it
        `breaks`, what is shown below may be printed after an empty line in it.
        """
        if self._repaint is None:
            self._out.write(text)
            self._out.flush()
            return len(text)
        if self._below and breaks:
            block, gap, rest = text.rpartition("\n\n")
            self._settle(block + gap)
            if self._ends_empty and not self._open:
                self._settle(self._below)
                self._below = ""
            self._settle(rest)
        else:
            self._settle(text)
        self._repaint()
        return len(text)

    def _settle(self, text: str) -> None:
        lines, newline, rest = text.rpartition("\n")
        if newline:
            self._settled.append(f"{self._open}{lines}\n")
            self._ends_empty = not f"{self._open}{lines}".rpartition("\n")[2]
            self._open = ""
        self._open += rest
        if text:
            self._unsettled = ""

    def show_below(self, text: str) -> None:
        """Show lines below a reply that streams. They are printed when one of its blocks ends."""
        self._below += text
        if not text.endswith("\n\n"):
            self._below += "\n"
        self.write("")

    def end_exchange(self) -> None:
        """Print an empty line before the next prompt, unless there is one."""
        self.write("" if self._ends_empty else "\n")

    def send(self, sequence: str) -> None:
        """Send an escape sequence that takes up no space on the screen."""
        if self._repaint is None:
            self.write(sequence)
        else:
            self._settled.append(sequence)
            self._repaint()

    @property
    def shows_below(self) -> bool:
        """True while something is shown below a reply."""
        return bool(self._below)

    def show_unsettled(self, text: str) -> None:
        """Draw `text` after the unfinished line, as its end if no more text arrives."""
        if text != self._unsettled:
            self._unsettled = text
            self.repaint()

    def repaint(self) -> None:
        """Redraw the lines that still change."""
        if self._repaint is not None:
            self._repaint()

    def attach(self, repaint: Callable[[], None]) -> None:
        """Let an application draw from now on; `repaint` makes it draw soon, from any thread."""
        self._repaint = repaint

    def detach(self) -> None:
        """Write the remaining text. From now on text goes straight to the terminal."""
        self._repaint = None
        text = self.take() + self._open + self._below
        self._open = self._unsettled = self._below = ""
        self.write(text)

    def take(self) -> str:
        """Return the text that was finished since the last call."""
        text = "".join(self._settled)
        self._settled.clear()
        return text

    def live(self, columns: int, rows: int) -> str:
        """Return the lines that still change, split into rows: at most the last `rows` rows."""
        if rows < 1:
            return ""
        lines = f"{self._open}{self._unsettled}".split("\n")
        if notice := self.waiting.line(columns):
            lines = [*filter(None, lines), notice]
        if self._below:
            lines += ["", *self._below.rstrip("\n").split("\n")]
        drawn: list[str] = []
        for line in lines:
            drawn += rows_of(_tail(line, columns * rows), columns)
        return "\n".join(drawn[-rows:])


def _tail(line: str, length: int) -> str:
    """Return the end of a line, at most `length` cells, in the style that applies there."""
    if len(line) <= length and cells(line) <= length:
        return line
    start = len(line) - length // 2  # a character may take two cells
    style = _STYLE.match(line, max(line.rfind("\x1b[", 0, start), 0))
    if style:
        return f"{style[0]}{line[max(start, style.end()) :]}"
    return line[start:]
