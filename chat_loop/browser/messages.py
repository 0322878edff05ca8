"""The picker of messages: a list of what the user said, newest first, and what to do with one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    FormattedTextControl,
    HSplit,
    Layout,
    UIContent,
    UIControl,
    Window,
)
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.styles import Style

from chat_loop.browser.app import ESCAPE_SECONDS
from chat_loop.display.text import cells, cut_to, one_line
from chat_loop.sessions.records import Exchange

Act = Literal["rewind", "fork", "summarize"]
HINTS = ("Enter go back", "f branch after it", "s summarize up to here", "Esc leave")
"""The keys in the bottom line, the most important first."""


class Choice(Struct, frozen=True):
    """A message that was chosen, and what to do with it."""

    act: Act
    exchange: Exchange


async def choose(exchanges: Sequence[Exchange]) -> Choice | None:
    """Let the user choose one of the messages. Return None if none is chosen. Raises EOFError when
    the terminal is gone.
    """
    messages = _Messages(exchanges)
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

    title = FormattedTextControl([("bold", f"  Your messages: {len(exchanges):,}")])
    bottom = FormattedTextControl(hints, focusable=True, show_cursor=False)
    rows = [
        Window(title, height=1),
        Window(messages, cursorline=True),
        Window(bottom, height=1),
    ]
    app: Application[Act | None] = Application(
        output=output,
        layout=Layout(HSplit(rows), focused_element=bottom),
        key_bindings=keys,
        style=Style([("cursor-line", "nounderline reverse")]),
        full_screen=True,
        include_default_pygments_style=False,
    )
    app.ttimeoutlen = ESCAPE_SECONDS

    def bind(names: str, act: Callable[[], object]) -> None:
        def press(_: KeyPressEvent) -> None:
            act()

        for name in names.split():
            keys.add(name, eager=name == "escape")(press)

    bind("up k c-p", lambda: messages.select(messages.selected - 1))
    bind("down j c-n", lambda: messages.select(messages.selected + 1))
    bind("pageup c-b", lambda: messages.select(messages.selected - messages.page))
    bind("pagedown c-f space", lambda: messages.select(messages.selected + messages.page))
    bind("home g", lambda: messages.select(0))
    bind("end G", lambda: messages.select(sys.maxsize))
    bind("enter c-j", lambda: app.exit(result="rewind"))
    bind("f", lambda: app.exit(result="fork"))
    bind("s", lambda: app.exit(result="summarize"))
    bind("escape q c-c", app.exit)
    act = await app.run_async(handle_sigint=False)
    if act is None:
        return None
    return Choice(act, exchanges[messages.selected])


class _Messages(UIControl):
    """The list, one of which is selected. Only the rows on the screen are drawn."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self.selected = 0
        self.page = 10  # the number of lines at the last drawing
        self._exchanges = exchanges
        self._width = max((len(exchange.ref) for exchange in exchanges), default=0)

    def select(self, place: int) -> None:
        """Select the message at `place`, or the nearest one."""
        self.selected = max(0, min(place, len(self._exchanges) - 1))

    def create_content(self, width: int, height: int) -> UIContent:
        self.page = max(1, height)
        return UIContent(
            get_line=lambda at: self._line(at, width),
            line_count=len(self._exchanges),
            cursor_position=Point(x=0, y=self.selected),
            show_cursor=False,
        )

    def _line(self, place: int, width: int) -> Text:
        exchange = self._exchanges[place]
        mark = ">" if place == self.selected else " "
        start = f"{mark} {exchange.ref:<{self._width}}  "
        words = cut_to(one_line(exchange.query.text, width), max(1, width - cells(start)))
        return [("", start), ("", words)]
