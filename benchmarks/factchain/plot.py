"""The curve as a handmade SVG: the facts in the context while a conversation goes on.

It has no background, no script, and no font except the reader's. The colors stand out on white and
on nearly black.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from benchmarks.factchain.automatic import Found
from benchmarks.factchain.baselines import EVERYTHING, FREE, TEMPLATE, TRUNCATE, VERBATIM
from benchmarks.factchain.run import OURS
from benchmarks.factchain.wording import PROFILES

WIDTH, HEIGHT = 760, 380
LEFT, TOP, RIGHT, BOTTOM = 46, 34, 246, 42
GRAY = "#6e7a86"
OWN = {"seen": "#957040", "unseen": "#c25f08", "third": "#b0305c"}
OTHERS = {
    VERBATIM: ("user's words and a summary", "#3b7ac9", "6 3"),
    TRUNCATE: ("newest messages", "#28867a", "2 3"),
    TEMPLATE: ("summary by a template", "#9165be", "8 3 2 3"),
    FREE: ("free summary", GRAY, "4 4"),
}
FONT = 'font-family="system-ui, sans-serif" font-size="12"'
GAP = 15
"""The smallest distance between two labels, in pixels."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of the plot, with a point for each segment of the conversation."""

    name: str
    color: str
    points: Sequence[float]
    dashes: str = ""
    width: float = 1.6


def picture(found: Sequence[Found]) -> str:
    """Return the curves of the long conversations: chat-loop's in each wording, and those of the
    other methods over all wordings.
    """
    long = [one for one in found if one.case.talk == "long" and one.given == "window"]
    lines: list[Curve] = []
    for profile in PROFILES:
        mine = [one.course for one in long if (one.method, one.profile) == (OURS, profile)]
        if mine:
            name = f"{OURS}, {profile} wording"
            lines.append(Curve(name, OWN[profile], _means(mine), width=2.6))
    for method, (name, color, dashes) in OTHERS.items():
        mine = [one.course for one in long if one.method == method]
        lines.append(Curve(name, color, _means(mine), dashes))
    tokens = mean(one.tokens for one in long if one.method == EVERYTHING)
    title = (
        f"Facts in the context, window of {long[0].case.window:,} tokens, compacted automatically"
    )
    return svg(lines, title, tokens)


def _means(courses: Sequence[Sequence[float]]) -> list[float]:
    return [mean(values) for values in zip(*courses, strict=True)]


def svg(lines: Sequence[Curve], title: str, tokens: float) -> str:
    """Return the picture of conversations of `tokens`, with labels at the ends of its lines."""
    right = WIDTH - RIGHT
    count = len(lines[0].points)
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
    for number in range(2, count + 1, 2):
        parts.append(
            f'<text x="{_x(number, count):.1f}" y="{below}" fill="{GRAY}" '
            f'text-anchor="middle">{tokens * number / count / 1000:.0f}K</text>'
        )
    middle = (LEFT + right) // 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 6}" fill="{GRAY}" text-anchor="middle">tokens of the conversation</text>'
    )
    places = _labels([line.points[-1] for line in lines])
    for line, place in zip(lines, places, strict=True):
        end = line.points[-1]
        path = " ".join(
            f"{_x(number, count):.1f},{_y(value):.1f}"
            for number, value in enumerate(line.points, 1)
        )
        dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
        stroke = f'fill="none" stroke="{line.color}" stroke-width="{line.width}"{dashes}'
        label = f"{end:.0f}% {line.name}"
        parts.append(f'<polyline points="{path}" {stroke}/>')
        parts.append(
            f'<circle cx="{_x(count, count):.1f}" cy="{_y(end):.1f}" r="3" fill="{line.color}"/>'
        )
        parts.append(
            f'<text x="{right + 12}" y="{place + 4:.1f}" fill="{line.color}">{label}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _x(number: int, count: int) -> float:
    return LEFT + 12 + (WIDTH - LEFT - RIGHT - 12) * (number - 1) / (count - 1)


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
