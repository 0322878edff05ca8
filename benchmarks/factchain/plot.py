"""The curve as a handmade SVG: the share of live facts in the context by the number of compactions.

It has no background, no script, and no font except the reader's. The colors stand out on white and
on nearly black.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from benchmarks.factchain.baselines import FREE, TEMPLATE, TRUNCATE, VERBATIM
from benchmarks.factchain.report import Row
from benchmarks.factchain.run import OURS
from benchmarks.factchain.talk import SEGMENTS
from benchmarks.factchain.wording import PROFILES

WIDTH, HEIGHT = 760, 380
LEFT, TOP, RIGHT, BOTTOM = 46, 34, 246, 42
GRAY = "#6e7a86"
OWN = {"seen": "#957040", "unseen": "#c25f08", "third": "#b0305c"}
OTHERS = {
    VERBATIM: ("#3b7ac9", "6 3"),
    TRUNCATE: ("#28867a", "2 3"),
    TEMPLATE: ("#9165be", "8 3 2 3"),
    FREE: (GRAY, "4 4"),
}
FONT = 'font-family="system-ui, sans-serif" font-size="12"'
GAP = 15
"""The smallest distance between two labels, in pixels."""

Points = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of the plot."""

    name: str
    color: str
    points: Points
    dashes: str = ""
    width: float = 1.6


def curves(rows: Sequence[Row]) -> list[Curve]:
    """Return the program's curve in each profile, and the other arms' curves over all profiles."""
    found: list[Curve] = []
    for profile in PROFILES:
        mine = [row for row in rows if (row.arm, row.profile) == (OURS, profile)]
        if mine:
            found.append(
                Curve(
                    f"{OURS}, {profile} wording {_size(mine)}",
                    OWN[profile],
                    _points(mine),
                    width=2.6,
                )
            )
    for arm, (color, dashes) in OTHERS.items():
        mine = [row for row in rows if row.arm == arm]
        if mine:
            found.append(Curve(f"{arm} {_size(mine)}", color, _points(mine), dashes))
    return found


def _size(rows: Sequence[Row]) -> str:
    """Return the mean size of a request at the end, in thousands of tokens."""
    return f"({mean(row.tokens for row in rows if row.compactions == SEGMENTS) / 1000:.1f}K)"


def _points(rows: Sequence[Row]) -> dict[int, float]:
    """Return the mean context share over all rows at each number of compactions."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row.context is not None:
            found.setdefault(row.compactions, []).append(row.context)
    return {number: mean(values) for number, values in sorted(found.items())}


def svg(lines: Sequence[Curve], title: str) -> str:
    """Return the picture, with labels at the ends of its lines."""
    right = WIDTH - RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {FONT}>',
        f"<title>{title}</title>",
        f'<text x="{LEFT}" y="16" fill="{GRAY}" font-size="13">{title}</text>',
    ]
    for percent in range(0, 101, 20):
        y = _y(percent)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{GRAY}" stroke-opacity="0.25"/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" fill="{GRAY}" '
            f'text-anchor="end">{percent}%</text>'
        )
    below = HEIGHT - BOTTOM + 18
    for number in range(1, SEGMENTS + 1):
        parts.append(
            f'<text x="{_x(number):.1f}" y="{below}" fill="{GRAY}" '
            f'text-anchor="middle">{number}</text>'
        )
    middle = (LEFT + right) // 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 6}" fill="{GRAY}" text-anchor="middle">compactions</text>'
    )
    places = _labels([line.points[max(line.points)] for line in lines])
    for line, place in zip(lines, places, strict=True):
        last = max(line.points)
        end = line.points[last]
        path = " ".join(
            f"{_x(number):.1f},{_y(value):.1f}" for number, value in line.points.items()
        )
        dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
        stroke = f'fill="none" stroke="{line.color}" stroke-width="{line.width}"{dashes}'
        label = f"{end:.0f}% {line.name}"
        parts.append(f'<polyline points="{path}" {stroke}/>')
        parts.append(f'<circle cx="{_x(last):.1f}" cy="{_y(end):.1f}" r="3" fill="{line.color}"/>')
        parts.append(
            f'<text x="{right + 12}" y="{place + 4:.1f}" fill="{line.color}">{label}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _x(number: int) -> float:
    return LEFT + 12 + (WIDTH - LEFT - RIGHT - 12) * (number - 1) / (SEGMENTS - 1)


def _y(percent: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (100 - percent) / 100


def _labels(values: Sequence[float]) -> list[float]:
    """Return the vertical positions of the labels: at the ends of their lines, moved apart until
    none overlap.
    """
    order = sorted(range(len(values)), key=lambda index: _y(values[index]))
    places = [_y(values[index]) for index in order]
    for _ in range(200):
        for upper, lower in pairwise(range(len(places))):
            short = GAP - (places[lower] - places[upper])
            if short > 0:
                places[upper] -= short / 2
                places[lower] += short / 2
    for index, place in enumerate(places):
        places[index] = max(place, places[index - 1] + GAP if index else TOP)
    for index in reversed(range(len(places))):
        places[index] = min(
            places[index], places[index + 1] - GAP if index + 1 < len(places) else HEIGHT - BOTTOM
        )
    return [places[order.index(index)] for index in range(len(values))]
