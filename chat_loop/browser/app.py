"""The browser's screen: a list of sessions, a filter, a preview, and keys."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Literal, Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition, FilterOrBool
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    Dimension,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    VSplit,
    Window,
)
from prompt_toolkit.layout.containers import AnyContainer
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.widgets import TextArea

from chat_loop.browser.full_screen import full_screen
from chat_loop.browser.list import SessionList
from chat_loop.characters import exact, one_line
from chat_loop.display.conversation_rows import name_text
from chat_loop.display.preview import Preview
from chat_loop.display.sanitizer import cells, cut_to, wrapped
from chat_loop.errors import ChatLoopError
from chat_loop.sessions.records import SessionRow

MIN_LINES_BOTH = 16  # a screen with more lines has room for the list and a preview
MIN_LINES_TITLE = 6  # a screen with more lines has a title
PENDING = Preview(about=[("", "…")])  # shown until a preview has been read
HINTS = {
    "list": (
        *("Enter resume", "q leave", "/ filter", "p preview", "e edit", "d trash"),
        *("g newest", "G oldest", "Ctrl-Z suspend"),
    ),
    "filter": ("Enter list", "Esc clear"),
    "trash?": (),
}
"""The keys in the bottom line, the most important first."""
Mode = Literal["list", "filter", "trash?"]
Act = Literal["resume", "edit"]


class SavedSessions(Protocol):
    """The sessions that the browser shows. All methods except `preview` raise ChatLoopError."""

    def rows(self) -> Sequence[SessionRow]:
        """Return the conversations, newest first."""

    def preview(self, row: SessionRow) -> Preview:
        """Return the preview of a session; called in a thread."""

    def trash(self, row: SessionRow) -> str:
        """Move a session to the trash; return a sentence that says so."""

    async def edit(self, row: SessionRow) -> None:
        """Open a session's file in the user's editor."""


async def browse(source: SavedSessions, *, now: datetime, words: str = "") -> SessionRow | None:
    """Let the user choose one of the sessions that match `words`. Return None if none is chosen.

    Raises ChatLoopError when the rows cannot be read, and EOFError when the terminal is gone.
    """
    sessions = SessionList(now)
    sessions.filter(words)
    sessions.set_rows(source.rows())
    if sessions.row is not None and sessions.row.current:  # it is already open
        sessions.select(1)
    return await _Browser(source, sessions).run()


class _Browser:
    def __init__(self, source: SavedSessions, sessions: SessionList) -> None:
        self._source = source
        self._sessions = sessions
        self._mode: Mode = "list"
        self._notice = ""
        self._preview_chosen: bool | None = None  # the user's choice, once made
        self._previews: dict[SessionRow, Preview] = {}
        self._is_reading = False
        self._list = Window(sessions, cursorline=True)
        self._title = Window(FormattedTextControl(sessions.title), height=1)
        self._about = Window(
            FormattedTextControl(self._about_text), wrap_lines=True, dont_extend_height=True
        )
        self._messages = Window(FormattedTextControl(self._messages_text), wrap_lines=True)
        self._filter = TextArea(sessions.words, multiline=False, prompt="/", width=Dimension(min=9))
        self._filter.buffer.on_text_changed += lambda buffer: sessions.filter(buffer.text)
        bottom = FormattedTextControl(self._bottom_line, focusable=True, show_cursor=False)
        self._bottom = Window(bottom, height=1)
        self._output = create_output()
        bindings = KeyBindings()
        screen = DynamicContainer(self._screen)
        self._app: Application[Act | None] = full_screen(
            screen, self._bottom, bindings, self._output
        )
        self._bind_keys(bindings)

    async def run(self) -> SessionRow | None:
        """Show the screen until the user leaves it; return the chosen session."""
        while True:
            act = await self._app.run_async(handle_sigint=False)
            row = self._sessions.row
            if act != "edit" or row is None:
                return row if act == "resume" else None
            with self._show_errors():  # the editor has the terminal, so the screen is opened again
                await self._source.edit(row)
            self._previews.clear()
            self._read_rows()

    # The screen

    def _shows_preview(self, height: int) -> bool:
        """Return True if a screen of `height` lines shows the preview."""
        if self._preview_chosen is None:
            return height > MIN_LINES_BOTH
        return self._preview_chosen

    def _screen(self) -> AnyContainer:
        """Return the parts of the screen that its size allows."""
        size = self._output.get_size()
        shows_preview = self._shows_preview(size.rows)
        parts: list[AnyContainer] = [self._list]
        if size.rows > MIN_LINES_TITLE:
            parts = [self._title, self._list]
        part: AnyContainer = HSplit(parts)
        preview = [self._about, self._messages]
        if shows_preview and size.rows <= MIN_LINES_BOTH:
            part = HSplit(preview)
        elif shows_preview:
            line = Window(height=1, char="─", style="dim")
            part = HSplit([part, line, HSplit(preview, height=size.rows // 2 - 1)])
        bottom = VSplit([self._filter, self._bottom]) if self._mode == "filter" else self._bottom
        return HSplit([part, bottom])

    def _preview(self) -> Preview:
        """Return the preview of the selected session, or `PENDING` until it has been read."""
        row = self._sessions.row
        if row is None:
            return Preview()
        if row not in self._previews and not self._is_reading:
            self._is_reading = True  # one at a time, however fast the selection moves
            self._previews[row] = PENDING
            self._app.create_background_task(self._read_preview(row))
        return self._previews.get(row, PENDING)

    async def _read_preview(self, row: SessionRow) -> None:
        try:
            self._previews[row] = await asyncio.to_thread(self._source.preview, row)
        finally:
            self._is_reading = False
            self._app.invalidate()

    def _about_text(self) -> Text:
        row = self._sessions.row
        text: Text = [("bold", name_text(row))] if row is not None else []
        for name, words in self._preview().about:
            text += self._paragraph(name, words)
        return text

    def _paragraph(self, name: str, words: str) -> Text:
        """Return a newline, the name and the words, wrapped between words."""
        start = f"{name}: " if name else ""
        lines = wrapped(start + words, self._output.get_size().columns, 0)
        return [("bold", f"\n{start}"), ("", lines[len(start) :])]

    def _messages_text(self) -> Text:
        preview = self._preview()
        if not preview.messages:
            return []
        earlier = ""
        if preview.earlier:
            earlier = f" ({preview.earlier:,} earlier)"
        text: Text = [("bold", "Last words"), ("dim", earlier)]
        for speaker, words in preview.messages:
            text += self._paragraph(speaker, words)
        text.insert(-2, ("[SetCursorPosition]", ""))  # the last message is scrolled into view
        return text

    def _bottom_line(self) -> Text:
        """Return a notice or a question, and the keys that fit beside it."""
        room = self._output.get_size().columns
        row = self._sessions.row
        text = self._notice
        if self._mode == "trash?" and row is not None:
            name = exact(row.name.replace("\n", "␊")) or row.id
            text = f"Trash “{cut_to(name, max(1, room - 13))}”? y/n"
        line: Text = [("", cut_to(text, room))]
        room -= cells(text)
        for hint in HINTS[self._mode]:
            key, act = hint.split(" ", 1)
            gap = "  " if len(line) > 1 or text else ""
            if (needed := cells(gap + hint)) <= room:
                room -= needed
                line += [("bold", f"{gap}{key}"), ("dim", f" {act}")]
        return line

    # The keys

    def _bind_keys(self, bindings: KeyBindings) -> None:
        def bind(keys: str, act: Callable[[], object], when: FilterOrBool = True) -> None:
            def press(_: KeyPressEvent) -> None:
                self._notice = ""
                act()

            for key in keys.split():
                bindings.add(key, filter=when, eager=key == "escape")(press)

        sessions = self._sessions
        in_list = Condition(lambda: self._mode == "list")
        on_row = Condition(lambda: self._mode == "list" and sessions.row is not None)
        in_filter = Condition(lambda: self._mode == "filter")
        in_question = Condition(lambda: self._mode == "trash?")
        bind("c-c", self._app.exit)
        bind("c-z", self._app.suspend_to_background)
        sessions.bind_moves(partial(bind, when=on_row))
        bind("enter c-j", lambda: self._app.exit(result="resume"), on_row)
        bind("e", lambda: self._app.exit(result="edit"), on_row)
        bind("d delete", lambda: self._enter("trash?"), on_row)
        bind("escape", lambda: self._clear() if sessions.words else self._app.exit(), in_list)
        bind("q", self._app.exit, in_list)
        bind("/", lambda: self._enter("filter"), in_list)
        bind("tab p", self._switch_preview, in_list)
        bind("c-l f5", self._read_rows, in_list)
        bind("enter c-j tab up down pageup pagedown", lambda: self._enter("list"), in_filter)
        bind("escape", self._clear, in_filter)
        bind("<any>", lambda: self._trash(False), in_question)
        bind("y Y", lambda: self._trash(True), in_question)

    def _enter(self, mode: Mode) -> None:
        self._mode = mode
        self._app.layout.focus(self._filter if mode == "filter" else self._bottom)

    def _clear(self) -> None:
        self._filter.text = ""
        self._enter("list")

    def _switch_preview(self) -> None:
        self._preview_chosen = not self._shows_preview(self._output.get_size().rows)

    def _trash(self, confirmed: bool) -> None:
        self._enter("list")
        self._notice = "Nothing was moved."
        row = self._sessions.row
        if confirmed and row is not None:
            with self._show_errors():
                self._notice = one_line(self._source.trash(row), 500)
            self._read_rows()

    def _read_rows(self) -> None:
        with self._show_errors():
            self._sessions.set_rows(self._source.rows())

    @contextlib.contextmanager
    def _show_errors(self) -> Iterator[None]:
        """Show the errors of this context in the bottom line."""
        try:
            yield
        except ChatLoopError as error:
            self._notice = one_line(f"{error.message} {error.hint}", 500)
