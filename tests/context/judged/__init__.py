"""Texts that were judged by hand before the code that they measure, one case a line. Half of each
file, chosen by a hash, is held out: nothing is tuned on it.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

LANGUAGES = ("en", "de", "es", "ja")
"""The languages of the four lines of an item in `pending.txt`, in their order."""


def cases(name: str) -> list[tuple[str, ...]]:
    """Return the lines of a file, split at their bars, without comments and empty lines."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    lines = (line for line in text.split("\n") if line and not line.startswith("#"))
    return [tuple(line.split("|")) for line in lines]


def is_held_out(case: tuple[str, ...]) -> bool:
    """Return True for the half of the cases that nothing may be tuned on."""
    return sha256("|".join(case).encode()).digest()[0] % 2 == 1


class Talk(NamedTuple):
    """A conversation: its pairs of query and reply, parts of lines that its block must have, and
    parts of useless ones. A useless part after `=` is a whole line.
    """

    name: str
    pairs: list[tuple[str, str]]
    needed: list[str]
    useless: list[str]


def talks() -> list[Talk]:
    """Return the conversations of `talks.txt`."""
    text = Path(__file__).with_name("talks.txt").read_text("utf-8")
    return [_talk(part) for part in text.split("\n== ")[1:]]


def _talk(part: str) -> Talk:
    name, _, rest = part.partition("\n")
    said: list[str] = []
    marks: dict[str, list[str]] = {"K": [], "X": []}
    for line in rest.rstrip("\n").split("\n"):
        if line[0] in "UA":
            said.append(line[2:])
        elif line[0] in marks:
            marks[line[0]].append(line[2:])
        else:
            said[-1] += f"\n{line[2:]}"
    return Talk(name, list(zip(said[::2], said[1::2], strict=True)), marks["K"], marks["X"])
