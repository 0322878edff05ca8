"""Writes one reply, sanitized, and rendered as markdown on terminals."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from chat_loop.display.markdown.theme import theme_of
from chat_loop.display.text import printable
from chat_loop.input.start import columns

if TYPE_CHECKING:
    from chat_loop.display.markdown.stream import MarkdownStream

DRAW_SECONDS = 1 / 30  # the shortest pause between two drawings of a streaming reply
DRAW_SHARE = 0.1  # the largest share of a processor for drawing, however long a paragraph is


class ReplyText:
    """Takes a reply in pieces and passes it to `write`. With `stream` it is rendered as markdown.
    Text that later text may still change is held back, and shown by `preview` meanwhile.

    Raises OSError when the terminal is gone, which may be noticed only at the end.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        stream: MarkdownStream | None = None,
        preview: Callable[[str], object] = bool,
    ) -> None:
        self.begun = self._open = False
        self._write, self._preview = write, preview
        self._stream = stream
        self._pieces: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._next_draw = 0.0  # the earliest time of the next drawing

    def feed(self, text: str) -> None:
        """Take the next piece."""
        if not self.begun:
            text, self.begun = text.lstrip("\n"), True
        self._open = True
        self._pieces.append(text)
        if self._timer is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if self._stream is None or loop is None:
            self._draw()
        else:  # after the other pieces that arrived with this one
            self._timer = loop.call_at(max(self._next_draw, loop.time()), self._draw)

    def finish(self) -> None:
        """Write the rest before other output."""
        if not self._open:
            return
        self._open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        text = self._take(ended=True)
        if self._stream is not None:
            text = (self._stream.feed(text) if text else "") + self._stream.finish()
        if text:
            self._write(text)

    def _draw(self) -> None:
        """Write the pieces that have arrived, and set the time of the next drawing."""
        self._timer = None
        began = time.thread_time()
        text = self._take(ended=False)
        if self._stream is None:
            self._write(text)
            return
        if rendered := self._stream.feed(text):
            self._write(rendered)
        self._preview(self._stream.preview())
        took = time.thread_time() - began
        self._next_draw = time.monotonic() + max(DRAW_SECONDS, took / DRAW_SHARE)

    def _take(self, *, ended: bool) -> str:
        """Return the new pieces, except a final carriage return that may belong to a newline."""
        text = "".join(self._pieces)
        rest = "\r" if text.endswith("\r") and not ended else ""
        self._pieces = [rest] if rest else []
        return printable(text.removesuffix(rest))


def markdown_on(out: TextIO, theme: str, *, wraps: bool, leads: int = 0) -> MarkdownStream:
    """Return a renderer of replies for a terminal. The text begins after `leads` columns."""
    from chat_loop.display.markdown.stream import MarkdownStream  # loaded after the first prompt

    return MarkdownStream(theme_of(theme), lambda: columns(out), leads=leads, wraps=wraps)
