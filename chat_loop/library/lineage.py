"""The lineage of sessions (pure): conversations, branches, trees, and what a cleaning removes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.sessions.records import SessionRow

ALL = sys.maxsize
"""The number of the last query of a session that belongs to a conversation as a whole."""
PRESERVED_STATES = ("foreign", "damaged")
"""Cleaning never deletes these: they may contain more than can be read."""


class Link(Struct, frozen=True, gc=False, array_like=True):
    """The links of a session to others. Either parent may be empty or missing."""

    id: str
    parent: str = ""
    merged: str = ""
    compacted: bool = False
    until: str = ""
    """The reference of the last query of its parent that it continues; empty: all of them."""
    queries: int | None = None
    mode: str = ""
    answered: bool = True

    @property
    def is_listed(self) -> bool:
        """False for a run of `-p`, and for a conversation without a reply."""
        return not self.mode and (
            self.answered or bool(self.parent or self.merged) or not self.queries
        )

    @property
    def parents(self) -> tuple[str, ...]:
        """The ids of its parents, each once."""
        return tuple(dict.fromkeys(filter(None, (self.parent, self.merged))))


Links = Mapping[str, Link]


class ListedChain(Struct, frozen=True):
    """A conversation: its newest session, and the last query of each session, nearest first."""

    id: str
    last_queries: Mapping[str, int]


class Node(Struct, frozen=True):
    """A session in a tree: `stem` is drawn before it, a pair of characters for each level."""

    id: str
    stem: str
    again: bool = False
    """It is in the tree already, under its other parent."""


def chains(links: Links, here: str = "") -> list[ListedChain]:
    """Return the conversations in the order of `links`: sessions that no other one continues.

    An unused one is left out where another one has its parent's words, unless it is `here`.
    """
    acyclic = _without_circles(links)
    continued = {parent for link in acyclic.values() for parent in _continued_by(link)}
    tips = [one for one in links if one not in continued]
    unused = [one for one in tips if _is_unused(acyclic[one])]
    left_out = set()
    if unused:
        covered = _reachable(set(tips).difference(unused), acyclic, _continued_by)
        for tip in sorted(unused, key=lambda one: one != here):
            last = tip
            while last not in covered and _is_unused(acyclic[last]):
                last = acyclic[last].parent
            if last in covered and tip != here:
                left_out.add(tip)
            covered |= _reachable([tip], acyclic, _continued_by)
    return [ListedChain(one, last_queries(one, links)) for one in tips if one not in left_out]


def last_queries(identity: str, links: Links) -> dict[str, int]:
    """Return a session and its ancestors, nearest first, with their last query that counts."""
    last = {identity: ALL}
    following = [identity]
    for one in following:  # the list grows
        link = links[one]
        if not (link.parent or link.merged):  # most have none
            continue
        for parent in link.parents:
            if parent in links and parent != one:
                until = link.until.partition(".")[2] if parent == link.parent else ""
                if parent not in last:
                    following.append(parent)
                last[parent] = max(last.get(parent, 0), int(until) if until else ALL)
    return last


def conversation_numbers(conversations: Iterable[ListedChain]) -> dict[str, list[int]]:
    """Return each session's last queries in the conversations that have it, in ascending order."""
    numbers: dict[str, list[int]] = {}
    for chain in conversations:
        for identity, number in chain.last_queries.items():
            numbers.setdefault(identity, []).append(number)
    return {identity: sorted(each) for identity, each in numbers.items()}


def fork(identity: str, links: Links, numbers: Mapping[str, Sequence[int]]) -> list[str]:
    """Return a branch's own sessions, newest first, and the one that it leaves, or []."""
    line = [identity]
    while (parent := links[line[-1]].parent) in numbers and parent not in line:
        leaves = len(numbers[parent]) > len(numbers[line[-1]])
        line.append(parent)
        if leaves:
            return line
    return []


def tree(identity: str, links: Links) -> tuple[Node, ...]:
    """Return all relatives of a session, the oldest first; an only child is not indented."""
    links = _without_circles(links)
    if identity not in links:
        return (Node(identity, ""),)
    children: dict[str, list[str]] = {one: [] for one in links}
    for one, link in links.items():
        for parent in link.parents:
            children[parent].append(one)
    family = _reachable([identity], links, lambda link: (*link.parents, *children[link.id]))
    roots = [one for one in links if one in family and not links[one].parents]
    nodes: list[Node] = []
    drawn: set[str] = set()
    stack = [(root, "", "") for root in reversed(roots)]
    while stack:
        one, stem, below = stack.pop()
        nodes.append(Node(one, stem, again=one in drawn))
        if one in drawn:
            continue
        drawn.add(one)
        *others, last = children[one] or [""]
        if others:
            stack.append((last, f"{below}└─", f"{below}  "))
            stack += [(child, f"{below}├─", f"{below}│ ") for child in reversed(others)]
        elif last:
            stack.append((last, below, below))
    return tuple(nodes)


def old_chains(rows: Sequence[SessionRow], links: Links, before: datetime) -> list[SessionRow]:
    """Return the sessions of conversations last used before a moment, children before parents."""
    staying = ancestry((row.id for row in rows if not _is_old(row, before)), links)
    return _children_first([row for row in rows if row.id not in staying], links)


def old_originals(
    rows: Sequence[SessionRow], links: Links, before: datetime, needed: Collection[str] = ()
) -> list[SessionRow]:
    """Return the old sealed sessions that a child summarizes, except `needed` ones."""
    parents = {parent for link in links.values() for parent in link.parents if parent != link.id}
    old = [row for row in rows if row.state == "sealed" and _is_old(row, before)]
    return _children_first([row for row in old if row.id in parents.difference(needed)], links)


def ancestry(ids: Iterable[str], links: Links) -> set[str]:
    """Return these ids and those of all their ancestors, even missing ones."""
    return _reachable(ids, links, lambda link: link.parents)


def _is_unused(link: Link) -> bool:
    """Return True for a session without queries that only carries its parent's words."""
    return link.queries == 0 and link.parent != "" and not (link.until or link.merged)


def _continued_by(link: Link) -> Iterable[str]:
    """Return the parents that a session continues as a whole."""
    if not (link.parent or link.merged):
        return ()
    return (parent for parent in link.parents if not (link.until and parent == link.parent))


def _is_old(row: SessionRow, before: datetime) -> bool:
    """Return True for a session of ours that was last used before a moment."""
    return row.updated is not None and row.updated < before and row.state not in PRESERVED_STATES


def _reachable(
    ids: Iterable[str], links: Links, following: Callable[[Link], Iterable[str]]
) -> set[str]:
    """Return the ids and all that are reached from them."""
    reached: set[str] = set()
    stack = list(ids)
    while stack:
        one = stack.pop()
        if one not in reached:
            reached.add(one)
            if one in links:
                stack += following(links[one])
    return reached


def _children_first(rows: Sequence[SessionRow], links: Links) -> list[SessionRow]:
    """Return the rows in their order, but each after those that go on from it."""
    by_id = {row.id: row for row in rows}
    order = _parents_first([one for one in reversed(by_id) if one in links], links)
    return [by_id[one] for one in reversed(order) if one in by_id]


def _without_circles(links: Links) -> dict[str, Link]:
    """Return the links without parents that are missing or lead to a circle.

    The second walk opens a circle where no other session goes on from it, as far as possible.
    """
    acyclic = dict(links)
    linked = [one for one, link in links.items() if link.parent or link.merged]
    order = _parents_first(_parents_first(linked, links)[::-1], links)
    place = {one: number for number, one in enumerate(order)}
    for one in linked:
        link, here = links[one], place[one]
        parent, merged = (
            "" if place.get(parent, here) >= here else parent
            for parent in (link.parent, link.merged)
        )
        acyclic[one] = replace(link, parent=parent, merged=merged)
    return acyclic


def _parents_first(ids: Sequence[str], links: Links) -> list[str]:
    """Return the sessions and their ancestors, each after its parents but for circles."""
    order: list[str] = []
    entered: set[str] = set()
    for start in ids:
        stack = [(start, False)]
        while stack:
            one, left = stack.pop()
            if left:
                order.append(one)
            elif one not in entered:
                entered.add(one)
                stack.append((one, True))
                stack += [(parent, False) for parent in links[one].parents if parent in links]
    return order
