"""Merging two branches (pure): one block of two, as in a three-way merge.

What both have stays; what one of them added stays; what stood in the block that both began with and
is gone in one of them is gone: it was superseded, closed or unpinned there. Where the branches say
different things of the same, that is a contradiction, which the user decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context.activity import counted_together
from chat_loop.context.budget import Count
from chat_loop.context.ledger import REFERENCE, Line, items, ledger, line, rivals
from chat_loop.sessions.records import Summary

_PLAIN = ("topics", "files", "pinned")
_LINES = ("decisions", "pending", "key_facts")
_QUERY = re.compile(r"(?<![\d.])(\d{1,6})\.(?=\d)")
"""The session in a reference to a query, `2.` of `2.14`."""
_NOTHING_BEFORE = Summary().background


class Contradiction(Struct, frozen=True):
    """Two lines that say different things of the same, as they would stand in the merged block."""

    first: str
    second: str


class Merged(Struct, frozen=True):
    """A block of two, and what the user has to decide: until then it holds both lines of a
    contradiction.
    """

    summary: Summary
    contradictions: tuple[Contradiction, ...]


def in_both(first: Summary, second: Summary) -> Summary:
    """Return what two blocks have in common."""
    names = (*_PLAIN, "tools", *_LINES)
    lists: dict[str, Any] = {
        name: tuple(one for one in getattr(first, name) if one in getattr(second, name))
        for name in names
    }
    return Summary(background=first.background, **lists)


def merge(
    first: Summary, second: Summary, base: Summary | None, *, fork: int, shift: int
) -> Merged:
    """Return one block of two branches. `base` is what both began with.

    `fork` is the last session of the chain that both have; those of the second one's own come
    `shift` places later.
    """
    base = base or Summary()
    known = {item.line for item in items(base)}
    ours = [item for item in items(first) if item.line not in known]
    theirs = [_moved(item, fork, shift) for item in items(second) if item.line not in known]
    moved = _relined(second, fork, shift)
    lists: dict[str, Any] = {}
    for name in (*_PLAIN, *_LINES):
        mine, other, before = (getattr(one, name) for one in (first, moved, base))
        stays = [one for one in mine if one in other or one not in before]
        comes = [one for one in other if one in mine or one not in before]
        lists[name] = tuple(dict.fromkeys((*stays, *comes)))
    tools = counted_together(first.tools, second.tools, base.tools)
    summary = replace(first, background=_background(first, moved), tools=tools, **lists)
    return Merged(summary, tuple(_contradictions(ours, theirs)))


def _background(first: Summary, second: Summary) -> str:
    """Return both, but for what says nothing and for what the first one says as well."""
    told = [one.background for one in (first, second) if one.background != _NOTHING_BEFORE]
    both = [
        one for number, one in enumerate(told) if not any(one in other for other in told[:number])
    ]
    return " ".join(both) or _NOTHING_BEFORE


def without(summary: Summary, dropped: Collection[str]) -> Summary:
    """Return a block without some of its lines."""
    lists: dict[str, Any] = {
        name: tuple(one for one in getattr(summary, name) if one not in dropped) for name in _LINES
    }
    return replace(summary, **lists)


def in_room(summary: Summary, room: int, count: Count) -> Summary:
    """Return a block whose lines fit into `room` tokens: those of the lowest scores go."""
    return replace(
        ledger(summary, summary, (), (), summary.pinned, room, count).summary,
        topics=summary.topics,
        background=summary.background,
    )


def _contradictions(ours: Sequence[Line], theirs: Sequence[Line]) -> list[Contradiction]:
    """Return pairs of lines that may give different values of the same."""
    same = {item.text for item in ours} & {item.text for item in theirs}
    ours = [item for item in ours if item.text not in same]
    theirs = [item for item in theirs if item.text not in same]
    found: dict[Contradiction, None] = {}
    for before, after, swapped in ((ours, theirs, False), (theirs, ours, True)):
        for old, new in rivals(before, after):
            pair = (before[old].line, after[new].line)
            found.setdefault(Contradiction(*(reversed(pair) if swapped else pair)))
    return list(found)


def _moved(item: Line, fork: int, shift: int) -> Line:
    """Return a line of the second branch under its session's place in the chain of both."""
    if item.speaker == "narrative":
        moved = _referring(item.line, fork, shift)
        return Line(moved, item.section, moved, item.ref, item.speaker)
    depth = int(item.ref)
    if depth <= fork:
        return item
    ref = str(depth + shift)
    whole = line(item.text, ref, item.speaker)
    return Line(whole, item.section, item.text, ref, item.speaker)


def _relined(second: Summary, fork: int, shift: int) -> Summary:
    moved = {item.line: _moved(item, fork, shift).line for item in items(second)}
    lists: dict[str, Any] = {
        name: tuple(moved.get(one, one) for one in getattr(second, name)) for name in _LINES
    }
    lists["topics"] = tuple(_referring(one, fork, shift) for one in second.topics)
    return replace(second, background=_referring(second.background, fork, shift), **lists)


def _referring(text: str, fork: int, shift: int) -> str:
    """Return a narrative's text with the places in it moved: `[2.14]`, `[2.1-2.3]`."""

    def session(match: re.Match[str]) -> str:
        depth = int(match[1])
        return f"{depth + shift if depth > fork else depth}."

    return REFERENCE.sub(lambda found: _QUERY.sub(session, found[0]), text)
