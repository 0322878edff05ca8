"""Chains and their branches (pure), from what each session says of its parents."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from chat_loop.frozen import dataclass


class Link(NamedTuple):
    """What ties a session to others. `merged` is its second parent; either may be empty, or of no session there is."""

    id: str
    parent: str
    merged: str = ""
    compacted: bool = False
    forked: bool = False
    """It leaves out what its parent said in the end: that is another way to go on."""

    @property
    def parents(self) -> tuple[str, ...]:
        if not self.merged or self.merged == self.parent:
            return (self.parent,) if self.parent else ()
        return (self.parent, self.merged) if self.parent else (self.merged,)


@dataclass(frozen=True)
class Folded:
    """A session that stands for its chain in a listing, with how many older ones stand behind it, and how many of them
    were compacted."""

    id: str
    behind: int
    compactions: int


@dataclass(frozen=True)
class Node:
    """A session in a tree: `stem` is what is drawn before it, one pair of characters for each level."""

    id: str
    stem: str
    again: bool = False
    """It stands in the tree already, under its other parent."""


def folded(wanted: Iterable[str], links: Mapping[str, Link], unfolded: Collection[str] = ()) -> Iterator[Folded]:
    """The newest of each chain among the sessions `wanted`: those that no other one of them comes from, in their order.

    A session that was forked from has words that no other one goes on with: it stays. Behind one that is in `unfolded`
    its ancestors follow, nearest first. None stands there twice.
    """
    chosen = list(dict.fromkeys(wanted))
    tips = _tips(chosen, links)
    there = set(chosen) if unfolded else set()
    shown = set(tips)
    for identity in chosen:
        if identity not in tips:
            continue
        behind = ancestors(identity, links)
        yield Folded(identity, len(behind), sum(links[one].compacted for one in behind))
        for older in behind if identity in unfolded else ():
            if older in there and older not in shown:
                shown.add(older)
                yield Folded(older, 0, 0)


def _tips(chosen: Sequence[str], links: Mapping[str, Link]) -> set[str]:
    """Those of `chosen` that no other one comes from; of sessions that come from each other one."""
    tips: set[str] = set()
    reached: set[str] = set()
    wanted = set(chosen)
    for identity in reversed(_parents_first(chosen, links)):
        if identity in wanted and identity not in reached:
            tips.add(identity)
            queue = [identity]
            while queue:
                one = queue.pop()
                if one not in reached:
                    reached.add(one)
                    queue += _passed_on(one, links)
    return tips


def _parents_first(chosen: Iterable[str], links: Mapping[str, Link]) -> list[str]:
    """The sessions and all that they come from, each after its parents; in a circle they end where they began."""
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
    if link is None or not link.forked:
        return _parents(identity, links)
    return [one for one in _parents(identity, links) if one != link.parent]


def _parents(identity: str, links: Mapping[str, Link]) -> Sequence[str]:
    """The parents that are there."""
    link = links.get(identity)
    if link is None or not (link.parent or link.merged):
        return ()
    return [one for one in link.parents if one in links and one != identity]


def ancestors(identity: str, links: Mapping[str, Link]) -> list[str]:
    """The sessions that are there and that a session comes from, each once, nearest first."""
    found = dict.fromkeys(_parents(identity, links))
    queue = deque(found)
    while queue:
        for parent in _parents(queue.popleft(), links):
            if parent != identity and parent not in found:
                found[parent] = None
                queue.append(parent)
    return list(found)


def tree(identity: str, links: Mapping[str, Link]) -> tuple[Node, ...]:
    """Everything that is related to a session, from the oldest ancestors on; children in the order of `links`."""
    children: dict[str, list[str]] = {}
    for one in links:
        for parent in _parents(one, links):
            children.setdefault(parent, []).append(one)
    family = _family(identity, links, children)
    roots = [one for one in links if one in family and not _parents(one, links)]
    nodes: list[Node] = []
    drawn: set[str] = set()
    for root in (*roots, identity, *(one for one in links if one in family)):  # those in circles have no root
        if root not in drawn:
            nodes += _drawn(root, children, drawn)
    return tuple(nodes)


def _family(identity: str, links: Mapping[str, Link], children: Mapping[str, Sequence[str]]) -> set[str]:
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
    """One root with everything below it. An only child stands at its parent's level: a chain is a straight line."""
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
