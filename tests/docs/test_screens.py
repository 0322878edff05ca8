"""The pictures of the screens, read back."""

import re

import pytest

from tests.support.screen_pictures import COLUMNS, FOLDER, WORDS


@pytest.mark.parametrize("name", WORDS)
def test_each_picture_has_its_words_on_every_screen(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text("utf-8")
    screens = text.split('class="caption"')[1:]
    assert len(screens) == 3 * len(COLUMNS)
    for screen in screens:
        words = re.sub(r"<[^>]+>", "", screen).replace("\u00a0", " ")
        assert WORDS[name].partition(" ")[0] in words
        assert "Traceback" not in words
        assert "Error" not in words
