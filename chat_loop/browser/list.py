"""The list of the browser: the sessions that match a filter, one of which is selected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.layout import UIContent

from chat_loop.browser.row_list import RowList
from chat_loop.display.conversation_rows import ODD, RowTable, steady_text
from chat_loop.sessions.records import SessionRow


class SessionList(RowList):
    """The sessions that contain all `words`."""

    def __init__(self, now: datetime) -> None:
        self.words = ""
        self._now = now
        self._table = RowTable((), now)
        self._texts: list[str] = []
        self._visible: list[int] = []

    @property
    def row(self) -> SessionRow | None:
        """Return the selected session; None when nothing matches."""
        if self._visible:
            return self._table.rows[self._visible[self.selected]]
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
        self.selected = 0
        self._match(before)

    def _match(self, selected: SessionRow | None) -> None:
        """Find the rows that contain all words. Keep `selected` selected if it is among them."""
        words = self.words.casefold().split()
        self._visible = []
        for at, text in enumerate(self._texts):
            if all(word in text for word in words):
                self._visible.append(at)
        self.select(self.selected)
        for number, at in enumerate(self._visible):
            if selected is not None and self._table.rows[at].id == selected.id:
                self.selected = number

    def count(self) -> int:
        return len(self._visible)

    def title(self) -> Text:
        """Return the line above the list, which counts the sessions."""
        total = f"{len(self._table.rows):,}"
        words = steady_text(self.words, 60)
        matching = f"{len(self._visible):,} of {total} match “{words}”"
        return [("bold", f"  {matching}" if words else f"  Sessions: {total}")]

    def create_content(self, width: int, height: int) -> UIContent:
        words = steady_text(self.words, 60)
        empty = "  No conversations yet."
        if words:
            empty = f"  No sessions match “{words}”."
        return self.content(
            height, lambda at: self._line(at, width) if self._visible else [("dim", empty)]
        )

    def _line(self, number: int, width: int) -> Text:
        parts = self._table.line(self._visible[number], width - 2)
        mark = "> " if number == self.selected else "  "
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
