"""The browser as a value: the rows that match, the selected one, and what each key makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache, cached_property
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.browser.cells import plain
from chat_loop.display.rows import ODD, numbered
from chat_loop.sessions.records import SessionRow

Mode = Literal["list", "filter", "ask", "keys"]
"""Choosing; typing words to filter by; asked about the trash; reading what the keys do."""
Act = Literal["resume", "leave", "edit", "trash", "rows"]
"""What the state alone cannot do; `rows` reads them again."""
KEYS = (
    ("↑ ↓  k j", "one session up, down"),
    ("PgUp PgDn", "a page up, down"),
    ("Home End  g G", "the newest, the oldest"),
    ("Enter", "resume the selected session"),
    ("/", "filter: all words must match"),
    ("Esc", "clear the filter, else leave"),
    ("→ ←  u", "unfold, fold a chain"),
    ("Tab  p", "preview on, off"),
    ("e", "open the file in your editor"),
    ("d", "move to the trash, after asking"),
    ("Ctrl-Z", "suspend"),
    ("q  Ctrl-C", "leave without choosing"),
)
LINES = {"up": -1, "k": -1, "c-p": -1, "down": 1, "j": 1, "c-n": 1}
PAGES = {"pageup": -1, "c-b": -1, "pagedown": 1, "c-f": 1, " ": 1}
ENTER = ("c-m", "c-j")
LONGEST_FILTER = 200
LONGEST_NAME = 2_000
"""How much of a name is looked through."""


class Stock(Struct, frozen=True, dict=True):
    """The rows that there are, and what is computed from them once."""

    rows: tuple[SessionRow, ...] = ()

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Return what a filter looks through, in small letters, a text for each row."""
        return tuple(
            "\n".join(
                (
                    row.name[:LONGEST_NAME],
                    row.id,
                    row.agent,
                    _day(row.updated.date()) if row.updated is not None else "",
                    row.branch.words[:LONGEST_NAME] if row.branch is not None else "",
                    ODD.get(row.state, ""),
                    " ".join(f"#{tag}" for tag in row.tags),
                )
            ).casefold()
            for row in self.rows
        )

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Return where each id stands in `rows`."""
        return {row.id: position for position, row in enumerate(self.rows)}

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Return the number of each row as commands take it."""
        return tuple(number for number, _ in numbered(self.rows))

    @cached_property
    def heads(self) -> Mapping[str, str]:
        """Return the newest session of each unfolded chain, by the ids of the older ones."""
        return {row.id: row.behind for row in self.rows if row.behind}

    def matching(self, words: str) -> Sequence[int]:
        """Return where all `words` are; an unfolded chain's older sessions follow its newest."""
        wanted = words.casefold().split()
        if not wanted:
            return range(len(self.rows))
        found = {
            position
            for position, text in enumerate(self.texts)
            if all(word in text for word in wanted)
        }
        ids = {self.rows[position].id for position in found}
        behind = {self.positions[identity] for identity, head in self.heads.items() if head in ids}
        return sorted(found | behind)


@cache
def _day(day: date) -> str:
    return f"{day:%Y-%m-%d %b %d}"


class Browsing(Struct, frozen=True, kw_only=True):
    """`shown` are positions in the stock's rows; `selected` and `top`, the first visible one, are
    places in `shown`.

    `page` (lines of the list) and `previewed` (there is a preview) are what the last drawing had
    room for; `pane` is what the user wants of the preview, None without a word about it.
    `scrolled` is the first visible line of what the keys do.
    """

    stock: Stock = field(default_factory=Stock)
    shown: Sequence[int] = ()
    selected: int = 0
    top: int = 0
    page: int = 10
    words: str = ""
    mode: Mode = "list"
    notice: str = ""
    pane: bool | None = None
    previewed: bool = False
    unfolded: frozenset[str] = frozenset()
    scrolled: int = 0

    @property
    def row(self) -> SessionRow | None:
        """The selected session; None when nothing matches."""
        return self.stock.rows[self.shown[self.selected]] if self.shown else None

    def selecting(self, place: int) -> Browsing:
        """Return the state with the row at `place` selected, or the nearest there is."""
        return replace(self, selected=max(0, min(place, len(self.shown) - 1)))

    def stocked(self, rows: Sequence[SessionRow]) -> Browsing:
        """Return the state with other rows; the same session stays selected where it is there."""
        stock = Stock(tuple(rows))
        new = replace(self, stock=stock, shown=stock.matching(self.words))
        return new.selecting(self.selected)._following(self.row)

    def filtered(self, words: str) -> Browsing:
        """Return the state with the rows that hold all `words`, the first selected; without words
        all rows, the same one selected.
        """
        words = words[:LONGEST_FILTER]
        new = replace(self, words=words, shown=self.stock.matching(words), top=0, selected=0)
        return new if words.strip() else new._following(self.row)

    def unfolding(self) -> Browsing:
        """Return the state with the selected chain unfolded; itself without older sessions."""
        row = self.row
        if row is None or not row.folded or row.id in self.unfolded:
            return self
        return replace(self, unfolded=self.unfolded | {row.id})

    def folding(self) -> Browsing:
        """Return the state with the selected chain folded; itself when it is not unfolded."""
        row = self.row
        head = "" if row is None else self.stock.heads.get(row.id, row.id)
        if head not in self.unfolded:
            return self
        new = replace(self, unfolded=self.unfolded - {head})
        place = self.stock.positions.get(head)
        return new if place is None else new._following(self.stock.rows[place])

    def fitted(self, page: int, previewed: bool) -> Browsing:
        """Return the state for a list of `page` lines: the selected row is visible, and no line is
        wasted.
        """
        page = max(1, page)
        top = max(0, min(self.top, len(self.shown) - page, self.selected))
        return replace(self, page=page, top=max(top, self.selected - page + 1), previewed=previewed)

    def _following(self, row: SessionRow | None) -> Browsing:
        position = self.stock.positions.get(row.id) if row is not None else None
        if position is None or position not in self.shown:
            return self
        return self.selecting(self.shown.index(position))


def press(state: Browsing, key: str, text: str = "") -> tuple[Browsing, Act | None]:
    """Return what `key` makes of the state, and what is to be done then.

    Keys are named as prompt_toolkit names them; unknown ones do nothing. `text` is what a paste
    (`<bracketed-paste>`) holds.
    """
    state = replace(state, notice="")
    if key == "c-c":
        return state, "leave"
    step = LINES.get(key, 0) or PAGES.get(key, 0) * max(1, state.page)
    match state.mode:
        case "filter":
            return _type(state, key, text), None
        case "ask" if key in ("y", "Y"):
            return replace(state, mode="list"), "trash"
        case "ask":
            return replace(state, mode="list", notice="Nothing was moved."), None
        case "keys" if step:
            scrolled = state.scrolled + (1 if step > 0 else -1)
            return replace(state, scrolled=max(0, min(len(KEYS) - 1, scrolled))), None
        case "keys":
            return replace(state, mode="list"), None
    if step:
        return state.selecting(state.selected + step), None
    return _press_in_list(state, key)


def _press_in_list(state: Browsing, key: str) -> tuple[Browsing, Act | None]:
    match key:
        case "home" | "g":
            return state.selecting(0), None
        case "end" | "G":
            return state.selecting(len(state.shown) - 1), None
        case "escape" if state.words:
            return state.filtered(""), None
        case "escape" | "q":
            return state, "leave"
        case "/":
            return replace(state, mode="filter"), None
        case "?" | "f1":
            return replace(state, mode="keys", scrolled=0), None
        case "c-i" | "p":
            return replace(state, pane=not state.previewed), None
        case "c-l" | "f5":
            return state, "rows"
    return _press_on_row(state, key) if state.row is not None else (state, None)


def _press_on_row(state: Browsing, key: str) -> tuple[Browsing, Act | None]:
    if key in ENTER:
        return state, "resume"
    match key:
        case "e":
            return state, "edit"
        case "d" | "delete":
            return replace(state, mode="ask"), None
    new = state.unfolding() if key in ("right", "u") else state
    if key == "left" or (key == "u" and new is state):
        new = state.folding()
    return new, None if new is state else "rows"


def _type(state: Browsing, key: str, text: str) -> Browsing:
    """Return what `key` makes of the words of the filter."""
    listing = replace(state, mode="list")
    match key:
        case "c-m" | "c-j" | "c-i" | "up" | "down" | "c-p" | "c-n":
            return listing
        case "pageup" | "pagedown" | "c-b" | "c-f":
            return listing.selecting(state.selected + PAGES[key] * max(1, state.page))
        case "escape":
            return listing.filtered("")
        case "c-h":
            return state.filtered(state.words[:-1]) if state.words else listing
        case "c-w":
            return state.filtered("".join(state.words.rstrip().rpartition(" ")[:2]))
        case "c-u":
            return state.filtered("")
        case "<bracketed-paste>":
            return state.filtered(state.words + plain(text, LONGEST_FILTER))
    return state.filtered(state.words + key) if len(key) == 1 and key.isprintable() else state


def hints(state: Browsing) -> list[tuple[str, str]]:
    """Return (key, what it does) for the bottom line, the most important first."""
    match state.mode:
        case "filter":
            return [("Enter", "list"), ("Esc", "clear")]
        case "ask":
            return []  # the question names its keys
        case "keys":
            return [("any key", "back")]
    row, clear = state.row, [("Esc", "clear")] if state.words else []
    if row is None:
        return [*clear, ("q", "leave"), *([("/", "filter")] if clear else [])]
    found = [("Enter", "resume"), ("?", "keys"), ("q", "leave"), ("/", "filter"), *clear]
    if row.id in state.unfolded or row.id in state.stock.heads:
        found.append(("u", "fold"))
    elif row.folded:
        found.append(("u", "unfold"))
    preview = "hide preview" if state.previewed else "preview"
    return [*found, ("e", "edit"), ("d", "trash"), ("p", preview)]
