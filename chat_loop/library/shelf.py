"""Shelf: the sessions of one listing, each from the index when that knows its file as it is, else from the file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from chat_loop.library.index import Known
from chat_loop.library.lineage import Link
from chat_loop.library.stored import shown
from chat_loop.library.wanted import Wanted
from chat_loop.sessions import listing
from chat_loop.sessions.listing import Stamp
from chat_loop.sessions.row import SessionRow


class Shelf:
    """`there` are the folder's files, newest first, `known` is what the index knows of them."""

    def __init__(self, directory: Path, there: Sequence[Stamp], known: Mapping[str, Known]) -> None:
        self.links: dict[str, Link] = {}
        """How the sessions are tied, newest first; those are missing that were not read."""
        self.rows: dict[str, SessionRow] = {}
        """Those that were read from their files."""
        self.unread = 0
        self._directory = directory
        self._there = there
        self._known = known

    def read(self, enough: int, without: str = "") -> None:
        """Read the files that the index does not know, the newest `enough` of them; `without` is not counted as unread.

        A file that goes away or becomes unreadable has a row too.
        """
        links: dict[str, Link] = {}
        count = self.unread = 0
        rows, known = self.rows, self._known.get
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
            row = rows.get(identity)
            if row is None:
                path = self._directory / f"{identity}.md"
                row = rows[identity] = shown(listing.row(path, listing.moment(changed)))
            links[identity] = Link(identity, row.parent, row.merged, row.compacted, row.forked)
        self.links = links

    def holds(self, identity: str, wanted: Wanted, matching: Collection[str]) -> bool:
        """Whether a session is wanted; `matching` are those that the index finds."""
        row = self.rows.get(identity)
        return identity in matching if row is None else wanted.holds(row)
