"""Render streamed markdown as terminal output."""

from __future__ import annotations

import re
from collections.abc import Callable

from chat_loop.display.markdown.blocks import Blocks, Line
from chat_loop.display.markdown.flow import Run, runs_of
from chat_loop.display.markdown.theme import Theme

_MAX_DEPTH = 12
"""Quotes and items that one line opens within each other."""
_MARKER = r"(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]))"
_TOO_DEEP = re.compile(rf"^((?:[ \t]*{_MARKER}){{{_MAX_DEPTH}}}[ \t]*)(?=[-*+>0-9])", re.MULTILINE)
_UNDECIDED_LINE = re.compile(
    rf"(?:[ \t]*{_MARKER})*[ \t]*"
    r"(?:[-+*_=~`#:. \t]*|[0-9]{1,9}[.)]?|(?:`{3,}|~{3,}|\|).*|<[^>]{0,400}(?:>[ \t]*)?"
    r"|\[(?:[ xX](?:\] *)?)?)"
)
"""A line of which it is not known yet what it begins."""
_INCOMPLETE_MARKUP = re.compile(r"(?:[*_~`!\[\]<\\]+|&#?\w{0,32}| +)$")
"""Markup at the end that may belong to the text that follows."""


class MarkdownStream:
    """Takes sanitized text in pieces of any size; `columns` tells how wide the terminal is.

    What is printed is never touched again: text is printed as far as no more of it can change how
    it is read. So what comes out does not depend on the pieces, and a change of the terminal's size
    disturbs nothing. Blanks and newlines are sent when something follows them. `leads`: the text
    begins behind a name of so many columns, and a block that needs a line of its own begins below
    it. `wraps`: prose is broken between words.
    """

    def __init__(
        self, theme: Theme, columns: Callable[[], int], *, leads: int = 0, wraps: bool = False
    ) -> None:
        self._theme = theme
        self._columns = columns
        self._leads = leads
        self._wraps = wraps
        self._source = ""
        """The text from the last block on that may still grow."""
        self._printed = 0
        """The characters of its runs that were sent."""
        self._dropped = False
        self._style = ""
        self._waiting_rows = 0

    def feed(self, text: str) -> str:
        """Return what the terminal is sent for the next piece."""
        self._source += text
        return self._advance(ended=False)

    def finish(self) -> str:
        """Return what was held back: the text ends here. What is fed later begins on a line of its
        own.
        """
        sent = self._advance(ended=True) + ("\x1b[0m" if self._style else "")
        self._source, self._printed, self._dropped, self._style, self._leads = "", 0, False, "", 0
        return sent

    def preview(self) -> str:
        """Return the rows of a table that may still change, as they would be sent if it ended."""
        if self._waiting_rows < 2:
            return ""
        state = self._source, self._printed, self._dropped, self._style, self._waiting_rows
        rows = self._advance(ended=True)
        self._source, self._printed, self._dropped, self._style, self._waiting_rows = state
        return rows

    def _advance(self, *, ended: bool) -> str:
        """Print what is certain by now, and drop the blocks that are."""
        text = self._source if ended else self._source[: _stable_length(self._source)]
        text = _TOO_DEEP.sub(r"\1\\", text)
        columns = self._columns()
        blocks = Blocks(text, self._theme, columns, ended=ended)
        starts = blocks.starts()
        sent: list[str] = []
        skip = self._printed
        total = dropped = 0
        empty, begins = "", not self._dropped
        for line in blocks.lines():
            if starts and line.source >= starts[-1] and not dropped:
                dropped = total + 1
            runs = self._runs(line, empty, columns, begins=begins)
            begins = begins and not runs
            empty = "" if runs else f"{empty}\n"
            for run in runs:
                total += len(run.text)
                if skip >= len(run.text):
                    skip -= len(run.text)
                    continue
                sent.append(self._render(run, skip))
                skip = 0
        self._printed = max(total, self._printed)
        self._waiting_rows = blocks.waiting_rows
        if starts and starts[-1] > 0 and dropped:
            self._drop(starts[-1], dropped - 1)
        return "".join(sent)

    def _drop(self, start: int, printed: int) -> None:
        """Forget the blocks before the line `start`, but for the empty lines that end them."""
        lines = self._source.split("\n")
        while start and not lines[start - 1].strip(" \t>"):
            start -= 1
        if not start:
            return
        self._source = "\n".join(lines[start:])
        self._printed -= printed
        self._dropped = True

    def _runs(self, line: Line, empty: str, columns: int, *, begins: bool) -> list[Run]:
        """Return the runs of a line behind the newlines of `empty` lines. `begins` says that it is
        the first one of the text.
        """
        gap, column = f"{empty}\n\n" if line.blank else f"{empty}\n", 0
        if begins:
            gap = ""
            if self._leads and line.is_text and not line.first:
                gap, column = " ", self._leads + 1
            elif self._leads:
                gap = "\n"
        return runs_of(line, gap, columns if self._wraps else None, column)

    def _render(self, run: Run, skip: int) -> str:
        """Return a run as it is sent, without the characters that were sent before."""
        gap = "" if skip else run.gap
        sent = ""
        if self._style and gap and ("\n" in gap or run.style != self._style):
            sent, self._style = f"{sent}\x1b[0m", ""
        sent += gap
        if run.style != self._style:
            reset = "0;" if self._style else ""
            sent += f"\x1b[{reset}{run.style}m" if run.style else "\x1b[0m"
            self._style = run.style
        return sent + run.text[skip:]


def _stable_length(source: str) -> int:
    """Return how much of a text is read as far as more of it cannot change what its last line
    begins.
    """
    begin = source.rfind("\n") + 1
    half = _INCOMPLETE_MARKUP.search(source, begin)
    end = half.start() if half else len(source)
    undecided = _UNDECIDED_LINE.fullmatch(source, begin) or _UNDECIDED_LINE.fullmatch(
        source, begin, end
    )
    return begin if undecided else end
