"""Tables with aligned columns, or with one value per line if the terminal is too narrow."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat_loop.display.markdown.inline import Span, spans_of
from chat_loop.display.markdown.theme import BOLD, Theme
from chat_loop.display.sanitizer import cells

MEASURED_LINES = 12  # the lines of a table that determine the widths of its columns
_BREAK = re.compile(r"<br\s*/?>")
_BAR_OR_CODE = re.compile(r"\\.|\||(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")

Row = tuple[tuple[Span, ...], ...]  # the cells of a row, each its text with its styles


def table_lines(
    source: Sequence[str], columns: int, theme: Theme
) -> tuple[list[tuple[int, list[Span]]], bool]:
    """Return the lines of a table for a terminal of `columns`, each after its line number in
    `source`, and True if the columns are aligned, False if each value has its own line. `source`
    is the header, the line below it, and the rows.
    """
    sides = [_side(rule) for rule in _cells(source[1])]
    header = _row(source[0], len(sides), theme, theme.headings[-1])
    rows = [(at, _row(line, len(sides), theme)) for at, line in enumerate(source[2:], 2)]
    measured = (header, *(row for _, row in rows[: MEASURED_LINES - 2]))
    widths = [max(map(_width, column)) for column in zip(*measured, strict=True)]
    if sum(widths) + 3 * (len(widths) - 1) < columns:
        rule = "─┼─".join("─" * width for width in widths)
        head = [(0, _aligned(header, sides, widths)), (0, [Span(rule, "")])]
        return head + [(at, _aligned(row, sides, widths)) for at, row in rows], True
    lines: list[tuple[int, list[Span]]] = []
    for at, row in rows:
        if at > 2:
            lines += [(at, [])]
        for name, cell in zip(header, row, strict=True):
            if not cell:
                continue
            spans = [*cell]
            if name:
                spans = [*name, Span(": ", BOLD), *cell]
            lines.append((at, spans))
    return lines, False


def _side(rule: str) -> str:
    """Return where the line below a table's header aligns a column: `<`, `>` or `^`."""
    if not rule.endswith(":"):
        return "<"
    return "^" if rule.startswith(":") else ">"


def _aligned(row: Row, sides: Sequence[str], widths: Sequence[int]) -> list[Span]:
    """Return the line of a row; the sides are `<`, `>` or `^`."""
    spans: list[Span] = []
    for cell, side, width in zip(row, sides, widths, strict=True):
        room = max(0, width - _width(cell))
        left = {"<": 0, "^": room // 2, ">": room}[side]
        if spans:
            spans += [Span(" │ ", "")]
        spans += [Span(" " * left, ""), *cell, Span(" " * (room - left), "")]
    return spans


def _row(line: str, count: int, theme: Theme, style: str = "") -> Row:
    """Return the row of a line. Cells beyond the last column are joined to the last one."""
    texts = _cells(line)
    if len(texts) >= count:
        texts[count - 1 :] = [" | ".join(texts[count - 1 :])]
    row = [tuple(spans_of(text, theme, style)) for text in texts]
    return (*row, *(() for _ in range(count - len(row))))


def _cells(line: str) -> list[str]:
    """Return the texts between the bars of a line. A bar inside code does not separate texts."""
    line = line.strip(" ").removeprefix("|")
    texts = []
    begin = 0
    for match in _BAR_OR_CODE.finditer(line):
        if match[0] == "|":
            texts.append(line[begin : match.start()])
            begin = match.end()
    if line[begin:].strip(" "):
        texts.append(line[begin:])
    return [_BREAK.sub(" ", text).strip(" ").replace("\\|", "|") for text in texts]


def _width(cell: Sequence[Span]) -> int:
    return sum(cells(span.text) for span in cell)
