"""Markdown in pieces in, what the terminal is sent out: a line at a time, each as far as it is
certain.
"""

from __future__ import annotations

from collections.abc import Callable

from chat_loop.display.markdown import table
from chat_loop.display.markdown.code import Colours
from chat_loop.display.markdown.inline import SPECIAL, Span, inline
from chat_loop.display.markdown.lines import LONGEST, Start, start_of
from chat_loop.display.markdown.pen import Pen
from chat_loop.display.markdown.theme import DIM, Theme

_RULE = 40
"""Columns of a rule at most."""
_DEEPEST = 12
"""Quotes within each other."""
_special = SPECIAL.search
_BULLETS = ("•", "◦", "▪")


class Painter:
    """Takes sanitised text in pieces of any size; `columns` tells how wide the terminal is.

    What comes out is the same however the text is cut. Newlines and blanks are sent when something
    follows them, so no line ends in blanks and no empty line stands at the end. `leads`: the text
    begins behind a name of so many columns, and a block that needs a line of its own begins below
    it. `wraps`: prose is broken between words.
    """

    def __init__(
        self, theme: Theme, columns: Callable[[], int], *, leads: int = 0, wraps: bool = False
    ) -> None:
        self._theme = theme
        self._columns = columns
        self._pen = Pen(columns if wraps else None, leads)
        self._leads = leads > 0
        self._line = ""
        """What came of the line and is not shown."""
        self._code_pieces: list[str] = []
        self._blank = True
        """The line before is empty, or code that is indented."""
        self._verbatim = False
        self._inside = False
        """The line's beginning is shown; what follows is text within it, in `_style`."""
        self._style = ""
        self._before = ""
        self._quotes = 0
        self._fence: Start | None = None
        self._colours = Colours("")
        self._rows: list[str] = []
        self._dotted = 0
        self._took_row = False
        self._layout: table.Layout | None = None
        self._indents: list[int] = []

    def feed(self, text: str) -> str:
        """Return what the terminal is sent for the next piece."""
        if self._inside and not self._line and text and not _special(text):
            self._before = text[-1]
            return self._pen.flow(text, self._style)
        first, *others = text.split("\n")
        self._more(first)
        for line in others:
            self._end_line()
            self._more(line)
        return self._pen.sent()

    def finish(self) -> str:
        """Return what was held back: the text ends here. What is fed later begins on a line of its
        own.
        """
        if self._fence is None or self._code_pieces:
            self._end_line()
        self._end_table()
        if self._fence is not None:
            self._end_fence()
        self._pen.plain()
        self._pen.newlines = self._pen.blanks = 0
        self._pen.started = self._leads = False
        return self._pen.sent()

    @property
    def held(self) -> str:
        """Return what came of the line and is not shown yet; code, which waits for its line's end,
        is not looked at again.
        """
        return self._line

    def progress(self) -> str:
        """Return a dot for each row of a table that waits since the last time; the table takes
        their place.
        """
        rows = len(self._rows)
        if rows < 2 or rows == self._dotted:
            return ""
        self._dotted = rows
        if self._columns() <= table.HELD:
            return ""
        self._below_name()
        return self._pen.dots(rows)

    def _more(self, text: str) -> None:
        """More of the line that is open."""
        if not text:
            return
        if self._fence is not None:
            self._code_pieces.append(text)
            return
        self._line += text
        if not self._inside:
            self._begin(complete=False)
        if self._inside:
            self._show(complete=False)

    def _end_line(self) -> None:
        if self._fence is not None:
            self._line = "".join(self._code_pieces)
            self._code_pieces.clear()
            if self._code(self._line):
                self._next_line()
                return
        if not self._inside:
            self._begin(complete=True)
        if self._inside:
            self._show(complete=True)
        self._next_line()

    def _next_line(self) -> None:
        self._pen.plain()
        self._inside, self._verbatim, self._line, self._pen.blanks = False, False, "", 0
        self._pen.newlines += self._pen.started and not self._rows and not self._took_row
        self._took_row = False

    def _show(self, *, complete: bool) -> None:
        if self._verbatim:
            self._pen.put(self._line, "")
            self._line = ""
            return
        spans, length = inline(
            self._line, self._theme, complete=complete, before=self._before, style=self._style
        )
        for span in spans:
            self._pen.put(span.text, span.style, whole=span.whole)
        self._before = self._line[length - 1 : length] or self._before
        self._line = self._line[length:]

    def _begin(self, *, complete: bool) -> None:
        """Show what the line begins with, as soon as that is known."""
        quotes, rest = 0, self._line
        while True:
            start = start_of(rest, complete=complete)
            if start is None:
                return
            if start.kind != "quote":
                break
            if quotes == _DEEPEST:
                start = Start("text", 0)
                break
            if rest is self._line and self._is_code(start):
                break
            quotes += 1
            rest = rest[start.length :]
        if not quotes and self._is_code(start):
            start = Start("code", len(rest) - len(rest.lstrip(" ")))
        self._blank = start.kind in ("blank", "code") and not quotes
        if start.kind == "table" and not quotes:
            self._row(self._line)
            self._took_row = True
            return
        self._end_table()
        if start.kind == "blank" and not quotes:
            self._pen.newlines = min(self._pen.newlines, 1)
            return
        self._own_line(start, quotes)
        self._quotes = quotes
        self._pen.put(self._bars(quotes), DIM)
        self._markers(start, rest)

    def _is_code(self, start: Start) -> bool:
        """Tell whether a line that begins so is code by its indentation, which items have for other
        reasons.
        """
        indented = self._blank and not self._indents and self._line.startswith("    ")
        return indented and start.kind not in ("blank", "item", "number")

    def _own_line(self, start: Start, quotes: int) -> None:
        """A block that is not text stands below the name that leads the text."""
        if self._leads:
            self._leads = False
            if quotes or start.kind not in ("text", "blank", "table"):
                self._pen.newlines += 1
            else:
                self._pen.blanks += 1

    def _below_name(self) -> None:
        if self._leads:
            self._leads = False
            self._pen.newlines += 1

    def _bars(self, quotes: int) -> str:
        return ("│ " if self._theme.has_symbols else "> ") * quotes

    def _markers(self, start: Start, rest: str) -> None:
        theme = self._theme
        style = ""
        indent = len(rest) - len(rest.lstrip(" "))
        self._line = rest[start.length :]
        match start.kind:
            case "fence":
                self._begin_fence(start)
                return
            case "code":
                self._pen.put(" " * indent, "")
                self._inside = self._verbatim = True
                return
            case "rule":
                self._pen.put(self._dashes(max(1, min(_RULE, self._columns() - 1))), DIM)
                self._line = ""
            case "item" | "number":
                self._pen.put(" " * indent, "")
                self._deepen(indent)
                mark = " ".join(filter(None, (self._mark(start), self._box(start.task))))
                self._pen.put(mark, theme.marks)
                self._pen.put(" ", "")
                indent += len(mark) + 1
                if start.fence:
                    self._begin_fence(Start("fence", start.length, start.fence, info=start.info))
                    return
            case "heading":
                style, indent = theme.headings[min(int(start.value), len(theme.headings)) - 1], 0
                self._indents.clear()
            case _:
                self._pen.put(" " * indent, "")
                if not indent:
                    self._indents.clear()
        self._style, self._inside, self._before = style, True, " "
        self._pen.prose(self._bars(self._quotes), DIM, indent)

    def _begin_fence(self, start: Start) -> None:
        self._fence, self._colours = start, Colours(start.info.split(" ")[0])
        self._pen.put(f"{self._dashes(3)} {start.info}", DIM)
        self._line = ""

    def _deepen(self, indent: int) -> None:
        while self._indents and self._indents[-1] > indent:
            self._indents.pop()
        if not self._indents or self._indents[-1] < indent:
            self._indents.append(indent)

    def _mark(self, start: Start) -> str:
        """The bullet, unless a box takes its place, or the number as it stands."""
        if start.kind == "number" or not self._theme.has_symbols:
            return start.value
        return "" if start.task else _BULLETS[min(len(self._indents), len(_BULLETS)) - 1]

    def _box(self, task: str) -> str:
        if task and self._theme.has_symbols:
            return "☑" if task == "x" else "☐"
        return f"[{task}]" if task else ""

    def _dashes(self, count: int) -> str:
        return ("─" if self._theme.has_symbols else "-") * count

    def _code(self, line: str) -> bool:
        """Show a whole line of code, or the fence that ends it; False when the line is none."""
        fence = self._fence
        assert fence is not None
        for _ in range(self._quotes):
            start = start_of(line, complete=True)
            if start is None or start.kind != "quote":
                self._end_fence()
                self._pen.newlines += 1
                return False
            line = line[start.length :]
        bare = line.lstrip(" ")
        if (
            len(bare) <= LONGEST
            and bare.startswith(fence.value)
            and not bare.strip(fence.value[0] + " ")
        ):
            self._end_fence()
            return True
        self._pen.put(self._bars(self._quotes), DIM)
        shown = line[min(fence.length, len(line) - len(bare)) :]
        for text, kind in self._colours.line(shown):
            self._pen.put(text, self._theme.words.get(kind, ""))
        return True

    def _end_fence(self) -> None:
        self._pen.put(self._bars(self._quotes), DIM)
        self._pen.put(self._dashes(3), DIM)
        self._fence = None
        self._pen.plain()

    def _row(self, line: str) -> None:
        """One more row of a table; the widths are known once enough of them are there."""
        if self._layout is not None:
            row = table.row_of(line, len(self._layout.sides), self._theme)
            self._lines(self._layout.lines(row, first=False))
            return
        self._rows.append(line)
        if len(self._rows) == 2 and not self._sides():
            self._end_table()
        elif len(self._rows) == table.HELD:
            self._lay_out()

    def _sides(self) -> tuple[str, ...]:
        return table.sides_of(self._rows[1]) if len(self._rows) > 1 else ()

    def _lay_out(self) -> None:
        sides, theme = self._sides(), self._theme
        header = table.row_of(self._rows[0], len(sides), theme, theme.headings[-1])
        rows = [table.row_of(line, len(sides), theme) for line in self._rows[2:]]
        self._rows.clear()
        self._dotted = 0
        self._layout = table.Layout.of(header, sides, rows, self._columns(), theme)
        self._below_name()
        self._lines(self._layout.head())
        for number, row in enumerate(rows):
            self._lines(self._layout.lines(row, first=number == 0))

    def _lines(self, lines: list[list[Span]]) -> None:
        for spans in lines:
            if self._layout is not None and not self._layout.widths:  # a value a line
                self._pen.prose("", "", 2)
            for span in spans:
                self._pen.put(span.text, span.style)
            self._pen.plain()
            self._pen.blanks = 0
            self._pen.newlines += 1

    def _end_table(self) -> None:
        """The table ends; rows under which no rule stands are text."""
        if self._rows and self._sides():
            self._lay_out()
        for line in self._rows:
            self._own_line(Start("text", 0), 0)
            self._lines([inline(line, self._theme, complete=True)[0]])
        self._rows.clear()
        self._dotted = 0
        self._layout = None
