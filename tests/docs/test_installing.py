"""The extras that the pages name, and the readme in pyproject.toml for package indexes."""

from __future__ import annotations

import re
import tomllib

import pytest
from markdown_it import MarkdownIt

from tests.support.guide_pages import TREE, text_of

pytestmark = pytest.mark.slow

PROJECT = tomllib.loads(text_of(TREE / "pyproject.toml"))["project"]
FOR_DEVELOPERS = {"test", "lint"}


def test_the_page_lists_the_extras() -> None:
    table = text_of(TREE / "docs" / "installing.md").partition("| extra |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert listed == {*PROJECT["optional-dependencies"]} - FOR_DEVELOPERS


def test_an_extra_that_a_page_names_exists() -> None:
    pages = [TREE / "README.md", TREE / "CONTRIBUTING.md", *(TREE / "docs").glob("*.md")]
    text = PROJECT["readme"]["text"] + "".join(map(text_of, pages))
    named = {
        extra
        for one in re.findall(r"'(?:\.|chat-loop)\[([\w,]+)\]'", text)
        for extra in one.split(",")
    }
    assert named - {*PROJECT["optional-dependencies"]} == set()
    assert {"local", "search", "test"} <= named


def test_an_index_page_shows_nothing_that_only_the_repository_has() -> None:
    html = MarkdownIt("commonmark").render(PROJECT["readme"]["text"])
    assert "<pre>" in html
    assert re.findall(r'(?:src|href)="(?!https://)', html) == []
