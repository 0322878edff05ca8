"""Which sessions a cleaning takes away (pure): whole chains that nobody has used for long, and
nothing else.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from chat_loop.library.lineage import Link
from chat_loop.sessions.records import SessionRow

KEPT_STATES = ("foreign", "damaged")
"""Files that are no sessions of ours, or may hold more than can be read: they are left to their
owner.
"""


def forgotten(
    rows: Sequence[SessionRow], links: Mapping[str, Link], before: datetime
) -> list[SessionRow]:
    """The sessions that only belong to conversations which last changed before a moment, newest
    first.

    An old session of which one goes on that stays is its archive, and stays. No session comes after
    one that it goes on from.
    """
    staying = lineage((row.id for row in rows if _stays(row, before)), links)
    return _children_first([row for row in rows if row.id not in staying], links)


def _stays(row: SessionRow, before: datetime) -> bool:
    """Return True for what was used later, for what nobody knows the date of, and for what is no
    session of ours.
    """
    return row.updated is None or row.updated >= before or row.state in KEPT_STATES


def originals(
    rows: Sequence[SessionRow],
    links: Mapping[str, Link],
    before: datetime,
    needed: Collection[str] = (),
) -> list[SessionRow]:
    """The sealed sessions older than a moment that a child goes on from by their summary, in the
    same order.

    `needed` are the ids of those whose own words somebody still goes on from.
    """
    parents = {parent for link in links.values() for parent in link.parents if parent != link.id}
    chosen = [
        row
        for row in rows
        if row.id in parents and not _stays(row, before) and row.state == "sealed"
    ]
    return _children_first([row for row in chosen if row.id not in needed], links)


def lineage(ids: Iterable[str], links: Mapping[str, Link]) -> set[str]:
    """The sessions with these ids and all that they come from."""
    found: set[str] = set()
    stack = list(ids)
    while stack:
        identity = stack.pop()
        if identity not in found:
            found.add(identity)
            stack += links[identity].parents if identity in links else ()
    return found


def _children_first(rows: Sequence[SessionRow], links: Mapping[str, Link]) -> list[SessionRow]:
    """The rows in their order, but for those that come after others that go on from them, be it
    through sessions that are not among the rows. A circle is opened at its first.
    """
    place = {row.id: number for number, row in enumerate(rows)}
    by_id = {row.id: row for row in rows}
    for between in sorted(lineage(place, links) - place.keys()):
        place[between] = len(place)
    parents = {
        one: [
            parent
            for parent in (links[one].parents if one in links else ())
            if parent in place and parent != one
        ]
        for one in place
    }
    children = dict.fromkeys(place, 0)
    for known in parents.values():
        for parent in known:
            children[parent] += 1
    ready = [place[identity] for identity, count in children.items() if not count]
    heapq.heapify(ready)
    order = [*place]
    taken: dict[str, None] = {}
    for identity in order:
        if not ready and identity not in taken:
            heapq.heappush(ready, place[identity])
        while ready:
            one = order[heapq.heappop(ready)]
            if one in taken:
                continue
            taken[one] = None
            for parent in parents[one]:
                children[parent] -= 1
                if not children[parent]:
                    heapq.heappush(ready, place[parent])
    return [by_id[one] for one in taken if one in by_id]
