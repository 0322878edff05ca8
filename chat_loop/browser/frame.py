"""The whole screen, drawn: the list, the preview beside or below it, and the bottom line."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from chat_loop.browser.browsing import Browsing
from chat_loop.browser.cells import Line, cut, padded, plain, width_of
from chat_loop.browser.keys import KEYS, hints
from chat_loop.browser.pane import pane
from chat_loop.browser.preview import Preview
from chat_loop.browser.table import columns, drawn, heading, name_text, nothing
from chat_loop.sessions.records import SessionRow

BESIDE = 100
"""From this many columns on the preview stands beside the list, else below."""
ROOMY = 16
"""From this many lines on there is a preview below without asking for it."""
TITLED = 6
"""From this many lines on the columns have titles."""
SMALL = 9
"""With fewer lines there is no room for a list and a preview: it is one or the other."""


class Places(Struct, frozen=True):
    """Sizes in columns and lines, those of the list without its title; the pane is 0 by 0 where
    there is none.
    """

    list_width: int
    list_height: int
    pane_width: int = 0
    pane_height: int = 0
    titled: bool = False
    beside: bool = False


class Frame(Struct, frozen=True):
    """What is on the screen: `height` lines of `width` columns. `cursor` is the column in the
    bottom line, if shown.
    """

    lines: list[Line]
    cursor: int | None = None


def places(state: Browsing, width: int, height: int) -> Places:
    """How a screen of `width` columns and `height` lines is divided; its last line is the bottom
    line.
    """
    height = max(1, height - 1)
    titled = height >= TITLED
    lines = height - titled
    if width >= BESIDE and height >= SMALL:
        if state.pane is False:
            return Places(width, lines, titled=titled)
        right = width * 2 // 5
        return Places(width - right - 3, lines, right, height, titled, beside=True)
    if not (state.pane if state.pane is not None else height >= ROOMY):
        return Places(width, lines, titled=titled)
    if height < SMALL:
        return Places(width, 0, width, height)
    below = lines // 2
    return Places(width, lines - below - 1, width, below, titled)


def fitted(state: Browsing, width: int, height: int) -> Browsing:
    """`state` as it will be drawn on a screen of this size."""
    size = places(state, width, height)
    return state.fitted(size.list_height, size.pane_height > 0)


def frame(
    state: Browsing,
    preview: Callable[[SessionRow], Preview | None],
    width: int,
    height: int,
    now: datetime,
) -> Frame:
    """Draw a state that was fitted to this size. `preview` is asked for the selected row, if its
    preview is visible.
    """
    if width < 1 or height < 1:
        return Frame([])
    keys = state.mode == "keys"
    lines = (
        _keys(state, width, height - 1) if keys else _browsing(state, preview, width, height, now)
    )
    bottom, cursor = _bottom(state, width)
    # On one line alone the selected session counts more than the keys, unless something is being
    # asked.
    lines = lines if height == 1 and state.mode == "list" else [*lines[: height - 1], bottom]
    return Frame(lines[:height], cursor)


def _browsing(
    state: Browsing,
    preview: Callable[[SessionRow], Preview | None],
    width: int,
    height: int,
    now: datetime,
) -> list[Line]:
    size = places(state, width, height)
    beside = columns(state, size.list_width)
    lines = [heading(state, beside, size.list_width)] if size.titled else []
    places_shown = range(state.top, min(len(state.shown), state.top + size.list_height))
    lines += [drawn(state, place, beside, size.list_width, now) for place in places_shown]
    if not state.shown and size.list_height:
        lines.append(nothing(state, size.list_width))
    lines += [
        padded([], size.list_width) for _ in range(size.titled + size.list_height - len(lines))
    ]
    if not size.pane_height:
        return lines
    row = state.row
    told = pane(
        state, preview(row) if row is not None else None, size.pane_width, size.pane_height, now
    )
    if size.beside:
        return [[*left, ("dim", " │ "), *right] for left, right in zip(lines, told, strict=True)]
    return [*lines, *([[("dim", "─" * width)]] if lines else []), *told]


def _keys(state: Browsing, width: int, height: int) -> list[Line]:
    """What the keys do, from the line that was scrolled to."""
    lines: list[Line] = [[("bold", f"  {keys:<15}"), ("", f" {does}")] for keys, does in KEYS]
    if width < 50:
        lines = [line for keys, does in KEYS for line in ([("bold", keys)], [("", f"  {does}")])]
    top = max(0, min(state.scrolled * len(lines) // len(KEYS), len(lines) - height))
    lines = lines[top : top + height]
    return [padded(line, width) for line in [*lines, *([[]] * (height - len(lines)))]]


def _bottom(state: Browsing, width: int) -> tuple[Line, int | None]:
    """The bottom line and the cursor's column in it, if there is one."""
    said, cursor = "", None
    if state.mode == "filter":
        words = plain(state.words, 300) + (" " if state.words.endswith(" ") else "")
        while width_of(words) > max(0, width - 2):  # the end is where the user types
            words = words[1:]
        said, cursor = f"/{words}", min(width - 1, 1 + width_of(words))
    elif state.mode == "ask" and state.row is not None:
        before, after = ("Move “", "” to the trash? y/n") if width >= 44 else ("Trash “", "”? y/n")
        said = (
            f"{before}{cut(name_text(state.row), max(1, width - width_of(before + after)))}{after}"
        )
    elif state.notice:
        said = plain(state.notice, 500)
    line: Line = [("", cut(said, width))] if said else []
    room = width - width_of(said)
    for key, does in hints(state):
        needed = width_of(key) + 1 + width_of(does) + (2 if line else 0)
        if needed <= room:
            room -= needed
            line += [("bold", f"  {key}" if line else key), ("dim", f" {does}")]
    return padded(line, width), cursor
