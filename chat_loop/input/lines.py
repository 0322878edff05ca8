"""Sources of the user's lines: the reader interface, and the reader for pipes and files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from functools import partial
from typing import TextIO

from chat_loop.display.consent import Question, draw
from chat_loop.display.text import one_line
from chat_loop.errors import UsageError
from chat_loop.input.start import PROMPT, screen_size

MULTILINE_MARK = "\\\\"
"""A line with only this begins an entry of several lines, which an empty line ends."""
EDIT_HINT = "your last message: Enter resends it, Ctrl-C cancels"
LONGEST_LINE = 64 << 20  # bytes; a longer line of a pipe is refused


class Reader:
    """A source of entries. The methods that need a terminal do nothing or fail by default.

    If `has_editor`, Ctrl-C is a key of the line editor and not a signal. `typed` is the last entry
    without its pastes of several lines, because only typed names attach files. `idle_seconds` is
    the time since the last key.
    """

    has_editor = False
    typed = ""
    idle_seconds = 0.0

    async def read(self) -> str:
        """Return the next entry. Raises EOFError at the end, KeyboardInterrupt on Ctrl-C, and
        UsageError instead of an entry that is too long.
        """
        raise NotImplementedError

    async def ask(self, question: Question) -> str:
        """Show a question, and if it is long also the ends of its act. Return the answer as it was
        typed. Raises EOFError and KeyboardInterrupt as `read`.
        """
        raise NotImplementedError

    def give_back(self, text: str) -> None:
        """Put a text that was typed at a question before the text in the line."""

    def screen_size(self) -> tuple[int, int]:
        """Return the columns and rows for a question; 0 columns if nobody looks at a screen."""
        return 0, 0

    def enter(self, text: str) -> None:
        """Use `text` as the next entry, as if it had been typed."""
        raise NotImplementedError

    def hold(self) -> None:
        """Put the queued entries back into the line, if there is an editor."""

    def put_back(self) -> None:
        """Put the last entry back into the line, if there is an editor."""

    def offer(self, text: str, hint: str = EDIT_HINT) -> bool:
        """Let the user edit `text` in the line, with a hint. Return False without an editor."""
        return False

    async def edit(self, text: str) -> str:
        """Let the user edit `text`, and return the result. Raises UsageError without an editor."""
        raise UsageError("The editor needs a terminal.")

    def release_terminal(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Return a context in which another program can use the terminal."""
        return contextlib.nullcontext()

    def press_ctrl_c(self) -> bool:
        """Handle Ctrl-C that arrives as a signal. Return False if no user has pressed it."""
        return False

    def refresh(self) -> None:
        """Draw the status line again, if there is one. May be called from any thread."""

    def hide(self) -> None:
        """Hide the line because the chat ends."""

    async def start(self) -> None:
        """Read the user's keys from now on."""

    async def close(self) -> None:
        """Give the terminal back, if there is one."""


def clean(text: str) -> str:
    """Return encodable text: bytes as UTF-8, lone surrogates as U+FFFD, line ends as newlines."""
    try:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that do not represent a byte
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class LineReader(Reader):
    """Reads lines from a pipe, a file, or a terminal without an editor. Prompts and lines are
    echoed to `out`.
    """

    def __init__(self, descriptor: int | None = None, out: TextIO | None = None) -> None:
        # Not sys.stdin: a thread that is blocked in it makes the interpreter abort at the exit.
        descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._input = os.fdopen(descriptor, "rb", closefd=False)
        self._out = out or sys.stdout
        self._echoes = not self._input.isatty()  # else the terminal does
        self._pending_read: asyncio.Future[bytes] | None = None
        self._entry: asyncio.Future[bytes] | None = None
        """What `read` waits for: the pending line, or Ctrl-C."""
        self._is_pressed = False  # Ctrl-C, at this prompt
        self._presses = 0  # of Ctrl-C, while something ran
        self._entered = ""  # the first message of a chat, until it is read
        self._given_back = ""  # what was typed at a question, until Enter sends it

    def enter(self, text: str) -> None:
        self._entered = text

    def hold(self) -> None:
        self._entered = ""  # the session that it was meant for was not resumed

    async def read(self) -> str:
        if self._entered:
            self.typed, self._entered = self._entered, ""
            self._out.write(f"{PROMPT}{self.typed}\n")
            return self.typed
        presses = self._presses
        self._presses = 0
        if presses > 1:
            raise EOFError
        given_back = self._given_back
        self._given_back = ""
        if given_back and self._echoes:  # a pipe: it is the next line
            self._out.write(f"{PROMPT}{given_back}\n")
            self.typed = given_back
            return self.typed
        hint = f"(Enter sends: {one_line(given_back)}) " if given_back else ""
        self.typed = await self._line(f"{PROMPT}{hint}") or given_back
        self._is_pressed = False
        if self.typed == MULTILINE_MARK:
            self.typed = await self._lines()
        return self.typed

    async def _lines(self) -> str:
        """Return the lines up to an empty one. Raises UsageError after them if one is too long."""
        lines: list[str] = []
        problem: UsageError | None = None
        with contextlib.suppress(EOFError):
            while True:
                try:
                    line = await self._line("")
                except UsageError as error:
                    problem = error
                    continue
                if not line:
                    break
                lines.append(line)
        if problem is not None:
            raise problem
        return "\n".join(lines)

    async def ask(self, question: Question) -> str:
        drawn = draw(question, *self.screen_size())
        self._out.write("".join(f"{text}\n" for text, _ in drawn.rows))
        return await self._line(drawn.prompt)

    def give_back(self, text: str) -> None:
        self._given_back = text

    def screen_size(self) -> tuple[int, int]:
        return (0, 0) if self._echoes else screen_size(self._out)

    async def _line(self, prompt: str) -> str:
        self._out.write(prompt)
        self._out.flush()
        if self._pending_read is None:  # else the previous caller was stopped
            self._pending_read = asyncio.get_running_loop().create_future()
            # A daemon: a pipe that never ends must not keep the program from exiting.
            work = partial(self._read_line, self._pending_read)
            threading.Thread(target=work, daemon=True, name="stdin").start()
        self._entry = asyncio.get_running_loop().create_future()
        self._pending_read.add_done_callback(self._arrive)
        try:
            line = await self._entry
        finally:
            self._entry = None
            if self._pending_read is not None:
                self._pending_read.remove_done_callback(self._arrive)
        self._pending_read = None
        if len(line) > LONGEST_LINE:
            text = (
                f"A line of standard input has more than {LONGEST_LINE >> 20} MB: it is left out."
            )
            raise UsageError(text, "Name a file with @.")
        text = line.decode("utf-8", "replace")
        if self._echoes:
            self._out.write(text.rstrip("\r\n") + "\n")
        if not line:
            raise EOFError
        return clean(text).removesuffix("\n")

    def _arrive(self, pending: asyncio.Future[bytes]) -> None:
        if self._entry is not None and not self._entry.done():
            self._entry.set_result(pending.result())

    def press_ctrl_c(self) -> bool:
        """Interrupt the prompt. Pressed again there, or twice while something runs, end the chat as
        Ctrl-D does. The terminal has dropped what was typed in the line.
        """
        if not self._input.isatty():
            return False
        if self._entry is None or self._entry.done():
            self._presses += 1
            return True
        self._out.write("\n")
        self._entry.set_exception(EOFError() if self._is_pressed else KeyboardInterrupt())
        self._is_pressed = not self._is_pressed
        return True

    def _read_line(self, future: asyncio.Future[bytes]) -> None:
        """Read a line. Later data stays in the pipe, except one buffer, so its writer waits."""
        try:
            line = self._input.readline(LONGEST_LINE + 1)
            rest = line if len(line) > LONGEST_LINE else b""
            while rest and not rest.endswith(b"\n"):  # else it would count as the next line
                rest = self._input.readline(1 << 20)
        except OSError:  # the terminal is gone
            line = b""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            future.get_loop().call_soon_threadsafe(future.set_result, line)
