"""The line editor on a terminal: history, completion of commands, pasted text folded, a status line below."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.styles import Style

from chat_loop.lines import clean
from chat_loop.start import PROMPT, InstantPrompt, Terminal

FOLD_CHARACTERS = 2_000
FOLD_LINES = 20
LONGEST_REMEMBERED = 10_000
"""Longer entries are not put into the input history."""
REFRESH_SECONDS = 1.0
NARROW = 40
"""Below this many columns there is no status line."""


class PromptReader:
    """Reads entries with prompt_toolkit's editor.

    `status()` is the status line's text. `instant` is the prompt that was drawn before this module was loaded.
    `ready()` is called once, when the editor has been drawn and takes keys. `paths(before)` completes a path in the
    text before the cursor: (new text, how many characters it takes the place of). `moving()`: the status may change
    while nothing is typed.
    """

    def __init__(
        self,
        *,
        history: Path,
        commands: Sequence[str],
        status: Callable[[], str],
        instant: InstantPrompt | None,
        ready: Callable[[], None],
        paths: Callable[[str], Iterable[tuple[str, int]]] = lambda _: (),
        moving: Callable[[], bool] = bool,
    ) -> None:
        self._instant = instant
        self._terminal = instant.terminal if instant is not None else _terminal()
        self._status = status
        self._moving = moving
        self._folded: dict[str, str] = {}
        self._pasted: list[str] = []
        """What of several lines was pasted and not folded."""
        self._last: tuple[str, dict[str, str], list[str]] = ("", {}, [])
        """The last entry as it stood in the line, what was folded in it, and what was pasted."""
        self._again = ""
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            history=_PrivateHistory(history, self._folded),
            completer=_Completions(commands, paths),
            complete_while_typing=False,
            key_bindings=_keys(self._fold),
            style=Style.from_dict({"bottom-toolbar": "noreverse dim"}),
            enable_suspend=True,
            reserve_space_for_menu=0,
        )

        def drawn(_: object) -> None:
            self._session.app.after_render -= drawn
            ready()

        self._session.app.after_render += drawn

    @property
    def has_editor(self) -> bool:
        """There is one."""
        return True

    async def read(self) -> str:
        """Return the next entry. Raises EOFError on Ctrl-D and KeyboardInterrupt on Ctrl-C, both in an empty line."""
        if self._instant is not None:
            self._instant.erase()
        try:
            toolbar = self._toolbar if self._columns >= NARROW and self._status() else None
            again, self._again = self._again, ""
            every = REFRESH_SECONDS if self._moving() else 0.0
            text = await self._session.prompt_async(
                bottom_toolbar=toolbar, handle_sigint=False, default=again, refresh_interval=every
            )
        finally:
            if self._terminal is not None:
                self._terminal.silence(signals=True)  # keys typed during a reply wait for the next prompt, unseen
        self._last = text, dict(self._folded), list(self._pasted)
        text = self._unfolded(text)
        self._folded.clear()
        self._pasted.clear()
        return clean(text)

    @property
    def typed(self) -> str:
        """The last entry without what was pasted into it, but for pastes of one line: they may be paths."""
        text, _, pasted = self._last
        for paste in pasted:
            text = text.replace(paste, " ", 1)
        return clean(text)

    def put_back(self) -> None:
        """Let the last entry stand in the next line, with what was folded in it."""
        self._again, folded, pasted = self._last
        self._folded.update(folded)
        self._pasted += pasted

    async def ask(self, question: str) -> str:
        """Ask for one word; return it in small letters, empty when there is no answer."""
        try:
            answer = await PromptSession[str]().prompt_async(question, handle_sigint=False)
        except (EOFError, KeyboardInterrupt):
            return ""
        return clean(answer).strip().lower()

    def forget(self) -> None:
        """Throw away the keys that were typed and not read yet."""
        clear_typeahead(self._session.input)
        if self._terminal is not None:
            self._terminal.forget()

    async def decide(self, question: str) -> str:
        """As `ask`, but raises KeyboardInterrupt on Ctrl-C and EOFError on Ctrl-D."""
        session = PromptSession[str](reserve_space_for_menu=0)
        return clean(await session.prompt_async(question, handle_sigint=False)).strip().lower()

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """The terminal as another program expects to find it."""
        if self._terminal is not None:
            self._terminal.restore()
            self._terminal = _terminal()  # it was given back for good: found again before anybody changes it
        try:
            yield
        finally:
            if self._terminal is not None:
                self._terminal.silence(signals=True)

    def close(self) -> None:
        """Give the terminal back."""
        if self._terminal is not None:
            self._terminal.restore()

    @property
    def _columns(self) -> int:
        return self._session.output.get_size().columns

    def _toolbar(self) -> str:
        return f" {self._status()}" if self._columns >= NARROW else ""

    def _fold(self, text: str) -> str:
        """A long paste stands in the line as its size; the text itself waits until the entry is sent."""
        lines = text.count("\n") + 1
        if len(text) <= FOLD_CHARACTERS and lines <= FOLD_LINES:
            self._pasted += [text] if lines > 1 else []
            return text
        name = f"[paste {len(self._folded) + 1}: {len(text):,} characters, {lines:,} lines]"
        self._folded[name] = text
        return name

    def _unfolded(self, text: str) -> str:
        for name, whole in self._folded.items():
            text = text.replace(name, whole, 1)
        return text


class _PrivateHistory(FileHistory):
    """Entries in a file that only the user can read; a disk that refuses it costs the history, not the chat."""

    def __init__(self, path: Path, folded: Mapping[str, str]) -> None:
        super().__init__(str(path))
        self._path = path
        self._folded = folded

    def store_string(self, string: str) -> None:
        if len(string) > LONGEST_REMEMBERED or any(name in string for name in self._folded):
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
            super().store_string(clean(string))
        except OSError:
            return


class _Completions(Completer):
    """Names of commands, after `/` or `#`, and paths of files, after `@`."""

    def __init__(self, names: Sequence[str], paths: Callable[[str], Iterable[tuple[str, int]]]) -> None:
        self._names = names
        self._paths = paths

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if text[:1] in ("/", "#") and " " not in text:
            for name in self._names:
                if name.startswith(text[1:].lower()):
                    yield Completion(name, start_position=1 - len(text))
            return
        for path, length in self._paths(text):
            yield Completion(path, start_position=-length)


def _keys(fold: Callable[[str], str]) -> KeyBindings:
    keys = KeyBindings()

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(fold(clean(event.data)))

    @keys.add("c-c")
    def interrupt(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt())

    @keys.add("escape", "enter")
    def newline(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _terminal() -> Terminal | None:
    try:
        return Terminal(sys.stdin.fileno()) if os.name != "nt" else None
    except OSError:
        return None
