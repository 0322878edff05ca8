"""The instant prompt: drawn before the line editor is loaded, and nothing typed meanwhile is lost.

The terminal is put into the state that the editor will want (no echo, every key as it comes), so that keys wait in its
queue until the editor reads them. Only the smallest modules of the standard library are imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from chat_loop import __version__

PROMPT = "You: "
_ERASE = "\r\x1b[K"
_VALUED = frozenset({"--model", "--config", "--sessions-dir", "--base-url", "--agent"})
_PLAIN = frozenset({"--local"})


def banner() -> str:
    """The first line of an interactive session."""
    return f"chat-loop {__version__} · type a message, help for commands, exit to leave"


class InstantPrompt:
    """The terminal's state from the first drawing until the editor has taken over."""

    def __init__(self, descriptor: int, saved: list[object]) -> None:
        self._descriptor = descriptor
        self._saved: list[object] | None = saved
        self.drawn = True

    def erase(self) -> None:
        """Take the drawn prompt back; whatever is shown next stands in its place."""
        if self.drawn:
            sys.stdout.write(_ERASE)
            sys.stdout.flush()
            self.drawn = False

    def restore(self) -> None:
        """Give the terminal back as it was found. Free when it was done before."""
        if self._saved is not None:
            import termios

            saved, self._saved = self._saved, None
            try:
                termios.tcsetattr(self._descriptor, termios.TCSANOW, saved)  # type: ignore[arg-type]
            except termios.error:
                return  # the terminal is gone


def draw(arguments: Sequence[str]) -> InstantPrompt | None:
    """Draw banner and prompt when this is an interactive start on a terminal; else return None.

    Only arguments that certainly lead to the prompt count: everything else is looked at later, at leisure.
    """
    rest = iter(arguments)
    for argument in rest:
        if argument in _VALUED:
            next(rest, None)
        elif argument not in _PLAIN and argument.partition("=")[0] not in _VALUED:
            return None
    if os.name == "nt" or not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        return None
    import termios

    descriptor = sys.stdin.fileno()
    try:
        saved = termios.tcgetattr(descriptor)
        state = termios.tcgetattr(descriptor)
        state[0] &= ~(termios.ICRNL | termios.IXON)
        state[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        state[6][termios.VMIN] = 1
        termios.tcsetattr(descriptor, termios.TCSANOW, state)
    except termios.error:
        return None
    sys.stdout.write(f"{banner()}\n{PROMPT}")
    sys.stdout.flush()
    return InstantPrompt(descriptor, saved)
