"""Finds the files that a text names, `@path` or `@"path with spaces"`, and completes paths."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

MAX_PATH = 1_000  # characters; a longer word is not a path
MAX_COMPLETIONS = 200
MAX_FOUND = 50
MAX_ENTRIES = 20_000  # entries of a folder that a completion examines
_OPENERS = "([{<\"'“„«‘"  # characters that may precede the `@`, besides a space
_CLOSERS = ".,;:!?)]}>\"'”“»’…"  # characters that may follow a path without belonging to it
_MENTION = re.compile(rf'(?:^|(?<=[\s{re.escape(_OPENERS)}]))@(?:"([^"\n]+)"|(\S+))')
_TYPED = re.compile(rf'(?:^|[\s{re.escape(_OPENERS)}])@("(?=[^"\n]*$)|(?=[^\s"]*$))(.*)$')
"""A mention that is being typed: an open quote, and the path so far."""
_FENCED = re.compile(
    r"^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_LINES = re.compile(r":\d{1,9}(?:[-:]\d{1,9})?$")
"""The line numbers after a file name, as compilers write them: `main.py:12`."""
_ENDING = re.compile(r"\.([A-Za-z0-9]{1,8})(?![A-Za-z0-9.])")
_FILE_ENDINGS = """
bash bat bmp c cc cfg conf cpp cs css csv diff doc docx env gif go gz h hpp html ini ipynb java
jpeg jpg js json jsonl jsx kt log lua md mjs odt patch pdf php pl png ppt pptx ps1 py r rb
rs rst scala sh sql svg swift tar tex toml ts tsv tsx txt vue webp xls xlsx xml yaml yml zip zsh
"""
"""File extensions by which a word is recognized as a file. `@app.route` has none of them."""


Search = Callable[[str, int], Sequence[str]]
"""Returns at most that many paths that contain a text."""


class Mention(Struct, frozen=True):
    """A possible file. `names` are the paths to try, and the first one that exists is used."""

    names: tuple[str, ...]
    quoted: bool = False

    @property
    def is_path(self) -> bool:
        """True if, judging by its form, it can only be a path."""
        name = self.names[-1]
        if self.quoted or name.startswith(("/", "./", "../", "~/")):
            return True
        ending = _ENDING.search(name.rpartition("/")[2])
        return ending is not None and ending[1].lower() in _FILE_ENDINGS.split()


def mentions(text: str) -> tuple[Mention, ...]:
    """Return all mentions in a query, without duplicates."""
    unique: dict[Mention, None] = {}
    prose = ""
    if "@" in text:
        prose = _CODE.sub(" ", _FENCED.sub("", text))
    for quoted, word in _MENTION.findall(prose):
        if quoted:
            unique[Mention((quoted,), quoted=True)] = None
        elif len(word) <= MAX_PATH and (bare := word.rstrip(_CLOSERS)).lstrip(_CLOSERS):
            # the word as typed, then without the characters that may follow a path
            ends = range(len(word), max(len(bare), len(word) - 8), -1)
            names = (*(word[:end] for end in ends), bare, _LINES.sub("", bare))
            unique[Mention(tuple(dict.fromkeys(names)))] = None
    return tuple(unique)


def mention_of(path: str) -> str:
    """Return a path as text that names it, `@path` or `@"path"`; empty if no text can."""
    if any(sign in path for sign in '"`\n\r\0'):
        return ""
    if path[-1:] in _CLOSERS or any(sign.isspace() for sign in path):
        return f'@"{path}"'
    return f"@{path}"


def completions(before: str, search: Search | None = None) -> Iterator[tuple[str, int]]:
    """Yield completions of the text before the cursor: a new text and the length it replaces.
    After the names in the typed folder come the paths that `search` finds.
    """
    typed = _TYPED.search(before[-2 * MAX_PATH :])
    if typed is None:
        return
    quote, word = typed.groups()
    told = set()
    for path, is_folder in _in_folder(word):
        told.add(path)
        yield _as_typed(path, quote, is_folder), len(quote + word)
    for path in search(word, MAX_FOUND) if search is not None else ():
        if path not in told:
            yield _as_typed(path, quote), len(quote + word)


def _as_typed(path: str, quote: str, is_folder: bool = False) -> str:
    """Return a path after its opening quote, if it needs one. A folder's remains open."""
    if quote or any(sign.isspace() for sign in path):
        return f'"{path}' if is_folder else f'"{path}"'
    return path


def _in_folder(word: str) -> Iterator[tuple[str, bool]]:
    """Yield the paths in the folder of `word` that begin with it, and whether each is a folder."""
    folder, slash, start = word.rpartition("/")
    children = []
    try:
        with os.scandir(os.path.expanduser(f"{folder}{slash}") or ".") as entries:  # noqa: PTH111 - Path raises without a home
            for entry in islice(entries, MAX_ENTRIES):
                name = entry.name
                is_hidden = name.startswith(".") and not start
                is_usable = name.isprintable() and '"' not in name
                if name.startswith(start) and is_usable and not is_hidden:
                    children.append((name, entry.is_dir()))
    except (OSError, ValueError):
        return
    for name, is_folder in sorted(children)[:MAX_COMPLETIONS]:
        yield f"{folder}{slash}{name}{'/' * is_folder}", is_folder
