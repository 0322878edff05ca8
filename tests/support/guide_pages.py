"""The pages of the user guide, and the words in them."""

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
    *sorted((TREE / "docs").rglob("README.md")),
    *sorted((TREE / "docs").glob("*.md")),
]
FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^~~~~[a-z]*\n.*?^~~~~$", re.MULTILINE | re.DOTALL)
"""A block whose lines may begin a block of code themselves."""
CODE = re.compile(r"`([^`\n]+)`")


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FILE.sub("", FENCE.sub("", text_of(page)))


def named(page: Path) -> Path:
    """A page's name in messages."""
    return page.relative_to(TREE)
