"""Narratives (pure): reads what a model wrote when it was asked for a summary. Headings, bullets
and fences come in many forms, and text before and after the summary is no part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from chat_loop.errors import RetryableError
from chat_loop.sessions.records import Summary

FIRST = "Initial session."
NOTHING = "The model returned nothing."
NAMES = ("topics", "decisions", "pending")

_KEYS = {
    "background": "background",
    "topic": "topics",
    "topics": "topics",
    "decision": "decisions",
    "decisions": "decisions",
    "pending": "pending",
}
"""Words of the headings that are asked for. In other languages, the order of the lists tells."""
_FRAME = "current session summary"  # the heading that only stands above others
_LONGEST = 6  # words of a heading
_HEADING = re.compile(
    r"(?P<before>[^\w\n]{0,20}(?:\(?\d{1,2}[.):]\)?\s{0,4})?[^\w\n]{0,8})"
    r"(?P<title>[^\W\d_][^:：*\n]{1,80}?)(?P<after>[*_\s]{0,8})"
    r"(?:[:：](?P<close>[*_\s]{0,8})(?P<rest>.*))?"
)
_BULLET = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_SIGN = re.compile(r"\s*[-*•+]\s")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)\s{0,4}[\w-]{0,20}\s*")
_TAG = re.compile(r"\s*</?[A-Za-z][\w-]{0,30}>\s*")
_ENDED = re.compile(r"(?:[.!?。！？]|\[[\d.,;\s–-]{1,40}\])[*_\"”»)]{0,4}\Z")
_NO_ITEM = re.compile(r"\W*(?:none\W*)?", re.IGNORECASE)
"""What the block has where a list is empty, or a bullet without a word."""


class InvalidSummary(RetryableError):
    """The model did not return a usable summary."""


class OtherForm(InvalidSummary):
    """The model returned a text that does not have the headings that it was asked for."""


class _Section(Struct):
    """A heading and the items below it. `name` is empty if the heading is none that we know."""

    name: str
    items: list[str] = field(default_factory=list)
    has_bullets: bool = False
    gap: bool = False  # the last line was empty


def read(text: str) -> Summary:
    """Return the narrative in a model's answer. Raises InvalidSummary."""
    if not text.strip():
        raise InvalidSummary(NOTHING)
    sections = _named(_sections(text))
    lists = {name: items(sections.get(name, [])) for name in NAMES}
    if not any(lists.values()):
        raise InvalidSummary("The summary is empty.")
    background = " ".join(items(sections.get("background", []))) or FIRST
    decisions = tuple(line for line in lists["decisions"] if not _is_question(line))
    return Summary(background=background, **(lists | {"decisions": decisions}))


def items(lines: Iterable[str]) -> tuple[str, ...]:
    """Return each item on one line, without duplicates and without marks of an empty list."""
    cleaned = (" ".join(line.split()) for line in lines)
    return tuple(dict.fromkeys(line for line in cleaned if not _NO_ITEM.fullmatch(line)))


def _is_question(line: str) -> bool:
    """Return True for an item that asks something, perhaps before its reference."""
    bare = re.sub(r"\s*\[[\d.,;\s–-]{1,40}\]\W*\Z", "", line)
    return bare.rstrip("*_\"'”»)").endswith(("?", "？"))


def _sections(text: str) -> list[_Section]:
    """Return the headings of a text with their items, in order."""
    _, tag, inside = text.rpartition("<summary>")
    if tag:
        text = inside.partition("</summary>")[0]
    sections: list[_Section] = []
    for line in text.split("\n"):
        if _FENCE.fullmatch(line) or _TAG.fullmatch(line) or line.lstrip().startswith("<!--"):
            continue
        heading = _heading(line, is_first=not sections)
        if heading is not None:
            name, rest = heading
            sections.append(_Section(name))
            if rest:
                sections[-1].items.append(rest)
        elif sections:
            _add(sections[-1], line)
    return sections


def _add(section: _Section, line: str) -> None:
    """Add a line below a heading: an item, the rest of one, or text that is no part of the list."""
    if not line.strip():
        section.gap = True
        return
    is_indented = line[0] in " \t"
    last = section.items[-1] if section.items else ""
    goes_on = is_indented or not (section.gap or _ENDED.search(last.rstrip()))
    if section.name == "background":
        section.items.append(line)
    elif _BULLET.match(line):
        section.items.append(_BULLET.sub("", line, count=1))
        section.has_bullets = True
    elif last and goes_on:
        section.items[-1] += f" {line}"
    elif not section.has_bullets:
        section.items.append(line)
    else:
        return
    section.gap = False


def _heading(line: str, *, is_first: bool) -> tuple[str, str] | None:
    """Return the section that a line begins, and the rest of the line, or None if it is no heading.
    The section is empty for an unknown heading, such as one in another language. Below the first
    heading, a line with more text after unknown words is an item, such as `**Port:** 8123`.
    """
    bare = line.strip()
    match = _HEADING.fullmatch(bare)
    if match is None or _SIGN.match(line):
        return None
    title = match["title"].casefold().split()
    rest = (match["rest"] or "").strip()
    has_colon = match["rest"] is not None
    before = match["before"]
    is_bold = "**" in before and "**" in (match["after"] or "") + (match["close"] or "")
    is_marked = "#" in before or is_bold
    if " ".join(title) == _FRAME:
        return "", rest
    if len(title) > _LONGEST:
        return None
    name = next((_KEYS[word] for word in title if word in _KEYS), "")
    if name and (len(title) <= 2 or (len(title) <= 4 and (is_marked or not rest))):
        is_plain = len(title) <= 2 and not any(map(str.isdigit, before))
        if is_marked or has_colon or is_plain:
            return name, rest
        return None
    if is_marked and (is_first or not rest):
        return "", rest
    return None


def _named(sections: Sequence[_Section]) -> dict[str, list[str]]:
    """Return the items by section. If headings are unknown, three lists in a row are those that
    were asked for, in their order. Raises OtherForm.
    """
    named: dict[str, list[str]] = {}
    for section in sections:
        if section.name:
            named.setdefault(section.name, []).extend(section.items)
    filled = [section for section in sections if section.items and section.name != "background"]
    if len(filled) == len(NAMES) + 1 and not (filled[0].name or filled[0].has_bullets):
        named["background"] = filled.pop(0).items
    agree = all(each.name in ("", name) for each, name in zip(filled, NAMES, strict=False))
    if len(filled) == len(NAMES) and filled[0].has_bullets and agree:
        named |= {name: each.items for each, name in zip(filled, NAMES, strict=True)}
    if len(named.keys() & set(NAMES)) < 2:
        raise OtherForm("The model didn't follow the summary format.")
    return named
