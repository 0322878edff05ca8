"""The recording of the tour in the documentation shows the current tour."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pyte
import pytest

from chat_loop.subcommands import tour
from docs.pictures.first_minutes import CAST, COLS, PICTURE, ROWS, film, read_cast
from tests.support.pty_chat import _Screen

pytestmark = pytest.mark.slow

LARGEST = 300_000
LOCAL = re.compile(r"/(?:home|root|tmp|work|Users|usr|opt|var)\b")


def steps() -> list[dict[str, str]]:
    text = Path(tour.__file__).with_suffix(".toml").read_text("utf-8")
    script = tomllib.loads(text)
    return [step for name in tour.RUNS for step in script[name]]


def words(text: str) -> str:
    return " ".join(re.sub(r"[*`>#]", " ", text).split())


def test_it_shows_every_step_of_today() -> None:
    screen = _Screen(COLS, ROWS, lambda answer: None)
    stream = pyte.Stream(screen)
    for _, text in read_cast():
        stream.feed(text)
    said = words("\n".join([*screen.above, *screen.display]))
    at = 0
    for number, step in enumerate(steps(), 1):
        at = said.index(words(f"{number}/{len(steps())} · {step['text']} You: {step['line']}"), at)
        for sentence in re.findall(r"[A-Z][a-z ]+\.", step.get("reply", "")):
            assert sentence in said
    assert words(" ".join(tour.END)) in said[at:]
    assert re.search(r"📦 Compacted 6[\d.]+K → [12]\.\d+K tokens", said)
    assert "not in my script" not in said


def test_the_picture_is_made_of_it() -> None:
    picture = PICTURE.read_text("utf-8")
    assert len(picture.encode()) < LARGEST
    assert picture == film(read_cast())
    root = ElementTree.fromstring(picture)
    assert root.tag.endswith("svg")
    assert "@media (prefers-color-scheme:dark)" in picture


def test_it_names_no_folder_of_a_machine() -> None:
    for file in (CAST, PICTURE):
        assert not LOCAL.search(file.read_text("utf-8"))
