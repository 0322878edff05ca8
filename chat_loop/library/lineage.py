"""Chains and their branches (pure), from what each session says of its parents."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from chat_loop.frozen import dataclass


class Link(NamedTuple):
    """What ties a session to others. `merged` is its second parent; either may be empty, or of no
    session there is.
    """

    id: str
    parent: str = ""
    merged: str = ""
    compacted: bool = False
    until: str = ""
    """The last query of its parent that it goes on from: what the parent said after it is another
    way to go on.
    """
    used: int | None = None
    """When it was used, in microseconds; None: nobody knows."""
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
        if not self.merged or self.merged == self.parent:
            return (self.parent,) if self.parent else ()
        return (self.parent, self.merged) if self.parent else (self.merged,)


ALL = sys.maxsize
"""The number of the last query of a session that is taken whole."""


@dataclass(frozen=True)
class Chain:
    """A conversation: its newest session `id`, and each of its sessions, nearest first, with the
    number of its last query that belongs to the conversation.
    """

    id: str
    taken: Mapping[str, int]

    @property
    def behind(self) -> list[str]:
        """The ids of the older sessions, nearest first."""
        return [one for one in self.taken if one != self.id]


@dataclass(frozen=True)
class Node:
    """A session in a tree: `stem` is what is drawn before it, one pair of characters for each
    level.
    """

    id: str
    stem: str
    again: bool = False
    """It stands in the tree already, under its other parent."""


def chains(links: Mapping[str, Link], here: str = "") -> list[Chain]:
    """Return the conversations, in the order of `links`: one for each session that no other one
    goes on with.

    A session that was forked from has words that no other one goes on with: it stays. One in which
    nothing was asked is left out where its parent's words are part of another conversation, unless
    it is `here`.
    """
    order = list(links)
    tips = _tips(order, links)
    reached: set[str] = set()
    unused = [one for one in order if one in tips and _is_unused(links[one], links)]
    for tip in tips.difference(unused):
        _reach(tip, links, reached)
    for tip in sorted(unused, key=lambda one: one != here):
        words, seen = tip, set[str]()
        while words not in reached and words not in seen and _is_unused(links[words], links):
            seen.add(words)
            words = links[words].parent
        if words in reached and tip != here:
            tips.discard(tip)
        _reach(tip, links, reached)
    return [Chain(one, taken(one, links)) for one in order if one in tips]


def _is_unused(link: Link, links: Mapping[str, Link]) -> bool:
    """Return True for a session without a query that was only given its parent's words."""
    return (
        link.queries == 0
        and not (link.until or link.merged)
        and link.parent in links
        and link.parent != link.id
    )


def taken(identity: str, links: Mapping[str, Link]) -> dict[str, int]:
    """Return a session and all that it comes from, nearest first, with the number of the last query
    that counts.
    """
    found = {identity: ALL}
    queue = deque(found)
    while queue:
        one = queue.popleft()
        link = links.get(one)
        for parent in _parents(one, links):
            number = (
                link.until.partition(".")[2] if link is not None and parent == link.parent else ""
            )
            if parent not in found:
                queue.append(parent)
            found[parent] = max(found.get(parent, 0), int(number) if number else ALL)
    return found


@dataclass(frozen=True)
class Fork:
    """Where a conversation leaves others: its first session that they do not have, and the one
    before it.
    """

    first: str
    parent: str


class Shares:
    """What conversations have in common."""

    def __init__(self, found: Iterable[Chain]) -> None:
        self._count: dict[str, int] = {}
        self._most: dict[str, tuple[int, int]] = {}
        """The two largest numbers of last queries that conversations have of a session."""
        for chain in found:
            for identity, number in chain.taken.items():
                self._count[identity] = self._count.get(identity, 0) + 1
                most, second = self._most.get(identity, (-1, -1))
                self._most[identity] = (max(most, number), max(second, min(most, number)))

    def shared(self, chain: Chain) -> dict[str, int]:
        """Return the sessions of a conversation that others have as well, up to which query."""
        found = {}
        for identity, number in chain.taken.items():
            if self._count[identity] > 1:
                found[identity] = min(
                    number, self._most[identity][number == self._most[identity][0]]
                )
        return found

    def fork(self, chain: Chain, links: Mapping[str, Link]) -> Fork | None:
        """Return where a conversation leaves others; None for one that goes straight on."""
        one, seen = chain.id, {chain.id}
        while (parent := links[one].parent) in self._count and parent not in seen:
            if self._count[parent] > self._count[one]:
                return Fork(one, parent)
            seen.add(parent)
            one = parent
        return None


def _tips(chosen: Sequence[str], links: Mapping[str, Link]) -> set[str]:
    """Those of `chosen` that no other one comes from; of sessions that come from each other one."""
    tips: set[str] = set()
    reached: set[str] = set()
    wanted = set(chosen)
    for identity in reversed(_parents_first(chosen, links)):
        if identity in wanted and identity not in reached:
            tips.add(identity)
            _reach(identity, links, reached)
    return tips


def _reach(identity: str, links: Mapping[str, Link], reached: set[str]) -> None:
    """Add a session and all those whose words it goes on with."""
    queue = [identity]
    while queue:
        one = queue.pop()
        if one not in reached:
            reached.add(one)
            queue += _passed_on(one, links)


def _parents_first(chosen: Iterable[str], links: Mapping[str, Link]) -> list[str]:
    """The sessions and all that they come from, each after its parents; in a circle they end where
    they began.
    """
    order: list[str] = []
    entered: set[str] = set()
    for start in chosen:
        stack = [(start, False)]
        while stack:
            one, left = stack.pop()
            if left:
                order.append(one)
            elif one not in entered:
                entered.add(one)
                stack.append((one, True))
                stack += [(parent, False) for parent in _parents(one, links)]
    return order


def _passed_on(identity: str, links: Mapping[str, Link]) -> Sequence[str]:
    """The parents all of whose words a session goes on with."""
    link = links.get(identity)
    if link is None or not link.until:
        return _parents(identity, links)
    return [one for one in _parents(identity, links) if one != link.parent]


def _parents(identity: str, links: Mapping[str, Link]) -> Sequence[str]:
    """The parents that are there."""
    link = links.get(identity)
    if link is None or not (link.parent or link.merged):
        return ()
    return [one for one in link.parents if one in links and one != identity]


def tree(identity: str, links: Mapping[str, Link]) -> tuple[Node, ...]:
    """Everything that is related to a session, from the oldest ancestors on; children in the order
    of `links`.
    """
    children: dict[str, list[str]] = {}
    for one in links:
        for parent in _parents(one, links):
            children.setdefault(parent, []).append(one)
    family = _family(identity, links, children)
    roots = [one for one in links if one in family and not _parents(one, links)]
    nodes: list[Node] = []
    drawn: set[str] = set()
    for root in (
        *roots,
        identity,
        *(one for one in links if one in family),
    ):  # those in circles have no root
        if root not in drawn:
            nodes += _drawn(root, children, drawn)
    return tuple(nodes)


def _family(
    identity: str, links: Mapping[str, Link], children: Mapping[str, Sequence[str]]
) -> set[str]:
    family = {identity}
    queue = [identity]
    while queue:
        one = queue.pop()
        for other in (*_parents(one, links), *children.get(one, ())):
            if other not in family:
                family.add(other)
                queue.append(other)
    return family


def _drawn(root: str, children: Mapping[str, Sequence[str]], drawn: set[str]) -> Iterator[Node]:
    """One root with everything below it. An only child stands at its parent's level: a chain is a
    straight line.
    """
    stack: list[tuple[str, str, str]] = [(root, "", "")]
    while stack:
        identity, stem, below = stack.pop()
        if identity in drawn:
            yield Node(identity, stem, again=True)
            continue
        drawn.add(identity)
        yield Node(identity, stem)
        following = children.get(identity, ())
        if len(following) == 1:
            stack.append((following[0], below, below))
        else:
            last = len(following) - 1
            for number in range(last, -1, -1):
                sign, under = ("└─", "  ") if number == last else ("├─", "│ ")
                stack.append((following[number], below + sign, below + under))
