"""Shelf: the sessions of one listing, each from the index when that knows its file as it is, else
from the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from chat_loop.library.filters import SessionFilter
from chat_loop.library.index import Known
from chat_loop.library.lineage import Link
from chat_loop.library.stored import shown
from chat_loop.sessions import partial
from chat_loop.sessions.dates import instant
from chat_loop.sessions.partial import Stamp
from chat_loop.sessions.records import SessionRow

Progress = Callable[[int, int], None]
"""Told how many files are read, of how many."""


def no_progress(done: int, of: int) -> None:
    """Nobody wants to know."""


class Shelf:
    """`there` are the folder's files, `known` is what the index knows of them. What is dated after
    `latest` (microseconds) is from a clock that was wrong.

    `read` are rows that were read from files as they are; those that are read here are added.
    """

    def __init__(
        self,
        directory: Path,
        there: Sequence[Stamp],
        known: Mapping[str, Known],
        latest: int,
        read: dict[Stamp, SessionRow],
        progress: Progress = no_progress,
    ) -> None:
        self.rows: dict[str, SessionRow] = {}
        """Those that were read from their files."""
        self.links = self._links(directory, there, known, latest, read, progress)
        """How the sessions are tied, last used first, then those of which nobody knows when."""

    def _links(
        self,
        directory: Path,
        there: Sequence[Stamp],
        known: Mapping[str, Known],
        latest: int,
        read: dict[Stamp, SessionRow],
        progress: Progress,
    ) -> dict[str, Link]:
        """Read the files that the index does not know. One that goes away or becomes unreadable has
        a row too.
        """
        found: list[Link] = []
        unknown: list[Stamp] = []
        for stamp in there:
            changed, identity, size = stamp
            one = known.get(identity)
            if one is not None and one[0] == changed and one[1] == size:
                found.append(one[2])
            else:
                unknown.append(stamp)
        for count, stamp in enumerate(unknown, 1):
            row = read.get(stamp)
            if row is None:
                row = read[stamp] = shown(partial.row(directory / f"{stamp.id}.md"))
                progress(count, len(unknown))
            self.rows[stamp.id] = row
            found.append(link_of(row))
        progress(len(unknown), len(unknown))
        found = [
            one if one.used is None or one.used <= latest else structs.replace(one, used=None)
            for one in found
        ]
        found.sort(key=lambda one: (one.used is not None, one.used or 0, one.id), reverse=True)
        return {one.id: one for one in found}

    def holds(self, identity: str, wanted: SessionFilter, matching: Collection[str]) -> bool:
        """Return True for a session that is wanted; `matching` are those that the index finds."""
        row = self.rows.get(identity)
        return identity in matching if row is None else wanted.holds(row)


def link_of(row: SessionRow) -> Link:
    """Return how a session is tied to others."""
    used = instant(row.updated)
    return Link(
        row.id,
        row.parent,
        row.merged,
        row.compacted,
        row.until,
        used,
        row.queries,
        row.mode,
        row.answered,
    )
