"""The text of one reply on its way to the output: made safe, and on terminals read as markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat_loop.display.text import StreamSanitizer

if TYPE_CHECKING:
    from rich.console import Console

    from chat_loop.display.markdown.painter import Painter


class ReplyText:
    """Text in pieces in, what is written out. `painter`: reads it as markdown; without one it stays as it is."""

    def __init__(self, painter: Painter | None = None) -> None:
        self._sanitizer = StreamSanitizer()
        self._painter = painter
        self._begun = False

    @property
    def after_name(self) -> str:
        """What stands between the name of who answers and the text; markdown says so itself, it may be a new line."""
        return "" if self._painter else " "

    def feed(self, text: str) -> str:
        """Return what is written for the next piece."""
        if not self._begun:
            text, self._begun = text.lstrip("\n"), True
        shown = self._sanitizer.feed(text)
        if self._painter is None:
            return shown
        return self._painter.feed(shown) or self._painter.progress()

    def finish(self) -> str:
        """Return what was held back; something else is written now."""
        shown = self._sanitizer.finish()
        if self._painter is None:
            return shown
        return (self._painter.feed(shown) if shown else "") + self._painter.finish()


def reply_on(console: Console, theme: str, *, has_symbols: bool, leads: bool = True) -> ReplyText:
    """A reply that is read as markdown, in the colours of `theme`; `leads`: behind the name of who answers.

    Without a theme, and on a terminal that knows no sequences, it stays as it is.
    """
    if not theme or console.is_dumb_terminal:
        return ReplyText()
    from chat_loop.display.markdown.painter import Painter  # only terminals need it
    from chat_loop.display.markdown.theme import theme_of

    made = theme_of(theme, colour=not console.no_color, has_symbols=has_symbols)
    return ReplyText(Painter(made, lambda: console.width, leads=leads))
