"""Word pieces (pure but for reading their list once): a text as the numbers that BERT's uncased
models read.

The list is package data; `data/NOTICE.md` says where it is from. Whatever the text, the work is
bounded by how many pieces are asked for: of a very long text only the beginning is looked at.
"""

from __future__ import annotations

import hashlib
import unicodedata
import zlib
from functools import cache
from importlib.resources import files
from typing import NoReturn

from chat_loop.errors import ModelError

VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""The sha256 of the list."""
SIZE = 30_522
_BYTES = 231_508
_UNKNOWN, _START, _END = 100, 101, 102
_CHARS_PER_PIECE = 20
"""A text that has fewer pieces than this suggests consists of blanks, or of words that no piece is
for.
"""
_LONGEST_WORD = 100
_KEPT_CHARACTERS = 20_000

_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class _Table(dict[int, str]):
    """What stands for a character, for `str.translate`; found out when it is first met."""

    def __missing__(self, code: int) -> str:
        found = self.replacement(code)
        if len(self) < _KEPT_CHARACTERS:
            self[code] = found
        return found

    def replacement(self, code: int) -> str:
        raise NotImplementedError


class _Cleaning(_Table):
    """Without what cannot be seen; every ideograph is a word."""

    def replacement(self, code: int) -> str:
        char = chr(code)
        if char in "\t\n\r":
            return " "
        if code == 0xFFFD or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
            return ""
        if char.isspace():
            return " "
        return f" {char} " if any(first <= code <= last for first, last in _IDEOGRAPHS) else char


class _Parting(_Table):
    """Without accents; every mark of punctuation is a word."""

    def replacement(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if category == "Mn":
            return ""
        marks = category.startswith("P") or (code < 0x80 and category.startswith("S"))
        return f" {char} " if marks else char.lower()


_CLEANING, _PARTING = _Cleaning(), _Parting()


@cache
def _pieces() -> dict[str, int]:
    """The pieces and their numbers. Raises ModelError when the list is not the known one."""
    packed = files("chat_loop.search").joinpath("data/vocab.txt.gz").read_bytes()
    try:
        raw = zlib.decompressobj(wbits=31).decompress(packed, _BYTES + 1)
    except zlib.error:
        _refuse()
    if hashlib.sha256(raw).hexdigest() != VOCABULARY:
        _refuse()
    return {piece: number for number, piece in enumerate(raw.decode().rstrip("\n").split("\n"))}


def _refuse() -> NoReturn:
    raise ModelError("The list of word pieces is damaged.", "Install chat-loop again.")


@cache
def _longest() -> int:
    return max(map(len, _pieces()))


def words(text: str) -> list[str]:
    """The words of a text: small letters without accents; marks of punctuation and ideographs are
    words.
    """
    return unicodedata.normalize("NFD", text.translate(_CLEANING)).translate(_PARTING).split()


def familiar(text: str, limit: int = 128) -> float:
    """How many of a text's words are pieces of their own: 1 for plain English, about half in other
    languages.

    0 to 1; 1 when there are no words. Of a long text only the beginning counts.
    """
    known = [word for word in words(text[: _CHARS_PER_PIECE * limit]) if word[0].isalnum()][:limit]
    return len(known) / sum(len(_numbers_of(word)) for word in known) if known else 1.0


def numbers(text: str, limit: int = 128) -> list[int]:
    """The pieces of a text by number between those for its start and its end: at least 2, at most
    `limit`.

    Names of special pieces, such as `[SEP]`, are read as the words they look like.
    """
    room = max(0, limit - 2)
    found: list[int] = []
    for word in words(text[: _CHARS_PER_PIECE * room]):
        found += _numbers_of(word)
        if len(found) >= room:
            break
    return [_START, *found[:room], _END]


def _numbers_of(word: str) -> list[int]:
    """The longest piece that a word begins with, then the longest that goes on, and so forth."""
    if len(word) > _LONGEST_WORD:
        return [_UNKNOWN]
    pieces, longest = _pieces(), _longest()
    found = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(min(len(word), start + longest), start, -1):
            number = pieces.get(mark + word[start:end])
            if number is not None:
                break
        else:
            return [_UNKNOWN]
        found.append(number)
        start = end
    return found
