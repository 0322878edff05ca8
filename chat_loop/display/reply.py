"""Write one reply: sanitized, and rendered as markdown on terminals."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from chat_loop.display.markdown.theme import theme_of
from chat_loop.display.text import StreamSanitizer, cells

if TYPE_CHECKING:
    from rich.console import Console

    from chat_loop.display.markdown.stream import MarkdownStream

DRAW_SECONDS = 1 / 30
"""Between two drawings of a reply that streams."""
DRAW_SHARE = 0.1
"""The largest share of the time for drawing, however long a paragraph is."""


class ReplyText:
    """Takes a reply in pieces and passes it to `write`: through `stream` as markdown, as far as it
    is certain, and at most `1 / DRAW_SECONDS` times a second while an event loop runs; without it
    as it is. `preview` gets the rows of a table that may still change.

    `opening` is the name of the agent as it stands before the text, where the stream leaves room
    for it. Raises OSError when the terminal is gone, which may be known only with a later piece.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        stream: MarkdownStream | None = None,
        opening: str = "",
        preview: Callable[[str], object] = bool,
    ) -> None:
        self.opening = opening
        self.begun = self._open = False
        self._write, self._preview = write, preview
        self._sanitizer = StreamSanitizer()
        self._stream = stream
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._problem: OSError | None = None

    def feed(self, text: str) -> None:
        """Take the next piece."""
        if self._problem is not None:
            raise self._problem
        if not self.begun:
            text, self.begun = text.lstrip("\n"), True
        self._open = True
        self._pieces.append(self._sanitizer.feed(text))
        if self._timer is None:
            self._draw()

    def finish(self) -> None:
        """Write the rest before other output."""
        if not self._open:
            return
        self._open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        text = "".join((*self._pieces, self._sanitizer.finish()))
        self._pieces.clear()
        if self._stream is not None:
            text = (self._stream.feed(text) if text else "") + self._stream.finish()
        if text:
            self._write(text)

    def _draw(self) -> None:
        began = time.monotonic()
        text = "".join(self._pieces)
        self._pieces.clear()
        if self._stream is None:
            self._write(text)
            return
        if shown := self._stream.feed(text):
            self._write(shown)
        self._preview(self._stream.preview())
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        pause = max(DRAW_SECONDS, (time.monotonic() - began) / DRAW_SHARE)
        self._timer = loop.call_later(pause, self._draw_later)

    def _draw_later(self) -> None:
        self._timer = None
        if self._pieces:
            try:
                self._draw()
            except OSError as error:
                self._problem = error


def reply_on(
    console: Console,
    write: Callable[[str], object],
    theme: str,
    *,
    has_symbols: bool,
    wraps: bool,
    name: str = "",
    preview: Callable[[str], object] = bool,
) -> ReplyText:
    """Return a reply that is read as markdown, in the colors of `theme`, and stands behind a
    `name`, if there is one. Without a theme, and on a terminal that knows no sequences, it stays
    as it is.
    """
    if not theme or console.is_dumb_terminal:
        return ReplyText(write)
    # markdown-it-py is loaded behind the prompt
    from chat_loop.display.markdown.stream import MarkdownStream

    colors = theme_of(theme, colour=not console.no_color, has_symbols=has_symbols)
    opening = f"\x1b[{colors.name}m{name}\x1b[0m" if name else ""

    def columns() -> int:
        try:  # the console would ask its environment as well, each time
            return os.get_terminal_size(console.file.fileno()).columns or console.width
        except (OSError, ValueError):
            return console.width

    stream = MarkdownStream(colors, columns, leads=cells(name), wraps=wraps)
    return ReplyText(write, stream, opening, preview)


def rendered_reply(
    out: TextIO, theme: str, *, wraps: bool
) -> tuple[Callable[[str], None], Callable[[], None]]:
    """Return functions to write a piece of a reply as markdown to a terminal, and to end it."""
    from rich.console import Console

    def write(text: str) -> None:
        out.write(text)
        out.flush()

    console = Console(file=out, soft_wrap=True)
    has_symbols = "utf" in out.encoding.lower()
    reply = reply_on(console, write, theme, has_symbols=has_symbols, wraps=wraps)

    def end() -> None:
        reply.finish()
        if reply.begun and not console.is_dumb_terminal:
            write("\n")  # rendered, a reply has no newline at its end

    return reply.feed, end
