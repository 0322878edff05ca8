"""The list of the browser: the sessions that match, which one is selected, and a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.layout import UIContent, UIControl

from chat_loop.browser.preview import fill, safe_text
from chat_loop.display.rows import ODD, name_text, numbered_rows
from chat_loop.display.text import cells, cut_to
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import compact_number

SHORT_DATES = 90
"""Below this many columns the list says the time of today and the day of this year, not both."""
NAME = 28
"""A column is shown where at least this much is left for the name; the first is content with
less.
"""
SHORT_NAME = 20
AGENT = 12
LONGEST_NAME = 2_000
"""Characters of a name that a filter looks through."""


class Column(Struct, frozen=True):
    """A column beside the name; `right`: its texts end at its right."""

    title: str
    width: int
    right: bool = False


class SessionList(UIControl):
    """The rows, filtered by `words`; the part of them that is visible is drawn line by line."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._rows: Sequence[SessionRow] = ()
        self._numbers: list[str] = []
        self._texts: list[str] = []
        self._visible: Sequence[int] = ()
        self._selected = 0
        self.words = ""
        self.unfolded: frozenset[str] = frozenset()
        self.page = 10
        """The lines that were drawn last."""
        self._width = 80

    @property
    def row(self) -> SessionRow | None:
        """The selected session; None when nothing matches."""
        return self._rows[self._visible[self._selected]] if self._visible else None

    def set_rows(self, rows: Sequence[SessionRow]) -> None:
        """Show other rows; the same session stays selected where it is there."""
        before = self.row
        self._rows = rows
        self._numbers = [number for number, _ in numbered_rows(rows)]
        self._texts = [_search_text(row) for row in rows]
        self._match()
        self.select(self._selected)
        self._follow(before)

    def filter(self, words: str) -> None:
        """Show the rows that hold all `words` and select the first; without words show all, with
        the same one selected.
        """
        before = self.row
        self.words = words
        self._match()
        self._selected = 0
        if not words.strip():
            self._follow(before)

    def _match(self) -> None:
        """Find the rows that hold all words; an unfolded chain's older sessions follow it."""
        words = self.words.casefold().split()
        found = [
            number for number, text in enumerate(self._texts) if all(word in text for word in words)
        ]
        ids = {self._rows[number].id for number in found}
        behind = [number for number, row in enumerate(self._rows) if row.behind in ids]
        self._visible = sorted({*found, *behind})

    def _follow(self, row: SessionRow | None) -> None:
        for place, number in enumerate(self._visible):
            if row is not None and self._rows[number].id == row.id:
                self._selected = place

    def select(self, place: int) -> None:
        """Select the row at `place`, or the nearest there is."""
        self._selected = max(0, min(place, len(self._visible) - 1))

    def move(self, steps: int) -> None:
        """Select a row further down, or up."""
        self.select(self._selected + steps)

    @property
    def chain(self) -> str:
        """The id of the unfolded chain that the selected session is of, if there is one."""
        head = "" if self.row is None else self.row.behind or self.row.id
        return head if head in self.unfolded else ""

    def unfold(self) -> bool:
        """Unfold the selected chain; return False when there is nothing to unfold."""
        row = self.row
        if row is None or not row.folded or row.id in self.unfolded:
            return False
        self.unfolded |= {row.id}
        return True

    def fold(self) -> bool:
        """Fold the selected chain; return False when it is not unfolded."""
        chain = self.chain
        self.unfolded -= {chain}
        self._follow(next((row for row in self._rows if row.id == chain), None))
        return bool(chain)

    def is_focusable(self) -> bool:
        return True

    def create_content(self, width: int, height: int) -> UIContent:
        self.page, self._width = max(1, height), width
        words = safe_text(self.words, 60)
        empty = f"No session matches “{words}”." if words else "There are no sessions yet."
        columns = self._columns(width)
        return UIContent(
            get_line=lambda place: (
                self._line(place, width, columns) if self._visible else [("dim", f"  {empty}")]
            ),
            line_count=max(1, len(self._visible)),
            cursor_position=Point(x=0, y=self._selected),
            show_cursor=False,
        )

    def title(self) -> Text:
        """Return the line above the list: how many there are, and what the columns hold."""
        columns, width = self._columns(self._width), self._width
        total, found = f"{len(self._rows):,}", f"{len(self._visible):,}"
        words = safe_text(self.words, 60)
        count = f"{found} of {total} match “{words}”" if words else f"Sessions: {total}"
        indent = self._number_width
        room = width - indent - sum(column.width + 2 for column in columns)
        titles = "".join(
            f"  {fill(column.title, column.width, right=column.right)}" for column in columns
        )
        return [("bold", " " * indent + fill(count, room)), ("dim", titles)]

    @property
    def _number_width(self) -> int:
        """Columns of the mark of the selected row, the number and a blank."""
        return 3 + len(str(len(self._rows)))

    def _columns(self, width: int) -> list[Column]:
        """Return the columns beside the name for which there is room, from left to right."""
        agents = (cells(safe_text(row.agent, AGENT)) for row in self._rows[:200])
        agent = min(AGENT, max(agents, default=0))
        left = width - self._number_width - SHORT_NAME
        chosen: dict[int, Column] = {}
        for place, column in (  # the most important first; the number is its place
            (1, Column("When", 7 if width < SHORT_DATES else 12)),
            (5, Column("Chain", 5, right=True)),
            (3, Column("Queries", 7, right=True)),
            (4, Column("Tokens", 6, right=True)),
        ):
            if column.width + 2 <= left:
                left -= column.width + 2 + (0 if chosen else NAME - SHORT_NAME)
                chosen[place] = column
        if agent and left >= 7:
            chosen[2] = Column("Agent", max(5, min(agent, left - 2)))
        return [column for _, column in sorted(chosen.items())]

    def _line(self, place: int, width: int, columns: Sequence[Column]) -> Text:
        number = self._visible[place]
        row, selected = self._rows[number], place == self._selected
        fold = "▾" if row.id in self.unfolded else "▸" if row.folded else ""
        texts = {
            "When": when_text(row.updated, self.now, short=width < SHORT_DATES),
            "Chain": f"{fold}{row.depth}" if fold or row.depth > 1 or row.parent else "",
            "Queries": "" if row.queries is None else compact_number(row.queries),
            "Tokens": "" if row.tokens is None else compact_number(row.tokens),
            "Agent": safe_text(row.agent, AGENT * 2),
        }
        indent = self._number_width
        room = max(0, width - indent - sum(column.width + 2 for column in columns))
        tags = cut_to(tags_text(row), room // 3) if room >= SHORT_NAME + 4 else ""
        tags = f"  {tags}" if tags else ""
        room -= cells(tags)
        mark = "└ " if row.behind else ""
        name = f"{mark}{display_name(row, max(1, room - len(mark)))}"
        beside = "".join(
            f"  {fill(texts[column.title], column.width, right=column.right)}" for column in columns
        )
        style, dim = ("reverse", "reverse") if selected else ("", "dim")
        return [
            (style, "> " if selected else "  "),
            (dim, f"{fill(self._numbers[number], indent - 3, right=True)} "),
            (f"bold {style}" if selected else "", fill(name, room)),
            (dim, f"{tags}{beside}"),
        ]


def _search_text(row: SessionRow) -> str:
    """Return the text of a row that a filter looks through."""
    parts = (
        row.name[:LONGEST_NAME],
        row.id,
        row.agent,
        f"{row.updated:%Y-%m-%d %b %d}" if row.updated is not None else "",
        row.branch.words[:LONGEST_NAME] if row.branch is not None else "",
        ODD.get(row.state, ""),
        " ".join(f"#{tag}" for tag in row.tags),
    )
    return "\n".join(parts).casefold()


def display_name(row: SessionRow, columns: int = 500) -> str:
    """Return the name of a session, after the state of an odd file in brackets."""
    state = f"({ODD[row.state]}) " if row.state in ODD else ""
    name = row.name or row.id
    if row.branch is not None:
        name = name_text(row, max(1, columns - len(state)))
    return f"{state}{safe_text(name, 500) or safe_text(row.id, 500)}"


def tags_text(row: SessionRow) -> str:
    """Return the tags of a session."""
    return safe_text(" ".join(f"#{tag}" for tag in row.tags[:20]), 200)


def when_text(moment: datetime | None, now: datetime, *, short: bool) -> str:
    """Return `today 14:02`, `Nov 21 14:02` or `2020-06-13`; short: `14:02`, `Nov 21`, `2020-06`."""
    if moment is None:
        return "unknown"
    if moment.date() == now.date():
        return f"{moment:%H:%M}" if short else f"today {moment:%H:%M}"
    if moment.year == now.year:
        return f"{moment:%b %d}" if short else f"{moment:%b %d %H:%M}"
    return moment.date().isoformat()[: 7 if short else 10]
