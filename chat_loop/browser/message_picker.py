"""The picker of messages: a list of what the user said, newest first, and what to do with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal

from msgspec import Struct
from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    FormattedTextControl,
    HSplit,
    UIContent,
    Window,
)
from prompt_toolkit.output.defaults import create_output

from chat_loop.browser.full_screen import full_screen
from chat_loop.browser.row_list import RowList
from chat_loop.characters import one_line
from chat_loop.display.sanitizer import cells, cut_to
from chat_loop.errors import SessionError
from chat_loop.sessions.records import Exchange

Act = Literal["rewind", "fork", "summarize"]
HINTS = ("Enter go back", "f branch after it", "s summarize up to here", "Esc leave")
"""The keys in the bottom line, the most important first."""
AHEAD = 200
"""How many messages after the selected one are read: more than a screen shows."""


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

    def read_to(self, number: int) -> None:
        """Read the messages up to a number and a screen more. Raises SessionError."""
        wanted = max(0, number + AHEAD - len(self.read))
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

    rows.bind_moves(bind)
    bind("enter c-j", lambda: app.exit(result="rewind"))
    bind("f", lambda: app.exit(result="fork"))
    bind("s", lambda: app.exit(result="summarize"))
    bind("escape q c-c", app.exit)
    act = await app.run_async(handle_sigint=False)
    if act is None:
        return None
    return Choice(act, messages.read[rows.selected])


class _MessageRows(RowList):
    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def count(self) -> int:
        return len(self._messages.read)

    def select(self, number: int) -> None:
        """Read the messages up to one, and select it, or the last. Raises SessionError."""
        self._messages.read_to(number)
        super().select(number)

    def create_content(self, width: int, height: int) -> UIContent:
        refs = max(len(exchange.ref) for exchange in self._messages.read)
        return self.content(height, lambda number: self._line(number, width, refs))

    def _line(self, number: int, width: int, refs: int) -> Text:
        exchange = self._messages.read[number]
        mark = ">" if number == self.selected else " "
        start = f"{mark} {exchange.ref:<{refs}}  "
        words = cut_to(one_line(exchange.query.text, width), max(1, width - cells(start)))
        return [("", start), ("", words)]
