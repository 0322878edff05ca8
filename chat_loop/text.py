"""Split text into sentences (pure), for the ledger and for search, in any language.

It parses only the markdown that decides where a statement ends. A period is judged by its
neighbors. In doubt a sentence continues, since a sentence that is too long still has its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

MAX_SENTENCE = 400  # characters of a sentence; a longer one is cut between its clauses
SentenceRole = Literal["prose", "item", "row", "heading", "quoted", "command", "code"]
"""`command` is a fenced block of one line; `code` is a line of a longer one."""


class Sentence(msgspec.Struct, frozen=True):
    """One sentence with single blanks between its words, and its position in its text."""

    text: str
    start: int
    end: int
    role: SentenceRole = "prose"


class _LineBlock(NamedTuple):
    """A line, or the lines of a wrapped paragraph, without its bullet."""

    start: int
    end: int
    role: SentenceRole


_LINE = re.compile(r"[^\n]+")
_BULLET = re.compile(r"(?:[-*•+–]|\d{1,3}[.)]|[a-z]\))[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = re.compile(r"#{1,6}[ \t]+")
_QUOTED = re.compile(r">[> \t]*")
_FENCE = re.compile(r"(?:```|~~~)[`~]{0,9}[\w+-]{0,20}")
_RULE = re.compile(r"[|:\-\s=_*]{3,}")
_END = re.compile(  # begins with one set of signs, so that the search skips all others
    r"[.!?…。！？](?:(?<![。！？])[.!?…]{0,3}[\"'”’)\]»*_`“]{0,3}(?=\s)"
    r"|(?<=[。！？])[。！？]{0,3}[」』）”]?)"
)
_CLAUSE = re.compile(r"(?<=[;,:–—])\s|\s(?=[–—(])")
_TITLES = frozenset(
    ("dr", "dra", "mr", "mrs", "ms", "prof", "sr", "sra", "st", "hr", "fr", "bzw", "approx", "incl")
)
"""Abbreviations of several letters that come before a capital letter."""
_MONTH = re.compile(
    r"jan|f[eé][bv]|m[aä]r|apr|avr|abr|ma[ij]|jun|jul|aug|sep|o[kc]t|nov|de[zc]", re.IGNORECASE
)
"""Beginnings of months, for languages that write a period after the day."""


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of `text` in order, in linear time."""
    result: list[Sentence] = []
    for begin, end, role in _blocks(text):
        start = begin
        if role not in ("row", "heading", "command", "code"):
            for match in _END.finditer(text, begin, end):
                if match.group()[0] not in ".…" or not _goes_on(text, begin, match):
                    result += _pieces(text, start, match.end(), role)
                    start = match.end()
        result += _pieces(text, start, end, role)
    return result


def _blocks(text: str) -> Iterator[_LineBlock]:
    """Yield the lines of the text, joined if they are a paragraph that an editor wrapped."""
    last: _LineBlock | None = None
    for block in _lines(text):
        if last is not None and block is not None:
            wrapped = last.end - last.start >= 50 and last.role in ("prose", "item", "quoted")
            ended = text[last.end - 1] in ".!?:;"
            if wrapped and not ended and block.role == "prose" and text[block.start].islower():
                last = last._replace(end=block.end)
                continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last


def _lines(text: str) -> Iterator[_LineBlock | None]:
    """Yield each line with its role; None for a line that separates paragraphs."""
    fence = ""
    inside: list[_LineBlock] = []
    last = 0
    for match in _LINE.finditer(text):
        if "\n\n" in text[last : match.start()]:
            yield None
        last = match.end()
        line = match.group()
        bare = line.strip()
        start = match.start() + len(line) - len(line.lstrip())
        end = start + len(bare)
        if fence and bare.startswith(fence) and _FENCE.fullmatch(bare):
            if len(inside) == 1 and inside[0].end - inside[0].start <= 200:
                inside = [inside[0]._replace(role="command")]
            yield from inside
            fence = ""
            inside = []
        elif fence:
            if bare:
                inside += [_LineBlock(start, end, "code")]
        elif _FENCE.fullmatch(bare):
            fence = bare[:3]
            yield None
        else:
            rule = not bare or _RULE.fullmatch(bare)
            yield None if rule else _read_line(bare, start, end)
    yield from inside  # a fence that was never closed


def _read_line(bare: str, start: int, end: int) -> _LineBlock:
    if bare.startswith("|") and bare.endswith("|"):
        inner = bare.strip("| \t")
        start += bare.find(inner)
        return _LineBlock(start, start + len(inner), "row")
    role: SentenceRole
    for pattern, role in ((_HEADING, "heading"), (_QUOTED, "quoted"), (_BULLET, "item")):
        if (match := pattern.match(bare)) is not None and match.end() < len(bare):
            return _LineBlock(start + match.end(), end, role)
    return _LineBlock(start, end, "prose")


def _goes_on(text: str, begin: int, stop: re.Match[str]) -> bool:
    """Return True when a period belongs to an abbreviation, an initial or an ordinal."""
    after = text[stop.end() : stop.end() + 4].lstrip()[:3]
    if stop.group() == "...":
        return after[:1].islower()
    start = stop.start()
    while start > begin and text[start - 1].isalnum():
        start -= 1
    last = text[start : stop.start()]
    if not last or len(last) > 12:
        return False
    is_initials = start > begin + 1 and text[start - 1] == "." and text[start - 2].isalnum()
    if is_initials or (len(last) == 1 and last.isalpha() and last != "I"):
        return True  # z.B., J. Smith
    if last.lower() in _TITLES:
        return True
    small = after[:1].islower()
    if last.isdigit():  # am 3. Mai
        return len(last) <= 2 and (small or _MONTH.match(after) is not None)
    return len(last) <= 4 and last.isalpha() and (small or after[:1].isdigit())  # ca. 5


def _pieces(text: str, start: int, end: int, role: SentenceRole) -> Iterator[Sentence]:
    """Yield a sentence, or its clauses if it is too long."""
    start = end - len(text[start:end].lstrip())
    while start < end:
        cut = end
        if end - start > MAX_SENTENCE:
            low = start + MAX_SENTENCE // 2
            high = start + MAX_SENTENCE
            cut = max((match.end() for match in _CLAUSE.finditer(text, low, high)), default=0)
            cut = cut or text.rfind(" ", low, high) + 1 or high
        whole = text[start:cut].rstrip()
        yield Sentence(" ".join(whole.split()), start, start + len(whole), role)
        start = cut
        while start < end and text[start].isspace():
            start += 1
