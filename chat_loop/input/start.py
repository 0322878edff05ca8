"""The instant prompt: drawn before the line editor is loaded. Keys typed meanwhile show at once.

The terminal gets the settings that the editor needs. Only the smallest modules of the standard
library are imported here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from chat_loop import __version__
from chat_loop.input.ahead import KeysAhead
from chat_loop.terminal import DIM, PROMPT, PROMPT_STYLE, Terminal, columns, styled

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
    """The prompt on a silenced terminal, until the editor takes over. Keys are echoed behind it."""

    def __init__(self, terminal: Terminal, keys: KeysAhead) -> None:
        self.terminal = terminal
        self._keys = keys
        self._is_drawn = True

    def take(self) -> str:
        """Return what was typed. Later keys wait in the terminal."""
        return self._keys.take()

    def erasure(self) -> str:
        """Return what erases the drawn prompt, once; the next output takes its place."""
        if not self._is_drawn:
            return ""
        self._is_drawn = False
        self._keys.stop_echo()
        width = len(PROMPT) + self._keys.width
        up = (width - 1) // columns()  # a terminal that was made narrower has wrapped it
        return "\r" + "\x1b[A" * up + "\x1b[J"

    def erase(self) -> None:
        """Erase the drawn prompt now."""
        sys.stdout.write(self.erasure())
        sys.stdout.flush()

    def lend(self, ask: Callable[[], T], *, signals: bool = False) -> T:
        """Return the result of `ask`, which has the terminal to itself. Keys typed earlier are
        discarded, so they cannot answer it.
        """
        self.erase()
        self.take()
        self.terminal.discard_keys()
        self.terminal.restore()
        answer = ask()
        self.terminal.silence(signals=signals)
        return answer

    def restore(self) -> None:
        """Give the terminal back. What is typed from now on belongs to the shell."""
        self.take()
        self.terminal.restore()


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
    descriptor = sys.stdin.fileno()
    try:
        terminal = Terminal(descriptor)
    except OSError:  # a pipe or a file
        return None
    signal.pthread_sigmask(signal.SIG_BLOCK, PROMPT_SIGNALS)  # until `main` handles them
    terminal.silence(signals=False)
    prompt = styled(PROMPT, PROMPT_STYLE)
    room = columns()
    sys.stdout.write(f"{styled(banner(room), DIM)}\n{prompt}")
    sys.stdout.flush()
    terminal.mark_pastes()
    # the thread of the keys inherits the blocked signals: they are the main thread's
    return InstantPrompt(terminal, KeysAhead(descriptor, room - len(PROMPT)))
