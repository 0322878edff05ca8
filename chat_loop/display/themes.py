"""The themes of the replies, each in its colors."""

from __future__ import annotations

from collections.abc import Iterable

from chat_loop.display.manager import DisplayManager
from chat_loop.display.markdown.code import Colours
from chat_loop.display.markdown.theme import Theme, theme_of

ABOUT = {
    "auto": "the terminal's own colours",
    "dark": "bright colours, for a dark background",
    "light": "dark colours, for a light background",
}
NARROW = 60
"""Below this many columns a sample stands below its name."""


def renders(display: DisplayManager) -> bool:
    """Return True when replies are rendered, so that a theme changes something."""
    return bool(display.theme) and not display.console.is_dumb_terminal


def show_themes(display: DisplayManager, names: Iterable[str] = tuple(ABOUT)) -> None:
    """Show each theme with a sample; where replies are not rendered, show the reason."""
    if not renders(display):
        display.lines((name, ABOUT[name]) for name in names)
        reason = "this is no terminal that could show it"
        if display.is_terminal and not display.theme:
            reason = "display.markdown in the config is false"
        display.prose(f"Replies stay as they were written: {reason}.", "dim")
        return
    colored = not display.console.no_color
    display.line("Replies are shown like this:")
    for name in names:
        theme = theme_of(name, colour=colored, has_symbols=display.has_symbols)
        label = f"{name} (in use)" if name == display.theme else name
        wide = display.console.width >= NARROW
        display.out.write(
            f"  {label:<14}  {sample(theme)}\n" if wide else f"  {label}\n    {sample(theme)}\n"
        )
    display.out.flush()
    if not colored:
        display.prose("Without colours (NO_COLOR) all themes are the same.", "dim")


def sample(theme: Theme) -> str:
    """Return a heading, a mark, code in a sentence and a line of code in the colors of a theme."""
    parts = [
        (theme.headings[1], "Heading"),
        ("", "  "),
        (theme.marks, "•" if theme.has_symbols else "-"),
        ("", " "),
        (theme.code, "code"),
        ("", "  "),
    ]
    line = 'return size("two", 3)  # note'
    parts += [(theme.words.get(kind, ""), text) for text, kind in Colours("python").line(line)]
    return "".join(f"\x1b[{style}m{text}\x1b[0m" if style else text for style, text in parts)
