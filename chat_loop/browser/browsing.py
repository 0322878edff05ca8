"""What the browser shows, as a value: the rows that match, which one is selected, and what is being
asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.display.rows import ODD, numbered
from chat_loop.sessions.records import SessionRow

Mode = Literal["list", "filter", "ask", "keys"]
"""Choosing; typing words to filter by; asked whether the session may go to the trash; reading what
the keys do.
"""

LONGEST_FILTER = 200
_NAME = 2_000
"""How much of a name is looked through."""


class Stock(Struct, frozen=True, dict=True):
    """The rows as the shelf gave them, and what is prepared from them once and only when it is
    needed.
    """

    rows: tuple[SessionRow, ...] = ()

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What a filter looks through, in small letters, a text for each row."""
        days: dict[
            date, str
        ] = {}  # formatting a day takes longer than all the rest, and days repeat
        return tuple(
            f"{row.name[:_NAME]}\n{row.id}\n{row.agent}\n{_day(row.updated, days)}\n{_words(row)}\n"
            f"{ODD.get(row.state, '')}\n{' '.join(f'#{tag}' for tag in row.tags)}".casefold()
            for row in self.rows
        )

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Where each id stands in `rows`."""
        return {row.id: position for position, row in enumerate(self.rows)}

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The number of each row as commands take it."""
        return tuple(number for number, _ in numbered(self.rows))

    @cached_property
    def heads(self) -> Mapping[str, str]:
        """The older sessions of the unfolded chains: id -> id of the chain's newest session."""
        return {row.id: row.behind for row in self.rows if row.behind}


class Browsing(Struct, frozen=True, kw_only=True):
    """`shown` are positions in the stock's rows; `selected` and `top`, the first visible one, are
    places in `shown`.

    `page` (lines of the list) and `previewed` (whether there is a preview) are what the last
    drawing had room for; `pane` is what the user wants of the preview, None when there was no word
    about it.
    """

    stock: Stock = field(default_factory=Stock)
    shown: Sequence[int] = ()
    selected: int = 0
    top: int = 0
    page: int = 10
    words: str = ""
    mode: Mode = "list"
    notice: str = ""
    pane: bool | None = None
    previewed: bool = False
    unfolded: frozenset[str] = frozenset()
    scrolled: int = 0
    """The first visible line of what the keys do."""

    @property
    def row(self) -> SessionRow | None:
        """The selected session; None when nothing matches."""
        return self.stock.rows[self.shown[self.selected]] if self.shown else None

    @property
    def number(self) -> int:
        """The selected session's place in the whole list, from 1; 0 when nothing matches."""
        return self.shown[self.selected] + 1 if self.shown else 0

    def stocked(self, rows: Sequence[SessionRow]) -> Browsing:
        """With other rows; the same session stays selected where it is still there."""
        stock = Stock(tuple(rows))
        old = self.row
        new = replace(self, stock=stock, shown=_matching(stock, self.words))._selecting(
            self.selected
        )
        return new._following(old)

    def selecting(self, place: int) -> Browsing:
        """With the row at `place` selected, or the nearest there is."""
        return self._selecting(place)

    def moved(self, by: int) -> Browsing:
        """With the row `by` places further down selected, or the last; up where `by` is
        negative.
        """
        return self._selecting(self.selected + by)

    def filtered(self, words: str) -> Browsing:
        """With the rows that hold all `words`, the first selected; without words all, the same
        session selected.
        """
        words = words[:LONGEST_FILTER]
        new = replace(self, words=words, shown=_matching(self.stock, words), top=0)
        return new._selecting(0) if words.strip() else new._selecting(0)._following(self.row)

    def unfolding(self) -> Browsing:
        """With the selected chain unfolded: the rows are to be read again. Itself when it has no
        older sessions.
        """
        row = self.row
        if row is None or not row.folded or row.id in self.unfolded:
            return self
        return replace(self, unfolded=self.unfolded | {row.id})

    def folding(self) -> Browsing:
        """With the chain of the selected session folded, its newest selected. Itself when it is not
        unfolded.
        """
        row = self.row
        if row is None:
            return self
        head = row.id if row.id in self.unfolded else self.stock.heads.get(row.id)
        if head is None:
            return self
        place = self.stock.positions.get(head)
        new = replace(self, unfolded=self.unfolded - {head})
        return new if place is None else new._following(self.stock.rows[place])

    def fitted(self, page: int, previewed: bool) -> Browsing:
        """As it is drawn where the list has `page` lines: the selected row is visible, and no line
        is wasted.
        """
        page = max(1, page)
        top = max(0, min(self.top, len(self.shown) - page, self.selected))
        return replace(self, page=page, top=max(top, self.selected - page + 1), previewed=previewed)

    def saying(self, notice: str) -> Browsing:
        """With a sentence in the bottom line, until the next key."""
        return replace(self, notice=notice)

    def _selecting(self, place: int) -> Browsing:
        return replace(self, selected=max(0, min(place, len(self.shown) - 1)))

    def _following(self, row: SessionRow | None) -> Browsing:
        position = self.stock.positions.get(row.id) if row is not None else None
        if position is None:
            return self
        return self._selecting(self.shown.index(position)) if position in self.shown else self


def _words(row: SessionRow) -> str:
    return row.branch.words[:_NAME] if row.branch is not None else ""


def _day(moment: datetime | None, known: dict[date, str]) -> str:
    if moment is None:
        return ""
    day = moment.date()
    text = known.get(day)
    if text is None:
        text = known[day] = f"{day:%Y-%m-%d %b %d}"
    return text


def _matching(stock: Stock, words: str) -> Sequence[int]:
    """Where all `words` are; an unfolded chain's older sessions are shown with its newest."""
    wanted = words.casefold().split()
    if not wanted:
        return range(len(stock.rows))
    found = [
        position
        for position, text in enumerate(stock.texts)
        if all(word in text for word in wanted)
    ]
    heads = stock.heads
    if not heads:
        return found
    matching = {stock.rows[position].id for position in found}
    behind = {stock.positions[identity] for identity, head in heads.items() if head in matching}
    return sorted({*found, *behind})
