"""Rows of conversations, the same in the chat, the browser and the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from chat_loop.display.text import cells, cut_to, one_line
from chat_loop.sessions.records import SessionRow, State
from chat_loop.values import Usage
from chat_loop.wording import counts_text, dollars_text, plural, when_text

Cost = Callable[[str, Usage], float | None]

ODD: Mapping[State, str] = {
    "plain": "other format",
    "damaged": "damaged",
    "empty": "empty file",
    "foreign": "not a session",
}
"""States that a row names; the others are usual."""
MAX_LENGTH = 500
MIN_WIDE_COLUMNS = 70
"""From this many columns on a row is one line."""
MIN_AGENT_COLUMNS = 100
"""From this many columns on rows of several agents show theirs."""
# Terminals disagree on how wide these make the characters beside them: soft hyphen, joiners,
# variation selectors, skin tones.
_UNCERTAIN_WIDTH = re.compile(
    "[\u00ad\u034f\u200b-\u200d\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef\U0001f3fb-\U0001f3ff]"
)


def steady_text(text: str, length: int = MAX_LENGTH) -> str:
    """Return foreign text on one line, in characters that are equally wide on all terminals."""
    return one_line(text if text.isascii() else _UNCERTAIN_WIDTH.sub("", text), length)


def name_text(row: SessionRow, columns: int = MAX_LENGTH) -> str:
    """Return the name of a row in at most `columns` columns.

    A branch is told from the others by where it begins and its first words, so its name gives way
    to them.
    """
    name = steady_text(row.name) or row.id
    if row.branch is None:
        return name if cells(name) <= columns else cut_to(name, columns)
    mark = f" ⑂{row.branch.at}"
    words = f" “{steady_text(row.branch.words)}”" if row.branch.words else ""
    room = columns - cells(mark)
    name = cut_to(name, max(room - cells(words), room // 3, 1))
    return cut_to(f"{name}{mark}{cut_to(words, max(0, room - cells(name)), '…”')}", columns)


def compactions_text(row: SessionRow) -> str:
    """Return `compacted` or `compacted 3×`; an empty text where the chain was never compacted."""
    times = f" {row.compactions}×" if row.compactions > 1 else ""
    return f"compacted{times}" if row.compactions else ""


def counts_or_state(row: SessionRow) -> str:
    """Return queries and tokens, or the reason why they are unknown."""
    if row.queries is None:
        return ODD.get(row.state, "")
    return counts_text(row.queries, row.tokens or 0)


def tags_text(row: SessionRow) -> str:
    """Return the tags as they follow the name."""
    return "".join(f" #{steady_text(tag, 40)}" for tag in row.tags)


class RowTable:
    """Rows with aligned columns: number, date, agent if there are several, counts and cost."""

    def __init__(self, rows: Sequence[SessionRow], now: datetime, cost: Cost | None = None) -> None:
        self.rows = rows
        self._has_agents = len({row.agent for row in rows}) > 1
        self._columns: list[tuple[str, ...]] = []
        for number, row in numbered_rows(rows):
            price = cost_of(row.spent, cost) if cost is not None else None
            counts = counts_or_state(row) + (f", {dollars_text(price)}" if price else "")
            when, agent = when_text(row.updated, now), steady_text(row.agent, 20)
            self._columns.append((number, when, agent, counts))
        self._widths = [max(map(cells, texts)) for texts in zip(*self._columns, strict=True)]

    def lines(self, at: int, width: int, mark: str = "") -> list[list[tuple[str, str]]]:
        """Return a row as texts with their styles; on less than `MIN_WIDE_COLUMNS` on two lines, of
        which the first may be too long. `mark` stands before the name.
        """
        row, (number, when, agent, counts) = self.rows[at], self._columns[at]
        compacted = f" · {compactions_text(row)}" if row.compactions else ""
        tags = tags_text(row)
        if width < MIN_WIDE_COLUMNS:
            room = max(10, width - 3 - cells(f"{mark}{compacted}{tags}"))
            name = f"   {mark}{name_text(row, room)}{compacted}{tags}"
            return [[(f"{number:>2} {when}  {counts}", "")], [(name, "")]]
        fixed = f"{number:>{self._widths[0]}}  {fill(when, self._widths[1])}  "
        if self._has_agents and width >= MIN_AGENT_COLUMNS:
            fixed += f"{fill(agent, self._widths[2])}  "
        fixed += f"{fill(counts, self._widths[3])}  "
        note = "no summary yet" if row.state == "unsealed" else ODD.get(row.state, "")
        note = f"({note}) " if note and row.queries is not None and not row.current else ""
        room = max(12, width - cells(f"{fixed}{note}{mark}{compacted}{tags}"))
        name = f"{mark}{name_text(row, room)}"
        return [[(fixed, ""), (note, "dim"), (name, ""), (compacted, "dim"), (tags, "cyan")]]


def fill(text: str, columns: int) -> str:
    """Return `text` with blanks behind it up to `columns`."""
    return text + " " * (columns - cells(text))


def numbered_rows(rows: Sequence[SessionRow]) -> list[tuple[str, SessionRow]]:
    """Return each row with its number for commands; the open conversation has `*`."""
    numbered, number = [], 0
    for row in rows:
        number += has_number(row)
        numbered.append((str(number) if has_number(row) else "*" if row.current else "", row))
    return numbered


def has_number(row: SessionRow) -> bool:
    """Return False for the open conversation, and for older sessions of an unfolded one."""
    return not (row.current or row.behind)


def cost_of(spent: Iterable[tuple[str, Usage]] | None, cost: Cost) -> float | None:
    """Return the cost of models' usage in US dollars; None when a price or the usage is unknown."""
    costs = [cost(model, usage) for model, usage in spent or ()]
    known = [one for one in costs if one is not None]
    return sum(known) if spent is not None and len(known) == len(costs) else None


def unlisted_text(names: Sequence[str]) -> str:
    """Return a sentence about unlisted files of a sessions folder, and how to list them."""
    shown = ", ".join(one_line(name, 100) for name in names[:3]) + (" …" if len(names) > 3 else "")
    count = f"{plural(len(names), 'file')} {'is' if len(names) == 1 else 'are'}"
    return (
        f"{count} not listed: {shown}. With a name of letters, digits, _ and - a file is a session."
    )


def nothing_text(*, filtered: bool, hidden: bool) -> str:
    """Return a sentence about an empty list. `hidden`: sessions are listed only on request."""
    if filtered:
        return "No session fits."
    return (
        "There are no conversations; --all lists runs of -p and failed ones."
        if hidden
        else "There are no sessions yet."
    )
