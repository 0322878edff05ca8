"""Writes one reply, sanitized, and rendered as markdown on terminals."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

from chat_loop.characters import begun_flag
from chat_loop.display.markdown.theme import theme_of
from chat_loop.display.sanitizer import cells, printable
from chat_loop.terminal import columns
from chat_loop.values import size_text

if TYPE_CHECKING:
    from chat_loop.display.markdown.markdown_stream import MarkdownStream

LARGEST_DRAW = 10_000  # characters that are drawn at once
LARGEST_BACKLOG = 512 << 10  # characters that wait to be drawn; what comes then is not shown
LAST_DRAW_SECONDS = 0.5  # of processor time for what still waits when the reply has ended
OPEN_LINES = 4  # of reasoning that stay on the screen
OPEN_CHARACTERS = 400  # the most that they have
SHOWN_END = 120  # characters of its end that are shown while it goes on
DRAW_SECONDS = 1 / 30  # the shortest pause between two drawings of a streaming reply
DRAW_SHARE = 0.1  # the largest share of a processor for drawing, however long a paragraph is


_WORD = re.compile(r"\n *| *[^ \n]+| +")
"""A word with the blanks before it, or a newline."""


class Renderer(Protocol):
    """Turns the sanitized text of a reply into what a terminal is sent."""

    def feed(self, text: str) -> str:
        """Return the output for the next piece."""

    def finish(self) -> str:
        """Return the output for what was held back."""

    def unsettled(self) -> str:
        """Return what is held back, as it would look if the reply ended here."""

    @property
    def is_in_code(self) -> bool:
        """True if the text that was sent ends in a block of code."""


class FoldedText(Renderer):
    """Renders reasoning: its beginning, and while it goes on its end, dim on a terminal that can
    show that. What lies in between is only counted.
    """

    def __init__(self, *, is_dim: bool, width: int = 0) -> None:
        """Break lines between words where a terminal has `width` columns; 0 breaks none."""
        self._is_dim = is_dim
        self._width = width
        self._column = 0
        self._word = ""  # that may grow, with the blanks before it
        self._lines = OPEN_LINES  # that may still be shown
        self._room = OPEN_CHARACTERS
        self._folded = 0  # characters that are not shown
        self._end = ""  # the last of them

    def feed(self, text: str) -> str:
        shown = text[: self._room]
        lines = shown.split("\n")
        if len(lines) > self._lines:
            shown = "\n".join(lines[: self._lines])
            self._room = 0
        self._lines -= len(lines) - 1
        self._room = max(self._room - len(shown), 0)
        rest = text[len(shown) :]
        self._folded += len(rest)
        self._end = (self._end + rest)[-SHOWN_END:]
        return self._dim(self._wrapped(shown, ended=bool(rest)))

    def finish(self) -> str:
        if self._folded <= len(self._end):  # a line that says so would be as long
            return self._dim(self._wrapped(self._end, ended=True))
        return self._dim(f"\n… {size_text(self._folded)} more: /thinking shows all")

    def unsettled(self) -> str:
        if not self._folded:
            return self._dim(self._word)
        return self._dim(f"\n… {' '.join(self._end.split())}")

    def _wrapped(self, text: str, *, ended: bool) -> str:
        """Return the words that are complete, each on a line that has room for it."""
        if not self._width:
            return text
        words = _WORD.findall(self._word + text)
        self._word = ""
        if words and not ended:
            self._word = words.pop()
        shown = ""
        for word in words:
            text = word.removeprefix("\n")
            breaks = word != text
            if not breaks and 0 < self._column >= self._width - cells(text):
                breaks = True
                text = text.lstrip()
            if breaks:
                shown += "\n"
                self._column = 0
            self._column = (self._column + cells(text)) % self._width
            shown += text
        return shown

    def _dim(self, text: str) -> str:
        if self._is_dim and text:
            return f"\x1b[2m{text}\x1b[0m"
        return text

    @property
    def is_in_code(self) -> bool:
        return False


class ReplyText:
    """Takes a reply in pieces and passes it to `write`. With a `renderer`, such as one of markdown,
    it is drawn now and then, a limited length at a time; what comes faster for long is not shown.
    Text that later text may still change is held back, and shown by `show_unsettled` meanwhile.

    Raises OSError when the terminal is gone, which may be noticed only at the end.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        renderer: Renderer | None = None,
        show_unsettled: Callable[[str], object] = bool,
    ) -> None:
        self.begun = self._open = False
        self._write = write
        self._show_unsettled = show_unsettled
        self._renderer = renderer
        self._pieces: list[str] = []
        self._length = 0  # of the pieces, in characters
        self._undecided = 0  # how many of them may become something else with the next piece
        self._hidden = 0  # the number of characters after them that are not shown
        self._timer: asyncio.TimerHandle | None = None
        self._next_draw = 0.0  # the earliest time of the next drawing

    @property
    def is_in_code(self) -> bool:
        """True if what was written ends in a block of code."""
        return self._renderer is not None and self._renderer.is_in_code

    def feed(self, text: str) -> None:
        """Take the next piece."""
        if not self.begun:
            text = text.lstrip("\n")
            self.begun = True
        self._open = True
        if self._hidden or self._length > LARGEST_BACKLOG:
            self._hidden += len(text)
            return
        self._pieces.append(text)
        self._length += len(text)
        if self._timer is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if self._renderer is None or loop is None:
            self._draw()
        else:  # after the other pieces that arrived with this one
            self._timer = loop.call_at(max(self._next_draw, loop.time()), self._draw)

    def drop(self) -> None:
        """Forget the pieces that are not drawn yet, because the reply was stopped."""
        self._pieces = []
        self._length = self._hidden = 0

    async def settle(self) -> None:
        """Draw what has arrived, while other tasks get turns. If canceled, forget the rest."""
        try:
            while self._length > LARGEST_DRAW:
                self._send(self._take(ended=False))
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.drop()
            raise

    def finish(self) -> None:
        """Write the rest before other output, as far as that takes no longer than a moment."""
        if not self._open:
            return
        self._open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ends_at = time.thread_time() + LAST_DRAW_SECONDS
        while self._length and time.thread_time() < ends_at:
            self._send(self._take(ended=True))
        self._hidden += self._length
        if self._hidden:
            self._say_hidden()
        elif self._renderer is not None:
            self._send_rendered(self._renderer.finish())

    def _draw(self) -> None:
        """Write some of what has arrived, and set the time of the next drawing."""
        self._timer = None
        began = time.thread_time()
        self._send(self._take(ended=False))
        if self._renderer is None:
            return
        self._show_unsettled(self._renderer.unsettled())
        took = time.thread_time() - began
        self._next_draw = time.monotonic() + max(DRAW_SECONDS, took / DRAW_SHARE)
        if self._length > self._undecided:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._next_draw, self._draw)
        elif self._hidden:
            self._say_hidden()

    def _send(self, text: str) -> None:
        if self._renderer is not None:
            text = self._renderer.feed(text)
        self._send_rendered(text)

    def _send_rendered(self, text: str) -> None:
        if text:
            self._write(text)

    def _say_hidden(self) -> None:
        """Write how much of the reply is not shown, on a line of its own."""
        rest = ""
        if self._renderer is not None:
            rest = self._renderer.finish()
        size = size_text(self._hidden)
        self._write(f"{rest}\n[… {size} came too fast to be shown; the session has them …]\n")
        self.drop()

    def _take(self, *, ended: bool) -> str:
        """Return the next characters to draw, without an end that the next piece may change: a
        carriage return may belong to a newline, and a black flag may get its tags.
        """
        text = "".join(self._pieces)
        limit = LARGEST_DRAW
        if self._renderer is None:
            limit = len(text)
        now = text[:limit]
        rest = text[limit:]
        self._undecided = 0
        if rest or not ended:
            self._undecided = 1 if now.endswith("\r") else begun_flag(now)
        cut = len(now) - self._undecided
        rest = now[cut:] + rest
        self._pieces = [rest] if rest else []
        self._length = len(rest)
        return printable(now[:cut])


def markdown_on(
    out: TextIO, theme: str, *, wraps: bool, leads: int = 0, indent: int = 0
) -> MarkdownStream:
    """Return a renderer of replies for a terminal. The text begins after `leads` columns, and each
    line has `indent` columns less.
    """
    from chat_loop.display.markdown.markdown_stream import (
        MarkdownStream,  # loaded after the first prompt
    )

    return MarkdownStream(theme_of(theme), lambda: columns(out) - indent, leads=leads, wraps=wraps)
