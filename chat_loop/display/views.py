"""What commands show: lists and tables, from values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from chat_loop.display.manager import DisplayManager
from chat_loop.display.text import one_line
from chat_loop.sessions.row import SessionRow
from chat_loop.wording import counts_text

_STATES = {
    "sealed": "",
    "unsealed": "no summary yet",
    "plain": "other format",
    "damaged": "damaged",
    "empty": "empty file",
    "foreign": "not a session",
}
NARROW = 70


def show_sessions(display: DisplayManager, rows: Sequence[SessionRow], more: int, now: datetime) -> None:
    """The numbered list, newest first. `more`: how many older sessions are not shown."""
    from rich.table import Table
    from rich.text import Text

    if not rows:
        display.line("There are no sessions yet.")
        return
    console = display.console
    width = console.width
    if width < NARROW:
        for number, row in enumerate(rows, 1):
            first = f"{number:>3}  {_when(row.updated, now)}  {_numbers(row)}"
            second = f"     {one_line(row.name, 500) or row.id}"
            for text in (first, second):
                console.print(Text(text), no_wrap=True, overflow="ellipsis", soft_wrap=False, crop=True)
    else:
        table = Table.grid(padding=(0, 2))
        table.add_column("number", no_wrap=True, justify="right")
        for name in ("when", "agent", "numbers"):
            table.add_column(name, no_wrap=True)
        table.add_column("name", overflow="ellipsis")  # the only one that gives way when the rows are too wide
        for number, row in enumerate(rows, 1):
            note = _STATES[row.state] if row.queries is not None else ""
            note = note or ("compacted" if row.compacted else "")
            what = Text(one_line(row.name, 500) or row.id)
            if note:
                what = Text(f"({note}) ", style="dim") + what
            chained = "" if not row.parent else "↳ " if row.depth == 2 else f"↳{row.depth} "
            cells = (str(number), _when(row.updated, now), one_line(row.agent, 20), _numbers(row))
            table.add_row(*(Text(cell) for cell in cells), Text(chained, no_wrap=True) + what)
        console.print(table, soft_wrap=False)
    if more:
        display.line(f"… and {more:,} older; /sessions all shows them.", "dim")


def _when(moment: datetime, now: datetime) -> str:
    if moment.date() == now.date():
        return f"today {moment:%H:%M}"
    return f"{moment:%b %d, %H:%M}" if moment.year == now.year else f"{moment:%Y-%m-%d}"


def _numbers(row: SessionRow) -> str:
    if row.queries is None:
        return _STATES[row.state] if row.state not in ("sealed", "unsealed") else ""
    return counts_text(row.queries, row.tokens or 0)
