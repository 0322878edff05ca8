"""A plot with a row for each item: a dot for the median and a line from the lowest to the highest
sample, on a logarithmic axis. It has no background and no script; the colors work on light and
dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from msgspec import Struct

from benchmarks.factchain.plot import FONT, GRAY
from benchmarks.support.results import number

OWN, OTHER = "#c25f08", "#3b7ac9"
WIDTH, LABELS, VALUES = 760, 360, 60
TOP, ROW, BOTTOM = 34, 20, 26

LEAST = 1e-3
"""Lower values, also negative ones, are drawn at the left end."""


class Row(Struct, frozen=True):
    """A line of the plot."""

    label: str
    value: float
    lowest: float
    highest: float
    is_own: bool = False


def svg(title: str, rows: Sequence[Row], mark: float | None = None) -> str:
    """Return the picture, with a vertical line at `mark`."""
    height = TOP + ROW * len(rows) + BOTTOM
    low = floor(log10(min(max(row.value, LEAST) for row in rows)))
    high = max(low + 1, ceil(log10(max(LEAST, *(row.highest for row in rows)))))
    end = WIDTH - VALUES

    def x(value: float) -> float:
        share = (log10(max(value, 10**low)) - low) / (high - low)
        return LABELS + share * (end - LABELS)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" {FONT}>',
        f"<title>{escape(title)}</title>",
        f'<text x="8" y="16" fill="{GRAY}" font-size="13">{escape(title)}</text>',
    ]
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(
            f'<path d="M{at:.1f} {TOP - 8}V{height - BOTTOM}" stroke="{GRAY}" stroke-opacity="0.25"/>'
        )
        parts.append(
            f'<text x="{at:.1f}" y="{height - 8}" fill="{GRAY}" text-anchor="middle">{10.0**power:g}</text>'
        )
    if mark is not None:
        parts.append(
            f'<path d="M{x(mark):.1f} {TOP - 8}V{height - BOTTOM}" stroke="{GRAY}" stroke-width="2"/>'
        )
    for place, row in enumerate(rows):
        y = TOP + ROW * place + 4
        color = OWN if row.is_own else OTHER
        parts.append(
            f'<text x="{LABELS - 12}" y="{y + 4}" fill="{color}" text-anchor="end">{escape(row.label)}</text>'
        )
        parts.append(
            f'<path d="M{x(row.lowest):.1f} {y}H{x(row.highest):.1f}" stroke="{color}" stroke-width="2"/>'
        )
        parts.append(f'<circle cx="{x(row.value):.1f}" cy="{y}" r="4" fill="{color}"/>')
        parts.append(f'<text x="{end + 10}" y="{y + 4}" fill="{color}">{number(row.value)}</text>')
    return "\n".join([*parts, "</svg>", ""])
