"""Notify a user who may have looked away during a long wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from chat_loop.display.manager import DisplayManager
from chat_loop.display.text import one_line


class Notifier:
    """Rings the terminal's bell (`bell`), or has it notify the desktop (`osc9`), after the user has
    waited for `after` seconds; 0 is never. A pipe hears nothing.
    """

    def __init__(
        self,
        display: DisplayManager,
        after: float,
        how: Literal["bell", "osc9", "off"],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._display, self._after, self._how, self._clock = display, after, how, clock
        self._started = 0.0

    def begin(self) -> None:
        """Reset the time that the user has been waiting."""
        self._started = self._clock()

    def notify(self, what: str) -> None:
        """Notify the user when the wait took long."""
        late = self._after > 0 and self._clock() - self._started >= self._after
        if late and self._how != "off" and self._display.is_terminal:
            desktop = f"\x1b]9;chat-loop: {one_line(what, 100)}\x07"
            self._display.out.send("\x07" if self._how == "bell" else desktop)
        self.begin()
