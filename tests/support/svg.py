"""What a terminal shows as an SVG picture that loads nothing."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby

import pyte
from pyte.screens import Char

from chat_loop.values import plural

_DIM = re.compile(rb"\x1b\[((?:\d+;)*)2((?:;\d+)*)m")
"""The emulator knows no dim text; the grey of 90 stands for it."""
COLOURS = {
    "default": "#d7dae0",
    "black": "#7f848e",
    "brightblack": "#7f848e",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#e5c07b",
    "yellow": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#ffffff",
}
PAPER = "#1e2127"
WIDTH, HEIGHT = 8.4, 19.0
"""Of a cell, in pixels."""
MARGIN = 14
NO_BREAK = "\u00a0"
"""For blanks: several of them would else be shown as one."""
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def shown(raw: bytes, cols: int, rows: int) -> pyte.Screen:
    """The screen after a program has printed `raw`."""
    screen = pyte.Screen(cols, rows)
    pyte.ByteStream(screen).feed(
        _DIM.sub(lambda found: b"\x1b[%b90%bm" % (found[1], found[2]), raw)
    )
    return screen


def svg(screen: pyte.Screen, first: int = 0, last: int | None = None) -> str:
    """The lines from `first` to before `last`; those that are empty at the end are left out."""
    lines = [
        [screen.buffer[row][column] for column in range(screen.columns)]
        for row in range(screen.lines)
    ]
    lines = lines[first:last]
    while lines and not "".join(char.data for char in lines[-1]).strip():
        lines.pop()
    width, height = screen.columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    parts = [part for row, line in enumerate(lines) for part in _line(line, MARGIN + row * HEIGHT)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" '
        f'role="img" aria-label="A terminal with {plural(len(lines), "line")} of chat-loop">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n'
        f'<g font-family="{FONT}" font-size="14">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


def _line(line: list[Char], top: float) -> list[str]:
    """The runs of one style in a line."""
    found, column = [], 0
    for look, run in groupby(
        line, lambda char: (char.fg, char.bg, char.bold, char.italics, char.reverse)
    ):
        chars = list(run)
        text = "".join(char.data for char in chars)
        fore, back, bold, italic, reverse = look
        ink, paper = _colour(fore), "" if back == "default" else _colour(back)
        if reverse:
            ink, paper = paper or PAPER, ink
        left, width = MARGIN + column * WIDTH, len(chars) * WIDTH
        column += len(chars)
        if paper:
            found.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{HEIGHT}" '
                f'fill="{paper}"/>'
            )
        blank = len(text) - len(text.lstrip(" "))
        text = text.strip(" ")
        if text:
            style = ' font-weight="bold"' * bold + ' font-style="italic"' * italic
            x, length = left + blank * WIDTH, _cells(chars, blank, text) * WIDTH
            found.append(
                f'<text x="{x:.1f}" y="{top + HEIGHT - 5:.1f}" fill="{ink}"{style} '
                f'textLength="{length:.1f}" '
                f'lengthAdjust="spacingAndGlyphs">{escape(text).replace(" ", NO_BREAK)}</text>'
            )
    return found


def _cells(chars: list[Char], blank: int, text: str) -> int:
    """How many columns `text` takes: a wide character is followed by an empty cell."""
    taken, seen = 0, ""
    for char in chars[blank:]:
        if seen == text and char.data:
            break
        seen += char.data
        taken += 1
    return taken


def _colour(name: str) -> str:
    bright = name.removeprefix("bright")
    return (
        COLOURS.get(name)
        or COLOURS.get(bright)
        or (f"#{name}" if re.fullmatch(r"[0-9a-f]{6}", name) else "#d7dae0")
    )
