"""Merging two branches (pure): one block of two, as in a three-way merge.

A line that both have, or that one added, stays. A line of their common base that one removed is
dropped: it was superseded, closed or unpinned there. Where the branches give different values for
the same thing, that is a contradiction, which the user resolves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from chat_loop.context.activity import merge_counts
from chat_loop.context.budget import Count
from chat_loop.context.ledger import REFERENCE, SECTIONS, find_conflicts, items, ledger
from chat_loop.sessions.records import Summary

_QUERY = re.compile(r"(?<![\d.])(\d{1,6})\.(?=\d)")
"""The session in a reference to a query, `2.` of `2.14`."""


class Contradiction(Struct, frozen=True):
    """Two lines with different values for the same thing, as in the merged block."""

    first: str
    second: str


def common_lines(first: Summary, second: Summary) -> Summary:
    """Return the lines that two blocks have in common."""
    return _rewrite(
        first, lambda name, lines: [one for one in lines if one in getattr(second, name)]
    )


def _rewrite(summary: Summary, change: Callable[[str, tuple[str, ...]], Sequence[str]]) -> Summary:
    """Return a block with `change` applied to each of its lists."""
    lists = {name: lines for name, lines in asdict(summary).items() if name != "background"}
    new_lists: Any = {name: tuple(change(name, lines)) for name, lines in lists.items()}
    return replace(summary, **new_lists)


def merge(
    first: Summary, second: Summary, base: Summary | None, *, fork: int, shift: int
) -> tuple[Summary, tuple[Contradiction, ...]]:
    """Return one block of two branches with both lines of each contradiction, and these. `base` is
    what both began with, `fork` the last session of the chain that both have; the second branch's
    own sessions come `shift` places later.
    """
    base = base or Summary()
    second = _renumber(second, fork, shift)

    def together(name: str, mine: tuple[str, ...]) -> Sequence[str]:
        other, before = getattr(second, name), getattr(base, name)
        if name == "tools":
            return merge_counts(mine, other, before)
        stays = [one for one in mine if one in other or one not in before]
        comes = [one for one in other if one in mine or one not in before]
        return list(dict.fromkeys((*stays, *comes)))

    nothing = Summary().background
    backgrounds = [one.background for one in (first, second) if one.background != nothing]
    if len(backgrounds) > 1 and backgrounds[1] in backgrounds[0]:
        backgrounds.pop()
    summary = replace(_rewrite(first, together), background=" ".join(backgrounds) or nothing)
    common = set(items(base))
    ours, theirs = (
        {item.text: item for item in items(one) if item not in common} for one in (first, second)
    )
    older = [item for text, item in ours.items() if text not in theirs]
    newer = [item for text, item in theirs.items() if text not in ours]
    conflicts = find_conflicts(older, newer)
    conflicts += [(old, new) for new, old in find_conflicts(newer, older)]
    pairs = dict.fromkeys(Contradiction(old.whole, new.whole) for old, new in conflicts)
    return summary, tuple(pairs)


def _renumber(summary: Summary, fork: int, shift: int) -> Summary:
    """Return the second branch's block with its sessions renumbered for the merged chain."""

    def place(depth: int) -> int:
        return depth + shift if depth > fork else depth

    def moved(text: str) -> str:
        """Move the places in a narrative's text: `[2.14]`, `[2.1-2.3]`."""
        return REFERENCE.sub(
            lambda found: _QUERY.sub(lambda query: f"{place(int(query[1]))}.", found[0]), text
        )

    lines = {
        item.whole: replace(item, ref=str(place(int(item.ref)))).whole
        if item.ref
        else moved(item.text)
        for item in items(summary)
    }

    def change(name: str, whole: tuple[str, ...]) -> Sequence[str]:
        if name in SECTIONS:
            return [lines[one] for one in whole]
        return [moved(one) for one in whole] if name == "topics" else whole

    return replace(_rewrite(summary, change), background=moved(summary.background))


def trim_to_room(summary: Summary, dropped: Collection[str], room: int, count: Count) -> Summary:
    """Return a block without the lines `dropped`, whose best other lines fit into `room` tokens."""
    summary = _rewrite(
        summary,
        lambda name, lines: [one for one in lines if name not in SECTIONS or one not in dropped],
    )
    trimmed = ledger(summary, summary, (), (), summary.pinned, room, count).summary
    return replace(trimmed, topics=summary.topics, background=summary.background)
