"""The themes of the replies, each in its colours."""

from __future__ import annotations

from collections.abc import Iterable

from chat_loop.display.manager import DisplayManager
from chat_loop.display.markdown.sample import ABOUT, sample
from chat_loop.display.markdown.theme import theme_of

NARROW = 60
"""Below this many columns a sample stands below its name."""
SMALL = 46
"""Below this many it has no line of code."""


def renders(display: DisplayManager) -> bool:
    """Return whether replies are rendered, so that a theme changes something."""
    return bool(display.theme) and not display.console.is_dumb_terminal


def show_themes(display: DisplayManager, names: Iterable[str] = tuple(ABOUT)) -> None:
    """Each theme with a sample of it; the one in use says so. Why, where replies are not
    rendered.
    """
    if not renders(display):
        display.lines((name, ABOUT[name]) for name in names)
        off = display.is_terminal and not display.theme
        why = (
            "display.markdown in the config is false"
            if off
            else "this is no terminal that could show it"
        )
        display.prose(f"Replies stay as they were written: {why}.", "dim")
        return
    colour, width = not display.console.no_color, display.console.width
    display.line("Replies are shown like this:")
    for name in names:
        theme = theme_of(name, colour=colour, has_symbols=display.has_symbols)
        label = f"{name} (in use)" if name == display.theme else name
        lead = f"  {label:<14}  " if width >= NARROW else f"  {label}\n    "
        display.out.write(f"{lead}{sample(theme, code=width >= SMALL)}\n")
    display.out.flush()
    if not colour:
        display.prose("Without colours (NO_COLOR) all themes are the same.", "dim")
