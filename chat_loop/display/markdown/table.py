"""Tables: their columns aligned by the widths of the first rows, or one value a line where the
terminal is too narrow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from chat_loop.display.markdown.inline import Span, spans_of
from chat_loop.display.markdown.theme import BOLD, Theme
from chat_loop.display.text import cells

MEASURED_LINES = 12
"""Lines of a table that the widths of its columns are taken from; the rows below them are shown as
they come.
"""
_BREAK = re.compile(r"<br\s*/?>")
_BAR_OR_CODE = re.compile(r"\\.|\||(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")

Row = tuple[tuple[Span, ...], ...]
"""The cells of a row, each its text with its styles."""


class Layout(Struct, frozen=True):
    """The columns of a table: `sides` are `<`, `>` or `^`; `widths` is empty where each value gets
    a line of its own.
    """

    header: Row
    sides: tuple[str, ...]
    widths: tuple[int, ...]

    def head(self) -> list[list[Span]]:
        """Return the lines above the rows."""
        if not self.widths:
            return []
        rule = "─┼─".join("─" * width for width in self.widths)
        return [self._align(self.header), [Span(rule, "")]]

    def lines(self, row: Row, *, first: bool) -> list[list[Span]]:
        """Return the lines of one row."""
        if self.widths:
            return [self._align(row)]
        lines: list[list[Span]] = [] if first else [[]]
        for name, cell in zip(self.header, row, strict=True):
            if cell:
                lines.append([*name, Span(": ", BOLD), *cell] if name else [*cell])
        return lines

    def _align(self, row: Row) -> list[Span]:
        spans: list[Span] = []
        for at, (cell, side, width) in enumerate(zip(row, self.sides, self.widths, strict=True)):
            room = max(0, width - _width(cell))
            left = room if side == ">" else room // 2 if side == "^" else 0
            spans += [Span(" │ ", "")] if at else []
            spans += [Span(" " * left, ""), *cell, Span(" " * (room - left), "")]
        return spans


def layout_of(lines: Sequence[str], columns: int, theme: Theme) -> tuple[Layout, list[Row]]:
    """Return the layout of a table for a terminal of so many columns, and its rows. `lines` are
    its source: the header, the line under it, the rows.
    """
    sides = tuple(
        "^" if rule[0] == ":" == rule[-1] else ">" if rule[-1] == ":" else "<"
        for rule in _cells(lines[1])
    )
    header = _row(lines[0], len(sides), theme, theme.headings[-1])
    rows = [_row(line, len(sides), theme) for line in lines[2:]]
    measured = (header, *rows[: MEASURED_LINES - 2])
    widths = tuple(max(_width(row[at]) for row in measured) for at in range(len(sides)))
    fits = sum(widths) + 3 * (len(widths) - 1) < columns
    return Layout(header, sides, widths if fits else ()), rows


def _row(line: str, count: int, theme: Theme, style: str = "") -> Row:
    """Return the row of a line. Cells beyond the table's columns stand in the last one; GitHub
    would drop them.
    """
    texts = _cells(line)
    texts[count - 1 :] = [" | ".join(texts[count - 1 :])] if len(texts) >= count else []
    row = [tuple(spans_of(text, theme, style)) for text in texts]
    return (*row, *(() for _ in range(count - len(row))))


def _cells(line: str) -> list[str]:
    """Return the texts between the bars of a line; a bar within code parts none."""
    line = line.strip(" ").removeprefix("|")
    texts, begin = [], 0
    for match in _BAR_OR_CODE.finditer(line):
        if match[0] == "|":
            texts.append(line[begin : match.start()])
            begin = match.end()
    if line[begin:].strip(" "):
        texts.append(line[begin:])
    return [_BREAK.sub(" ", text).strip(" ").replace("\\|", "|") for text in texts]


def _width(cell: Sequence[Span]) -> int:
    return sum(cells(span.text) for span in cell)
