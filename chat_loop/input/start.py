"""The instant prompt: drawn before the line editor is loaded. Keys typed meanwhile are not lost.

The terminal gets the settings that the editor needs, so that keys wait in its queue until the
editor reads them. Only the smallest modules of the standard library are imported here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO, TypeVar

from chat_loop import __version__

PROMPT = "You: "
PROMPT_STYLE = "1;32"  # SGR numbers: bold, and green where colors are wanted
DIM = "2"
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
PROMPT_SIGNALS = (*ENDING_SIGNALS, signal.SIGINT)
"""The signals that end the program after it has restored the terminal."""
SIGNAL_EXIT_BASE = 128  # an exit code is this plus the number of the signal that ended the program
OPTIONS_WITH_VALUE = (
    *("-m", "--model", "--config", "--sessions-dir", "--base-url", "--agent", "--tools"),
    "--max-tokens",
)

T = TypeVar("T")


def banner(room: int = 80) -> str:
    """Return the first line of a chat, shortened to fit into `room` columns."""
    name = f"chat-loop {__version__}"
    for rest in (" · type a message, help for commands, exit to leave", " · help · exit"):
        if len(name + rest) < room:
            return name + rest
    return name


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


def screen_size(stream: TextIO) -> tuple[int, int]:
    """Return the columns and rows for text on the terminal of a stream, 0 of both without one. One
    column stays free, because terminals differ in what they do when it is full.
    """
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 0, 0
    return max(1, (size.columns or 80) - 1), size.lines or 24


class Terminal:
    """The terminal's settings: silenced while no editor reads the keys, then restored."""

    def __init__(self, descriptor: int) -> None:
        """Raise OSError if `descriptor` is not a terminal."""
        self._descriptor = descriptor
        self._saved_settings: list[Any] | None = None
        """The settings to restore; None while nothing is changed."""
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

    def restore(self) -> None:
        """Restore the settings from before `silence`, once."""
        settings, self._saved_settings = self._saved_settings, None
        if settings is not None:
            self._set(settings)

    def modes(self) -> list[Any]:
        """Return the present settings, for `set_modes`; empty if the terminal is gone."""
        with contextlib.suppress(termios.error):
            return termios.tcgetattr(self._descriptor)
        return []

    def set_modes(self, modes: list[Any]) -> None:
        """Set what `modes` returned, unless another program has the terminal now."""
        with contextlib.suppress(OSError):
            if modes and os.tcgetpgrp(self._descriptor) == os.getpgrp():
                self._set(modes)

    def discard_keys(self) -> None:
        """Discard the keys that were typed and not read yet."""
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def _set(self, settings: list[Any]) -> None:
        # TCSANOW: the other modes discard typed keys or wait until all output is printed.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._descriptor, termios.TCSANOW, settings)


@contextlib.contextmanager
def silent_terminal(instant: InstantPrompt | None) -> Iterator[Terminal | None]:
    """Yield the silenced terminal of standard input, or None if there is none. Restore it however
    the context ends. `instant` may have silenced it already.
    """
    if instant is not None:
        terminal = instant.terminal
    else:
        try:
            terminal = Terminal(sys.stdin.fileno())
        except OSError:  # a pipe or a file
            yield None
            return
        end_on_signals(terminal)
    try:
        terminal.silence(signals=False)  # else keys typed before are echoed twice
        yield terminal
    finally:
        terminal.restore()


def end_on_signals(terminal: Terminal) -> None:
    """Restore the terminal and end the process on a signal, while no chat runs. A chat has its own
    handlers.

    There is nothing to save before and after a chat. An exception would come up in any code that
    runs then, such as a callback of an import, which would print a traceback and go on.
    """

    def leave(number: int, frame: object) -> None:
        terminal.restore()
        os._exit(SIGNAL_EXIT_BASE + number)

    for number in ENDING_SIGNALS:
        signal.signal(number, leave)


class InstantPrompt:
    """The prompt on a silenced terminal, until the editor takes over."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._is_drawn = True

    def erase(self) -> None:
        """Erase the drawn prompt; the next output takes its place."""
        if self._is_drawn:
            sys.stdout.write("\r\x1b[K")
            sys.stdout.flush()
            self._is_drawn = False

    def lend(self, ask: Callable[[], T], *, signals: bool = False) -> T:
        """Return the result of `ask`, which has the terminal to itself. Keys typed earlier are
        discarded, so they cannot answer it.
        """
        self.erase()
        self.terminal.discard_keys()
        self.terminal.restore()
        answer = ask()
        self.terminal.silence(signals=signals)
        return answer


def draw(arguments: Sequence[str]) -> InstantPrompt | None:
    """Draw banner and prompt. Return None if the arguments may not start a terminal chat."""
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, _ = argument.partition("=")
        if name in OPTIONS_WITH_VALUE:
            if not equals:
                next(remaining, None)
        elif argument not in ("--local", "--new-session", "--trust-agent", "--trust-project"):
            return None
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    try:
        terminal = Terminal(sys.stdin.fileno())
    except OSError:  # a pipe or a file
        return None
    signal.pthread_sigmask(signal.SIG_BLOCK, PROMPT_SIGNALS)  # until `main` handles them
    terminal.silence(signals=False)
    prompt = styled(PROMPT, PROMPT_STYLE)
    sys.stdout.write(f"{styled(banner(columns()), DIM)}\n{prompt}")
    sys.stdout.flush()
    return InstantPrompt(terminal)
