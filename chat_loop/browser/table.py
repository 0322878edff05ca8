"""The list of sessions, drawn: as many columns as there is room for, the name in what they
leave.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from chat_loop.browser.browsing import Browsing
from chat_loop.browser.cells import Line, cut, filled, padded, plain, width_of
from chat_loop.display import rows
from chat_loop.display.rows import ODD
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import compact_number

NAME = 28
"""A column is shown where at least this much is left for the name; the first is content with
less.
"""
SHORT_NAME = 20
SHORT_DATES = 90
"""Below this many columns a list says the time of today and the day of this year, not both."""
AGENT = 12
_SAMPLE = 200
"""So many of the first rows decide how wide the agents' column is."""


class Column(Struct, frozen=True):
    """A column beside the name; `right`: its texts end at its right."""

    title: str
    width: int
    right: bool = False


def when_text(moment: datetime | None, now: datetime) -> str:
    """Return `today 14:02`, `Nov 21 14:02`, the date alone when it was another year, or
    `unknown`.
    """
    if moment is None:
        return "unknown"
    if moment.date() == now.date():
        return f"today {moment:%H:%M}"
    return f"{moment:%b %d %H:%M}" if moment.year == now.year else moment.date().isoformat()


def short_when(moment: datetime | None, now: datetime) -> str:
    """Return `14:02`, `Nov 21`, the month when it was another year: `2020-06`, or `unknown`."""
    if moment is None:
        return "unknown"
    if moment.date() == now.date():
        return f"{moment:%H:%M}"
    return f"{moment:%b %d}" if moment.year == now.year else moment.date().isoformat()[:7]


def name_text(row: SessionRow, columns: int = 500) -> str:
    """Return what a session is called; in brackets before it what is odd about its file."""
    state = ODD.get(row.state, "")
    before = f"({state}) " if state else ""
    called = (
        rows.name_text(row, max(1, columns - len(before)))
        if row.branch is not None
        else row.name or row.id
    )
    return f"{before}{plain(called, 500) or plain(row.id, 500)}"


def tags_text(row: SessionRow) -> str:
    """`#work #python`, or an empty text."""
    return plain(" ".join(f"#{tag}" for tag in row.tags[:20]), 200)


def chain_text(row: SessionRow, state: Browsing) -> str:
    """The depth of its chain, and whether older sessions are folded behind it (`▸3`) or shown below
    it (`▾3`).
    """
    mark = "▾" if row.id in state.unfolded else "▸" if row.folded else ""
    return f"{mark}{row.depth}" if mark or row.depth > 1 or row.parent else ""


def columns(state: Browsing, width: int) -> tuple[Column, ...]:
    """The columns that stand beside the number and the name in a list of `width` columns, from left
    to right.
    """
    first = state.stock.rows[:_SAMPLE]
    agent = min(AGENT, max((width_of(plain(row.agent, AGENT)) for row in first), default=0))
    wanted = [  # the most important first; the number is its place among the others
        (1, Column("When", 7 if width < SHORT_DATES else 12)),
        (5, Column("Chain", 5, right=True)),
        (3, Column("Queries", 7, right=True)),
        (4, Column("Tokens", 6, right=True)),
    ]
    left = width - _number_width(state) - SHORT_NAME
    chosen: list[tuple[int, Column]] = []
    for place, column in wanted:
        if column.width + 2 <= left:
            left -= column.width + 2 + (0 if chosen else NAME - SHORT_NAME)
            chosen.append((place, column))
    if agent and left >= 7:
        chosen.append((2, Column("Agent", max(5, min(agent, left - 2)))))
    return tuple(column for _, column in sorted(chosen, key=lambda pair: pair[0]))


def heading(state: Browsing, beside: tuple[Column, ...], width: int) -> Line:
    """The titles of the columns; that of the names counts them."""
    total, found = len(state.stock.rows), len(state.shown)
    number = _number_width(state)
    words = plain(state.words, 60)
    count = f"{found:,} of {total:,} match “{words}”" if words else f"Sessions: {total:,}"
    line: Line = [("bold", " " * number + filled(count, _name_width(beside, number, width)))]
    line += [
        ("dim", f"  {filled(column.title, column.width, right=column.right)}") for column in beside
    ]
    return padded(line, width)


def drawn(
    state: Browsing, place: int, beside: tuple[Column, ...], width: int, now: datetime
) -> Line:
    """The row at `place` of those that match, in exactly `width` columns."""
    position = state.shown[place]
    row = state.stock.rows[position]
    selected = place == state.selected
    number = _number_width(state)
    texts = {
        "When": (short_when if width < SHORT_DATES else when_text)(row.updated, now),
        "Chain": chain_text(row, state),
        "Queries": "" if row.queries is None else compact_number(row.queries),
        "Tokens": "" if row.tokens is None else compact_number(row.tokens),
        "Agent": plain(row.agent, AGENT * 2),
    }
    name_width = _name_width(beside, number, width)
    tags = cut(tags_text(row), name_width // 3) if name_width >= SHORT_NAME + 4 else ""
    if tags:
        name_width -= width_of(tags) + 2
    mark = "└ " if row.behind else ""
    name = filled(f"{mark}{name_text(row, max(1, name_width - len(mark)))}", name_width)
    line: Line = [
        ("", "> " if selected else "  "),
        (
            "" if selected else "dim",
            f"{filled(state.stock.numbers[position], number - 3, right=True)} ",
        ),
        ("bold" if selected else "", name),
        ("" if selected else "dim", f"  {tags}" if tags else ""),
    ]
    for column in beside:
        text = filled(texts[column.title], column.width, right=column.right)
        line.append(("" if selected else "dim", f"  {text}"))
    return padded(line, width, "reverse" if selected else "")


def nothing(state: Browsing, width: int) -> Line:
    """What stands in the list when there is no row."""
    words = (
        f"No session matches “{plain(state.words, 60)}”."
        if state.words.strip()
        else "There are no sessions yet."
    )
    return padded([("dim", cut(f"  {words}", width))], width)


def _number_width(state: Browsing) -> int:
    """Columns before the name: the mark of the selected row, the number, a blank."""
    return 3 + len(str(len(state.stock.rows)))


def _name_width(beside: tuple[Column, ...], number: int, width: int) -> int:
    return max(0, width - number - sum(column.width + 2 for column in beside))
