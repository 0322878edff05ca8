"""The lineage of sessions (pure): conversations, branches, trees, and sessions to clean up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct

from chat_loop.sessions.chain import Link, last_queries
from chat_loop.sessions.records import ALL, SessionRow

PRESERVED_STATES = ("foreign", "damaged")
"""Cleaning never deletes these: they may contain more than can be read."""
Links = Mapping[str, Link]


class Node(Struct, frozen=True):
    """A session in a tree. `stem` is drawn before it, with two characters per level."""

    id: str
    stem: str
    again: bool = False  # it is in the tree already, under its other parent


def conversations(links: Links, here: str = "") -> dict[str, dict[str, int]]:
    """Return the sessions of each conversation with their last queries, nearest first, keyed by its
    newest session, which no other one continues. A child in which nothing was recorded does not
    count as a conversation, unless it is `here`.
    """
    linked = [link for link in links.values() if link.parent or link.merged]
    unused = {link.id for link in linked if _is_unused(link, links)} - {here}

    def continued(link: Link) -> Iterable[str]:
        if link.id in unused:
            return ()
        return _continued(link)

    tips = {*links}.difference(unused, *map(continued, linked))
    reached = unused | _reachable((link.id for link in linked if link.id in tips), links, continued)
    for link in linked:
        if link.id not in reached:  # it is in a circle, or only sessions in circles continue it
            circle = _reachable([link.id], links, continued)
            tips -= circle
            tips.add(link.id)
            reached |= circle
    found: dict[str, dict[str, int]] = {}
    for tip, link in links.items():
        if tip not in tips:
            continue
        found[tip] = {tip: ALL}
        if link.parent or link.merged:
            found[tip] = last_queries(tip, links)
    return found


def own_sessions(identity: str, links: Links) -> list[str]:
    """Return the sessions that only the conversation with this newest session has, newest first; of
    a session in the middle of one, only itself.
    """
    found = conversations(links, identity)
    own = found.pop(identity, {})
    others = {identity}.union(*found.values())
    return [identity, *(one for one in own if one in links and one not in others)]


def newest(ids: Iterable[str], links: Links) -> list[str]:
    """Return for each session the newest one of its conversation: the most recently used session
    that goes on from it and that no other one continues. Branches do not count. `links` are
    sorted, the most recently used first.
    """
    children: dict[str, list[str]] = {}
    for link in links.values():
        if (link.parent or link.merged) and not _is_unused(link, links):
            for parent in _continued(link):
                children.setdefault(parent, []).append(link.id)
    found = []
    for identity in ids:
        if identity not in children:
            found.append(identity)
            continue
        later = _reachable([identity], links, lambda link: children.get(link.id, ()))
        ends = (session for session in links if session in later and session not in children)
        found.append(next(ends, identity))
    return found


def _is_unused(link: Link, links: Links) -> bool:
    """Return True for a child in which nothing was recorded, which nobody chose to begin."""
    return link.bare and link.parent in links and not (link.until or link.merged)


def _continued(link: Link) -> Iterable[str]:
    """Yield the parents that a session continues to their end: not those that it forks."""
    return (parent for parent in link.parents if link.last_query_of(parent) == ALL)


def fork(identity: str, links: Links, uses: Mapping[str, int]) -> list[str]:
    """Return the sessions that only this branch has, newest first, and the one where it begins, or
    [] for no branch. `uses` is the number of conversations that contain each session.
    """
    line = [identity]
    while (parent := links[line[-1]].parent) in uses and parent not in line:
        leaves = uses[parent] > uses[line[-1]]
        line.append(parent)
        if leaves:
            return line
    return []


def tree(identity: str, links: Links) -> tuple[Node, ...]:
    """Return all relatives of a session, parents before children; an only child is not indented."""
    if identity not in links:
        return (Node(identity, ""),)
    children: dict[str, list[str]] = {session: [] for session in links}
    for session, link in links.items():
        for parent in link.parents:
            children.setdefault(parent, []).append(session)
    family = _reachable([identity], links, lambda link: (*link.parents, *children[link.id]))
    members = [session for session in links if session in family]
    roots = [session for session in members if links.keys().isdisjoint(links[session].parents)]
    nodes: list[Node] = []
    drawn = set[str]()
    for root in [*roots, *members]:  # the first session of a circle is its root
        if root in drawn:
            continue
        stack = [(root, "", "")]
        while stack:
            session, stem, below = stack.pop()
            nodes.append(Node(session, stem, again=session in drawn))
            if session in drawn:
                continue
            drawn.add(session)
            *others, last = children[session] or [""]
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
    parents = {parent for link in links.values() for parent in link.parents}
    old = [row for row in rows if row.state == "sealed" and _is_old(row, before)]
    return _children_first([row for row in old if row.id in parents.difference(needed)], links)


def ancestry(ids: Iterable[str], links: Links) -> set[str]:
    """Return these ids and those of all their ancestors, even missing ones."""
    return _reachable(ids, links, lambda link: link.parents)


def _is_old(row: SessionRow, before: datetime) -> bool:
    """Return True for a session of ours that was last used before a moment."""
    return row.updated is not None and row.updated < before and row.state not in PRESERVED_STATES


def _children_first(rows: Sequence[SessionRow], links: Links) -> list[SessionRow]:
    """Sort the rows so that each session comes after those that continue it."""
    sorter = TopologicalSorter[str]()
    for link in links.values():
        for parent in link.parents:
            sorter.add(parent, link.id)
    with suppress(CycleError):  # sessions that continue each other, and their ancestors, come last
        sorter.prepare()
    order: dict[str, int] = {}
    while ready := sorter.get_ready():
        for identity in ready:
            order[identity] = len(order)
        sorter.done(*ready)
    return sorted(rows, key=lambda row: order.get(row.id, len(order)))


def _reachable(
    ids: Iterable[str], links: Links, following: Callable[[Link], Iterable[str]]
) -> set[str]:
    """Return the ids and all others that `following` reaches from them."""
    reached = set[str]()
    stack = list(ids)
    while stack:
        identity = stack.pop()
        if identity not in reached:
            reached.add(identity)
            if identity in links:
                stack += following(links[identity])
    return reached
