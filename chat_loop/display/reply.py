"""The text of one reply on its way to the output: made safe, and on terminals read as markdown."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from chat_loop.display.markdown.painter import Painter
from chat_loop.display.markdown.pen import width_of
from chat_loop.display.markdown.theme import theme_of
from chat_loop.display.text import StreamSanitizer

if TYPE_CHECKING:
    from rich.console import Console


class ReplyText:
    """Text in pieces in, what is written out. `painter`: reads it as markdown; without one it stays
    as it is.

    `opening`: the name of who answers as it stands before the text, where that is the painter's
    business.
    """

    def __init__(self, painter: Painter | None = None, opening: str = "") -> None:
        self.opening = opening
        self._sanitizer = StreamSanitizer()
        self._painter = painter
        self.begun = False
        self.open = False
        """`finish` may hold something back, or has to close what the text opened."""

    def feed(self, text: str) -> str:
        """Return what is written for the next piece."""
        if not self.begun:
            text, self.begun = text.lstrip("\n"), True
        self.open = True
        shown = self._sanitizer.feed(text)
        painter = self._painter
        return shown if painter is None else painter.feed(shown) or painter.progress()

    def finish(self) -> str:
        """Return what was held back; something else is written now."""
        self.open = False
        shown = self._sanitizer.finish()
        if self._painter is None:
            return shown
        return (self._painter.feed(shown) if shown else "") + self._painter.finish()


def reply_on(
    console: Console, theme: str, *, has_symbols: bool, wraps: bool, name: str = ""
) -> ReplyText:
    """A reply that is read as markdown, in the colours of `theme`, and stands behind a `name`, if
    there is one.

    Without a theme, and on a terminal that knows no sequences, it stays as it is.
    """
    if not theme or console.is_dumb_terminal:
        return ReplyText()
    made = theme_of(theme, colour=not console.no_color, has_symbols=has_symbols)
    opening = f"\x1b[{made.name}m{name}\x1b[0m" if name else ""
    return ReplyText(Painter(made, _columns(console), leads=width_of(name), wraps=wraps), opening)


class Rendered:
    """A terminal that gets one reply and nothing else, read as markdown. `end` writes what was held
    back.
    """

    def __init__(self, out: TextIO, theme: str, *, wraps: bool) -> None:
        from rich.console import Console

        self._out = out
        console = Console(file=out, soft_wrap=True)
        self._reply = reply_on(
            console, theme, has_symbols="utf" in out.encoding.lower(), wraps=wraps
        )
        self._last = "" if console.is_dumb_terminal else "\n"
        """Rendered, a reply has no newline at its end."""

    def write(self, text: str) -> None:
        """Write the next piece, as far as it is certain."""
        self._out.write(self._reply.feed(text))
        self._out.flush()

    def end(self) -> None:
        """The reply is whole, or ends here."""
        self._out.write(f"{self._reply.finish()}{self._last}" if self._reply.begun else "")
        self._out.flush()


def _columns(console: Console) -> Callable[[], int]:
    """Return a function that tells the width of the terminal now. The console would ask its
    environment as well, each time.
    """

    def columns() -> int:
        try:
            return os.get_terminal_size(console.file.fileno()).columns or console.width
        except (OSError, ValueError):
            return console.width

    return columns
