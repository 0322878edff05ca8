"""Attributes and colors of the parts of a text, as the numbers of SGR sequences (`1;36`)."""

from __future__ import annotations

from functools import cache

from msgspec import Struct, field
from msgspec.structs import replace

BOLD, DIM, ITALIC, UNDERLINED, STRUCK = "1", "2", "3", "4", "9"


class Theme(Struct, frozen=True, kw_only=True):
    """`name`: who answers. `headings` by level, from the first on; the last is also that of the
    deeper ones. `words` of code by their kind.
    """

    name: str
    headings: tuple[str, ...]
    code: str
    marks: str
    address: str = DIM
    words: dict[str, str] = field(default_factory=dict)
    has_symbols: bool = True


def _words(keyword: str, string: str, number: str, comment: str, name: str) -> dict[str, str]:
    words = {
        "keyword": keyword,
        "string": string,
        "number": number,
        "comment": comment,
        "name": name,
    }
    return words | {"added": string, "removed": keyword}


_THEMES = {
    "auto": Theme(
        name="1;36",
        headings=("1;4;36", "1;36", "1"),
        code="36",
        marks="36",
        words=_words("35", "32", "36", "2", "34"),
    ),
    "dark": Theme(
        name="1;96",
        headings=("1;4;96", "1;96", "1"),
        code="96",
        marks="96",
        words=_words("95", "92", "93", "90", "94"),
    ),
    "light": Theme(
        name="1;34",
        headings=("1;4;34", "1;34", "1"),
        code="34",
        marks="34",
        words=_words("35", "32", "31", "90", "34"),
    ),
}
_PLAIN = Theme(name=BOLD, headings=("1;4", "1", "1"), code=UNDERLINED, marks="")
NAMES = tuple(_THEMES)


@cache
def theme_of(name: str, *, colour: bool = True, has_symbols: bool = True) -> Theme:
    """Return the theme `name`, one of `NAMES`; without colours it has only attributes."""
    return replace(_THEMES[name] if colour else _PLAIN, has_symbols=has_symbols)
