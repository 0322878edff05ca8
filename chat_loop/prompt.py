"""The only door to the terminal's input: a line editor on a terminal, plain lines otherwise."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol, TextIO

from chat_loop.start import PROMPT, InstantPrompt, Terminal

FOLD_CHARACTERS = 2_000
FOLD_LINES = 20
LONGEST_REMEMBERED = 10_000
"""Longer entries are not put into the input history."""
NARROW = 40
"""Below this many columns there is no status line."""


class Reader(Protocol):
    """Where the user's lines come from."""

    async def read(self) -> str:
        """Return the next entry, possibly of several lines. Raises EOFError at the end, KeyboardInterrupt on Ctrl-C."""

    async def confirm(self, question: str) -> bool:
        """Ask yes or no; anything but yes is no."""


def clean(text: str) -> str:
    """Text as it can be encoded: bytes that the locale could not read are UTF-8, halves of characters become U+FFFD."""
    try:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class LineReader:
    """Lines from a pipe or a file; the prompt and the line are repeated on `out`, so that the output can be read."""

    def __init__(self, source: BinaryIO | None = None, out: TextIO | None = None) -> None:
        self._source = source or sys.stdin.buffer
        self._out = out or sys.stdout
        self._lines: asyncio.Queue[bytes] | None = None

    async def read(self) -> str:
        line = await self._line(PROMPT)
        if not line:
            raise EOFError
        return clean(line.decode("utf-8", "replace")).removesuffix("\n")

    async def confirm(self, question: str) -> bool:
        return (await self._line(question)).strip().lower() in (b"y", b"yes")

    async def _line(self, prompt: str) -> bytes:
        self._out.write(prompt)
        self._out.flush()
        if self._lines is None:
            self._lines = asyncio.Queue()
            # A daemon: a pipe that never ends must not keep the program from leaving.
            threading.Thread(
                target=self._pump, args=(asyncio.get_running_loop(), self._lines), daemon=True, name="stdin"
            ).start()
        line = await self._lines.get()
        self._out.write(line.decode("utf-8", "replace").rstrip("\r\n") + "\n")
        return line

    def _pump(self, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes]) -> None:
        while True:
            line = self._source.readline()
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:  # the loop has ended
                return
            if not line:
                return


def _terminal() -> Terminal | None:
    try:
        return Terminal(sys.stdin.fileno()) if os.name != "nt" else None
    except OSError:
        return None


class PromptReader:
    """prompt_toolkit's editor: history, completion of commands, pasted text folded, a status line below.

    `status()` is the status line's text. `instant` is the prompt that was drawn before this module was loaded.
    `ready()` is called once, when the editor has been drawn and takes keys.
    """

    def __init__(
        self,
        *,
        history: Path,
        commands: Sequence[str],
        status: Callable[[], str],
        instant: InstantPrompt | None,
        ready: Callable[[], None],
    ) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion
        from prompt_toolkit.document import Document
        from prompt_toolkit.history import FileHistory
        from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
        from prompt_toolkit.keys import Keys
        from prompt_toolkit.styles import Style

        self._instant = instant
        self._terminal = instant.terminal if instant is not None else _terminal()
        self._folded: dict[str, str] = {}

        class PrivateHistory(FileHistory):
            """Entries in a file that only the user can read; a disk that refuses it costs the history, not the chat."""

            def store_string(self, string: str) -> None:
                if len(string) > LONGEST_REMEMBERED:
                    return
                try:
                    history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    os.close(os.open(history, os.O_CREAT | os.O_WRONLY, 0o600))
                    super().store_string(string)
                except OSError:
                    return

        class Commands(Completer):
            def get_completions(self, document: Document, complete_event: object) -> Iterable[Completion]:
                text = document.text_before_cursor
                if text[:1] in ("/", "#") and " " not in text:
                    for name in commands:
                        if name.startswith(text[1:].lower()):
                            yield Completion(name, start_position=1 - len(text))

        keys = KeyBindings()

        @keys.add(Keys.BracketedPaste)
        def paste(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(self._fold(clean(event.data)))

        @keys.add("c-c")
        def interrupt(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
            else:
                event.app.exit(exception=KeyboardInterrupt())

        @keys.add("escape", "enter")
        def newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            history=PrivateHistory(str(history)),
            completer=Commands(),
            complete_while_typing=False,
            key_bindings=keys,
            style=Style.from_dict({"bottom-toolbar": "noreverse dim", "": ""}),
            enable_suspend=True,
            reserve_space_for_menu=0,
        )
        self._status = status

        def drawn(_: object) -> None:
            self._session.app.after_render -= drawn
            ready()

        self._session.app.after_render += drawn

    async def read(self) -> str:
        from prompt_toolkit.application import get_app

        def toolbar() -> str:
            return f" {self._status()}" if get_app().output.get_size().columns >= NARROW else ""

        wide = self._session.output.get_size().columns >= NARROW
        if self._instant is not None:
            self._instant.erase()
        try:
            text = await self._session.prompt_async(bottom_toolbar=toolbar if wide else None)
        finally:
            if self._terminal is not None:
                self._terminal.silence(signals=True)  # keys typed during a reply wait for the next prompt, unseen
        return self._unfold(clean(text))

    async def confirm(self, question: str) -> bool:
        from prompt_toolkit import PromptSession

        try:
            answer = await PromptSession[str]().prompt_async(question)
        except (EOFError, KeyboardInterrupt):
            return False
        return answer.strip().lower() in ("y", "yes")

    def close(self) -> None:
        """Give the terminal back."""
        if self._terminal is not None:
            self._terminal.restore()

    def _fold(self, text: str) -> str:
        """A long paste stands in the line as its size; the text itself waits until the entry is sent."""
        lines = text.count("\n") + 1
        if len(text) <= FOLD_CHARACTERS and lines <= FOLD_LINES:
            return text
        name = f"[paste {len(self._folded) + 1}: {len(text):,} characters, {lines:,} lines]"
        self._folded[name] = text
        return name

    def _unfold(self, text: str) -> str:
        folded, self._folded = self._folded, {}
        for name, whole in folded.items():
            text = text.replace(name, whole, 1)
        return text
