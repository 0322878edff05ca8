"""Where a query names files (pure): `@path` or `@"path with blanks"`, at the beginning of a word.

What stands in code, between backticks or in a fence, names none; neither does an address such as
`me@example.org`, nor what a backslash stands before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from chat_loop.attach import LONGEST, OPENERS

CLOSERS = ".,;:!?)]}>\"'”“»’…"
"""What may follow a path without belonging to it."""

_MENTION = re.compile(rf'(?:^|(?<=[\s{re.escape(OPENERS)}]))@(?:"([^"]+)"|(\S+))')
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile("`+")
_LINES = re.compile(r":\d{1,9}(?:[-:]\d{1,9})?$")
"""Lines of a file, as compilers name them: `main.py:12`."""
_ENDING = re.compile(r"\.([A-Za-z0-9]{1,8})(?![A-Za-z0-9.])")
_ENDINGS = """
bash bat bmp c cc cfg conf cpp cs css csv diff doc docx env gif go gz h hpp html ini ipynb java
jpeg jpg js json jsonl jsx kt log lua md mjs odt patch pdf php pl png ppt pptx ps1 py r rb
rs rst scala sh sql svg swift tar tex toml ts tsv tsx txt vue webp xls xlsx xml yaml yml zip zsh
"""
ENDINGS = frozenset(_ENDINGS.split())
"""Endings of names that are meant as files; many a word with a dot, such as `@app.route`, is
not.
"""


class Mention(Struct, frozen=True):
    """A file that may be meant. `names` are the paths to look for, the first that exists counts."""

    names: tuple[str, ...]
    quoted: bool = False

    @property
    def is_path(self) -> bool:
        """Whether it can only be meant as a path, by its form."""
        name = self.names[-1]
        if self.quoted or name.startswith(("/", "./", "../", "~/")):
            return True
        ending = _ENDING.search(name.rpartition("/")[2])
        return ending is not None and ending[1].lower() in ENDINGS

    @property
    def is_doubtful(self) -> bool:
        """Whether it may be meant as a path, by its form."""
        return any(sign in self.names[-1].strip(CLOSERS) for sign in "./")


def mentions(text: str) -> tuple[Mention, ...]:
    """All mentions of a query, each once."""
    return tuple(dict.fromkeys(_found(text)))


def _found(text: str) -> Iterator[Mention]:
    if "@" not in text:
        return
    for line in _prose(text):
        for match in _MENTION.finditer(line):
            quoted, word = match.groups()
            if quoted is not None:
                yield Mention((quoted,), quoted=True)
            elif len(word) <= LONGEST and word.strip(CLOSERS):
                yield Mention(tuple(dict.fromkeys(_names(word))))


def _names(word: str) -> Iterator[str]:
    """A word as it stands, and without what may only follow a path."""
    yield word
    bare = word.rstrip(CLOSERS)
    for end in range(len(word) - 1, max(len(bare), len(word) - 8), -1):
        yield word[:end]
    yield bare
    yield _LINES.sub("", bare)


def _prose(text: str) -> Iterator[str]:
    """The lines that are in no fence, the code in them blanked out."""
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            closes = (
                match is not None and match[1].startswith(fence) and not line[match.end() :].strip()
            )
            fence = "" if closes else fence
        elif match is not None and not (match[1][0] == "`" and "`" in line[match.end() :]):
            fence = match[1]
        else:
            yield _blanked(line) if "`" in line else line


def _blanked(line: str) -> str:
    """A line with blanks in the place of what stands between backticks; as many close as open."""
    parts, done = [], 0
    opened: re.Match[str] | None = None
    for run in _TICKS.finditer(line):
        if opened is None:
            opened = run
        elif len(run[0]) == len(opened[0]):
            parts += [line[done : opened.start()], " " * (run.end() - opened.start())]
            done, opened = run.end(), None
    return "".join(parts) + line[done:]
