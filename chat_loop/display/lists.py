"""Show lists of sessions, and chains as trees."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from chat_loop.display.manager import DisplayManager
from chat_loop.display.rows import ODD, Cost, RowTable, nothing_text, tags_text
from chat_loop.display.text import one_line
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import counts_text, plural, when_text

MAX_NAME = 50
"""The most characters of a session's name in a sentence."""


def show_sessions(
    display: DisplayManager,
    rows: Sequence[SessionRow],
    more: int,
    now: datetime,
    *,
    first: int = 0,
    filtered: bool = False,
    hidden: bool = False,
    cost: Cost | None = None,
) -> None:
    """Show the numbered list after the `first` rows. `more` counts the older rows; `hidden`: the
    folder has sessions that are listed only on request.
    """
    if not rows:
        display.line(nothing_text(filtered=filtered, hidden=hidden))
        return
    width = display.console.width
    table = RowTable(rows, now, cost)
    for at in range(first, len(rows)):
        for line in table.lines(at, width):
            display.row(*line)
    if more:
        display.line(
            f"… and {more:,} older: /sessions more shows them, /sessions WORDS filters.", "dim"
        )


class Branch(Struct, frozen=True):
    """A session in a tree with the lines before it; `again`: it is already shown above."""

    row: SessionRow
    stem: str
    again: bool = False


def show_tree(
    display: DisplayManager, branches: Sequence[Branch], here: str, now: datetime
) -> None:
    """Show a chain with its branches, oldest first; `here` is the id of the open session."""
    dot, arrow = ("●", "  ← you are here") if display.has_symbols else ("*", "  <- you are here")
    unique = [branch.row for branch in branches if not branch.again]
    tokens = sum(row.tokens or 0 for row in unique)
    display.line(f"{plural(len(unique), 'session')}, {tokens:,} tokens:", "bold")
    numbers = {
        branch.row.id: number for number, branch in enumerate(branches, 1) if not branch.again
    }
    names = {row.id: row.name for row in unique}
    for number, branch in enumerate(branches, 1):
        row = branch.row
        stem, below = branch.stem, branch.stem.replace("├─", "│ ").replace("└─", "  ")
        if not display.has_symbols:
            stem, below = stem.translate(_PLAIN), below.translate(_PLAIN)
        start = f"{number:>3}  {stem}{dot} "
        if branch.again:
            display.row((start, ""), (f"number {numbers[row.id]} above", "dim"))
            continue
        here_now, tags = arrow if row.id == here else "", tags_text(row)
        name = one_line(row.name, 200) or row.id
        if row.words and names.get(row.parent) == row.name:  # its first words tell it from that one
            name = f"“{one_line(row.words, 200)}”"
        room = display.console.width - len(start) - len(here_now) - len(tags)
        style = "bold" if row.id == here else ""
        name = one_line(name, max(room, 10))
        display.row((start, ""), (name, style), (tags, "cyan"), (here_now, "green"))
        origin = f"forked at {row.until}" if row.until else ""
        if row.merged:
            other = f"number {numbers[row.merged]}" if row.merged in numbers else row.merged
            origin = f"merged with {other}"
        counts = ODD.get(row.state, "")
        if row.queries is not None:
            counts = counts_text(row.queries, row.tokens or 0)
        facts = (origin, row.compaction, when_text(row.updated, now), counts)
        display.row((f"     {below}  ", ""), (" · ".join(filter(None, facts)), "dim"))


_PLAIN = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-"})
