"""Rows of conversations, the same in the chat, the browser and the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count

from chat_loop.characters import one_line, without_marks
from chat_loop.display.sanitizer import cells, cut_to, padded
from chat_loop.sessions.records import SessionRow, State
from chat_loop.values import Usage, compact_number, dollars_text, plural

Cost = Callable[[str, Usage], float | None]
USUAL_CALL = 50_000
"""Tokens of input."""
Parts = list[tuple[str, str]]  # texts with their styles

ODD: Mapping[State, str] = {
    "plain": "other format",
    "damaged": "damaged",
    "empty": "empty file",
    "foreign": "not a session",
}
"""The unusual states, which a row names."""
MAX_LENGTH = 500
MAX_NAME = 80  # the most columns of a name
ALWAYS = range(sys.maxsize)
NARROW = ALWAYS[:60]
ABBREVIATED = NARROW[36:]
SHORT = ALWAYS[60:]
FULL = ALWAYS[100:]
BRANCH = ALWAYS[120:]
"""The widths at which a row shows an age even where dates are asked for; the messages, abbreviated;
project, messages and tokens; agent and cost; git's branch.
"""
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff]")


def steady_text(text: str, length: int = MAX_LENGTH) -> str:
    """Return foreign text on one line, without characters whose width differs among terminals."""
    if text.isascii():
        return one_line(text, length)
    return one_line(_SKIN_TONES.sub("", without_marks(text)), length)


def name_text(row: SessionRow, columns: int = MAX_LENGTH) -> str:
    """Return a row's name in at most `columns`. A branch's name is cut to show its first words."""
    name = steady_text(row.name) or row.id
    if row.branch is None:
        if cells(name) <= columns:
            return name
        return cut_to(name, columns)
    mark = f" ⑂{row.branch.at}"
    words = ""
    if row.branch.words:
        words = f" “{steady_text(row.branch.words)}”"
    room = columns - cells(mark)
    name = cut_to(name, max(room - cells(words), room // 3, 1))
    return cut_to(f"{name}{mark}{cut_to(words, max(0, room - cells(name)), '…”')}", columns)


def tags_text(tags: Sequence[str]) -> str:
    """Return the tags as text to append to a name."""
    return "".join([f" #{steady_text(tag, 40)}" for tag in tags])


def _notes(row: SessionRow) -> tuple[str, str]:
    """Return the two texts that follow the name: ` · compacted 3×`, and the tags."""
    note = ""
    if row.compactions:
        note = " · compacted"
    if row.compactions > 1:
        note += f" {row.compactions}×"
    return note, tags_text(row.tags)


def age_text(moment: datetime | None, now: datetime) -> str:
    """Return `now`, `5m`, `2h`, `3d`, a month such as `Mar 2020`, or `unknown`."""
    if moment is None:
        return "unknown"
    minutes = (now - moment) // timedelta(minutes=1)
    if minutes < 2:
        return "now"
    if minutes < 60:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 24:
        return f"{hours}h"
    if hours < 60 * 24:
        return f"{hours // 24}d"
    return f"{moment:%b %Y}"


class RowTable:
    """Rows with aligned columns: number, name, age, messages, size, and others if there is room.
    `numbers` replaces the numbers that a chat uses. `exact` shows ids, and dates instead of ages.
    """

    def __init__(
        self,
        rows: Sequence[SessionRow],
        now: datetime,
        cost: Cost | None = None,
        *,
        numbers: Sequence[str] | None = None,
        exact: bool = False,
    ) -> None:
        self.rows = rows
        others = count(1)
        chat_numbers = ["*" if row.current else str(next(others)) for row in rows]
        self._numbers = _aligned(chat_numbers if numbers is None else numbers, right=True)
        self._columns: tuple[tuple[range, bool, Callable[[], Sequence[str]]], ...] = (
            (NARROW, True, lambda: [age_text(row.updated, now) for row in rows]),
            (SHORT, True, lambda: [_time_text(row, None if exact else now) for row in rows]),
            (ALWAYS, False, lambda: _texts([row.owner for row in rows])),
            (SHORT, False, lambda: _texts([row.project for row in rows], _folder_name)),
            (BRANCH, False, lambda: _differing([row.git_branch for row in rows])),
            (FULL, False, lambda: _differing([row.agent for row in rows])),
            (ABBREVIATED, True, lambda: [_messages_text(row, "{:,} msg") for row in rows]),
            (SHORT, True, lambda: [_messages_text(row) for row in rows]),
            (SHORT, True, lambda: [_size_text(row) for row in rows]),
            (FULL, True, lambda: [_price_text(row, cost) for row in rows] if cost else ()),
            (ALWAYS, False, lambda: [ODD.get(row.state, "") for row in rows]),
            (SHORT, False, lambda: [row.id for row in rows] if exact else ()),
        )
        """The widths at which each column is shown, whether it is aligned right, and its texts."""
        self._names = [(name_text(row, MAX_NAME), *_notes(row)) for row in rows]
        self._name_width = max((cells("".join(texts)) for texts in self._names), default=0)
        self._width = -1  # the width that `line` used last
        self._ends: list[str] = []

    def line(self, at: int, width: int) -> Parts:
        """Return a row on one line of at most `width` columns."""
        if width != self._width:
            shown = []
            for widths, right, texts in self._columns:
                if width in widths and any(column := texts()):
                    shown.append(_aligned(column, right=right))
            self._width = width
            self._ends = ["  ".join(("", *texts)) for texts in zip(*shown, strict=True)]
        number = f"{self._numbers[at]}  "
        end = self._ends[at]
        room = min(self._name_width, width - 1 - len(number) - cells(end))
        name, compacted, tags = self._names[at]
        if room < cells(name + compacted + tags):
            compacted = ""  # the name says more
            name = name_text(self.rows[at], max(room - cells(tags), room // 2))
            tags = cut_to(tags, room - cells(name))
        blanks = room - cells(name + compacted + tags)
        parts = (number, ""), (name, ""), (compacted, "dim"), (tags, "cyan")
        return [*parts, (f"{' ' * blanks}{end}".rstrip(), "dim")]


def _texts(values: Sequence[str], text: Callable[[str], str] = str) -> list[str]:
    """Return the texts of a column, whose values repeat."""
    texts = {value: steady_text(text(value), 20) for value in {*values}}
    return [texts[value] for value in values]


def _differing(values: Sequence[str]) -> Sequence[str]:
    """Return the texts of a column, or none if all values are the same and so say nothing."""
    if len({*values}) <= 1:
        return ()
    return _texts(values)


def _price_text(row: SessionRow, cost: Cost) -> str:
    price = cost_of(row.spent, cost)
    return dollars_text(price) if price else ""


def _time_text(row: SessionRow, now: datetime | None) -> str:
    return date_text(row) if now is None else age_text(row.updated, now)


def _folder_name(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def date_text(row: SessionRow) -> str:
    """Return the last use of a session, such as `2026-11-21 14:30`, or `unknown`."""
    # strftime takes twice as long
    if row.updated is None:
        return "unknown"
    return row.updated.isoformat(" ", "minutes")[:16]


def _messages_text(row: SessionRow, short: str = "") -> str:
    if row.queries is None:
        return ""
    return short.format(row.queries) or plural(row.queries, "message")


def _size_text(row: SessionRow) -> str:
    if row.said is None:
        return ""
    return f"{compact_number(row.said)} tokens"


def tree_name(row: SessionRow, parent: SessionRow | None) -> str:
    """Return the name of a session in a tree: its first words where its parent has the name, or its
    id if it has no words yet.
    """
    if parent is not None and parent.name == row.name:
        return f"“{steady_text(row.words, 200)}”" if row.words else row.id
    return steady_text(row.name, 200) or row.id


def missing_text(row: SessionRow, ids: Container[str]) -> str:
    """Return a text that names the parents of a session that are not among `ids`."""
    missing = [one for one in (row.parent, row.merged) if one and one not in ids]
    if missing:
        return f"continues {' and '.join(missing)}, not in the folder"
    return ""


def _aligned(texts: Sequence[str], *, right: bool) -> list[str]:
    if "".join(texts).isascii():  # faster for ten thousand rows
        width = max(map(len, texts), default=0)
        pad = str.rjust if right else str.ljust
        return [pad(text, width) for text in texts]
    width = max(map(cells, texts), default=0)
    return [padded(text, width, right=right) for text in texts]


def cost_of(spent: Iterable[tuple[str, Usage]] | None, cost: Cost) -> float | None:
    """Return the cost of models' usage in US dollars; None when a price or the usage is unknown."""
    prices = [price_of(model, usage, cost) for model, usage in spent or ()]
    if spent is None or None in prices:
        return None
    return sum(filter(None, prices))


def price_of(model: str, usage: Usage, cost: Cost) -> float | None:
    """Return the cost of the usage of many calls in US dollars, or None if it is unknown. It is
    that of calls of usual size: in a very large one, each token may cost more.
    """
    others = usage.input // USUAL_CALL
    one = Usage(
        input=usage.input // (others + 1),
        cached=usage.cached // (others + 1),
        written=usage.written // (others + 1),
        output=usage.output // (others + 1),
    )
    last = Usage(
        input=usage.input - others * one.input,
        cached=usage.cached - others * one.cached,
        written=usage.written - others * one.written,
        output=usage.output - others * one.output,
    )
    price = cost(model, one)
    price_of_last = cost(model, last)
    if price is None or price_of_last is None:
        return None
    return others * price + price_of_last


def unlisted_text(names: Sequence[str]) -> str:
    """Return a sentence about unlisted files of a sessions folder, with the rule for names."""
    first = ", ".join(one_line(name, 100) for name in names[:3])
    if len(names) > 3:
        first += " …"
    rule = "Names of session files have letters, digits, _ and - only."
    return f"{plural(len(names), 'file')} not listed: {first}. {rule}"


def nothing_text(*, filtered: bool) -> str:
    """Return the message for an empty list."""
    if filtered:
        return "No matching sessions."
    return "No conversations yet; --all also lists runs of -p and failed ones."
