"""Texts that were judged by hand before the code that they measure, one case a line. Half of each
file, chosen by a hash, is held out: nothing is tuned on it.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

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
