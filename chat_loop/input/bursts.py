"""Keys that arrive in bursts: pastes that a terminal does not announce, and keys typed ahead.

Where the terminal marks pastes, a burst is what somebody typed while the program or the line was
slow, and each Enter in it is Enter.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from itertools import groupby
from typing import TextIO

from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from chat_loop.input.sequences import Combination, SequenceParser

KEYS_AFTER_ENTER = 8  # an Enter with this many keys after it was pasted; nobody types so fast
PASTE_KEYS = 64  # a paste without an Enter has at least this many keys, all there at once
SHORTEST_PAUSE = 0.05  # seconds; no shorter one ends a paste
LONGEST_PAUSE = 0.5  # seconds; each longer one does
ENTER = KeyPress(Keys.ControlM, "\r")


class BurstInput(Vt100Input):
    """The keys of a terminal. An unannounced paste becomes one BracketedPaste key; an Enter at its
    end remains a separate key.

    While `takes_text()` is false, keys are commands and nothing counts as a paste, nor if the
    terminal `marks_pastes`. A line for which `is_command` returns True is never part of a paste;
    `line()` returns what was typed of it before.
    Text that was typed before the editor started is read key by key, and each Enter ends an entry.
    `takes_alt` tells whether Alt with a key does something.
    """

    def __init__(
        self,
        stdin: TextIO,
        takes_text: Callable[[], bool],
        *,
        takes_alt: Callable[[Combination], bool],
        line: Callable[[], str],
        is_command: Callable[[str], bool],
        marks_pastes: bool,
    ) -> None:
        super().__init__(stdin)
        parser = SequenceParser(self._take, takes_alt)
        parser.marks_pastes = marks_pastes
        self.vt100_parser = self._parser = parser
        self._takes_text = takes_text
        self._line = line
        self._is_command = is_command
        self._typed_ahead = self._waits(0)

    def keys_of(self, typed: str) -> list[KeyPress]:
        """Return the keys of text that was `typed` before the editor started."""
        self._parser.feed(typed)
        if typed.endswith("\x1b"):
            self._parser.flush()
        keys = self._buffer
        self._buffer = []
        return [_early(key) for key in keys]

    def read_keys(self) -> list[KeyPress]:
        """Return the keys that have arrived; wait for the rest of a paste."""
        keys = super().read_keys()
        if self._typed_ahead:
            self._typed_ahead = self._waits(0)
            return [_early(key) for key in keys]
        if self._parser.marks_pastes or not self._takes_text():
            return keys
        line = self._line()
        if len(mark_pastes(keys, line, self._is_command)) == len(keys):
            return keys
        began = time.monotonic()
        while self._waits(pause(time.monotonic() - began)) and not self.closed:
            keys += super().read_keys()
        return mark_pastes(keys, line, self._is_command)

    def _take(self, press: KeyPress) -> None:
        self._buffer.append(press)

    def _waits(self, seconds: float) -> bool:
        """Return True when there is something to read within `seconds`."""
        try:
            return bool(select.select([self], [], [], seconds)[0])
        except (OSError, ValueError):  # the terminal is gone, or select does not accept it
            return False


def _early(key: KeyPress) -> KeyPress:
    """Return a key from before the program had the terminal, which sent Enter as a newline."""
    return ENTER if key.data == "\n" else key


def pause(seconds: float) -> float:
    """Return the seconds without a key after which a paste has ended, if it has been read for
    `seconds`. Where reading takes long, the terminal that sends the paste may have to wait as well.
    """
    return min(max(SHORTEST_PAUSE, seconds), LONGEST_PAUSE)


def mark_pastes(
    keys: list[KeyPress], line: str = "", is_command: Callable[[str], bool] = lambda line: False
) -> list[KeyPress]:
    """Return the keys with each paste as one key. A final Enter is not part of the paste, nor are
    the commands before it with their Enter. `line` is what was typed before the keys.
    """
    marked: list[KeyPress] = []
    for plain, run in groupby(keys, is_plain):
        presses = list(run)
        text = "".join(press.data for press in presses)
        while plain and "\r" in text:
            typed = text.partition("\r")[0]
            if not is_command(typed if marked else f"{line}{typed}"):
                break
            length = text.index("\r") + 1
            marked += presses[:length]
            del presses[:length]
            text = text[length:]
        pasted = plain and (len(text) >= PASTE_KEYS or "\r" in text[:-KEYS_AFTER_ENTER])
        if not pasted:
            marked += presses
            continue
        marked.append(KeyPress(Keys.BracketedPaste, text.removesuffix("\r")))
        if text.endswith("\r"):
            marked.append(ENTER)
    return marked


def is_plain(press: KeyPress) -> bool:
    """Return True when a pasted key only inserts a character."""
    return len(press.data) == 1 and (press.data.isprintable() or press.data in "\r\n\t")
