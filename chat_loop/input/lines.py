"""Sources of the user's lines: the reader interface, and the reader for pipes and files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TextIO

from chat_loop.characters import one_line
from chat_loop.display.questions import Question, draw
from chat_loop.errors import UsageError
from chat_loop.input.escapes import PASTE_END, PASTE_START, without_sequences
from chat_loop.terminal import PROMPT, screen_size
from chat_loop.values import Picture

MULTILINE_MARK = "\\\\"
"""A line with only this begins an entry of several lines, which an empty line ends."""
EDIT_HINT = "your last message: Enter resends it, Ctrl-C cancels"
LONGEST_LINE = 64 << 20  # bytes; a longer line of a pipe is refused
TERMINAL_LINE = 1_023 if sys.platform == "darwin" else 4_095
"""The bytes that a terminal keeps of a line which it edits itself. It drops the others."""
PASTE_SECONDS = 0.02  # lines that follow each other faster were pasted


class EntryReader:
    """A source of entries. The methods that need a terminal do nothing or fail by default.

    If `has_editor`, Ctrl-C is a key of the line editor and not a signal. `typed` is the last entry
    without its pastes of several lines, because only typed names attach files; `pictures` are the
    images in it that are no files. `idle_seconds` is the time since the last key.
    """

    has_editor = False
    typed = ""
    pictures: Sequence[Picture] = ()
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

    def know(self, pictures: Mapping[str, Picture]) -> None:
        """Let names in a text that is put into the line stand for its images."""

    def screen_size(self) -> tuple[int, int]:
        """Return the columns and rows for a question; 0 columns if nobody looks at a screen."""
        return 0, 0

    def enter(self, text: str) -> None:
        """Use `text` as the next entry, as if it had been typed."""
        raise NotImplementedError

    def pause_queue(self) -> None:
        """Let queued entries wait for the user, if there is an editor."""

    def put_back(self) -> None:
        """Put the last entry back into the line, if there is an editor; queued ones wait."""

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

    async def start(self, stop: Callable[[], object]) -> None:
        """Read the user's keys from now on; `stop` stops the running work."""

    async def close(self) -> None:
        """Give the terminal back, if there is one."""


def clean(text: str) -> str:
    """Return encodable text: bytes as UTF-8, lone surrogates as U+FFFD, line ends as newlines."""
    try:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that do not represent a byte
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class LineReader(EntryReader):
    """Reads lines from a pipe, a file, or a terminal without an editor. Prompts and lines are
    echoed to `out`.

    A terminal without an editor has the protections of the editor: a paste of several lines waits
    for Enter, except for lines of which `is_command` is true; a line that the terminal has cut is
    refused; keys that are no text are dropped.
    """

    def __init__(
        self,
        descriptor: int | None = None,
        out: TextIO | None = None,
        is_command: Callable[[str], bool] = lambda line: False,
    ) -> None:
        # Not sys.stdin: a thread that is blocked in it makes the interpreter abort at the exit.
        if descriptor is None:
            descriptor = sys.stdin.fileno()
        self._input = os.fdopen(descriptor, "rb", closefd=False)
        self._out = out or sys.stdout
        self._is_command = is_command
        self._is_terminal = self._input.isatty()
        self._echoes = not self._is_terminal  # else the terminal does
        self._keeps_log = self._is_terminal and not self._out.isatty() and sys.stderr.isatty()
        """Standard output is a log: prompts go to the terminal, and whole lines to the log."""
        self._rest: list[str] = []  # the lines that arrived together with a command
        self._pending_read: asyncio.Future[bytes] | None = None
        self._entry: asyncio.Future[bytes] | None = None
        """What `read` waits for: the pending line, or Ctrl-C."""
        self._is_pressed = False  # Ctrl-C, at this prompt
        self._presses = 0  # of Ctrl-C, while something ran
        self._entered = ""  # the first message of a chat, until it is read
        self._given_back = ""  # what was typed at a question, until Enter sends it

    def enter(self, text: str) -> None:
        self._entered = text

    def pause_queue(self) -> None:
        self._entered = ""  # the session that it was meant for was not resumed

    async def read(self) -> str:
        if self._entered:
            self.typed = self._entered
            self._entered = ""
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
        hint = ""
        if given_back:
            hint = f"(Enter sends: {one_line(given_back)}) "
        if self._rest:
            self.typed = self._rest.pop(0)
            self._out.write(f"{PROMPT}{self.typed}\n")
            return self.typed
        text = await self._line(f"{PROMPT}{hint}")
        self._is_pressed = False
        self.typed = await self._pasted(text) if "\n" in text else text or given_back
        if self.typed == MULTILINE_MARK:
            self.typed = await self._lines()
        return self.typed

    async def _pasted(self, text: str) -> str:
        """Return pasted lines after Enter, with what was typed behind them. If they begin with a
        command, return that, and each of the others as an entry.
        """
        if self._is_command(text.partition("\n")[0]):
            first, *self._rest = text.split("\n")
            return first
        while True:
            count = text.count("\n") + 1
            more = await self._line(f"({count} lines: Enter sends them, Ctrl-C drops them) ")
            if more:
                text = f"{text}\n{more}"
            if "\n" not in more:
                return text

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
        if self._echoes:
            return (0, 0)
        return screen_size(self._out)

    async def _line(self, prompt: str) -> str:
        """Return the next line, or lines that were pasted at once. Raises as `read`."""
        is_typed_ahead = self._is_terminal and self._waits(0)
        prompts = sys.stderr if self._keeps_log else self._out
        prompts.write(prompt)
        prompts.flush()
        if self._pending_read is None:  # else the previous caller was stopped
            self._pending_read = asyncio.get_running_loop().create_future()
            # A daemon: a pipe that never ends must not keep the program from exiting.
            work = partial(self._read_line, self._pending_read, is_typed_ahead)
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
        if self._is_terminal:
            return self._typed_line(line, prompt)
        if len(line) > LONGEST_LINE:
            text = (
                f"A line of standard input has more than {LONGEST_LINE >> 20} MB: it is left out."
            )
            raise UsageError(text, "Name a file with @.")
        text = line.decode("utf-8", "replace")
        self._out.write(text.rstrip("\r\n") + "\n")
        if not line:
            raise EOFError
        return clean(text).removesuffix("\n")

    def _typed_line(self, data: bytes, prompt: str) -> str:
        """Return the text of lines that were typed or pasted. Raises as `read`."""
        if any(len(line) >= TERMINAL_LINE for line in data.split(b"\n")):
            text = f"The terminal cuts lines after {TERMINAL_LINE:,} bytes: nothing was sent."
            raise UsageError(text, f"Name a file with @, or type {MULTILINE_MARK} and short lines.")
        text = clean(data.decode("utf-8", "replace"))
        text = text.replace(PASTE_START, "").replace(PASTE_END, "").removesuffix("\n")
        text = without_sequences(text)
        if "\x03" in text:  # Ctrl-C, in an encoding that the terminal does not know
            raise KeyboardInterrupt
        if not data or text == "\x04":
            self._out.write("\n")
            raise EOFError
        if self._keeps_log:
            self._out.write(f"{prompt}{text}\n")
        return text

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

    def _read_line(self, future: asyncio.Future[bytes], is_typed_ahead: bool) -> None:
        """Read a line, or what a person has pasted at once. Later data stays in the pipe, except
        one buffer, so its writer waits.
        """
        try:
            line = self._read_typed(is_typed_ahead) if self._is_terminal else self._read_piped()
        except OSError:  # the terminal is gone
            line = b""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            future.get_loop().call_soon_threadsafe(future.set_result, line)

    def _read_piped(self) -> bytes:
        line = self._input.readline(LONGEST_LINE + 1)
        rest = line if len(line) > LONGEST_LINE else b""
        while rest and not rest.endswith(b"\n"):  # else it would count as the next line
            rest = self._input.readline(1 << 20)
        return line

    def _read_typed(self, is_typed_ahead: bool) -> bytes:
        """Read a line of the terminal, and the lines behind it that were pasted with it. Lines that
        were typed before anybody asked for them are read one by one.
        """
        line = data = self._input.readline()
        start = PASTE_START.encode()
        end = PASTE_END.encode()
        while line.endswith(b"\n"):
            is_marked = data.rfind(start) > data.rfind(end)
            if not (is_marked or (not is_typed_ahead and self._waits(PASTE_SECONDS))):
                break
            line = self._input.readline()
            data += line
        return data

    def _waits(self, seconds: float) -> bool:
        """Return True when there is something to read within `seconds`."""
        try:
            return bool(select.select([self._input], [], [], seconds)[0])
        except OSError:  # the terminal is gone, which the next read tells
            return False
