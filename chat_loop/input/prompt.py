"""The line editor on a terminal: history, completion, folded pastes, keys of emacs or vi, a status
line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig
from prompt_toolkit.document import Document
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from chat_loop.display.nonblocking import drain
from chat_loop.errors import ChatLoopError
from chat_loop.input import editor
from chat_loop.input.completing import Choice, Completions
from chat_loop.input.history import PrivateHistory
from chat_loop.input.keys import Lines, bindings, has_input
from chat_loop.input.lines import Reader, clean
from chat_loop.input.pastes import Pastes
from chat_loop.input.start import PROMPT, InstantPrompt, Terminal

NARROW = 40
"""Below this many columns there is no status line."""
MENU_LINES = 8
EDITED_CHARACTERS = 20_000
EDITED_LINES = 200
"""Larger texts from an editor are folded."""
ESCAPE_SECONDS = 0.1
"""How long the vi keys wait after Escape for the rest of a key's sequence."""
MULTILINE_HINT = "several lines: an empty one ends them, Ctrl-C gives up"
EDIT_HINT = "your last query: Enter asks it anew, Ctrl-C gives up"


@contextlib.contextmanager
def _plain_output() -> Iterator[None]:
    """Give editors made meanwhile plain output on a dumb terminal, which they would send a sequence
    or two. An editor that is given an output would draw itself there.
    """
    if not is_dumb_terminal():
        yield
        return
    with create_app_session(output=PlainTextOutput(sys.stdout)):
        yield


class PromptReader(Reader):
    """Reads entries with prompt_toolkit's editor.

    `status()` is the status line's text, which is redrawn while `refreshes()`. `instant` is the
    prompt that was drawn before this module was loaded. `ready()` is called once, when the editor
    takes keys. `complete(before)` says what the text before the cursor can become; it is called in
    a thread. `report` shows why the line could not be edited.
    """

    has_editor = True

    def __init__(
        self,
        *,
        history: Path,
        status: Callable[[], str],
        instant: InstantPrompt | None,
        ready: Callable[[], None],
        complete: Callable[[str], Iterable[Choice]] = lambda _: (),
        report: Callable[[ChatLoopError], None] = lambda _: None,
        keys: str = "emacs",
        refreshes: Callable[[], bool] = bool,
    ) -> None:
        self._instant, self._status, self._report, self._refreshes = (
            instant,
            status,
            report,
            refreshes,
        )
        self._terminal = instant.terminal if instant is not None else None
        if instant is None and os.name != "nt":
            with contextlib.suppress(OSError):
                self._terminal = Terminal(sys.stdin.fileno())
                # else what is typed before the first prompt is echoed twice
                self._terminal.silence(signals=True)
        self._pastes = Pastes()
        self._offered = False
        self._last_entry: tuple[str, list[str]] = ("", [])
        """The last entry as it stood in the line, and what was pasted into it."""
        self._next_text = ""
        self._lines = Lines(lambda: has_input(self._session.input), self._pastes)
        vi = keys == "vi"
        with _plain_output():
            self._session: PromptSession[str] = PromptSession(
                PROMPT,
                history=PrivateHistory(history, self._pastes.has),
                completer=Completions(complete),
                complete_in_thread=True,
                complete_while_typing=False,
                key_bindings=bindings(self._lines, edit=self._edit_line),
                # what is only wrapped begins at the margin, so that it can be copied
                prompt_continuation=lambda width, _, wrapped: "" if wrapped else " " * width,
                style=Style.from_dict({"bottom-toolbar": "noreverse dim"}),
                enable_suspend=True,
                reserve_space_for_menu=MENU_LINES,
                vi_mode=vi,
                cursor=ModalCursorShapeConfig() if vi else None,
            )
        app, buffer = self._session.app, self._session.default_buffer
        if vi:
            app.ttimeoutlen = ESCAPE_SECONDS

        def on_first_render(_: object) -> None:
            app.after_render -= on_first_render
            ready()

        app.after_render += on_first_render
        app.before_render += lambda _: self._before_render()
        app.key_processor.before_key_press += lambda _: self._lines.release_held(buffer)

    async def read(self) -> str:
        """Return the next entry. Raises EOFError on Ctrl-D and KeyboardInterrupt on Ctrl-C, both in
        an empty line.
        """
        if self._instant is not None:
            self._instant.erase()
        self._lines.begin(offered=self._offered)
        self._offered = False
        self._handle_suspend(on=False)  # here Ctrl-Z is the editor's key
        next_text, self._next_text = self._next_text, ""
        wide = self._session.output.get_size().columns >= NARROW
        try:
            text = await self._session.prompt_async(
                bottom_toolbar=self._toolbar if wide and self._status() else None,
                handle_sigint=False,
                default=next_text,
                refresh_interval=1.0 if self._refreshes() else 0.0,
            )
        finally:
            self._wait_for_prompt()
        self._last_entry, self._pastes.shown = (text, self._pastes.shown), []
        pasted = text
        for paste in self._last_entry[1]:
            pasted = pasted.replace(paste, " ", 1)
        self.typed = clean(pasted)
        return clean(self._pastes.expand(text))

    def put_back(self) -> None:
        self._next_text, self._pastes.shown = self._last_entry

    def offer(self, text: str) -> bool:
        self._next_text = self._pastes.fold(text, EDITED_CHARACTERS, EDITED_LINES)
        self._offered = True
        return True

    async def ask(self, question: str) -> str:
        with _plain_output():
            session = PromptSession[str](reserve_space_for_menu=0)
        try:
            return clean(await session.prompt_async(question, handle_sigint=False)).strip().lower()
        finally:
            self._announce_pastes(on=True)

    async def edit(self, text: str) -> str:
        with self.release_terminal():
            return await editor.edit_text(text)

    async def open_file(self, path: Path) -> None:
        with self.release_terminal():
            await editor.open_file(path)

    def forget(self) -> None:
        clear_typeahead(self._session.input)
        if self._terminal is not None:
            self._terminal.forget()

    @contextlib.contextmanager
    def release_terminal(self) -> Iterator[None]:
        drain(sys.stdout)
        self._handle_suspend(on=False)
        self.restore()
        try:
            yield
        finally:
            self._wait_for_prompt()

    def close(self) -> None:
        self.restore()

    def restore(self) -> None:
        """Restore the original state of the terminal."""
        self._announce_pastes(on=False)
        if self._terminal is not None:
            self._terminal.restore()

    def _wait_for_prompt(self) -> None:
        """Silence the terminal: keys and pastes wait unseen for the next prompt."""
        self._handle_suspend(on=True)  # first: what stops the program must find it given back
        if self._terminal is not None:
            self._terminal.silence(signals=True)
        self._announce_pastes(on=True)

    def _handle_suspend(self, *, on: bool) -> None:
        """Give the terminal back before Ctrl-Z stops the program, or leave Ctrl-Z to others."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError, AttributeError):  # Windows
            if on:
                loop.add_signal_handler(signal.SIGTSTP, self._suspend)
            else:
                loop.remove_signal_handler(signal.SIGTSTP)

    def _suspend(self) -> None:
        self.restore()
        self._handle_suspend(on=False)
        # Not SIGSTOP: where no shell could continue the program, the system ignores this one. To
        # this thread: sent to the process it could stop it a moment later, with the terminal silent
        # again.
        signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
        self._wait_for_prompt()

    def _announce_pastes(self, *, on: bool) -> None:
        """Switch bracketed paste on or off. Not all terminals support it, and one may be gone."""
        output = self._session.output
        with contextlib.suppress(OSError):
            (output.enable_bracketed_paste if on else output.disable_bracketed_paste)()
            output.flush()

    def _before_render(self) -> None:
        self._lines.draw(self._session.default_buffer)
        rows = self._session.output.get_size().rows
        self._session.reserve_space_for_menu = max(0, min(MENU_LINES, rows - 3))

    def _toolbar(self) -> str:
        if self._session.output.get_size().columns < NARROW:
            return ""
        text = (
            MULTILINE_HINT
            if self._lines.multiline
            else EDIT_HINT
            if self._lines.offered
            else self._status()
        )
        return f" {text}"

    async def _edit_line(self, buffer: Buffer) -> None:
        """Edit the line in the user's editor, with its pastes expanded."""
        async with in_terminal():
            drain(sys.stdout)
            try:
                text = clean(await editor.edit_text(self._pastes.expand_for_edit(buffer.text)))
            except ChatLoopError as error:
                self._report(error)
                return
        buffer.document = Document(self._pastes.fold(text, EDITED_CHARACTERS, EDITED_LINES))
