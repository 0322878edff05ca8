"""Merging (pure): one block of two branches, in which a correction of one counts for the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from chat_loop.context import activity
from chat_loop.context.budget import Count
from chat_loop.context.ledger import REFERENCE, ledger
from chat_loop.sessions.records import Summary

_MARK = re.compile(r"(?<= \[)\d{1,9}(?= (?:user|reply)\]\Z)")
_QUERY = re.compile(r"(?<![\d.])\d{1,6}(?=\.\d)")
"""The session in a reference to a query, the 2 of `2.14`."""


def merge(
    first: Summary, second: Summary, room: int, count: Count, *, fork: int, shift: int
) -> Summary:
    """Return the block of a child of two branches, its ledger in `room` tokens. `fork` is the last
    session of the chain that both have; the second branch's own come `shift` places later.
    """
    second = _renumber(second, lambda depth: depth + shift if depth > fork else depth)
    backgrounds = dict.fromkeys((first.background, second.background))
    if len(backgrounds) > 1:
        backgrounds.pop(Summary().background, None)
    narrative = Summary(
        background=" ".join(backgrounds),
        topics=tuple(dict.fromkeys((*first.topics, *second.topics))),
    )
    block = ledger(
        first, narrative, (), (), (*first.pinned, *second.pinned), room, count, branch=second
    )
    return replace(
        block.summary,
        files=tuple(dict.fromkeys((*first.files, *second.files))),
        tools=activity.tools(tuple(dict.fromkeys((*second.tools, *first.tools))), ()),
    )


def _renumber(summary: Summary, place: Callable[[int], int]) -> Summary:
    """Return a block whose references name sessions by their new place in the chain."""

    def number(match: re.Match[str]) -> str:
        return str(place(int(match[0])))

    def moved(line: str) -> str:
        if _MARK.search(line):  # said by somebody: the rest of the line stays as it is
            return _MARK.sub(number, line)
        return REFERENCE.sub(lambda reference: _QUERY.sub(number, reference[0]), line)

    lists: dict[str, Any] = {
        name: tuple(map(moved, getattr(summary, name)))
        for name in ("topics", "decisions", "pending", "key_facts")
    }
    return replace(summary, background=moved(summary.background), **lists)
