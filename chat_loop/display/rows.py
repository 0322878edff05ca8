"""The names of conversations in lists, the same in chat, browser and command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from chat_loop.display.text import cells, cut_to, one_line
from chat_loop.sessions.records import SessionRow, State
from chat_loop.values import Usage
from chat_loop.wording import plural

ODD: Mapping[State, str] = {
    "plain": "other format",
    "damaged": "damaged",
    "empty": "empty file",
    "foreign": "not a session",
}
"""States that a row names; the others are usual."""
MAX_LENGTH = 500


def name_text(row: SessionRow, columns: int = MAX_LENGTH) -> str:
    """Return the name of a row in at most `columns` columns.

    A branch is told from the others by where it begins and its first words, so its name gives way
    to them.
    """
    name = one_line(row.name, MAX_LENGTH) or row.id
    if row.branch is None:
        return name if cells(name) <= columns else cut_to(name, columns)
    mark = f" ⑂{row.branch.at}"
    words = f" “{one_line(row.branch.words, MAX_LENGTH)}”" if row.branch.words else ""
    room = columns - cells(mark)
    name = cut_to(name, max(room - cells(words), room // 3, 1))
    return cut_to(f"{name}{mark}{cut_to(words, max(0, room - cells(name)), '…”')}", columns)


def compactions_text(row: SessionRow) -> str:
    """Return `compacted` or `compacted 3×`; an empty text where the chain was never compacted."""
    return (
        ""
        if not row.compactions
        else "compacted"
        if row.compactions == 1
        else f"compacted {row.compactions}×"
    )


def numbered_rows(rows: Sequence[SessionRow]) -> list[tuple[str, SessionRow]]:
    """Return each row with its number for commands; the open conversation has `*`."""
    found, number = [], 0
    for row in rows:
        number += has_number(row)
        found.append((str(number) if has_number(row) else "*" if row.current else "", row))
    return found


def has_number(row: SessionRow) -> bool:
    """Return False for the open conversation, and for older sessions of an unfolded one."""
    return not (row.current or row.behind)


def cost_of(row: SessionRow, cost: Callable[[str, Usage], float | None]) -> float | None:
    """Return the cost of a row's replies in US dollars; None when price or usage is unknown."""
    costs = [cost(model, usage) for model, usage in row.spent or ()]
    known = [one for one in costs if one is not None]
    return sum(known) if row.spent is not None and len(known) == len(costs) else None


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
