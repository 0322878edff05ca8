"""Tables: their rows aligned by the widths of the first ones, or one value a line where the
terminal is too narrow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from chat_loop.display.markdown.inline import Span, inline
from chat_loop.display.markdown.pen import width_of
from chat_loop.display.markdown.theme import BOLD, Theme

HELD = 12
"""Rows that the widths of the columns are taken from; those after them are shown as they come."""
_COLUMNS = 40
_RULE = re.compile(r" *:?-+:? *")
_BREAK = re.compile(r"<br\s*/?>")
_BAR = re.compile(r"\\.|\|")
_BAR_OR_CODE = re.compile(r"\\.|\||(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")

Row = tuple[tuple[Span, ...], ...]
"""The cells of a row, each its text with its styles."""


def cells_of(line: str, bars: re.Pattern[str] = _BAR) -> list[str]:
    """Return the cells of a row as they stand, without the bars that lead and end it."""
    line = line.strip(" ").removeprefix("|")
    cells, begin = [], 0
    for match in bars.finditer(line):
        if match.group() == "|":
            cells.append(line[begin : match.start()])
            begin = match.end()
    rest = line[begin:]
    return [
        cell.strip(" ").replace("\\|", "|")
        for cell in ([*cells, rest] if rest.strip(" ") else cells)
    ]


def sides_of(line: str) -> tuple[str, ...]:
    """`<`, `>` or `^` for each column of the line under the header; empty when it is no such
    line.
    """
    cells = cells_of(line)
    if not cells or not all(_RULE.fullmatch(cell) for cell in cells):
        return ()
    return tuple(
        "^" if cell[0] == ":" == cell[-1] else ">" if cell[-1] == ":" else "<" for cell in cells
    )


def row_of(line: str, count: int, theme: Theme, style: str = "") -> Row:
    """Return the row that `line` is, with the markup of its cells read.

    Where it has more cells than the table has columns, a bar in code parts none; what is left over
    stands in the last.
    """
    most = min(count, _COLUMNS)
    cells = cells_of(line)
    if len(cells) > most:
        cells = cells_of(line, _BAR_OR_CODE)
        cells[most - 1 :] = [" | ".join(cells[most - 1 :])]
    read = (
        tuple(inline(_BREAK.sub(" ", cell), theme, complete=True, style=style)[0]) for cell in cells
    )
    return (*read, *(() for _ in range(count - len(cells))))


class Layout(Struct, frozen=True):
    """The layout of one table; `widths` is empty where each value gets a line of its
    own.
    """

    header: Row
    sides: tuple[str, ...]
    widths: tuple[int, ...]
    theme: Theme

    @classmethod
    def of(
        cls, header: Row, sides: tuple[str, ...], rows: Sequence[Row], columns: int, theme: Theme
    ) -> Layout:
        """The layout for a terminal of so many columns."""
        widths = tuple(max(_width(row[at]) for row in (header, *rows)) for at in range(len(sides)))
        fits = sum(widths) + 3 * (len(widths) - 1) < columns
        return cls(header, sides, widths if fits else (), theme)

    def head(self) -> list[list[Span]]:
        """The lines above the rows."""
        if not self.widths:
            return []
        signs = ("─", "─┼─") if self.theme.has_symbols else ("-", "-+-")
        return [
            self._line(self.header),
            [Span(signs[1].join(signs[0] * width for width in self.widths), "")],
        ]

    def lines(self, row: Row, *, first: bool) -> list[list[Span]]:
        """The lines of one row."""
        if self.widths:
            return [self._line(row)]
        lines: list[list[Span]] = [] if first else [[]]
        for name, cell in zip(self.header, row, strict=True):
            if cell:
                lines.append([*name, Span(": ", BOLD), *cell] if name else [*cell])
        return lines

    def _line(self, row: Row) -> list[Span]:
        """The row's cells between bars, with no blanks at its end."""
        spans: list[Span] = []
        bar = Span(" │ " if self.theme.has_symbols else " | ", "")
        for at, (cell, side, width) in enumerate(zip(row, self.sides, self.widths, strict=True)):
            if at:
                spans.append(bar)
            room = max(0, width - _width(cell))
            left = room if side == ">" else room // 2 if side == "^" else 0
            spans += [Span(" " * left, ""), *cell, Span(" " * (room - left), "")]
        return spans


def _width(cell: tuple[Span, ...]) -> int:
    return sum(width_of(span.text) for span in cell)
