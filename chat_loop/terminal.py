"""The terminal: its size, its settings, and the style of a text.

Only the smallest modules of the standard library are imported here.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
from collections.abc import Iterator
from typing import Any, TextIO

DIM = "2"
MARK_PASTES = "\x1b[?2004h"
"""Have the terminal mark the beginning and the end of a paste."""
MARK_NO_PASTES = "\x1b[?2004l"
Modes = list[int | list[bytes | int]]
"""A terminal's settings, as `termios.tcgetattr` returns them."""
PROMPT = "You: "
PROMPT_STYLE = "1;32"  # SGR numbers: bold, and green where colors are wanted


def styled(text: str, style: str) -> str:
    """Return `text` in the attributes and color of SGR numbers; NO_COLOR drops the color."""
    if os.environ.get("NO_COLOR"):
        style = style.partition(";")[0]
    return f"\x1b[{style}m{text}\x1b[0m"


def columns(stream: TextIO | None = None, unknown: int = 80) -> int:
    """Return the width of the terminal of a stream or of standard output, `unknown` if it is not a
    terminal, and 80 if the terminal does not say.
    """
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or 80
    except (OSError, ValueError):
        return unknown


def encoding() -> str:
    """Return the name of the encoding of standard output."""
    return sys.stdout.encoding


def screen_size(stream: TextIO) -> tuple[int, int]:
    """Return the columns and rows for text on the terminal of a stream, 0 of both without one. One
    column stays free, because terminals differ in what they do when it is full.
    """
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 0, 0
    return max(1, (size.columns or 80) - 1), size.lines or 24


@contextlib.contextmanager
def ctrl_c_as_signal() -> Iterator[None]:
    """Have the terminal of standard input send SIGINT at Ctrl-C, which the editor has it send as a
    key. What is typed meanwhile stays to be read.
    """
    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error):  # no terminal
        yield
        return
    changed = [*before]
    changed[3] |= termios.ISIG | termios.NOFLSH
    termios.tcsetattr(descriptor, termios.TCSANOW, changed)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)


class Terminal:
    """The terminal's settings: silenced while no editor reads the keys, then restored."""

    def __init__(self, descriptor: int) -> None:
        """Raise OSError if `descriptor` is not a terminal."""
        self._descriptor = descriptor
        self._saved_settings: list[Any] | None = None
        """The settings to restore; None while nothing is changed."""
        self._marks_pastes = False
        try:
            termios.tcgetattr(descriptor)
        except termios.error as error:
            raise OSError("not a terminal") from error

    def silence(self, *, signals: bool) -> None:
        """Turn off the echo, and keep every key for the editor that reads next. With `signals`,
        Ctrl-C still interrupts, but discards no keys and no output.
        """
        if self._saved_settings is None:
            try:
                self._saved_settings = termios.tcgetattr(self._descriptor)
            except termios.error:
                return  # the terminal is gone
        settings = [*self._saved_settings[:6], [*self._saved_settings[6]]]
        settings[0] &= ~(termios.ICRNL | termios.IXON)
        settings[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        settings[3] &= ~(0 if signals else termios.ISIG)
        settings[3] |= termios.NOFLSH
        settings[6][termios.VMIN] = 1
        self._set(settings)

    def mark_pastes(self) -> None:
        """Have pastes marked until `restore`."""
        self._marks_pastes = True
        self._write(MARK_PASTES)

    def restore(self) -> None:
        """Restore the settings from before `silence` and `mark_pastes`, once."""
        if self._marks_pastes:
            self._marks_pastes = False
            self._write(MARK_NO_PASTES)
        settings = self._saved_settings
        self._saved_settings = None
        if settings is not None:
            self._set(settings)

    def modes(self) -> Modes:
        """Return the present settings, for `set_modes`; empty if the terminal is gone."""
        with contextlib.suppress(termios.error):
            return termios.tcgetattr(self._descriptor)
        return []

    def set_modes(self, modes: Modes) -> None:
        """Set what `modes` returned, unless another program has the terminal now."""
        with contextlib.suppress(OSError):
            if modes and os.tcgetpgrp(self._descriptor) == os.getpgrp():
                self._set(modes)

    def discard_keys(self) -> None:
        """Discard the keys that were typed and not read yet."""
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def _write(self, sequence: str) -> None:
        """Write, unless the terminal is gone or reads nothing: the end must not wait for it."""
        output = sys.stdout.fileno()
        with contextlib.suppress(OSError):
            if select.select((), (output,), (), 0)[1]:
                os.write(output, sequence.encode())

    def _set(self, settings: Modes) -> None:
        # TCSANOW: the other modes discard typed keys or wait until all output is printed.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._descriptor, termios.TCSANOW, settings)
