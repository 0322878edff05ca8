"""The well-known places of keys: which paths are such, judged by their names alone."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

_LONGEST = 4_096  # characters of a path
_DEEPEST = 5  # the most steps of a name in the table
_SEPARATORS = re.compile(r"[\s;|&<>()$`={},:@]+")
"""What stands between the words of a command, and before a path in a word."""


def key_place(path: str) -> str:
    """Return the name of the well-known place of keys in which a path lies, or an empty string.

    Only the path is judged. Case, Unicode forms, invisible characters and steps such as `x/..` make
    no difference. To judge a link, give its own path and its target. A hard link under another name
    is not found: no path leads from it to its other names, and a search for them would read every
    folder of the disk. The rule for texts still covers what it contains.
    """
    if len(path) > _LONGEST:
        return ""
    folded = _folded(path)
    folders, files, names = _patterns()
    for folder in folders:
        if f"/{folder.casefold()}" in f"/{folded}/":
            return folder
    tail = "/".join(folded.rsplit("/", _DEEPEST)[-_DEEPEST:])
    match = files.fullmatch(tail)
    if match is not None and match.lastindex:
        return names[match.lastindex - 1]
    return ""


def paths_in_command(command: str) -> tuple[str, ...]:
    """Return the words of a shell command that may be paths."""
    words = re.sub(r"['\"\\]", "", command)
    return tuple(filter(None, _SEPARATORS.split(words)))


def paths_in_arguments(arguments: Mapping[str, object]) -> tuple[str, ...]:
    """Return the texts among the arguments of a tool that may be paths."""
    paths = []
    for value in arguments.values():
        texts = value if isinstance(value, list) else [value]
        for text in texts:
            if isinstance(text, str) and "\n" not in text:
                paths.append(text)
    return tuple(paths)


def _folded(path: str) -> str:
    """Return a path in the form in which a file system that ignores case may compare it."""
    text = unicodedata.normalize("NFKC", path.replace("\\", "/")).casefold()
    printable = "".join(filter(str.isprintable, text))
    steps = posixpath.normpath(printable).split("/")
    return "/".join(step.rstrip(". ") or step for step in steps)


@cache
def _patterns() -> tuple[tuple[str, ...], re.Pattern[str], tuple[str, ...]]:
    """Return the folders, and a pattern with a group for each of the other names."""
    folders = []
    groups = []
    names = []
    for place in known_places():
        excluded = "|".join(map(_expression, place.get("except", ())))
        for name in place["names"]:
            if name.endswith("/"):
                folders.append(name)
                continue
            group = f"({_expression(name)})"
            if excluded:
                group = rf"(?!(?:{excluded})\Z){group}"
            groups.append(group)
            names.append(name.removeprefix("?"))  # so that `.key` alone is none
    files = re.compile(f"(?:.*/)?(?:{'|'.join(groups)})", re.DOTALL)
    return tuple(folders), files, tuple(names)


def known_places() -> Iterator[dict[str, Any]]:
    """Yield the entries of the table: `names`, `source` and perhaps `except`."""
    data = Path(__file__).with_name("key_places.toml").read_bytes()
    yield from msgspec.toml.decode(data, type=dict[str, Any])["place"]


def _expression(name: str) -> str:
    """Return the regular expression of a name with `*` and `?`, which match no slash."""
    expression = ""
    for sign in name.casefold():
        expression += {"*": "[^/]*", "?": "[^/]"}.get(sign, re.escape(sign))
    return expression
