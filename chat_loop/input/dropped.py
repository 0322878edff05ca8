"""The paths in a text that a terminal pastes when files are dropped on it (pure)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import unquote, urlsplit

LONGEST = 8_000  # characters; a longer text does not only name files
MOST = 20  # files
_START = re.compile(r"""['"]?(?:/|~/|\.\.?/|file://|[A-Za-z]:[\\/])""")
_DRIVE = re.compile(r"([A-Za-z]):[\\/](.*)", re.DOTALL)
"""A path of Windows, which WSL has below /mnt."""


def readings(text: str) -> list[tuple[str, ...]]:
    """Return what a pasted text may mean as paths, likeliest first; nothing if it names no files.

    Terminals paste paths as they are, quoted, with backslashes, or as file:// addresses; several
    stand in a line or in lines. Only who looks at the disk can tell which meaning is right.
    """
    text = text.strip()
    if len(text) > LONGEST or not _START.match(text):
        return []
    lines = [line.strip() for line in text.split("\n")]
    words: list[Sequence[str]] = [lines]
    with suppress(ValueError):  # a quote that is not closed
        words.append(shlex.split(text))
    found: dict[tuple[str, ...], None] = {}
    for names in words:
        paths = tuple(_path(name) for name in names)
        if len(paths) <= MOST and all(map(_START.match, paths)):
            found[paths] = None
    return list(found)


def _path(name: str) -> str:
    """Return the path that a word means on this machine; empty for none."""
    if name.startswith("file://"):
        try:
            address = urlsplit(name)
        except ValueError:
            return ""
        return unquote(address.path) if address.netloc in ("", "localhost") else ""
    if drive := _DRIVE.fullmatch(name):
        rest = drive[2].replace("\\", "/")
        return f"/mnt/{drive[1].lower()}/{rest}"
    return name
