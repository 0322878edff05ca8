"""The browser drawn: the list, the preview beside or below it, and the bottom line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from chat_loop.browser.cells import Line, cut, filled, padded, plain, width_of, wrapped
from chat_loop.browser.preview import Preview
from chat_loop.browser.state import KEYS, Browsing, hints
from chat_loop.display import rows
from chat_loop.display.rows import ODD, compactions_text
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import compact_number, counted, counts_text

BESIDE = 100
"""From this many columns on the preview stands beside the list, else below."""
SHORT_DATES = 90
"""Below this many columns the list says the time of today and the day of this year, not both."""
ROOMY = 16
"""From this many lines on there is a preview below without asking for it."""
TITLED = 6
"""From this many lines on the columns have titles."""
SMALL = 9
"""With fewer lines there is no room for a list and a preview: it is one or the other."""
NAME = 28
"""A column is shown where at least this much is left for the name; the first is content with
less.
"""
SHORT_NAME = 20
AGENT = 12


class Frame(Struct, frozen=True):
    """The screen: `height` lines of `width` columns. `cursor` is its column in the last line."""

    lines: list[Line]
    cursor: int | None = None


class Places(Struct, frozen=True):
    """Sizes in columns and lines; those of the list are without its title."""

    list_width: int
    list_height: int
    pane_width: int = 0
    pane_height: int = 0
    titled: bool = False
    beside: bool = False


class Column(Struct, frozen=True):
    """A column beside the name; `right`: its texts end at its right."""

    title: str
    width: int
    right: bool = False


def places(state: Browsing, width: int, height: int) -> Places:
    """Return how a screen is divided; its last line is the bottom line."""
    height = max(1, height - 1)
    titled = height >= TITLED
    lines = height - titled
    if width >= BESIDE and height >= SMALL:
        if state.pane is False:
            return Places(width, lines, titled=titled)
        right = width * 2 // 5
        return Places(width - right - 3, lines, right, height, titled, beside=True)
    if not (height >= ROOMY if state.pane is None else state.pane):
        return Places(width, lines, titled=titled)
    if height < SMALL:
        return Places(width, 0, width, height)
    below = lines // 2
    return Places(width, lines - below - 1, width, below, titled)


def fitted(state: Browsing, width: int, height: int) -> Browsing:
    """Return `state` as it will be drawn on a screen of this size."""
    size = places(state, width, height)
    return state.fitted(size.list_height, size.pane_height > 0)


def frame(
    state: Browsing,
    preview: Callable[[SessionRow], Preview | None],
    width: int,
    height: int,
    now: datetime,
) -> Frame:
    """Draw a state that was fitted to this size; ask for the preview that is visible, if one is."""
    if width < 1 or height < 1:
        return Frame([])
    if state.mode == "keys":
        lines = _keys(state, width, height - 1)
    else:
        size = places(state, width, height)
        lines = _list(state, size, now)
        if size.pane_height:
            seen = preview(state.row) if state.row is not None else None
            beside = _pane(state, seen, size.pane_width, size.pane_height, now)
            if size.beside:
                pairs = zip(lines, beside, strict=True)
                lines = [[*left, ("dim", " │ "), *right] for left, right in pairs]
            else:
                lines += [*([[("dim", "─" * width)]] if lines else []), *beside]
    bottom, cursor = _bottom(state, width)
    # On one line alone the selected session counts more than the keys.
    if height > 1 or state.mode != "list":
        lines = [*lines[: height - 1], bottom]
    return Frame(lines[:height], cursor)


def _keys(state: Browsing, width: int, height: int) -> list[Line]:
    """Draw what the keys do, from the line that was scrolled to."""
    lines: list[Line] = []
    for keys, does in KEYS:
        if width < 50:
            lines += [[("bold", keys)], [("", f"  {does}")]]
        else:
            lines.append([("bold", f"  {keys:<15}"), ("", f" {does}")])
    top = max(0, min(state.scrolled * len(lines) // len(KEYS), len(lines) - height))
    return _screen(lines[top:], width, height)


def _screen(lines: list[Line], width: int, height: int) -> list[Line]:
    lines = lines[: max(0, height)]
    return [padded(line, width) for line in [*lines, *([[]] * (height - len(lines)))]]


def _bottom(state: Browsing, width: int) -> tuple[Line, int | None]:
    """Return the bottom line and the cursor's column in it, if there is one."""
    said, cursor = plain(state.notice, 500), None
    if state.mode == "filter":
        words = plain(state.words, 300) + (" " if state.words.endswith(" ") else "")
        while width_of(words) > max(0, width - 2):  # the end is where the user types
            words = words[1:]
        said, cursor = f"/{words}", min(width - 1, 1 + width_of(words))
    elif state.mode == "ask" and state.row is not None:
        before, after = ("Move “", "” to the trash? y/n") if width >= 44 else ("Trash “", "”? y/n")
        room = max(1, width - width_of(before + after))
        said = f"{before}{cut(_name(state.row), room)}{after}"
    line: Line = [("", cut(said, width))] if said else []
    room = width - width_of(said)
    for key, does in hints(state):
        shown = f"  {key}" if line else key
        if (needed := width_of(f"{shown} {does}")) <= room:
            room -= needed
            line += [("bold", shown), ("dim", f" {does}")]
    return padded(line, width), cursor


def _list(state: Browsing, size: Places, now: datetime) -> list[Line]:
    width, stock = size.list_width, state.stock
    number = 3 + len(str(len(stock.rows)))  # the mark of the selected row, the number, a blank
    beside = _columns(state, width - number)
    room = max(0, width - number - sum(column.width + 2 for column in beside))
    lines: list[Line] = []
    if size.titled:
        words = plain(state.words, 60)
        total, found = f"{len(stock.rows):,}", f"{len(state.shown):,}"
        count = f"{found} of {total} match “{words}”" if words else f"Sessions: {total}"
        titles = [filled(column.title, column.width, right=column.right) for column in beside]
        head = [("bold", " " * number + filled(count, room))]
        lines.append(padded([*head, *(("dim", f"  {title}") for title in titles)], width))
    for place in range(state.top, min(len(state.shown), state.top + size.list_height)):
        lines.append(_row(state, place, beside, (number, room, width), now))
    if not state.shown and size.list_height:
        words = plain(state.words, 60)
        text = f"No session matches “{words}”." if words else "There are no sessions yet."
        lines.append([("dim", cut(f"  {text}", width))])
    return _screen(lines, width, size.titled + size.list_height)


def _columns(state: Browsing, left: int) -> list[Column]:
    """Return the columns that stand beside the name, from left to right, where `left` columns are
    left for all of them.
    """
    first = state.stock.rows[:200]
    agent = min(AGENT, max((width_of(plain(row.agent, AGENT)) for row in first), default=0))
    short = left + 3 + len(str(len(state.stock.rows))) < SHORT_DATES
    chosen: dict[int, Column] = {}
    left -= SHORT_NAME
    for place, column in (  # the most important first; the number is its place among the others
        (1, Column("When", 7 if short else 12)),
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


def _row(
    state: Browsing,
    place: int,
    beside: Sequence[Column],
    sizes: tuple[int, int, int],
    now: datetime,
) -> Line:
    """Draw the row at `place`; `sizes` are the columns of its number, of its name and of all."""
    number, room, width = sizes
    position = state.shown[place]
    row, selected = state.stock.rows[position], place == state.selected
    fold = "▾" if row.id in state.unfolded else "▸" if row.folded else ""
    texts = {
        "When": _when(row.updated, now, short=width < SHORT_DATES),
        "Chain": f"{fold}{row.depth}" if fold or row.depth > 1 or row.parent else "",
        "Queries": "" if row.queries is None else compact_number(row.queries),
        "Tokens": "" if row.tokens is None else compact_number(row.tokens),
        "Agent": plain(row.agent, AGENT * 2),
    }
    tags = cut(_tags(row), room // 3) if room >= SHORT_NAME + 4 else ""
    room -= width_of(tags) + 2 if tags else 0
    mark = "└ " if row.behind else ""
    dim = "" if selected else "dim"
    line: Line = [
        ("", "> " if selected else "  "),
        (dim, f"{filled(state.stock.numbers[position], number - 3, right=True)} "),
        ("bold" if selected else "", filled(f"{mark}{_name(row, max(1, room - len(mark)))}", room)),
        (dim, f"  {tags}" if tags else ""),
    ]
    for column in beside:
        line.append((dim, f"  {filled(texts[column.title], column.width, right=column.right)}"))
    return padded(line, width, "reverse" if selected else "")


def _name(row: SessionRow, columns: int = 500) -> str:
    """Return what a session is called; in brackets before it what is odd about its file."""
    state = f"({ODD[row.state]}) " if row.state in ODD else ""
    called = row.name or row.id
    if row.branch is not None:
        called = rows.name_text(row, max(1, columns - len(state)))
    return f"{state}{plain(called, 500) or plain(row.id, 500)}"


def _tags(row: SessionRow) -> str:
    return plain(" ".join(f"#{tag}" for tag in row.tags[:20]), 200)


def _when(moment: datetime | None, now: datetime, *, short: bool) -> str:
    """Return `today 14:02`, `Nov 21 14:02` or `2020-06-13`; short: `14:02`, `Nov 21`, `2020-06`."""
    if moment is None:
        return "unknown"
    if moment.date() == now.date():
        return f"{moment:%H:%M}" if short else f"today {moment:%H:%M}"
    if moment.year == now.year:
        return f"{moment:%b %d}" if short else f"{moment:%b %d %H:%M}"
    return moment.date().isoformat()[: 7 if short else 10]


def _pane(
    state: Browsing, preview: Preview | None, width: int, height: int, now: datetime
) -> list[Line]:
    """Draw the selected session: its row at once, the rest when `preview` has been read."""
    row = state.row
    if row is None or width < 1:
        return _screen([], width, height)
    tall = height >= ROOMY
    facts = (
        plain(row.id, 100),
        _when(row.updated, now, short=False),
        plain(row.agent, 40),
        counts_text(row.queries, row.tokens or 0) if row.queries is not None else "",
        _tags(row),
        compactions_text(row),
        f"{counted(row.folded, 'older session')} folded" if row.folded else "",
        f"{counted(row.shared, 'query')} shared with other branches" if row.shared else "",
    )
    told = [("bold", _name(row), 3 if tall else 1)]
    told.append(("dim", " · ".join(filter(None, facts)), 4 if tall else 2))
    if preview is not None:
        title = preview.title if tall else preview.title[:1]
        told += [("dim", text, 2 if tall else 1) for text in title]
        told += [("", f"! {text}", 3 if tall else 2) for text in preview.notes]
    lines: list[Line] = [
        [(style, line)] for style, text, most in told for line in wrapped(text, width, most)
    ]
    if preview is None:
        lines += [[], [("dim", "…")]] if len(lines) + 2 <= height else []
    else:
        lines += _body(preview, width, height - len(lines))
    return _screen(lines, width, height)


def _body(preview: Preview, width: int, height: int) -> list[Line]:
    """Draw the summary and the last exchanges, as many as fit; the summary takes half at most."""
    summary: list[Line] = []
    sections = [
        (section.name, "; ".join(section.items) + (f" … {section.more} more" * bool(section.more)))
        for section in preview.sections
    ]
    for most in (8, 4, 3, 2, 1):
        summary = [line for name, text in sections for line in _said(name, text, width, most)]
        if len(summary) <= (height + 1) // 2:
            break
    summary = summary[: max(0, height)]
    room = height - len(summary)
    headed = bool(preview.exchanges) and room > 7
    room -= 2 * headed
    talk: list[Line] = []
    shown = 0
    for exchange in reversed(preview.exchanges):
        said = [line for who, text in exchange for line in _said(who, text, width, 6)]
        if len(said) + len(talk) > room and not talk:
            said = [line for who, text in exchange for line in _said(who, text, width, 1)][:room]
        if len(said) + len(talk) > room:
            break
        talk = [*said, *talk]
        shown += 1
    if headed:
        earlier = preview.earlier + len(preview.exchanges) - shown
        count = f" ({earlier:,} earlier)" if earlier else ""
        talk = [[], [("bold", "Last words"), ("dim", count)], *talk]
    return [*summary, *talk]


def _said(speaker: str, text: str, width: int, most: int) -> list[Line]:
    """Draw what somebody said, the speaker in bold."""
    first, *others = wrapped(f"{speaker}: {text}", max(1, width - 2), most)
    name, colon, rest = first.partition(":") if first.startswith(f"{speaker}:") else ("", "", first)
    return [[("bold", name + colon), ("", rest)], *([("", f"  {line}")] for line in others)]
