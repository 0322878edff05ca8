"""Attributes and colors of the parts of a text, as the numbers of SGR sequences (`1;36`)."""

from __future__ import annotations

import os

from msgspec import Struct, field

BOLD = "1"
DIM = "2"
ITALIC = "3"
UNDERLINED = "4"
STRUCK = "9"


class Theme(Struct, frozen=True, kw_only=True):
    """The styles of a reply. The last of `headings` also serves deeper ones; `words` are code's."""

    name: str
    headings: tuple[str, ...]
    code: str
    marks: str
    words: dict[str, str] = field(default_factory=dict)
    entry: str = ""
    """The style of what the user has said: a background, where there are colors."""


def _colored(
    main: str, keyword: str, string: str, number: str, comment: str, name: str, *, entry: str
) -> Theme:
    words = {
        "keyword": keyword,
        "string": string,
        "number": number,
        "comment": comment,
        "name": name,
        "added": string,
        "removed": keyword,
    }
    headings = (f"1;4;{main}", f"1;{main}", "1")
    return Theme(
        name=f"1;{main}", headings=headings, code=main, marks=main, words=words, entry=entry
    )


THEMES = {
    "auto": _colored("36", "35", "32", "36", "2", "34", entry="38;5;255;48;5;240"),
    "dark": _colored(
        "38;5;80", "38;5;176", "38;5;114", "38;5;222", "38;5;247", "38;5;75", entry="48;5;236"
    ),
    "light": _colored(
        "38;5;25", "38;5;90", "38;5;22", "38;5;124", "38;5;241", "38;5;25", entry="48;5;254"
    ),
}
"""`auto` takes the terminal's own colors. Those of the others are the same in all terminals."""
PLAIN = Theme(name=BOLD, headings=("1;4", "1", "1"), code=UNDERLINED, marks="")


def theme_of(name: str) -> Theme:
    """Return the theme `name` of `THEMES`, or one without colors if `NO_COLOR` is set."""
    return PLAIN if os.environ.get("NO_COLOR") else THEMES[name]
