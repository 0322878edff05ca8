"""The picker of messages: a list of what the user said, newest first, and what to do with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal

from msgspec import Struct
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    FormattedTextControl,
    HSplit,
    UIContent,
    UIControl,
    Window,
)
from prompt_toolkit.output.defaults import create_output

from chat_loop.browser.full_screen import full_screen
from chat_loop.characters import one_line
from chat_loop.display.sanitizer import cells, cut_to
from chat_loop.errors import SessionError
from chat_loop.sessions.records import Exchange

Act = Literal["rewind", "fork", "summarize"]
HINTS = ("Enter go back", "f branch after it", "s summarize up to here", "Esc leave")
"""The keys in the bottom line, the most important first."""
AHEAD = 200
"""How many messages after the selected one are read: more than a screen shows."""
LAST = 1 << 40
"""A place after every message."""


class Choice(Struct, frozen=True):
    """A message that was chosen, and what to do with it."""

    act: Act
    exchange: Exchange


class Messages:
    """The user's messages, newest first. Older ones are read as one goes down to them."""

    def __init__(self, older: Iterator[Exchange]) -> None:
        self.read: list[Exchange] = []
        self.are_all = False
        """True when there are none beside those that were `read`."""
        self._older = older
        self.read_to(0)

    def read_to(self, place: int) -> None:
        """Read the messages up to a place and a screen more. Raises SessionError."""
        wanted = max(0, place + AHEAD - len(self.read))
        older = [*islice(self._older, wanted)]
        self.read += older
        self.are_all = len(older) < wanted or self.are_all


async def choose(messages: Messages) -> Choice | None:
    """Let the user choose one of the messages. Return None if none is chosen. Raises EOFError when
    the terminal is gone, and SessionError.
    """
    rows = _MessageRows(messages)
    output = create_output()
    keys = KeyBindings()

    def hints() -> Text:
        line: Text = []
        room = output.get_size().columns
        for hint in HINTS:
            key, act = hint.split(" ", 1)
            gap = "  " if line else ""
            room -= cells(gap + hint)
            if room >= 0:
                line += [("bold", f"{gap}{key}"), ("dim", f" {act}")]
        return line

    def title() -> Text:
        more = "" if messages.are_all else "more than "
        return [("bold", f"  Your messages: {more}{len(messages.read):,}")]

    bottom = FormattedTextControl(hints, focusable=True, show_cursor=False)
    windows = [
        Window(FormattedTextControl(title), height=1),
        Window(rows, cursorline=True),
        Window(bottom, height=1),
    ]
    app: Application[Act | None] = full_screen(HSplit(windows), bottom, keys, output)

    def bind(names: str, act: Callable[[], object]) -> None:
        def press(_: KeyPressEvent) -> None:
            try:
                act()
            except SessionError as error:
                app.exit(exception=error)

        for name in names.split():
            keys.add(name, eager=name == "escape")(press)

    bind("up k c-p", lambda: rows.select(rows.selected - 1))
    bind("down j c-n", lambda: rows.select(rows.selected + 1))
    bind("pageup c-b", lambda: rows.select(rows.selected - rows.page))
    bind("pagedown c-f space", lambda: rows.select(rows.selected + rows.page))
    bind("home g", lambda: rows.select(0))
    bind("end G", lambda: rows.select(LAST))
    bind("enter c-j", lambda: app.exit(result="rewind"))
    bind("f", lambda: app.exit(result="fork"))
    bind("s", lambda: app.exit(result="summarize"))
    bind("escape q c-c", app.exit)
    act = await app.run_async(handle_sigint=False)
    if act is None:
        return None
    return Choice(act, messages.read[rows.selected])


class _MessageRows(UIControl):
    """The list, one of which is selected. Only the rows on the screen are drawn."""

    def __init__(self, messages: Messages) -> None:
        self.selected = 0
        self.page = 10  # the number of lines at the last drawing
        self._messages = messages

    def select(self, place: int) -> None:
        """Select the message at `place`, or the nearest one. Raises SessionError."""
        self._messages.read_to(place)
        self.selected = max(0, min(place, len(self._messages.read) - 1))

    def create_content(self, width: int, height: int) -> UIContent:
        self.page = max(1, height)
        refs = max(len(exchange.ref) for exchange in self._messages.read)
        return UIContent(
            get_line=lambda at: self._line(at, width, refs),
            line_count=len(self._messages.read),
            cursor_position=Point(x=0, y=self.selected),
            show_cursor=False,
        )

    def _line(self, place: int, width: int, refs: int) -> Text:
        exchange = self._messages.read[place]
        mark = ">" if place == self.selected else " "
        start = f"{mark} {exchange.ref:<{refs}}  "
        words = cut_to(one_line(exchange.query.text, width), max(1, width - cells(start)))
        return [("", start), ("", words)]
