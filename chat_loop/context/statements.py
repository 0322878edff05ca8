"""Statements (pure): the sentences of a text as a block can carry them. A row of a table stands
with its header, and what says nothing outside its place is left out: rows without a header,
formulas and link texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from msgspec.structs import replace

from chat_loop.text import Sentence, sentences

_RULE = re.compile(r"\n[ \t]*\|?[ \t]*:?-[-:| \t]*(?=\n|\Z)")
_LINK = re.compile(r"!?\[[^\]\n]{1,300}\]\([^)\s]{1,1000}\)")
_MATH = re.compile(
    r"\$\$.{1,400}?\$\$|\\\[.{1,400}?\\\]|\\\(.{1,400}?\\\)"
    r"|\$(?=[^$\n]{0,200}[\\^_=])[^$\n]{1,200}\$"
)
_PLACED = re.compile(r"[$\\]|\]\(")
"""What each formula and link has a part of."""
_COMMAND = re.compile(r"(?<![\w:\\./~])\\[A-Za-z]{1,20}(?![\w\\])")
"""A command of LaTeX outside of math signs. A backslash inside a path follows something."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEW = 3  # words beside a link that only introduce it
_NOTHING = frozenset(("", "-", "–", "—"))


def statements(text: str) -> Iterator[Sentence]:
    """Yield the sentences of `text` in order, with each row of a table as `header = cell | …`."""
    header: list[str] = []
    last: Sentence | None = None
    for sentence in sentences(text):
        if sentence.role != "row":
            header = []
            last = None
            yield sentence
            continue
        between = text[last.end : sentence.start] if last is not None else "\n\n"
        if "\n\n" in between:
            header = []
        elif not header and last is not None and _RULE.search(between.rstrip("| \t")):
            header = _cells(last)
        last = sentence
        if header:
            yield replace(sentence, text=_with_header(header, _cells(sentence)))


def _cells(row: Sentence) -> list[str]:
    return [cell.strip() for cell in row.text.split("|")]


def _with_header(header: list[str], cells: list[str]) -> str:
    parts = []
    for name, cell in zip_longest(header, cells, fillvalue=""):
        if cell not in _NOTHING:
            parts.append(f"{name} = {cell}" if name else cell)
    return " | ".join(parts)


def without_place(text: str) -> str:
    """Return a sentence of a reply without what says nothing elsewhere: its formulas, and all of it
    if only a few words stand beside its links.
    """
    if _PLACED.search(text) is None:
        return text
    rest = _LINK.sub(" ", text)
    if rest != text and len(_WORD.findall(rest)) <= _FEW:
        return ""
    rest = _MATH.sub(" ", text)
    if _COMMAND.search(rest):
        return ""
    return rest
