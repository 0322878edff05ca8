"""The rows of a list (pure): conversations, folded from the sessions of one library or of two."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.library import lineage
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import ALL, Branch, RunningTotals, SessionRow
from chat_loop.values import Usage

Conversations = Mapping[str, Mapping[str, int]]
"""The sessions of each conversation with their last queries, keyed by its newest session."""


class Which(Struct, frozen=True, kw_only=True):
    """What a list has: conversations, or without `fold` sessions. Runs of `-p`, and unanswered
    conversations other than `here`, are included only with `everything`.
    """

    fold: bool = True
    here: str = ""
    everything: bool = False


class Known(Struct, frozen=True, kw_only=True):
    """Sessions that a list is made of. `links` are sorted, the most recently used first. With a
    filter, `any` are the sessions one of which a conversation must have, and `newest` are those one
    of which must be its newest session.
    """

    links: Mapping[str, Link]
    any: Set[str] | None = None
    newest: Set[str] | None = None


def conversations(links: Mapping[str, Link], which: Which) -> Conversations:
    """Return all conversations, or without `fold` all sessions."""
    if which.fold:
        return lineage.conversations(links, which.here)
    return {tip: {tip: ALL} for tip in links}


def listed(known: Known, every: Conversations, which: Which) -> list[str]:
    """Return the newest sessions of the conversations that a list has, last used first."""
    tips = []
    for tip, link in known.links.items():
        if tip not in every:
            continue
        if not (which.everything or tip == which.here or link.is_listed):
            continue
        if known.newest is not None and tip not in known.newest:
            continue
        if known.any is None or not known.any.isdisjoint(every[tip]):
            tips.append(tip)
    return tips


def folded_rows(
    tips: Sequence[str],
    every: Conversations,
    sessions: Mapping[str, SessionRow],
    links: Mapping[str, Link],
    running: Mapping[str, Sequence[RunningTotals]],
) -> list[SessionRow]:
    """Return the rows of the newest sessions of conversations, with the totals of their chains.
    `running` are those of the sessions of which only the beginning counts.
    """
    uses = Counter(chain.from_iterable(every.values()))
    return [_conversation(every[tip], sessions, running, links, uses) for tip in tips]


def left_early(tips: Iterable[str], every: Conversations, links: Mapping[str, Link]) -> set[str]:
    """Return the sessions of conversations of which only the beginning belongs to one."""
    early = set()
    for tip in tips:
        for identity, number in every[tip].items():
            if number < (links[identity].queries or 0):
                early.add(identity)
    return early


def _conversation(
    last_queries: Mapping[str, int],
    sessions: Mapping[str, SessionRow],
    running: Mapping[str, Sequence[RunningTotals]],
    links: Mapping[str, Link],
    uses: Mapping[str, int],
) -> SessionRow:
    """Return the row of a conversation's newest session, with the totals of its whole chain."""
    identity, *older = last_queries
    row = sessions[identity]
    if not older and uses[identity] == 1:  # the usual case
        if not row.compacted:
            return row
        return replace(row, compactions=1)
    parts = []
    for session, number in last_queries.items():
        parts.append(_part(sessions[session], number, running.get(session, ())))
    line = lineage.fork(identity, links, uses)
    return replace(
        row,
        name=next((part.name for part in parts if part.name), ""),
        created=next((part.created for part in reversed(parts) if part.created), None),
        queries=_total([part.queries for part in parts]),
        tokens=_total([part.tokens for part in parts]),
        said=_total([part.said for part in parts]),
        spent=_spent(parts),
        folded=len(older),
        compactions=sum(part.compacted for part in parts),
        branch=_branch([sessions[session] for session in line]),
    )


def _total(numbers: Sequence[int | None]) -> int | None:
    """Return the sum of numbers, or None if one of them is unknown."""
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


def _spent(parts: Iterable[SessionRow]) -> tuple[tuple[str, Usage], ...] | None:
    """Return the usage of each model in sessions, or None if one of them is unknown."""
    spent: dict[str, Usage] = {}
    for part in parts:
        if part.spent is None:
            return None
        for model, usage in part.spent:
            spent[model] = spent.get(model, Usage()) + usage
    return tuple(spent.items())


def _branch(line: Sequence[SessionRow]) -> Branch | None:
    """Return where a branch begins, from its sessions and then the one that it forks, if any."""
    if not line:
        return None
    *own, parent = line
    at = own[-1].until
    if not at and parent.queries is not None:
        at = f"{parent.depth}.{parent.queries}"
    return Branch(at, next((part.words for part in reversed(own) if part.words), ""))


def _part(row: SessionRow, number: int, running: Sequence[RunningTotals]) -> SessionRow:
    """Return the row of a session up to query `number`, from which other sessions continue."""
    if number == ALL:
        return row
    if row.queries is None or number >= row.queries:
        return replace(row, compacted=False)
    at = bisect_right(running, number, key=lambda totals: totals.number)
    if not at:
        return replace(row, queries=number, tokens=None, said=None, spent=None, compacted=False)
    totals = running[at - 1]
    return replace(
        row,
        queries=totals.queries,
        tokens=totals.tokens,
        said=totals.said,
        spent=totals.spent,
        compacted=False,
    )
