"""Sentences (pure): a text cut into the pieces that can stand in the ledger, each word for word, on
one line.

Markdown is understood as far as it decides what is said: fenced code is left out (a one-line
command is kept), list items, table rows, headings and quotations are marked as what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from chat_loop.facts.lexicon import lexicon
from chat_loop.facts.units import MONTHS
from chat_loop.frozen import dataclass

LONGEST = 400
"""Characters of a sentence; a longer one is cut between its clauses."""

Role = Literal["said", "item", "row", "heading", "quoted", "command"]


@dataclass(frozen=True)
class Sentence:
    """One sentence with single blanks between its words. `first`: it opens its line or
    paragraph.
    """

    text: str
    role: Role = "said"
    first: bool = False


_BULLET = re.compile(r"(?:[-*•+–]|\d{1,3}[.)]|[a-z]\))[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = re.compile(r"#{1,6}[ \t]+")
_FENCE = re.compile(r"(?:```|~~~)[`~]{0,9}([\w+-]{0,20})[ \t]*")
_RULED = re.compile(r"[|:\-\s=_*]{3,}")
_END = re.compile(r"[.!?…]{1,4}[\"'”’)\]»*_`“]{0,3}(?=\s)|[。！？]{1,4}[」』）”]?")
_CLAUSE = re.compile(r"(?<=[;,:–—])\s|\s(?=[–—(])")
_LAST_WORD = re.compile(r"(?:[^\W_]\.){0,3}[^\W_]{1,12}\Z")
_SHORT = lexicon(
    """
    mr mrs ms dr prof st hr z.b d.h u.a i.d.r o.ä e.g i.e bzw ca vs approx incl inkl zzgl ggf evtl resp sr sra sig
    dott mme mio mrd tsd tel str bd p.ej p.es c.à.d m.a.w bijv jan feb apr aug sept okt oct nov dez dec
    """
)
"""Abbreviations that end no sentence."""
_SHORT_BEFORE_FIGURES = lexicon(
    """
    no nr p pp fig vol abs art max min ch sec ext n pos abt room approx nº kap
    """
)
_ORDINAL_BEFORE = lexicon("am der die das dem den im vom zum zur bis ab seit jeden beim des ein")


def split(text: str) -> list[Sentence]:
    """The sentences of `text` in order."""
    found: list[Sentence] = []
    for paragraph, role in _paragraphs(text):
        if role in ("command", "row", "heading"):
            found.append(Sentence(_flat(paragraph)[:LONGEST], role, True))
            continue
        for number, sentence in enumerate(_cut(_flat(paragraph))):
            found.append(Sentence(sentence, role, number == 0))
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())


def _paragraphs(text: str) -> Iterator[tuple[str, Role]]:
    """Lines, those of a hard-wrapped paragraph joined, without bullets and signs of markdown before
    them.
    """
    waiting: tuple[str, Role] | None = None
    for line, role in _lines(text):
        if waiting is not None and role == "said" and _wraps(waiting[0], line):
            waiting = (f"{waiting[0]} {line}", waiting[1])
            continue
        if waiting is not None:
            yield waiting
        waiting = (line, role) if line else None
    if waiting is not None:
        yield waiting


def _wraps(before: str, line: str) -> bool:
    """Whether a line only goes on because somebody's editor broke it there."""
    return len(before) >= 50 and line[:1].islower() and before[-1] not in ".!?:;"


def _lines(text: str) -> Iterator[tuple[str, Role]]:
    """The lines with what they are; an empty one for what separates paragraphs. Fenced code is left
    out.
    """
    fence = ""
    block: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        mark = _FENCE.fullmatch(bare)
        if fence and mark is not None and bare.startswith(fence):
            if len(block) == 1 and 3 < len(block[0]) <= 200:
                yield block[0], "command"
            fence, block = "", []
        elif fence:
            block += [bare] if bare and len(block) < 2 else []
        elif mark is not None:
            fence = bare[:3]
            yield "", "said"
        else:
            yield ("", "said") if _RULED.fullmatch(bare) else _read_line(bare)


def _read_line(bare: str) -> tuple[str, Role]:
    if bare.startswith("|") and bare.endswith("|"):
        return bare.strip("| "), "row"
    if heading := _HEADING.match(bare):
        return bare[heading.end() :], "heading"
    if bare.startswith(">"):
        return bare.lstrip("> "), "quoted"
    if bullet := _BULLET.match(bare):
        return bare[bullet.end() :], "item"
    return bare, "said"


def _cut(flat: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(flat):
        if match.group()[0] in ".…" and _goes_on(flat, match):
            continue
        yield from _pieces(flat[start : match.end()].strip())
        start = match.end()
    yield from _pieces(flat[start:].strip())


def _goes_on(flat: str, end: re.Match[str]) -> bool:
    """Whether the full stop belongs to an abbreviation, an initial or an ordinal."""
    if end.group() == "...":
        return flat[end.end() + 1 : end.end() + 2].islower()
    word = _LAST_WORD.search(flat, max(0, end.start() - 20), end.start())
    if word is None:
        return False
    last = word.group().lower()
    following = flat[end.end() + 1 : end.end() + 2]
    if last in _SHORT or (len(last) == 1 and last.isalpha() and word.group() != "I"):
        return True
    if following.isdigit():
        return last in _SHORT_BEFORE_FIGURES
    if last.isdigit() and len(last) <= 2:
        before = flat[max(0, word.start() - 12) : word.start()].split()
        after = flat[end.end() : end.end() + 12].split()
        month = bool(after) and after[0].lower().rstrip(".,") in MONTHS
        return (
            month or following.islower() or (bool(before) and before[-1].lower() in _ORDINAL_BEFORE)
        )
    return last in ("etc", "usw", "min", "max", "p.m", "a.m") and following.islower()


def _pieces(sentence: str) -> Iterator[str]:
    """A sentence of at most LONGEST characters as it is; a longer one in whole clauses, or cut when
    it has none.
    """
    start = 0
    while len(sentence) - start > LONGEST:
        low, high = start + LONGEST // 2, start + LONGEST
        cut = max((match.end() for match in _CLAUSE.finditer(sentence, low, high)), default=0)
        cut = cut or sentence.rfind(" ", low, high) + 1 or high
        yield sentence[start:cut].strip()
        start = cut
    if rest := sentence[start:].strip():
        yield rest
