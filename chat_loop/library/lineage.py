"""Chains and their branches (pure), from what each session says of its parents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Link(NamedTuple):
    """What ties a session to others. `merged` is its second parent; either may be empty, or of no session there is."""

    id: str
    parent: str
    merged: str = ""
    compacted: bool = False

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.parent, self.merged)))


@dataclass(frozen=True, slots=True)
class Folded:
    """A session that stands for its chain in a listing, with how many older ones stand behind it, and how many of them
    were compacted."""

    id: str
    behind: int
    compactions: int


@dataclass(frozen=True, slots=True)
class Node:
    """A session in a tree: `stem` is what is drawn before it, one pair of characters for each level."""

    id: str
    stem: str
    again: bool = False
    """It stands in the tree already, under its other parent."""


def folded(wanted: Iterable[str], links: Mapping[str, Link], unfolded: Collection[str] = ()) -> Iterator[Folded]:
    """The newest of each chain among the sessions `wanted`, which come newest first.

    Behind one that is in `unfolded` its ancestors follow, nearest first.
    """
    chosen = list(wanted)
    there = set(chosen) if unfolded else set()
    hidden: set[str] = set()
    for identity in chosen:
        if identity in hidden:
            continue
        link = links[identity]
        behind = ancestors(identity, links) if link.parent or link.merged else []
        hidden.update(behind)
        yield Folded(identity, len(behind), sum(links[one].compacted for one in behind))
        for older in behind if identity in unfolded else ():
            if older in there:
                there.discard(older)  # under the first of the chains that have it
                yield Folded(older, 0, 0)


def ancestors(identity: str, links: Mapping[str, Link]) -> list[str]:
    """The sessions that are there and that a session comes from, each once, nearest first."""
    found: dict[str, None] = {}
    queue = [identity]
    while queue:
        link = links.get(queue.pop(0))
        for parent in link.parents if link is not None else ():
            if parent in links and parent != identity and parent not in found:
                found[parent] = None
                queue.append(parent)
    return list(found)


def tree(identity: str, links: Mapping[str, Link]) -> tuple[Node, ...]:
    """Everything that is related to a session, from the oldest ancestors on; children in the order of `links`."""
    children: dict[str, list[str]] = {}
    for link in links.values():
        for parent in link.parents:
            if parent in links and parent != link.id:
                children.setdefault(parent, []).append(link.id)
    family = _family(identity, links, children)
    roots = [one for one in links if one in family and not any(parent in family for parent in links[one].parents)]
    nodes: list[Node] = []
    drawn: set[str] = set()
    for root in roots or [identity]:
        nodes += _drawn(root, children, drawn)
    return tuple(nodes)


def _family(identity: str, links: Mapping[str, Link], children: Mapping[str, Sequence[str]]) -> set[str]:
    family = {identity}
    queue = [identity]
    while queue:
        one = queue.pop()
        parents = links[one].parents if one in links else ()
        for other in (*parents, *children.get(one, ())):
            if other in links and other not in family:
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
