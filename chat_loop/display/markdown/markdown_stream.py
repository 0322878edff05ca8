"""Render streamed markdown as terminal output."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy

from chat_loop.display.markdown.blocks import MarkdownBlocks, UnwrappedLine
from chat_loop.display.markdown.flow import StyledRun, runs_of
from chat_loop.display.markdown.inline import without_open_item
from chat_loop.display.markdown.theme import Theme

LEAST_SHOWN = 200  # the characters that are held back before they are shown
LARGEST_TEXT = 32 << 10  # characters of a block that is read again with each piece;
LARGEST_CODE = 128 << 10  # code is read faster
_MARKER = r"(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]))"
_UNDECIDED_LINE = re.compile(
    rf"(?:[ \t]*{_MARKER})*[ \t]*"
    r"(?:[-+*_=~`#:. \t]*|[0-9]{1,9}[.)]?|(?:`{3,}|~{3,}|\||\$\$|\\\[|\\begin\{).*|\$"
    r"|\\[a-z]{0,5}|<[^>]{0,400}(?:>[ \t]*)?|\[(?:[ xX](?:\] *)?)?)"
)
"""A line whose kind of block is not known yet."""
_INCOMPLETE_MARKUP = re.compile(r"(?:[*_~`!\[\]<\\]+|&#?\w{0,32}| +)$")
"""Markup at the end that may belong to the text that follows."""


class MarkdownStream:
    """Takes sanitized text in pieces of any size. `columns()` returns the width of the terminal.

    Text is sent up to the point where later text may change its meaning. Spaces and newlines are
    sent when text follows them. The text begins after a name of `leads` columns; a block that needs
    its own line begins below the name. `wraps` breaks prose between words. A block that is longer
    than any real one goes on as another block, so that each piece is rendered in limited time.
    """

    def __init__(
        self, theme: Theme, columns: Callable[[], int], *, leads: int = 0, wraps: bool = False
    ) -> None:
        self._theme = theme
        self._columns = columns
        self._leads = leads
        self._wraps = wraps
        self._source = ""  # the text from the last block on, which may still grow
        self._printed = 0  # the number of characters of its runs that were sent
        self._unsent = 0  # the number of characters received since the last output
        self._dropped = False
        self._style = ""
        self._waiting_rows = 0
        self._fence = ""  # the first line of the block, if that is code between fences

    @property
    def is_in_code(self) -> bool:
        """True if the text that was sent ends in a block of code."""
        return bool(self._fence)

    def feed(self, text: str) -> str:
        """Return the output for the next piece."""
        sent = ""
        if not self._fence and len(self._source) > LARGEST_TEXT:
            cut = text.find("\n") + 1 or text.find(" ") + 1 or len(text)
            self._source += text[:cut]
            text = text[cut:]
            sent = self._advance(ended=True)
            self._source = ""
            self._printed = 0
            self._dropped = True
        self._source += text
        sent += self._advance(ended=False)
        if self._fence and len(self._source) > LARGEST_CODE:
            sent += self._shorten_code()
        self._unsent += len(text)
        if sent:
            self._unsent = 0
        return sent

    def finish(self) -> str:
        """Return the text held back, and start over. More text must begin on a new line."""
        sent = self._advance(ended=True)
        if self._style:
            sent += "\x1b[0m"
        self._source = ""
        self._printed = 0
        self._dropped = False
        self._style = ""
        self._leads = 0
        self._unsent = self._waiting_rows = 0
        self._fence = ""
        return sent

    def _shorten_code(self) -> str:
        """Forget the lines of code that were sent, but not how they begin. Return the output of a
        line that is too long to wait for its end.
        """
        rest = self._source.rpartition("\n")[2]
        sent = ""
        if len(rest) > LARGEST_TEXT:
            self._source += "\n"
            sent = self._advance(ended=False)
            rest = ""
        style = self._style
        self._source = f"{self._fence}\n"
        self._printed = 0
        self._dropped = True
        self._advance(ended=False)  # the fence was sent before
        self._source = f"{self._fence}\n{rest}"
        self._style = style
        return sent

    def unsettled(self) -> str:
        """Return the text held back, as if the reply ended here, or nothing if it is short."""
        if self._waiting_rows < 2 and self._unsent < LEAST_SHOWN:
            return ""
        return copy(self)._advance(ended=True)

    def _advance(self, *, ended: bool) -> str:
        """Return the output that later text cannot change, and forget the finished blocks."""
        length = len(self._source) if ended else _stable_length(self._source)
        text = without_open_item(self._source[:length])
        columns = self._columns()
        blocks = MarkdownBlocks(text, self._theme, columns, ended=ended)
        last_start = blocks.last_start()
        before_last: int | None = None
        sent: list[str] = []
        total = 0
        empty = ""
        is_first = not self._dropped
        for line in blocks.lines():
            if line.source >= last_start and before_last is None:
                before_last = total
            runs = self._runs(line, empty, columns, is_first=is_first)
            is_first = is_first and not runs
            empty += "\n"
            if runs:
                empty = ""
            for run in runs:
                skip = max(0, self._printed - total)
                total += len(run.text)
                if skip < len(run.text):
                    sent.append(self._render(run, skip))
        self._printed = max(total, self._printed)
        self._waiting_rows = blocks.waiting_rows
        lines = self._source.split("\n")
        self._fence = lines[last_start] if blocks.ends_in_code else ""
        while last_start and not lines[last_start - 1].strip(" \t>"):
            last_start -= 1  # the empty lines that end a block
        if last_start and before_last is not None:
            self._source = "\n".join(lines[last_start:])
            self._printed -= before_last
            self._dropped = True
        return "".join(sent)

    def _runs(
        self, line: UnwrappedLine, empty: str, columns: int, *, is_first: bool
    ) -> list[StyledRun]:
        """Return the runs of a line after the newlines of `empty` lines."""
        gap = f"{empty}\n\n" if line.blank else f"{empty}\n"
        column = 0
        if is_first:
            gap = ""
            if self._leads and line.is_text and not line.prefix:
                gap = " "
                column = self._leads + 1
            elif self._leads:
                gap = "\n"
        return runs_of(line, gap, columns if self._wraps else None, column)

    def _render(self, run: StyledRun, skip: int) -> str:
        """Return the output of a run, without the `skip` characters that were already sent."""
        gap = "" if skip else run.gap
        sent = ""
        if self._style and gap and ("\n" in gap or run.style != self._style):
            sent = "\x1b[0m"
            self._style = ""
        sent += gap
        if run.style != self._style:
            reset = "0;" if self._style else ""
            sent += f"\x1b[{reset}{run.style}m" if run.style else "\x1b[0m"
            self._style = run.style
        return sent + run.text[skip:]


def _stable_length(source: str) -> int:
    """Return the length of `source` without an undecided last line or incomplete final markup."""
    begin = source.rfind("\n") + 1
    markup = _INCOMPLETE_MARKUP.search(source, begin)
    end = markup.start() if markup else len(source)
    ends = (len(source), end)
    is_undecided = any(_UNDECIDED_LINE.fullmatch(source, begin, stop) for stop in ends)
    return begin if is_undecided else end
