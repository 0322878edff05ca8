"""Sentences (pure): where they begin and end, and what they look like."""

from __future__ import annotations

import re
from collections.abc import Iterator

ASKS, TELLS = 1, 2
LONGEST = 600
"""Characters; what is longer is cut between two words."""
_SHORTEST = 40

_REQUESTS = """
    ask called describe draft explain give go help list make need next rewrite say show summarise summarize tell
    translate try understand want write
    beschreib beschreibe erklär erkläre erzähl erzähle gib heißt heißen hilf lautet mach mache nenn nenne sag schreib
    schreibe übersetz übersetze weiter zeig zeige
    aide appelle continue corrige décris dis donne explique montre raconte rédige traduis écris
    ayuda continúa cuenta cuéntame da dame di dime escribe explica llama muestra sigue traduce
    chiama continua dammi dimmi mostra scrivi spiega traduci
    chama diga escreva explique mostre traduza
    geef heet leg schrijf toon vertaal vertel
"""
REQUESTS = frozenset(_REQUESTS.split())
"""What people say to a model whatever they talk about; a sentence that begins so asks for
something.
"""
_OPENERS = frozenset(
    ("please", "bitte", "svp", "and", "then", "now", "und", "dann", "et", "y", "ok", "yes", "ja")
)

_END = re.compile(r"[.!?…。！？\n][^\w\s]{0,3}\s*")
_WIDE_ENDS = "。！？\n"
_VALUE = re.compile(r"[\d`/@_]")


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text stand: every line is cut at its full stops; blanks around them
    are left out.

    Very short sentences that ask for nothing stand together with the next one of their line.
    """
    start = 0
    for match in _END.finditer(text):
        here, end = match.start(), match.end()
        mark = text[here]
        if mark not in _WIDE_ENDS:
            blank = end == len(text) or text[end - 1].isspace()
            if not blank or (mark == "." and _abbreviates(text, here)):
                continue
        if "\n" not in match.group() and end - start < _SHORTEST and not asks(text[start:end]):
            continue
        yield from _cut(text, start, here if mark == "\n" else end)
        start = end
    yield from _cut(text, start, len(text))


def _abbreviates(text: str, stop: int) -> bool:
    """Whether the full stop at `stop` ends no sentence: that of `e.g.` and `z. B.`, or an ordinal
    (`3. August`).
    """
    before = text[max(0, stop - 3) : stop]
    if before[-1:].isdigit():
        return before.rstrip("0123456789")[-1:] in (" ", "\n", "(")
    return before[-1:].isalpha() and before[-2:-1] in (" ", "\n", "(", ".")


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        at = max(
            text.rfind(" ", start + 1, start + LONGEST),
            text.rfind("\n", start + 1, start + LONGEST),
        )
        if at < 0:
            at = text.find(" ", start + LONGEST, end)
        if at < 0:
            break
        if text[start:at].strip():
            yield start, at
        start = at
    if text[start:end].strip():
        yield start, end


def asks(sentence: str) -> bool:
    """Whether a sentence is a question or a request."""
    if sentence.rstrip("\"'”»)*_ \n").endswith(("?", "？")):
        return True
    first, *more = [word.strip('.,:;!¡*_"“„«').lower() for word in sentence.split(None, 2)[:2]] or [
        ""
    ]
    return first in REQUESTS or (first in _OPENERS and more != [] and more[0] in REQUESTS)


def kind_of(sentence: str) -> int:
    """`ASKS` when a sentence asks for something, and `TELLS` when it holds a number, a path, an id
    or code.
    """
    return ASKS * asks(sentence) + TELLS * (_VALUE.search(sentence) is not None)
