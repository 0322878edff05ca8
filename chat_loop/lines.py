"""Where the user's lines come from: what every reader does, and the reader for pipes and files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections import deque
from typing import Protocol, TextIO

from chat_loop.errors import UsageError
from chat_loop.start import PROMPT

SEVERAL = "\\\\"
"""A line that is only this begins an entry of several lines, which an empty line ends."""
_PIECE = 1 << 16
LONGEST_LINE = 64 << 20
"""Bytes; a longer line of a pipe is refused."""


class Reader(Protocol):
    """Where the user's lines come from."""

    @property
    def has_editor(self) -> bool:
        """Whether Ctrl-C is a key of the line that is being edited, rather than a signal."""

    async def read(self) -> str:
        """Return the next entry, possibly of several lines. Raises EOFError at the end,
        KeyboardInterrupt on Ctrl-C.
        """

    @property
    def typed(self) -> str:
        """The last entry without pastes of several lines: files are only taken where they were
        typed.
        """

    def put_back(self) -> None:
        """Let the last entry be edited again, where there is an editor."""

    def offer(self, text: str) -> bool:
        """Let `text` stand in the next line to be changed; Ctrl-C then gives it up. False where
        there is no editor.
        """

    async def ask(self, question: str) -> str:
        """Ask for one word; return it in small letters, empty when there is no answer."""

    def forget(self) -> None:
        """Throw away the keys that were typed and not read yet."""

    async def decide(self, question: str) -> str:
        """As `ask`, but raises KeyboardInterrupt on Ctrl-C and EOFError at the end."""

    def lent(self) -> contextlib.AbstractContextManager[None]:
        """The terminal as another program expects to find it, for as long as the context lasts."""

    def close(self) -> None:
        """Give the terminal back, where there is one."""


def clean(text: str) -> str:
    """Text as it can be encoded: bytes that the locale could not read are UTF-8, halves of
    characters become U+FFFD.
    """
    try:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class LineReader:
    """Lines from a pipe or a file; the prompt and the line are repeated on `out`, so that the
    output can be read.
    """

    def __init__(self, descriptor: int | None = None, out: TextIO | None = None) -> None:
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._out = out or sys.stdout
        self._pieces: asyncio.Queue[bytes] | None = None
        self._wanted = threading.Semaphore(0)
        self._asked = self._ended = False
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []
        """The pieces of a line that has no end yet, `_held` bytes."""
        self._held = 0
        self.typed = ""

    def put_back(self) -> None:
        """What was refused is said; the next line is another one."""

    def offer(self, text: str) -> bool:
        """A line of a pipe cannot be changed."""
        return False

    async def read(self) -> str:
        line = await self._line(PROMPT)
        if not line:
            raise EOFError
        self.typed = clean(line.decode("utf-8", "replace")).removesuffix("\n")
        if self.typed == SEVERAL:
            self.typed = await self._several()
        return self.typed

    async def _several(self) -> str:
        """The lines up to an empty one, or the end."""
        lines: list[str] = []
        while line := clean((await self._line("")).decode("utf-8", "replace")).removesuffix("\n"):
            lines.append(line)
        return "\n".join(lines)

    async def ask(self, question: str) -> str:
        return (await self._line(question)).decode("utf-8", "replace").strip().lower()

    def forget(self) -> None:
        """Lines of a file were not typed too early."""

    async def decide(self, question: str) -> str:
        line = await self._line(question)
        if not line:
            raise EOFError
        return line.decode("utf-8", "replace").strip().lower()

    @property
    def has_editor(self) -> bool:
        """There is none."""
        return False

    def lent(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def close(self) -> None:
        """There is nothing to give back."""

    async def _line(self, prompt: str) -> bytes:
        self._out.write(prompt)
        self._out.flush()
        line = await self._next()
        self._out.write(line.decode("utf-8", "replace").rstrip("\r\n") + "\n")
        return line

    async def _next(self) -> bytes:
        """Return the next line with its end; nothing at the end, whoever asks next. Raises
        UsageError.
        """
        while not self._lines and not self._ended:
            await self._take()
        return self._lines.popleft() if self._lines else b""

    async def _take(self) -> None:
        """Read one piece into lines. What nobody asks for stays in the pipe, and its writer
        waits.
        """
        if self._pieces is None:
            self._pieces = asyncio.Queue()
            # A daemon: a pipe that never ends must not keep the program from leaving.
            threading.Thread(
                target=self._pump,
                args=(asyncio.get_running_loop(), self._pieces),
                daemon=True,
                name="stdin",
            ).start()
        if not self._asked:  # the one who asked before may have been stopped
            self._asked = True
            self._wanted.release()
        piece = await self._pieces.get()
        self._asked = False
        self._ended = not piece
        head, *lines = piece.split(b"\n")
        self._rest.append(head)
        self._held += len(head)
        if self._held > LONGEST_LINE:
            raise UsageError(
                f"A line of standard input has more than {LONGEST_LINE >> 20} MB.",
                "Name a file with @.",
            )
        for line in lines:
            self._lines.append(b"".join(self._rest) + b"\n")
            self._rest, self._held = [line], len(line)
        if self._ended and any(self._rest):
            self._lines.append(b"".join(self._rest) + b"\n")

    def _pump(self, loop: asyncio.AbstractEventLoop, pieces: asyncio.Queue[bytes]) -> None:
        # Not through sys.stdin: a thread that waits inside it aborts the interpreter at its end.
        data = b" "
        while data:
            self._wanted.acquire()
            try:
                data = os.read(self._descriptor, _PIECE)
            except OSError:  # the terminal is gone
                data = b""
            try:
                loop.call_soon_threadsafe(pieces.put_nowait, data)
            except RuntimeError:  # the loop has ended
                return
