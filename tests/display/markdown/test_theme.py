"""The colors on the terminal and in the pictures can be read."""

from __future__ import annotations

import re

import pytest

from chat_loop.display.markdown.theme import THEMES
from docs.pictures.svg import COLORS
from tests.support.contrast import ENOUGH, contrast

LEVELS = (0, 95, 135, 175, 215, 255)
GROUNDS = {
    "dark": [(0x00, 0x00, 0x00), (0x1E, 0x1E, 0x1E), (0x28, 0x2C, 0x34), (0x2E, 0x34, 0x36)],
    "light": [(0xFF, 0xFF, 0xFF), (0xFD, 0xF6, 0xE3), (0xEE, 0xEE, 0xEE)],
}
"""Backgrounds of usual terminals."""


def color(number: int) -> tuple[int, int, int]:
    """Return one of the 240 colors that are the same in all terminals: a cube, then grays."""
    assert 16 <= number <= 255
    if number >= 232:
        gray = 8 + 10 * (number - 232)
        return gray, gray, gray
    number -= 16
    return LEVELS[number // 36], LEVELS[number // 6 % 6], LEVELS[number % 6]


@pytest.mark.parametrize("name", GROUNDS)
def test_each_color_stands_out_from_usual_backgrounds(name: str) -> None:
    theme = THEMES[name]
    styles = {theme.name, *theme.headings[:-1], theme.code, theme.marks, *theme.words.values()}
    assert len(styles) > 5
    for style in styles:
        [number] = re.findall(r"38;5;(\d+)$", style)
        for ground in GROUNDS[name]:
            assert contrast(color(int(number)), ground) >= ENOUGH, (style, ground)


def test_what_the_user_said_has_a_background_near_the_usual_ones() -> None:
    for name, text in (("dark", (229, 229, 229)), ("light", (0, 0, 0))):
        [number] = re.findall(r"48;5;(\d+)$", THEMES[name].entry)
        assert contrast(color(int(number)), text) >= ENOUGH
    [front, back] = re.findall(r"[34]8;5;(\d+)", THEMES["auto"].entry)
    assert contrast(color(int(front)), color(int(back))) >= ENOUGH


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_each_color_of_the_pictures_stands_out_from_their_paper(scheme: int) -> None:
    inks = {name: bytes.fromhex(pair[scheme][1:]) for name, pair in COLORS.items()}
    paper = inks.pop("paper")
    assert [name for name, ink in inks.items() if contrast(ink, paper) < ENOUGH] == []
