"""The lineage of sessions (pure): conversations, their branches, the tree of a session,
and the old ones that nobody needs any more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from graphlib import TopologicalSorter
from heapq import heappop, heappush

import msgspec

from chat_loop.sessions.records import SessionRow

ALL = sys.maxsize
"""The number of the last query of a session that is taken whole."""
KEPT_STATES = ("foreign", "damaged")
"""A cleaning leaves these to their owner: they are no sessions of ours, or hold more than can be
read.
"""


class Link(msgspec.Struct, frozen=True, gc=False):
    """The ties of a session to others. `merged` is its second parent; either may be empty, or of a
    session that is not there.
    """

    id: str
    parent: str = ""
    merged: str = ""
    compacted: bool = False
    until: str = ""
    """The reference of its parent's last query that it goes on from; empty: it goes on from all."""
    queries: int | None = None
    mode: str = ""
    answered: bool = True

    @property
    def is_listed(self) -> bool:
        """False for a run of `-p`, and for a conversation without a reply: those are listed only on
        demand.
        """
        return not self.mode and (
            self.answered or bool(self.parent or self.merged) or not self.queries
        )

    @property
    def parents(self) -> tuple[str, ...]:
        """The ids of its parents, each once."""
        if not self.merged or self.merged == self.parent:
            return (self.parent,) if self.parent else ()
        return (self.parent, self.merged) if self.parent else (self.merged,)


Links = Mapping[str, Link]


class Chain(msgspec.Struct, frozen=True):
    """A conversation: its newest session `id`, and each of its sessions, nearest first, with the
    number of its last query that belongs to the conversation.
    """

    id: str
    taken: Mapping[str, int]

    @property
    def older(self) -> list[str]:
        """The ids of the older sessions, nearest first."""
        return [one for one in self.taken if one != self.id]


class Node(msgspec.Struct, frozen=True):
    """A session in a tree: `stem` is drawn before it, a pair of characters for each level."""

    id: str
    stem: str
    again: bool = False
    """It stands in the tree already, under its other parent."""


class Fork(msgspec.Struct, frozen=True):
    """The place where a conversation leaves others: its first session that they do not have, and
    the one before it.
    """

    first: str
    parent: str


def chains(links: Links, here: str = "") -> list[Chain]:
    """Return the conversations, in the order of `links`: one for each session that no other one
    goes on with.

    A session that was forked from has words that no other one goes on with: it stays. One in which
    nothing was asked is left out where its parent's words are part of another conversation, unless
    it is `here`.
    """
    straight = _without_circles(links)
    continued = {parent for link in straight.values() for parent in _continued_by(link)}
    tips = [one for one in links if one not in continued]
    unused = [one for one in tips if _is_unused(straight[one])]
    said = _reached(set(tips).difference(unused), straight, _continued_by)
    left_out = set()
    for tip in sorted(unused, key=lambda one: one != here):
        last = tip
        while last not in said and _is_unused(straight[last]):
            last = straight[last].parent
        if last in said and tip != here:
            left_out.add(tip)
        said |= _reached([tip], straight, _continued_by)
    return [Chain(one, taken(one, links)) for one in tips if one not in left_out]


def _is_unused(link: Link) -> bool:
    """Return True for a session without a query that was only given its parent's words."""
    return link.queries == 0 and link.parent != "" and not (link.until or link.merged)


def _continued_by(link: Link) -> Sequence[str]:
    """Return the parents all of whose words a session goes on with."""
    if not link.until:
        return link.parents
    return [parent for parent in link.parents if parent != link.parent]


def taken(identity: str, links: Links) -> dict[str, int]:
    """Return a session and its ancestors, nearest first, with the number of the last query that
    counts.
    """
    found = {identity: ALL}
    level = [identity]
    while level:
        above: list[str] = []
        for one in level:
            link = links[one]
            for parent in link.parents:
                if parent not in links or parent == one:
                    continue
                until = link.until.partition(".")[2] if parent == link.parent else ""
                if parent not in found:
                    above.append(parent)
                found[parent] = max(found.get(parent, 0), int(until) if until else ALL)
        level = above
    return found


class Shares:
    """The sessions that several of the given conversations have."""

    def __init__(self, found: Iterable[Chain]) -> None:
        numbers: dict[str, list[int]] = {}
        for chain in found:
            for identity, number in chain.taken.items():
                numbers.setdefault(identity, []).append(number)
        self._count = {identity: len(each) for identity, each in numbers.items()}
        self._common = {
            identity: sorted(each)[-2] for identity, each in numbers.items() if len(each) > 1
        }

    def shared(self, chain: Chain) -> dict[str, int]:
        """Return the sessions of a conversation that others have as well, up to which query."""
        return {
            identity: min(number, self._common[identity])
            for identity, number in chain.taken.items()
            if identity in self._common
        }

    def fork(self, chain: Chain, links: Links) -> Fork | None:
        """Return where a conversation leaves others; None for one that goes straight on."""
        one, seen = chain.id, {chain.id}
        while (parent := links[one].parent) in self._count and parent not in seen:
            if self._count[parent] > self._count[one]:
                return Fork(one, parent)
            seen.add(parent)
            one = parent
        return None


def tree(identity: str, links: Links) -> tuple[Node, ...]:
    """Return all relatives of a session, from the oldest ancestors on; children in the order of
    `links`.
    """
    links = _without_circles(links)
    if identity not in links:
        return (Node(identity, ""),)
    children: dict[str, list[str]] = {one: [] for one in links}
    for one, link in links.items():
        for parent in link.parents:
            children[parent].append(one)
    family = _reached([identity], links, lambda link: (*link.parents, *children[link.id]))
    drawn: set[str] = set()
    roots = (one for one in links if one in family and not links[one].parents)
    return tuple(node for root in roots for node in _drawn(root, children, drawn))


def _drawn(root: str, children: Mapping[str, Sequence[str]], drawn: set[str]) -> Iterator[Node]:
    """Yield a root with everything below it. An only child stands at its parent's level: a chain is
    a straight line.
    """
    stack = [(root, "", "")]
    while stack:
        identity, stem, below = stack.pop()
        yield Node(identity, stem, again=identity in drawn)
        if identity in drawn:
            continue
        drawn.add(identity)
        following = children[identity]
        if len(following) == 1:
            stack.append((following[0], below, below))
            continue
        for child in reversed(following):
            sign, under = ("└─", "  ") if child == following[-1] else ("├─", "│ ")
            stack.append((child, below + sign, below + under))


def forgotten(rows: Sequence[SessionRow], links: Links, before: datetime) -> list[SessionRow]:
    """Return the sessions that only belong to conversations last used before a moment, newest
    first.

    An old session from which one goes on that stays is its archive, and stays. No session comes
    after one that it goes on from.
    """
    staying = ancestry((row.id for row in rows if _stays(row, before)), links)
    return _children_first([row for row in rows if row.id not in staying], links)


def originals(
    rows: Sequence[SessionRow], links: Links, before: datetime, needed: Collection[str] = ()
) -> list[SessionRow]:
    """Return the sealed sessions older than a moment that a child goes on from by their summary, in
    the same order.

    `needed` are the ids of those whose own words somebody still goes on from.
    """
    parents = {parent for link in links.values() for parent in link.parents if parent != link.id}
    chosen = [
        row
        for row in rows
        if row.id in parents
        and row.id not in needed
        and row.state == "sealed"
        and not _stays(row, before)
    ]
    return _children_first(chosen, links)


def ancestry(ids: Iterable[str], links: Links) -> set[str]:
    """Return these ids and those of all sessions that they come from, be they there or not."""
    return _reached(ids, links, lambda link: link.parents)


def _stays(row: SessionRow, before: datetime) -> bool:
    """Return True for a session used later or at an unknown time, and for one that is not ours."""
    return row.updated is None or row.updated >= before or row.state in KEPT_STATES


def _reached(
    ids: Iterable[str], links: Links, following: Callable[[Link], Iterable[str]]
) -> set[str]:
    """Return the ids and all that are reached from them."""
    found: set[str] = set()
    stack = list(ids)
    while stack:
        one = stack.pop()
        if one not in found:
            found.add(one)
            if one in links:
                stack += following(links[one])
    return found


def _children_first(rows: Sequence[SessionRow], links: Links) -> list[SessionRow]:
    """Return the rows in their order, except that each comes after those that go on from it, be it
    through sessions that are not among the rows.
    """
    by_id = {row.id: row for row in rows}
    links = _without_circles(links)
    needed = ancestry(by_id, links)
    place = {one: number for number, one in enumerate(dict.fromkeys((*by_id, *sorted(needed))))}
    sorter = TopologicalSorter[str](dict.fromkeys(place, ()))
    for one in needed & links.keys():
        for parent in links[one].parents:
            sorter.add(parent, one)
    sorter.prepare()
    ready: list[tuple[int, str]] = []
    order: list[str] = []
    while sorter.is_active():
        for one in sorter.get_ready():
            heappush(ready, (place[one], one))
        _, first = heappop(ready)
        order.append(first)
        sorter.done(first)
    return [by_id[one] for one in order if one in by_id]


def _without_circles(links: Links) -> dict[str, Link]:
    """Return the links with those parents only that are there and lead to no circle.

    A circle is opened at a session that no other one goes on from, as far as there is one: the
    second walk begins where the first one ended.
    """
    straight = dict(links)
    linked = [one for one, link in links.items() if link.parent or link.merged]
    order = _parents_first(linked, links)
    place = {one: number for number, one in enumerate(_parents_first(reversed(order), links))}
    for one in linked:
        link = links[one]
        gone = [parent for parent in link.parents if place.get(parent, place[one]) >= place[one]]
        if gone:
            parent, merged = ("" if each in gone else each for each in (link.parent, link.merged))
            straight[one] = msgspec.structs.replace(link, parent=parent, merged=merged)
    return straight


def _parents_first(ids: Iterable[str], links: Links) -> list[str]:
    """Return the sessions, each after its parents unless they are in a circle."""
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
