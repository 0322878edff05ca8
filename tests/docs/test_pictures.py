"""The pictures of the terminal, read back."""

from __future__ import annotations

import re
from html import unescape

import pytest

from docs.pictures.svg import NO_BREAK
from docs.pictures.terminal import DOCS, FORBIDDEN, WORDS
from tests.support.guide_pages import PAGES, text_of


def words_of(name: str) -> str:
    """Return the words of a picture, on one line."""
    text = unescape(re.sub(r"<[^>]+>", "", text_of(DOCS / f"{name}.svg")))
    return " ".join(text.replace(NO_BREAK, " ").split())


@pytest.mark.parametrize("name", WORDS)
def test_each_picture_has_its_words(name: str) -> None:
    text = words_of(name)
    assert [word for word in WORDS[name] if word not in text] == []
    assert [word for word in FORBIDDEN if word in text] == []


def test_each_picture_is_on_a_page() -> None:
    shown = {name for page in PAGES for name in re.findall(r"(terminal-\w+)\.svg", text_of(page))}
    assert shown == {*WORDS} == {picture.stem for picture in DOCS.glob("terminal-*.svg")}
