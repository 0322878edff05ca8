"""Shelf: the sessions of one listing, each from the index when that knows its file as it is, else from the file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from chat_loop.library.index import Known
from chat_loop.library.lineage import Link
from chat_loop.library.stored import shown
from chat_loop.library.wanted import Wanted
from chat_loop.sessions import listing
from chat_loop.sessions.listing import Stamp
from chat_loop.sessions.row import SessionRow

Progress = Callable[[int, int], None]
"""Told how many files are read, of how many."""


def no_progress(done: int, of: int) -> None:
    """Nobody wants to know."""


class Shelf:
    """`there` are the folder's files, newest first, `known` is what the index knows of them.

    `read` are rows that were read from files as they are; those that are read here are added.
    """

    def __init__(
        self,
        directory: Path,
        there: Sequence[Stamp],
        known: Mapping[str, Known],
        read: dict[Stamp, SessionRow] | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self.links: dict[str, Link] = {}
        """How the sessions are tied, newest first; those are missing that were not read."""
        self.rows: dict[str, SessionRow] = {}
        """Those that were read from their files."""
        self.unread = 0
        self._directory = directory
        self._there = there
        self._known = known
        self._read = {} if read is None else read
        self._progress = progress

    def read(self, enough: int, without: str = "") -> None:
        """Read the files that the index does not know, the newest `enough` of them; `without` is not counted as unread.

        A file that goes away or becomes unreadable has a row too.
        """
        links: dict[str, Link] = {}
        count = self.unread = 0
        rows, known, found = self.rows, self._known.get, self._read
        of = min(enough, self._unknown) if self._progress is not no_progress else 0
        for stamp in self._there:
            changed, identity, size = stamp
            one = known(identity)
            if one is not None and one[0] == changed and one[1] == size:
                links[identity] = one[2]
                continue
            count += 1
            if count > enough:
                self.unread += identity != without
                continue
            row = rows.get(identity) or found.get(stamp)
            if row is None:
                path = self._directory / f"{identity}.md"
                row = found[stamp] = shown(listing.row(path, listing.moment(changed)))
                self._progress(count, of)
            rows[identity] = row
            links[identity] = Link(identity, row.parent, row.merged, row.compacted, row.forked)
        self.links = links
        self._progress(of, of)

    @property
    def _unknown(self) -> int:
        """How many files the index does not know as they are."""
        found = (self._known.get(identity) for _, identity, _ in self._there)
        return sum(
            one is None or one[0] != changed or one[1] != size
            for one, (changed, _, size) in zip(found, self._there, strict=True)
        )

    def holds(self, identity: str, wanted: Wanted, matching: Collection[str]) -> bool:
        """Whether a session is wanted; `matching` are those that the index finds."""
        row = self.rows.get(identity)
        return identity in matching if row is None else wanted.holds(row)
