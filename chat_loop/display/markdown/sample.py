"""A sample of a theme on one line."""

from __future__ import annotations

from chat_loop.display.markdown.code import Colours
from chat_loop.display.markdown.theme import Theme

ABOUT = {
    "auto": "the terminal's own colours",
    "dark": "bright colours, for a dark background",
    "light": "dark colours, for a light background",
}
"""Every theme, and what is said of it."""
_CODE = 'return size("two", 3)  # note'


def sample(theme: Theme, *, code: bool = True) -> str:
    """A heading, a mark, code in a sentence and a line of code (unless not `code`) in the colours
    of `theme`.
    """
    parts = [
        (theme.headings[1], "Heading"),
        ("", "  "),
        (theme.marks, "•" if theme.has_symbols else "-"),
        ("", " "),
        (theme.code, "code"),
    ]
    if code:
        parts.append(("", "  "))
        parts += [(theme.words.get(kind, ""), text) for text, kind in Colours("python").line(_CODE)]
    return "".join(f"\x1b[{style}m{text}\x1b[0m" if style else text for style, text in parts)
