"""Small plots of plain text (pure): a column for each value, and marks below them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

HEIGHT = 4
"""Lines of a plot, its marks apart."""
WIDEST = 3
"""Cells of a column at most, the blank after it among them."""
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_WITHOUT = "    #####"


def plot(
    values: Sequence[int],
    width: int,
    *,
    marks: Collection[int] = (),
    height: int = HEIGHT,
    symbols: bool = True,
) -> list[str]:
    """Draw nonnegative `values` as lines of at most `width` cells; the largest reaches the top.

    When there are more of them than cells, a column stands for several, and shows the largest of
    them. A mark, the index of a value, or their number for what comes after the last, stands below
    its column.
    """
    if not values or width < 1:
        return []
    most = max(width - 1, 1)  # a cell is left for the mark after the last one
    each = -(-len(values) // most)
    largest = [max(values[at : at + each]) for at in range(0, len(values), each)]
    cell = max(1, min(WIDEST, most // len(largest)))
    top = max(largest)
    levels = [max(1, round(value * height * 8 / top)) if value else 0 for value in largest]
    lines = [
        _line(levels, row, cell, _EIGHTHS if symbols else _WITHOUT)
        for row in reversed(range(height))
    ]
    if marks:
        places = {
            min(mark // each if mark < len(values) else len(largest), len(largest)) * cell
            for mark in marks
        }
        sign = "▲" if symbols else "^"
        lines.append("".join(sign if at in places else " " for at in range(max(places) + 1)))
    return lines


def _line(levels: Sequence[int], row: int, cell: int, signs: str) -> str:
    drawn = (signs[min(8, max(0, level - row * 8))] for level in levels)
    # the lowest line shows everything there is, however little
    if row == 0 and signs is _WITHOUT:
        drawn = ("#" if level else " " for level in levels)
    return "".join(sign * max(1, cell - 1) + " " * (cell > 1) for sign in drawn).rstrip()
