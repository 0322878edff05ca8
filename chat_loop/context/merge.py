"""Merging (pure): joins the blocks of two branches; each one's corrections apply to the other."""

from __future__ import annotations

import re

from msgspec.structs import replace

from chat_loop.context import activity
from chat_loop.context.grounding import REFERENCE
from chat_loop.context.ledger import ledger
from chat_loop.sessions.records import Summary
from chat_loop.tokens import Count

_MARK = re.compile(r"(?<= \[)\d{1,9}(?= (?:user|reply)\]\Z)")
_QUERY = re.compile(r"(?<![\d.])\d{1,6}(?=\.\d)")
"""The session number in a reference to a query: the 2 in `2.14`."""


def merge(
    first: Summary, second: Summary, room: int, count: Count, *, fork: int, shift: int
) -> Summary:
    """Return the block for a child of two branches. Its ledger takes at most `room` tokens. `fork`
    is the last session that both share; the second branch's own sessions move up by `shift`.
    """
    second = _renumber(second, fork, shift)
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


def _renumber(summary: Summary, fork: int, shift: int) -> Summary:
    """Return the block with `shift` added to the numbers of the sessions after `fork`."""

    def number(match: re.Match[str]) -> str:
        depth = int(match[0])
        if depth > fork:
            depth += shift
        return str(depth)

    def moved(line: str) -> str:
        if _MARK.search(line):  # a quoted line: only its mark changes
            return _MARK.sub(number, line)
        return REFERENCE.sub(lambda reference: _QUERY.sub(number, reference[0]), line)

    return replace(
        summary,
        background=moved(summary.background),
        topics=tuple(map(moved, summary.topics)),
        decisions=tuple(map(moved, summary.decisions)),
        pending=tuple(map(moved, summary.pending)),
        key_facts=tuple(map(moved, summary.key_facts)),
    )
