"""The browser on the terminal: prompt_toolkit's alternate screen, its keys, and the way out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec.structs import replace
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, UIContent, UIControl, Window

from chat_loop.browser.preview import Preview, Previews
from chat_loop.browser.state import Act, Browsing, press
from chat_loop.browser.view import fitted, frame
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.sessions.records import SessionRow

ESCAPE_SECONDS = 0.1
"""How long an escape character waits for the rest of a key before it is the key Esc."""


class Shelf(Protocol):
    """The sessions. All but `preview` are called between two drawings, and hold the screen up."""

    def rows(self, unfolded: Collection[str]) -> Sequence[SessionRow]:
        """Return the newest first; a chain is its newest session unless `unfolded` has its id.
        Raises ChatLoopError.
        """

    def preview(self, row: SessionRow) -> Preview:
        """Return what is known of a session; never raise. Called in a thread, one at a time."""

    def trash(self, row: SessionRow) -> str:
        """Move it to the trash; return a sentence that says so. Raises ChatLoopError."""

    async def edit(self, row: SessionRow) -> None:
        """Open its file in the user's editor, with the terminal as it was before. Raises
        ChatLoopError.
        """


async def browse(shelf: Shelf, *, now: datetime, words: str = "") -> SessionRow | None:
    """Let the user choose a session on the whole screen; None when none was chosen. `words` filter
    from the start.

    The terminal is left as it was found, whatever happens. Raises UsageError where there is no
    terminal that can show it, what `shelf.rows` raises at the beginning, and EOFError when the
    terminal goes away.
    """
    if not (sys.stdin.isatty() and os.isatty(1)) or os.environ.get("TERM") == "dumb":
        raise UsageError("There is no terminal that can show the browser.", "sessions lists them.")
    state = Browsing(words=words).stocked(shelf.rows(frozenset()))
    if state.row is not None and state.row.current:  # nobody goes on with what is open
        state = state.selecting(1)
    return await _Browser(shelf, state, now).run()


class _Browser(UIControl):
    """The state, and the one control of the screen, which is drawn as a whole."""

    def __init__(self, shelf: Shelf, state: Browsing, now: datetime) -> None:
        self._shelf = shelf
        self._state = state
        self._now = now
        keys = KeyBindings()
        keys.add(Keys.Any)(self._pressed)
        self._app: Application[Act] = Application(
            layout=Layout(Window(self, always_hide_cursor=False)),
            key_bindings=keys,
            full_screen=True,
            include_default_pygments_style=False,
        )
        self._app.ttimeoutlen = ESCAPE_SECONDS
        self._previews = Previews(shelf.preview, self._app.invalidate)

    async def run(self) -> SessionRow | None:
        while True:
            with _failing(self._app):
                act = await self._app.run_async(handle_sigint=False, set_exception_handler=False)
            row = self._state.row
            if act != "edit" or row is None:
                return row if act == "resume" else None
            with self._telling():  # the terminal is the editor's: the screen is opened again
                await self._shelf.edit(row)
            self._previews.forget()
            self._restock()

    def is_focusable(self) -> bool:
        return True

    def create_content(self, width: int, height: int) -> UIContent:
        self._state = fitted(self._state, width, height)
        drawn = frame(self._state, self._previews.get, width, height, self._now)
        last = max(0, len(drawn.lines) - 1)
        return UIContent(
            get_line=lambda number: list(drawn.lines[number]),
            line_count=len(drawn.lines),
            cursor_position=Point(x=drawn.cursor or 0, y=last if drawn.cursor is not None else 0),
            show_cursor=drawn.cursor is not None,
        )

    def _pressed(self, event: KeyPressEvent) -> None:
        pressed = event.key_sequence[-1]
        key = pressed.key.value if isinstance(pressed.key, Keys) else pressed.key
        if key == "c-z":
            self._app.suspend_to_background()
            return
        self._state, act = press(self._state, key, pressed.data)
        row = self._state.row
        if act == "trash" and row is not None:
            with self._telling():
                self._state = replace(self._state, notice=self._shelf.trash(row))
        if act in ("trash", "rows"):
            self._restock()
        elif act is not None:
            self._app.exit(result=act)

    def _restock(self) -> None:
        with self._telling():
            self._state = self._state.stocked(self._shelf.rows(self._state.unfolded))

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Say what fails in the bottom line."""
        try:
            yield
        except ChatLoopError as error:
            told = one_line(f"{error.message} {error.hint}", 500)
            self._state = replace(self._state, notice=told)


@contextlib.contextmanager
def _failing(app: Application[Act]) -> Iterator[None]:
    """End the browser when a key or a drawing fails, instead of printing over the screen."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        running = app.is_running and not app.is_done
        if "handle" in context and isinstance(error, BaseException) and running:
            app.exit(exception=error)
        elif before is not None:
            before(loop, context)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(failed)
    try:
        yield
    finally:
        loop.set_exception_handler(before)
