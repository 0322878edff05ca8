"""Secrets taken out of a text before it goes where it was not typed: a summary, a log, an index, an
export.

Three kinds of evidence count: the keys that the program itself uses (`keys_from`), a value's own
shape, as tokens of known services, private keys and cards have it, and what stands around it, as
`Authorization: …` (both in `shapes`) or `password = …` (`named`, which asks `values`). There is no
rule for "looks random" alone, which would take hashes, ids and images away from a conversation
about code.

Every step is linear in the text: what a pattern may read ahead is bounded, or it is a run that is
read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chat_loop.redact.values import Span

_ROUNDS = 8
"""Without a secret another may come to light, by a boundary where a letter was; more than two
rounds are contrived.
"""
_MARK = re.compile(r"\[REDACTED:[a-z-]{2,16}:([0-9a-f]{1,6})\]")
_SHORTEST_KEY = 12
"""Characters of a key that is looked for wherever it may stand."""
_MOST_MARKS = 100_000
"""A mark with a larger number, or with letters, counts none: it was made of a hash by an earlier
version.
"""


def keys_from(source: Callable[[], Iterable[str]]) -> None:
    """Have the values of `source` redacted wherever they stand: the keys that the program uses. It
    is asked once, when the first text is redacted. Values that are short, or a plain word as
    servers without keys take it, are left.
    """
    _keys.take(source)


class Redactor:
    """Redacts the texts of one document: each secret becomes `[REDACTED:kind:number]`, equal ones
    the same mark.

    The numbers go on behind those of marks that stand in the texts already. Marks stay as they are.
    """

    def __init__(self, *marked: str) -> None:
        self._numbers: dict[str, int] = {}
        self._last = 0
        for text in marked:
            self._count(text)

    def __call__(self, text: str) -> str:
        self._count(text)
        for _ in range(_ROUNDS):
            spans = _merged(_secrets(text))
            if not spans:
                break
            text = self._replaced(text, spans)
        return text

    def _count(self, text: str) -> None:
        if "[REDACTED:" in text:
            given = (int(mark[1]) for mark in _MARK.finditer(text) if mark[1].isdecimal())
            self._last = max([self._last, *(number for number in given if number < _MOST_MARKS)])

    def _replaced(self, text: str, spans: list[Span]) -> str:
        parts, done = [], 0
        for start, end, kind in spans:
            secret = text[start:end]
            if secret not in self._numbers:
                self._last += 1
                self._numbers[secret] = self._last
            parts += [text[done:start], f"[REDACTED:{kind}:{self._numbers[secret]}]"]
            done = end
        return "".join(parts) + text[done:]


def redacted(text: str) -> str:
    """Return a text that is a document of its own with each secret as a mark. A second time changes
    nothing.
    """
    return Redactor()(text)


class _Keys:
    """The program's own keys: where they come from, and what came from there."""

    def __init__(self) -> None:
        self.take(tuple)

    def take(self, source: Callable[[], Iterable[str]]) -> None:
        self._source = source
        self._known: tuple[str, ...] | None = None

    def all(self) -> tuple[str, ...]:
        if self._known is None:
            self._known = tuple({key for key in self._source() if _is_key(key)})
        return self._known


_keys = _Keys()


def _is_key(value: str) -> bool:
    plain = value.isalpha() and (value.islower() or value.isupper() or value.istitle())
    return len(value) >= _SHORTEST_KEY and not plain


def _own_keys(text: str) -> Iterator[Span]:
    for key in _keys.all():
        at = text.find(key)
        while at >= 0:
            yield at, at + len(key), "key"
            at = text.find(key, at + len(key))


def _merged(spans: Iterator[Span]) -> list[Span]:
    """In order, without overlaps; of equal spans the first found gives the kind."""
    merged: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first = merged[-1]
            merged[-1] = (first[0], max(first[1], end), first[2])
        else:
            merged.append((start, end, kind))
    return merged


def _secrets(text: str) -> Iterator[Span]:
    """Those of a text, in no order; the marks of an earlier redaction are read as a filler, so that
    they stay.
    """
    from chat_loop.redact import (
        named,
        shapes,
    )  # not before something is redacted: their patterns take long to compile
    from chat_loop.redact.values import FILLER

    if "[REDACTED:" in text:
        text = _MARK.sub(lambda mark: FILLER * len(mark[0]), text)
    lowered = text.replace(
        "\u0130", "i"
    ).lower()  # the one character whose lower case is longer than itself
    yield from _own_keys(text)
    yield from shapes.secrets(text, lowered)
    yield from named.secrets(text, lowered)
