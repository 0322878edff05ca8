"""The screen of a terminal as an SVG picture that loads nothing, in light and dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import groupby

import pyte
from pyte.screens import Char

from chat_loop.values import plural

COLORS = {
    "default": ("#24292f", "#d7dae0"),
    "black": ("#6e7781", "#8b919c"),
    "red": ("#cf222e", "#e06c75"),
    "green": ("#116329", "#98c379"),
    "brown": ("#7d4e00", "#e5c07b"),
    "blue": ("#0550ae", "#61afef"),
    "magenta": ("#8250df", "#c678dd"),
    "cyan": ("#1b7c83", "#56b6c2"),
    "white": ("#57606a", "#ffffff"),
    "paper": ("#ffffff", "#1e2127"),
}
"""The colors in light and in dark mode, by the emulator's names."""
WIDTH, HEIGHT = 8.4, 19.0
"""The size of a cell, in pixels."""
MARGIN = 14
NO_BREAK = "\u00a0"
"""A replacement for blanks, since SVG shows several blanks as one."""
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class Screen(pyte.Screen):
    """An emulated screen that shows dim text, unknown to the emulator, in the gray of 90."""

    def select_graphic_rendition(self, *attrs: int, **more: bool) -> None:
        if not {38, 48} & {*attrs}:
            attrs = tuple(90 if number == 2 else number for number in attrs)
        super().select_graphic_rendition(*attrs, **more)


def shown(raw: bytes, cols: int, rows: int) -> Screen:
    """Return the screen after a program has printed `raw`."""
    screen = Screen(cols, rows)
    pyte.ByteStream(screen).feed(raw)
    return screen


def lines_of(screen: pyte.Screen) -> list[list[Char]]:
    return [
        [screen.buffer[row][column] for column in range(screen.columns)]
        for row in range(screen.lines)
    ]


def svg(screen: pyte.Screen, first: int = 0, last: int | None = None) -> str:
    """Return a picture of the lines from `first` up to `last`, without empty lines at the end."""
    lines = lines_of(screen)[first:last]
    while lines and not "".join(char.data for char in lines[-1]).strip():
        lines.pop()
    parts = [part for row, line in enumerate(lines) for part in runs(line, MARGIN + row * HEIGHT)]
    label = f"A terminal with {plural(len(lines), 'line')} of chat-loop"
    return document(screen.columns, len(lines), label, parts)


def document(
    columns: int, rows: int, label: str, parts: Sequence[str], *, style: str = "", defs: str = ""
) -> str:
    """Return a picture of `columns` by `rows` cells, with a margin."""
    width, height = columns * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN
    light, dark = (
        "".join(f".{name}{{fill:{inks[theme]}}}" for name, inks in COLORS.items())
        for theme in (0, 1)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" role="img" aria-label="{label}">\n'
        f"<style>{light}@media (prefers-color-scheme:dark){{{dark}}}{style}</style>\n{defs}"
        '<rect width="100%" height="100%" rx="8" class="paper"/>\n'
        f'<g font-family="{FONT}" font-size="14">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


def runs(line: list[Char], top: float, left: float = MARGIN) -> list[str]:
    """Return the SVG elements for the runs of one style in a line."""
    found, column = [], 0
    for look, run in groupby(
        line, lambda char: (char.fg, char.bg, char.bold, char.italics, char.reverse)
    ):
        chars = list(run)
        text = "".join(char.data for char in chars)
        fore, back, bold, italic, reverse = look
        ink, paper = _color(fore), "" if back == "default" else _color(back)
        if reverse:
            ink, paper = paper or _color("paper"), ink
        at, width = left + column * WIDTH, len(chars) * WIDTH
        column += len(chars)
        if paper:
            found.append(
                f'<rect x="{at:.1f}" y="{top:.1f}" width="{width:.1f}" height="{HEIGHT}" {paper}/>'
            )
        blank = len(text) - len(text.lstrip(" "))
        text = text.strip(" ")
        if text:
            style = ' font-weight="bold"' * bold + ' font-style="italic"' * italic
            x, length = at + blank * WIDTH, _cells(chars, blank, text) * WIDTH
            found.append(
                f'<text x="{x:.1f}" y="{top + HEIGHT - 5:.1f}" {ink}{style} '
                f'textLength="{length:.1f}" '
                f'lengthAdjust="spacingAndGlyphs">{escape(text).replace(" ", NO_BREAK)}</text>'
            )
    return found


def _cells(chars: list[Char], blank: int, text: str) -> int:
    """Return the number of columns that `text` takes: an empty cell follows a wide character."""
    taken, seen = 0, ""
    for char in chars[blank:]:
        if seen == text and char.data:
            break
        seen += char.data
        taken += 1
    return taken


def _color(name: str) -> str:
    """Return the SVG attribute for a color with the emulator's name."""
    name = {"brightblack": "black", "yellow": "brown"}.get(name, name).removeprefix("bright")
    if re.fullmatch(r"[0-9a-f]{6}", name):
        return f'fill="#{name}"'
    return f'class="{name if name in COLORS else "default"}"'
