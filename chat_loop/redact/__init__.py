"""Secrets taken out of a text before it goes where it was not typed: a summary, a log, an index, an export.

Two kinds of evidence count: a value's own shape, as tokens of known services, private keys and cards have it, and what
stands around it, as `Authorization: …` (both in `shapes`) or `password = …` (`named`, which asks `values`). There is no
rule for "looks random" alone, which would take hashes, ids and images away from a conversation about code.

Every step is linear in the text: what a pattern may read ahead is bounded, or it is a run that is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from chat_loop.redact import named, shapes
from chat_loop.redact.values import FILLER, Span

_ROUNDS = 8
"""Without a secret another may come to light, by a boundary where a letter was; more than two rounds are contrived."""
_MARK = re.compile(r"\[REDACTED:[a-z-]{2,16}:[0-9a-f]{4}\]")


def redacted(text: str) -> str:
    """Return `text` with each secret as `[REDACTED:kind:abcd]`, where abcd starts the SHA-256 of its value.

    Equal secrets so become equal marks. A text that has been through it comes out the same.
    """
    for _ in range(_ROUNDS):
        spans = _merged(_secrets(text))
        if not spans:
            break
        text = _replaced(text, spans)
    return text


def _replaced(text: str, spans: list[Span]) -> str:
    parts, done = [], 0
    for start, end, kind in spans:
        digest = sha256(text[start:end].encode("utf-8", "surrogatepass")).hexdigest()
        parts += [text[done:start], f"[REDACTED:{kind}:{digest[:4]}]"]
        done = end
    return "".join(parts) + text[done:]


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
    """Those of a text, in no order; the marks of an earlier redaction are read as a filler, so that they stay."""
    if "[REDACTED:" in text:
        text = _MARK.sub(lambda mark: FILLER * len(mark[0]), text)
    lowered = text.replace("\u0130", "i").lower()  # the one character whose lower case is longer than itself
    yield from shapes.secrets(text, lowered)
    yield from named.secrets(text, lowered)
