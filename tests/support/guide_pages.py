"""The pages of the user guide and their text."""

from __future__ import annotations

import re
from pathlib import Path

from chat_loop import (
    loop,  # noqa: F401 - importing it registers the commands
)

TREE = Path(__file__).parents[2]
PAGES = [
    TREE / "README.md",
    TREE / "CONTRIBUTING.md",
    *sorted((TREE / "docs").glob("*.md")),
]
FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^~~~~[a-z]*\n.*?^~~~~$", re.MULTILINE | re.DOTALL)
"""A block in which lines may themselves begin a block of code."""
CODE = re.compile(r"`([^`\n]+)`")


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def prose(page: Path) -> str:
    """Return the text of a page without its blocks of code."""
    return _FILE.sub("", FENCE.sub("", text_of(page)))


def named(page: Path) -> Path:
    """Return the path of a page as messages name it."""
    return page.relative_to(TREE)
