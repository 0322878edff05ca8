"""Which sessions a cleaning takes away (pure): whole chains that nobody has used for long, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from chat_loop.library.lineage import Link, ancestors
from chat_loop.sessions.row import SessionRow

KEPT_STATES = ("foreign", "damaged")
"""Files that are no sessions of ours, or may hold more than can be read: they are left to their owner."""


def forgotten(rows: Sequence[SessionRow], links: Mapping[str, Link], before: datetime) -> list[SessionRow]:
    """The sessions that only belong to conversations which last changed before a moment, newest first.

    An old session of which a newer one goes on is its archive, and stays.
    """
    fresh = {row.id for row in rows if row.updated >= before}
    needed = {one for identity in fresh for one in ancestors(identity, links)}
    return [row for row in rows if row.id not in fresh | needed and row.state not in KEPT_STATES]


def originals(rows: Sequence[SessionRow], links: Mapping[str, Link], before: datetime) -> list[SessionRow]:
    """The sealed sessions older than a moment that a child goes on from by their summary."""
    parents = {parent for link in links.values() for parent in link.parents}
    return [row for row in rows if row.id in parents and row.updated < before and row.state == "sealed"]
