"""A list on the whole screen: rows, one of which is selected, and keys that select another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.layout import UIContent, UIControl

LAST = 1 << 40
"""A number after that of every row."""
MOVES = ("up k c-p", "down j c-n", "pageup c-b", "pagedown c-f space", "home g", "end G")
"""The keys for a row and a page up and down, for the first row and the last one."""


class RowList(UIControl):
    """Rows, numbered from 0, of which one is selected. Only those on the screen are drawn."""

    selected = 0
    page = 10  # the number of lines at the last drawing

    def count(self) -> int:
        """Return the number of rows."""
        raise NotImplementedError

    def select(self, number: int) -> None:
        """Select the row with this number, or the nearest one."""
        self.selected = max(0, min(number, self.count() - 1))

    def bind_moves(
        self, bind: Callable[[str, Callable[[], object]], object], keys: Sequence[str] = MOVES
    ) -> None:
        """Bind the keys that select another row, in the order of `MOVES`."""
        moves = (
            lambda: self.select(self.selected - 1),
            lambda: self.select(self.selected + 1),
            lambda: self.select(self.selected - self.page),
            lambda: self.select(self.selected + self.page),
            lambda: self.select(0),
            lambda: self.select(LAST),
        )
        for names, move in zip(keys, moves, strict=True):
            bind(names, move)

    def content(self, height: int, line: Callable[[int], Text]) -> UIContent:
        """Return what prompt_toolkit draws on `height` lines; `line` returns a row's text."""
        self.page = max(1, height)
        return UIContent(
            get_line=line,
            line_count=max(1, self.count()),
            cursor_position=Point(x=0, y=self.selected),
            show_cursor=False,
        )
