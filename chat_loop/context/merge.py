"""Merging two branches (pure): one block of two, as in a three-way merge.

What both have stays; what one of them added stays; what stood in the block that both began with and is gone in one of
them is gone: it was superseded, closed or unpinned there. Where the branches say different things of the same, that is
a contradiction, which the user decides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat_loop.context.budget import Count
from chat_loop.context.cover import ledger, statement_of
from chat_loop.context.ledger import Item, items, line
from chat_loop.facts.supersede import supersede
from chat_loop.sessions.records import Summary

_PLAIN = ("topics", "files", "tools", "pinned")
_LINES = ("decisions", "pending", "key_facts")


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two lines that say different things of the same, as they would stand in the merged block."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Merged:
    """A block of two, and what the user has to decide: until then it holds both lines of a contradiction."""

    summary: Summary
    contradictions: tuple[Contradiction, ...]


def merge(first: Summary, second: Summary, base: Summary | None, *, fork: int, shift: int) -> Merged:
    """One block of two branches. `base` is the block they both began with.

    `fork` is the last session of the chain that both have; those of the second one's own come `shift` places later.
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
    backgrounds = dict.fromkeys((first.background, second.background))
    summary = replace(first, background=" ".join(backgrounds), **lists)
    return Merged(summary, tuple(_contradictions(ours, theirs)))


def without(summary: Summary, dropped: Collection[str]) -> Summary:
    """A block without some of its lines."""
    lists: dict[str, Any] = {
        name: tuple(one for one in getattr(summary, name) if one not in dropped) for name in _LINES
    }
    return replace(summary, **lists)


def in_room(summary: Summary, room: int, count: Count) -> Summary:
    """A block whose lines fit into `room` tokens: the least important ones go."""
    return replace(
        ledger(summary, summary, (), (), summary.pinned, room, count).summary,
        topics=summary.topics,
        background=summary.background,
    )


def _contradictions(ours: Sequence[Item], theirs: Sequence[Item]) -> list[Contradiction]:
    """Pairs of which one would replace the other, had it been said later."""
    same = {item.text for item in ours} & {item.text for item in theirs}
    ours = [item for item in ours if item.text not in same]
    theirs = [item for item in theirs if item.text not in same]
    found: dict[Contradiction, None] = {}
    for before, after, swapped in ((ours, theirs, False), (theirs, ours, True)):
        outcome = supersede([statement_of(item) for item in (*before, *after)], len(before))
        for old, new in outcome.replaced.items():
            if old < len(before) <= new:
                pair = (before[old].line, after[new - len(before)].line)
                found.setdefault(Contradiction(*(reversed(pair) if swapped else pair)))
    return list(found)


def _moved(item: Item, fork: int, shift: int) -> Item:
    """A line of the second branch under the place that its session has in the chain of both."""
    depth = int(item.ref) if item.ref.isdigit() else 0
    if depth <= fork:
        return item
    ref = str(depth + shift)
    return replace(item, line=line(item.text, ref, item.speaker), ref=ref)


def _relined(second: Summary, fork: int, shift: int) -> Summary:
    moved = {item.line: _moved(item, fork, shift).line for item in items(second)}
    lists: dict[str, Any] = {name: tuple(moved.get(one, one) for one in getattr(second, name)) for name in _LINES}
    return replace(second, **lists)
