"""What each key does, and the lines that say so."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from chat_loop.browser.browsing import Browsing
from chat_loop.browser.cells import plain

Act = Literal["resume", "leave", "edit", "trash", "rows"]
"""What the state alone cannot do: end with the selected session or with none; open it in the
editor; move it to the trash; read the rows again.
"""

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
"""What the keys of the list do."""

_UP = frozenset({"up", "k", "c-p"})
_DOWN = frozenset({"down", "j", "c-n"})
_PAGE_UP = frozenset({"pageup", "c-b"})
_PAGE_DOWN = frozenset({"pagedown", "c-f", " "})
_ENTER = frozenset({"c-m", "c-j"})
_MOVES = _UP | _DOWN | _PAGE_UP | _PAGE_DOWN


def press(state: Browsing, key: str, text: str = "") -> tuple[Browsing, Act | None]:
    """What `key` makes of the state, and what is to be done then.

    Keys are named as prompt_toolkit names them (`up`, `pagedown`, `c-m` for Enter, a character for
    itself); a key that is not known does nothing. `text` is what a paste (`<bracketed-paste>`)
    holds.
    """
    state = replace(state, notice="")
    if key == "c-c":
        return state, "leave"
    match state.mode:
        case "filter":
            return _filter(state, key, text), None
        case "ask":
            if key in ("y", "Y"):
                return replace(state, mode="list"), "trash"
            return replace(state, mode="list", notice="Nothing was moved."), None
        case "keys":
            return _keys(state, key), None
    return _list(state, key)


def _list(state: Browsing, key: str) -> tuple[Browsing, Act | None]:
    if key in _MOVES:
        return state.moved(_step(state.page, key)), None
    match key:
        case "home" | "g":
            return state.selecting(0), None
        case "end" | "G":
            return state.selecting(len(state.shown) - 1), None
        case "q":
            return state, "leave"
        case "escape":
            return (state.filtered(""), None) if state.words else (state, "leave")
        case "/":
            return replace(state, mode="filter"), None
        case "?" | "f1":
            return replace(state, mode="keys", scrolled=0), None
        case "c-i" | "p":
            return replace(state, pane=not state.previewed), None
        case "c-l" | "f5":
            return state, "rows"
    return _on_row(state, key)


def _on_row(state: Browsing, key: str) -> tuple[Browsing, Act | None]:
    """Keys that need a selected session."""
    if state.row is None:
        return state, None
    if key in _ENTER:
        return state, "resume"
    match key:
        case "e":
            return state, "edit"
        case "d" | "delete":
            return replace(state, mode="ask"), None
    new = state
    if key in ("right", "u"):
        new = state.unfolding()
    if key == "left" or (key == "u" and new is state):
        new = state.folding()
    return new, None if new is state else "rows"


def _filter(state: Browsing, key: str, text: str) -> Browsing:
    if key in _ENTER or key == "c-i":
        return replace(state, mode="list")
    if len(key) > 1 and key in _MOVES:
        return replace(state, mode="list").moved(
            _step(state.page, key) if key in _PAGE_UP | _PAGE_DOWN else 0
        )
    match key:
        case "escape":
            return replace(state, mode="list").filtered("")
        case "c-h":
            return state.filtered(state.words[:-1]) if state.words else replace(state, mode="list")
        case "c-w":
            return state.filtered("".join(state.words.rstrip().rpartition(" ")[:2]))
        case "c-u":
            return state.filtered("")
        case "<bracketed-paste>":
            return state.filtered(state.words + plain(text, 200))
    return state.filtered(state.words + key) if len(key) == 1 and key.isprintable() else state


def _keys(state: Browsing, key: str) -> Browsing:
    if key not in _MOVES:
        return replace(state, mode="list")
    return replace(state, scrolled=max(0, min(len(KEYS) - 1, state.scrolled + _step(1, key))))


def _step(page: int, key: str) -> int:
    size = 1 if key in _UP | _DOWN else max(1, page)
    return -size if key in _UP | _PAGE_UP else size


def hints(state: Browsing) -> list[tuple[str, str]]:
    """(key, what it does) for the bottom line, the most important first."""
    match state.mode:
        case "filter":
            return [("Enter", "list"), ("Esc", "clear")]
        case "ask":
            return []  # the question names its keys
        case "keys":
            return [("any key", "back")]
    row = state.row
    if row is None:
        return (
            [("Esc", "clear"), ("q", "leave"), ("/", "filter")] if state.words else [("q", "leave")]
        )
    found = [("Enter", "resume"), ("?", "keys"), ("q", "leave"), ("/", "filter")]
    found += [("Esc", "clear")] if state.words else []
    if row.id in state.unfolded or row.id in state.stock.heads:
        found.append(("u", "fold"))
    elif row.folded:
        found.append(("u", "unfold"))
    return [
        *found,
        ("e", "edit"),
        ("d", "trash"),
        ("p", "hide preview" if state.previewed else "preview"),
    ]
