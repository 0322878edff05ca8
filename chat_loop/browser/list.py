"""The list of the browser: the sessions that match a filter, one of which is selected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.layout import UIContent, UIControl

from chat_loop.display.conversation_rows import ODD, RowTable, steady_text
from chat_loop.sessions.records import SessionRow


class SessionList(UIControl):
    """The rows that contain all `words`; only the rows on the screen are drawn."""

    def __init__(self, now: datetime) -> None:
        self.words = ""
        self.page = 10  # the number of lines at the last drawing
        self._now = now
        self._table = RowTable((), now)
        self._texts: list[str] = []
        self._visible: list[int] = []
        self._selected = 0

    @property
    def row(self) -> SessionRow | None:
        """Return the selected session; None when nothing matches."""
        if self._visible:
            return self._table.rows[self._visible[self._selected]]
        return None

    def set_rows(self, rows: Sequence[SessionRow]) -> None:
        """Replace the rows. The same session stays selected if it is among them."""
        before = self.row
        self._table = RowTable(rows, self._now)
        self._texts = [_search_text(row) for row in rows]
        self._match(before)

    def filter(self, words: str) -> None:
        """Show the rows that contain all `words` and select the first. Without words show all."""
        before = None if words.strip() else self.row
        self.words = words
        self._selected = 0
        self._match(before)

    def _match(self, selected: SessionRow | None) -> None:
        """Find the rows that contain all words. Keep `selected` selected if it is among them."""
        words = self.words.casefold().split()
        self._visible = []
        for at, text in enumerate(self._texts):
            if all(word in text for word in words):
                self._visible.append(at)
        self.select(self._selected)
        for place, at in enumerate(self._visible):
            if selected is not None and self._table.rows[at].id == selected.id:
                self._selected = place

    def select(self, place: int) -> None:
        """Select the row at `place`, or the nearest one."""
        self._selected = max(0, min(place, len(self._visible) - 1))

    def move(self, steps: int) -> None:
        """Select the row that is `steps` further down, or up if negative."""
        self.select(self._selected + steps)

    def title(self) -> Text:
        """Return the line above the list, which counts the sessions."""
        total = f"{len(self._table.rows):,}"
        words = steady_text(self.words, 60)
        matching = f"{len(self._visible):,} of {total} match “{words}”"
        return [("bold", f"  {matching}" if words else f"  Sessions: {total}")]

    def create_content(self, width: int, height: int) -> UIContent:
        self.page = max(1, height)
        words = steady_text(self.words, 60)
        empty = "  No conversations yet."
        if words:
            empty = f"  No sessions match “{words}”."
        return UIContent(
            get_line=lambda at: self._line(at, width) if self._visible else [("dim", empty)],
            line_count=max(1, len(self._visible)),
            cursor_position=Point(x=0, y=self._selected),
            show_cursor=False,
        )

    def _line(self, place: int, width: int) -> Text:
        parts = self._table.line(self._visible[place], width - 2)
        mark = "> " if place == self._selected else "  "
        return [("", mark), *(("dim" if style else "", text) for text, style in parts)]


def _search_text(row: SessionRow) -> str:
    """Return the text in which a filter looks for its words."""
    day = ""
    if row.updated is not None:
        day = f"{row.updated:%Y-%m-%d %b %d}"
    branch = ""
    if row.branch is not None:
        branch = row.branch.words
    tags = " ".join(f"#{tag}" for tag in row.tags)
    parts = (row.name, row.id, row.agent, day, branch, ODD.get(row.state, ""), tags)
    return "\n".join(parts).casefold()
