"""Lists of sessions, and chains as trees, from values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from chat_loop.display.manager import DisplayManager
from chat_loop.display.text import one_line
from chat_loop.frozen import dataclass
from chat_loop.sessions.row import SessionRow
from chat_loop.wording import counted, counts_text, when_text

_STATES = {
    "sealed": "",
    "unsealed": "no summary yet",
    "plain": "other format",
    "damaged": "damaged",
    "empty": "empty file",
    "foreign": "not a session",
}
NARROW = 70
SHOWN_NAME = 50
"""Characters of a session's name where it stands in a sentence."""


def show_sessions(
    display: DisplayManager,
    rows: Sequence[SessionRow],
    more: int,
    now: datetime,
    *,
    first: int = 0,
    filtered: bool = False,
) -> None:
    """The numbered list, newest first, from the one after the `first`. `more`: how many older ones are not shown."""
    if not rows:
        display.line("No session fits." if filtered else "There are no sessions yet.")
        return
    numbered = list(enumerate(rows, 1))[first:]
    if display.console.width < NARROW:
        _narrow(display, numbered, now)
    else:
        _wide(display, numbered, now)
    if more:
        display.line(f"… and {more:,} older; /sessions more goes on, WORDS after it filter.", "dim")


def _narrow(display: DisplayManager, numbered: Sequence[tuple[int, SessionRow]], now: datetime) -> None:
    from rich.text import Text

    for number, row in numbered:
        first = f"{number:>3}  {when_text(row.updated, now)}  {numbers(row)}"
        second = f"     {chained(row)}{one_line(row.name, 500) or row.id}{tagged(row)}"
        for text in (first, second):
            display.console.print(Text(text), no_wrap=True, overflow="ellipsis", soft_wrap=False, crop=True)


def _wide(display: DisplayManager, numbered: Sequence[tuple[int, SessionRow]], now: datetime) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column("number", no_wrap=True, justify="right")
    for name in ("when", "agent", "numbers"):
        table.add_column(name, no_wrap=True)
    table.add_column("name", overflow="ellipsis")  # the only one that gives way when the rows are too wide
    for number, row in numbered:
        note = _STATES[row.state] if row.queries is not None else ""
        note = note or ("compacted" if row.compacted and not row.folded else "")
        what = Text(one_line(row.name, 500) or row.id)
        if note:
            what = Text(f"({note}) ", style="dim") + what
        what = Text(chained(row), no_wrap=True) + what + Text(tagged(row), style="cyan")
        cells = (str(number), when_text(row.updated, now), one_line(row.agent, 20), numbers(row))
        table.add_row(*(Text(cell) for cell in cells), what)
    display.console.print(table, soft_wrap=False)


def chained(row: SessionRow) -> str:
    """`↳3 ` before the third session of a chain; `⑂` is for a second parent."""
    if row.merged:
        return f"⑂{row.depth} "
    return "" if not row.parent else "↳ " if row.depth == 2 else f"↳{row.depth} "


def tagged(row: SessionRow) -> str:
    """The tags, after the name."""
    return "".join(f" #{one_line(tag, 40)}" for tag in row.tags)


def numbers(row: SessionRow) -> str:
    """Queries and tokens, or why they are not known."""
    if row.queries is None:
        return _STATES[row.state] if row.state not in ("sealed", "unsealed") else ""
    return counts_text(row.queries, row.tokens or 0)


@dataclass(frozen=True)
class Branch:
    """A session in a tree: what is drawn before it, whether it stands elsewhere as well, its compaction's line, its
    first words, and what it was given: up to where its parent has it, and its second parent's id."""

    row: SessionRow
    stem: str
    again: bool = False
    compaction: str = ""
    words: str = ""
    until: str = ""
    merged: str = ""


def show_tree(display: DisplayManager, branches: Sequence[Branch], here: str, now: datetime) -> None:
    """A chain with its branches, the oldest first; `here` is the id of the session that goes on."""
    from rich.text import Text

    dot, arrow = ("●", "  ← you are here") if display.has_symbols else ("*", "  <- you are here")
    tokens = sum(branch.row.tokens or 0 for branch in branches if not branch.again)
    display.line(f"{counted(len({branch.row.id for branch in branches}), 'session')}, {tokens:,} tokens:", "bold")
    places = {branch.row.id: number for number, branch in enumerate(branches, 1) if not branch.again}
    called: dict[str, str] = {}
    for number, branch in enumerate(branches, 1):
        row = branch.row
        stem = branch.stem if display.has_symbols else branch.stem.translate(_PLAIN)
        below = stem.replace("├─", "│ ").replace("└─", "  ").replace("|-", "| ").replace("`-", "  ")
        if branch.again:
            shown = Text(f"{number:>3}  {stem}{dot} ") + Text(f"number {places[row.id]} above", style="dim")
            display.console.print(shown, no_wrap=True, overflow="ellipsis", soft_wrap=False)
            continue
        here_now = arrow if row.id == here else ""
        room = display.console.width - len(f"{number:>3}  {stem}{dot} ") - len(here_now) - len(tagged(row))
        name = one_line(_called(branch, called), max(room, 10))
        called[row.id] = row.name
        head = Text(f"{number:>3}  {stem}{dot} ") + Text(name, style="bold" if row.id == here else "")
        head += Text(tagged(row), style="cyan") + Text(here_now, style="green")
        begun = _begun(branch, places)
        facts = " · ".join(filter(None, (begun, branch.compaction, when_text(row.updated, now), numbers(row))))
        for line in (head, Text(f"     {below}  ") + Text(facts, style="dim")):
            display.console.print(line, no_wrap=True, overflow="ellipsis", soft_wrap=False)


def _called(branch: Branch, called: Mapping[str, str]) -> str:
    """A session's name; by its first words where its parent has the same name, which says nothing then."""
    row = branch.row
    if branch.words and called.get(row.parent) == row.name:
        return f"“{one_line(branch.words, 200)}”"
    return one_line(row.name, 200) or row.id


def _begun(branch: Branch, places: Mapping[str, int]) -> str:
    if branch.merged:
        return f"merged with {f'number {places[branch.merged]}' if branch.merged in places else branch.merged}"
    return f"forked at {branch.until}" if branch.until else ""


_PLAIN = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-"})


def show_contradiction(
    display: DisplayManager, number: int, of: int, names: Sequence[str], lines: tuple[str, str]
) -> None:
    """Two lines of which one holds, each under the name of the session that says it."""
    display.line(f"Contradiction {number} of {of}:", "bold")
    for position, (name, line) in enumerate(zip(names, lines, strict=True), 1):
        display.line(f"  {position}  in “{one_line(name, SHOWN_NAME)}”:", "dim")
        display.prose(f"     {one_line(line, 600)}", indent=5)
