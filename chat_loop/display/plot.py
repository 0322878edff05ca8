"""Small plots of plain text (pure): a column for each value, and marks below them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

HEIGHT = 4
"""Lines of a plot, its marks apart."""
WIDEST = 3
"""The most cells of a column, with the blank after it."""


def plot(
    values: Sequence[int],
    width: int,
    *,
    marks: Collection[int] = (),
    height: int = HEIGHT,
) -> list[str]:
    """Draw nonnegative `values` as lines of at most `width` cells; the largest reaches the top.

    If there are more of them than cells, a column shows the largest of several. A mark, the index
    of a value, or their number for the place behind the last, stands below its column.
    """
    if not values or width < 1:
        return []
    most = max(width - 1, 1)  # a cell is left for the mark behind the last one
    each = -(-len(values) // most)
    largest = [max(values[at : at + each]) for at in range(0, len(values), each)]
    cell = max(1, min(WIDEST, most // len(largest)))
    top = max(largest)
    levels = [max(1, round(value * height * 8 / top)) if value else 0 for value in largest]
    lines = []
    for row in reversed(range(height)):
        drawn = (" ▁▂▃▄▅▆▇█"[min(8, max(0, level - row * 8))] for level in levels)
        gap = " " if cell > 1 else ""
        lines.append("".join(sign * max(1, cell - 1) + gap for sign in drawn).rstrip())
    if marks:
        places = {
            min(mark // each if mark < len(values) else len(largest), len(largest)) * cell
            for mark in marks
        }
        lines.append("".join("▲" if at in places else " " for at in range(max(places) + 1)))
    return lines
