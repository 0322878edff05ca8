"""The extras that the pages name, and the readme in pyproject.toml for package indexes."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.support.guide_pages import TREE, text_of

pytestmark = pytest.mark.slow

PROJECT = tomllib.loads(text_of(TREE / "pyproject.toml"))["project"]
FOR_DEVELOPERS = {"test", "lint"}


def test_the_page_lists_the_extras() -> None:
    table = text_of(TREE / "docs" / "installing.md").partition("| extra |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert listed == {*PROJECT["optional-dependencies"]} - FOR_DEVELOPERS
