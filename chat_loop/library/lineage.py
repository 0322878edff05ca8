"""The lineage of sessions (pure): conversations, branches, trees, and what a cleaning removes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from chat_loop.sessions.records import Session, SessionRow

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
        if not (self.parent or self.merged):  # most have none
            return ()
        both = self.parent, self.merged
        return tuple(dict.fromkeys(one for one in both if one not in ("", self.id)))


Links = Mapping[str, Link]
Conversations = Mapping[str, Mapping[str, int]]
"""The id of a conversation's newest session -> the last query of each session, nearest first."""


class Node(Struct, frozen=True):
    """A session in a tree: `stem` is drawn before it, a pair of characters for each level."""

    id: str
    stem: str
    again: bool = False
    """It is in the tree already, under its other parent."""


def conversations(links: Links, here: str = "") -> dict[str, dict[str, int]]:
    """Return the conversations in the order of `links`: those of sessions that none continues.

    A session without queries, which only carries its parent's words, counts when it is `here`.
    """

    linked = [link for link in links.values() if link.parent or link.merged]
    unused = {
        link.id
        for link in linked
        if link.queries == 0 and link.parent in links and not (link.until or link.merged)
    } - {here}

    def continued(link: Link) -> Iterable[str]:
        if link.id in unused:
            return ()
        return (one for one in link.parents if not (link.until and one == link.parent))

    tips = {*links}.difference(unused, *map(continued, linked))
    reached = unused | _reachable((link.id for link in linked if link.id in tips), links, continued)
    for link in linked:
        if link.id not in reached:  # it is in a circle, or only sessions in circles go on from it
            circle = _reachable([link.id], links, continued)
            tips -= circle
            tips.add(link.id)
            reached |= circle
    return {one: last_queries(one, links) for one in links if one in tips}


def link_of(session: Session) -> Link:
    """Return the link of a session that may have no file yet."""
    restoration = session.restoration
    merged, until = (restoration.merged, restoration.until) if restoration else ("", "")
    return Link(session.header.id, session.header.parent, merged, until=until)


def last_queries(identity: str, links: Links) -> dict[str, int]:
    """Return a session and its ancestors, nearest first, with their last query that counts.

    Of two merged sessions the second one's line comes nearer.
    """
    if not links[identity].parents:  # most have none
        return {identity: ALL}
    last = {identity: ALL}
    oldest_first: dict[str, None] = {}
    pending = [(identity, False)]
    while pending:
        one, is_done = pending.pop()
        if is_done:
            oldest_first[one] = None
            continue
        link = links[one]
        pending.append((one, True))
        for parent in reversed(link.parents):
            if parent in links:
                until = link.until.partition(".")[2] if parent == link.parent else ""
                if parent not in last:
                    pending.append((parent, False))
                last[parent] = max(last.get(parent, 0), int(until) if until else ALL)
    return {one: last[one] for one in reversed(oldest_first)}


def conversation_numbers(listed: Conversations) -> dict[str, list[int]]:
    """Return each session's last queries in the conversations that have it, in ascending order."""
    numbers: dict[str, list[int]] = {}
    for sessions in listed.values():
        for identity, number in sessions.items():
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
    if identity not in links:
        return (Node(identity, ""),)
    children: dict[str, list[str]] = {one: [] for one in links}
    for one, link in links.items():
        for parent in link.parents:
            children.setdefault(parent, []).append(one)
    family = _reachable([identity], links, lambda link: (*link.parents, *children[link.id]))
    members = [one for one in links if one in family]
    roots = [one for one in members if not any(parent in links for parent in links[one].parents)]
    nodes: list[Node] = []
    drawn: set[str] = set()
    for root in [*roots, *members]:  # of a circle, whoever comes first is its root
        stack = [] if root in drawn else [(root, "", "")]
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
    """Return the rows so that each comes after those that go on from it."""
    return sorted(rows, key=lambda row: len(ancestry([row.id], links)), reverse=True)


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
