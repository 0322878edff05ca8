"""Show lists of sessions, and chains as trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from chat_loop.display.manager import DisplayManager
from chat_loop.display.rows import (
    ODD,
    compactions_text,
    cost_of,
    name_text,
    nothing_text,
    numbered_rows,
)
from chat_loop.display.text import cells, one_line
from chat_loop.sessions.records import SessionRow, State
from chat_loop.values import Usage
from chat_loop.wording import counts_text, dollars_text, plural, when_text

Cost = Callable[[str, Usage], float | None]


def unknown_cost(model: str, usage: Usage) -> None:
    """Return None: no price is known."""


_NOTES: Mapping[State, str] = {**ODD, "unsealed": "no summary yet"}
MIN_WIDE_COLUMNS = 70
MIN_COST_COLUMNS = 100
"""From this many columns on a row shows the cost of its conversation."""
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
    cost: Cost = unknown_cost,
) -> None:
    """Show the numbered list after the `first` rows. `more` counts the older rows; `hidden`: the
    folder has sessions that are listed only on request.
    """
    if not rows:
        display.line(nothing_text(filtered=filtered, hidden=hidden))
        return
    shown = numbered_rows(rows)[first:]
    if display.console.width < MIN_WIDE_COLUMNS:
        _show_narrow(display, shown, now)
    else:
        _show_wide(display, shown, now, cost)
    if more:
        display.line(f"… and {more:,} older; /sessions more goes on, WORDS after it filter.", "dim")


def _show_narrow(
    display: DisplayManager, shown: Sequence[tuple[str, SessionRow]], now: datetime
) -> None:
    for number, row in shown:
        first = f"{number:>2} {when_text(row.updated, now)}  {counts_or_state(row)}"
        tail = f"{_compactions(row)}{tags_suffix(row)}"
        second = f"   {name_text(row, max(10, display.console.width - 3 - cells(tail)))}{tail}"
        display.row((first, ""))
        display.row((second, ""))


def _show_wide(
    display: DisplayManager, shown: Sequence[tuple[str, SessionRow]], now: datetime, cost: Cost
) -> None:
    has_cost = display.console.width >= MIN_COST_COLUMNS
    columns = [[number, when_text(row.updated, now)] for number, row in shown]
    if (
        len({row.agent for _, row in shown}) > 1
    ):  # one agent says nothing of its sessions, and takes room from names
        for column, (_, row) in zip(columns, shown, strict=True):
            column.append(one_line(row.agent, 20))
    for column, (_, row) in zip(columns, shown, strict=True):
        price = cost_of(row, cost) if has_cost else None
        column.append(
            f"{counts_or_state(row)}, {dollars_text(price)}" if price else counts_or_state(row)
        )
    widths = [max(map(cells, texts)) for texts in zip(*columns, strict=True)]
    for (number, *others), (_, row) in zip(columns, shown, strict=True):
        fixed = "  ".join(
            text + " " * (width - cells(text))
            for text, width in zip(others, widths[1:], strict=True)
        )
        fixed = f"{number:>{widths[0]}}  {fixed}  "
        note = _NOTES.get(row.state, "") if row.queries is not None and not row.current else ""
        note = f"({note}) " if note else ""
        compacted, tags = _compactions(row), tags_suffix(row)
        room = display.console.width - sum(map(cells, (fixed, note, compacted, tags)))
        name = name_text(row, max(12, room))
        display.row((fixed, ""), (note, "dim"), (name, ""), (compacted, "dim"), (tags, "cyan"))


def _compactions(row: SessionRow) -> str:
    text = compactions_text(row)
    return f" · {text}" if text else ""


def tags_suffix(row: SessionRow) -> str:
    """Return the tags as they follow the name."""
    return "".join(f" #{one_line(tag, 40)}" for tag in row.tags)


def counts_or_state(row: SessionRow) -> str:
    """Return queries and tokens, or the reason why they are unknown."""
    if row.queries is None:
        return ODD.get(row.state, "")
    return counts_text(row.queries, row.tokens or 0)


class Branch(Struct, frozen=True):
    """A session in a tree with the lines before it; `again`: it is already shown above."""

    row: SessionRow
    stem: str
    compaction: str = ""
    again: bool = False


def show_tree(
    display: DisplayManager, branches: Sequence[Branch], here: str, now: datetime
) -> None:
    """Show a chain with its branches, oldest first; `here` is the id of the open session."""
    dot, arrow = ("●", "  ← you are here") if display.has_symbols else ("*", "  <- you are here")
    tokens = sum(branch.row.tokens or 0 for branch in branches if not branch.again)
    display.line(
        f"{plural(len({branch.row.id for branch in branches}), 'session')}, {tokens:,} tokens:",
        "bold",
    )
    places = {
        branch.row.id: number for number, branch in enumerate(branches, 1) if not branch.again
    }
    names_by_id: dict[str, str] = {}
    for number, branch in enumerate(branches, 1):
        row = branch.row
        stem = branch.stem if display.has_symbols else branch.stem.translate(_PLAIN)
        below = stem.replace("├─", "│ ").replace("└─", "  ").replace("|-", "| ").replace("`-", "  ")
        start = f"{number:>3}  {stem}{dot} "
        if branch.again:
            display.row((start, ""), (f"number {places[row.id]} above", "dim"))
            continue
        here_now, tags = arrow if row.id == here else "", tags_suffix(row)
        room = display.console.width - len(start) - len(here_now) - len(tags)
        name = one_line(_tree_name(row, names_by_id), max(room, 10))
        names_by_id[row.id] = row.name
        style = "bold" if row.id == here else ""
        display.row((start, ""), (name, style), (tags, "cyan"), (here_now, "green"))
        origin = _origin(row, places)
        facts = " · ".join(
            filter(
                None, (origin, branch.compaction, when_text(row.updated, now), counts_or_state(row))
            )
        )
        display.row((f"     {below}  ", ""), (facts, "dim"))


def _tree_name(row: SessionRow, names_by_id: Mapping[str, str]) -> str:
    """Return a session's name, or its first words if its parent has the same name."""
    if row.words and names_by_id.get(row.parent) == row.name:
        return f"“{one_line(row.words, 200)}”"
    return one_line(row.name, 200) or row.id


def _origin(row: SessionRow, places: Mapping[str, int]) -> str:
    if row.merged:
        return (
            f"merged with {f'number {places[row.merged]}' if row.merged in places else row.merged}"
        )
    return f"forked at {row.until}" if row.until else ""


_PLAIN = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-"})


def show_contradiction(
    display: DisplayManager, number: int, of: int, names: Sequence[str], lines: tuple[str, str]
) -> None:
    """Show two contradicting lines, each under the name of its session."""
    display.line(f"Contradiction {number} of {of}:", "bold")
    for position, (name, line) in enumerate(zip(names, lines, strict=True), 1):
        display.line(f"  {position}  in “{one_line(name, MAX_NAME)}”:", "dim")
        display.prose(f"     {one_line(line, 600)}", indent=5)
