"""The files that a text names, `@path` or `@"path with blanks"` at the beginning of a word, and the
completions of a path. Code, addresses such as `me@example.org`, and `\\@path` name none.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

from msgspec import Struct

MAX_PATH = 1_000
"""Characters: a longer word is no path."""
MAX_COMPLETIONS = 200
_OPENERS = "([{<\"'“„«‘"
"""Signs that may stand before the `@`, beside a blank."""
_CLOSERS = ".,;:!?)]}>\"'”“»’…"
"""Signs that may follow a path without belonging to it."""
_MENTION = re.compile(rf'(?:^|(?<=[\s{re.escape(_OPENERS)}]))@(?:"([^"]+)"|(\S+))')
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LINES = re.compile(r":\d{1,9}(?:[-:]\d{1,9})?$")
"""Lines of a file, as compilers name them: `main.py:12`."""
_ENDING = re.compile(r"\.([A-Za-z0-9]{1,8})(?![A-Za-z0-9.])")
_FILE_ENDINGS = """
bash bat bmp c cc cfg conf cpp cs css csv diff doc docx env gif go gz h hpp html ini ipynb java
jpeg jpg js json jsonl jsx kt log lua md mjs odt patch pdf php pl png ppt pptx ps1 py r rb
rs rst scala sh sql svg swift tar tex toml ts tsv tsx txt vue webp xls xlsx xml yaml yml zip zsh
"""
"""Endings of names that are meant as files; `@app.route` is not."""


class Mention(Struct, frozen=True):
    """A file that may be meant. `names` are the paths to look for, the first that exists counts."""

    names: tuple[str, ...]
    quoted: bool = False

    @property
    def is_path(self) -> bool:
        """True when it can only be meant as a path, by its form."""
        name = self.names[-1]
        if self.quoted or name.startswith(("/", "./", "../", "~/")):
            return True
        ending = _ENDING.search(name.rpartition("/")[2])
        return ending is not None and ending[1].lower() in _FILE_ENDINGS.split()

    @property
    def is_doubtful(self) -> bool:
        """True when it looks as if it could be a path."""
        return any(sign in self.names[-1].strip(_CLOSERS) for sign in "./")


def mentions(text: str) -> tuple[Mention, ...]:
    """Return all mentions of a query, each once."""
    unique: dict[Mention, None] = {}
    for line in _prose(text) if "@" in text else ():
        for quoted, word in _MENTION.findall(line):
            if quoted:
                unique[Mention((quoted,), quoted=True)] = None
            elif len(word) <= MAX_PATH and (bare := word.rstrip(_CLOSERS)).lstrip(_CLOSERS):
                # the word as it stands, and without what may only follow a path
                ends = range(len(word), max(len(bare), len(word) - 8), -1)
                names = (*(word[:end] for end in ends), bare, _LINES.sub("", bare))
                unique[Mention(tuple(dict.fromkeys(names)))] = None
    return tuple(unique)


def _prose(text: str) -> Iterator[str]:
    """Yield the lines outside of fences, with inline code blanked."""
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        mark, rest = match.groups() if match is not None else ("", "")
        if fence:
            if mark.startswith(fence) and not rest.strip():
                fence = ""
            continue
        if mark and not (mark[0] == "`" and "`" in rest):
            fence = mark
            continue
        parts, end = [], 0
        opened: re.Match[str] | None = None
        for run in re.finditer("`+", line):
            if opened is None:
                opened = run
            elif len(run[0]) == len(opened[0]):
                parts += [line[end : opened.start()], " " * (run.end() - opened.start())]
                end, opened = run.end(), None
        yield "".join(parts) + line[end:]


def completions(before: str) -> Iterator[tuple[str, int]]:
    """Yield the completions of the text before the cursor, as (new text, how many characters it
    replaces), sorted. Hidden names only come after a dot; a name with blanks is quoted.
    """
    line = before[-2 * MAX_PATH :].rpartition("\n")[2]
    at = line.rfind("@")
    while at > 0 and not line[at - 1].isspace() and line[at - 1] not in _OPENERS:
        at = line.rfind("@", 0, at)
    word = line[at + 1 :]
    quoted = word.startswith('"')
    typed = word[1:] if quoted else word
    if at < 0 or '"' in typed or (not quoted and any(sign.isspace() for sign in typed)):
        return
    folder, slash, start = typed.rpartition("/")
    for name, is_folder in _entries(os.path.expanduser(f"{folder}{slash}") or ".", start):  # noqa: PTH111
        path = f"{folder}{slash}{name}"
        if quoted or any(sign.isspace() for sign in path):
            path = f'"{path}/' if is_folder else f'"{path}"'
        elif is_folder:
            path += "/"
        yield path, len(word)


def _entries(folder: str, start: str) -> list[tuple[str, bool]]:
    """Return (name, is_folder) of entries with this prefix, within 20,000 and 0.15 seconds."""
    matches: list[tuple[str, bool]] = []
    limit = time.monotonic() + 0.15
    try:
        with os.scandir(folder) as entries:
            for seen, entry in enumerate(entries):
                late = not seen % 100 and time.monotonic() > limit
                if seen >= 20_000 or len(matches) >= MAX_COMPLETIONS or late:
                    break
                name = entry.name
                hidden = name.startswith(".") and not start.startswith(".")
                if name.startswith(start) and not hidden and name.isprintable() and '"' not in name:
                    matches.append((name, entry.is_dir()))
    except (OSError, ValueError):
        return []
    return sorted(matches)
