"""Library: the sessions of a folder as a whole, from the index where that is up to date, else from the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from chat_loop.errors import SessionError
from chat_loop.library.lineage import Folded, Link, folded
from chat_loop.library.wanted import Wanted
from chat_loop.sessions import listing
from chat_loop.sessions.listing import Stamp
from chat_loop.sessions.row import SessionRow
from chat_loop.wording import compact_number

if TYPE_CHECKING:
    from chat_loop.library.index import Index

SOON_FILES = 100
SOON_BYTES = 1 << 20
"""So much that changed is read at once, while the user waits; for more the files themselves are asked."""
_CHUNK = 500

T = TypeVar("T")


class Library:
    """One folder's sessions. `trouble` is why the index was not used the last time, as a sentence; empty: it was.

    `now()` is the time. Not for several threads at once.
    """

    def __init__(self, directory: Path, now: Callable[[], datetime]) -> None:
        self.directory = directory
        self.now = now
        self.trouble = ""
        self._index: Index | None = None

    def close(self) -> None:
        """Give the index back."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def rows(
        self,
        limit: int | None = None,
        *,
        wanted: Wanted | None = None,
        fold: bool = True,
        unfolded: Collection[str] = (),
        without: str = "",
    ) -> tuple[list[SessionRow], int]:
        """The newest `limit` sessions that are wanted, and how many more there are.

        With `fold` a chain is its newest session, but for the chains of `unfolded`. The session with the id `without`
        is left out; its chain is not. Raises SessionError when the folder cannot be read.
        """
        there = self._stamps()
        wanted = wanted or Wanted()
        answer = self._asked(there, lambda index: _from_index(index, limit, wanted, fold, unfolded, without))
        return answer if answer is not None else self._from_files(there, limit, wanted, fold, unfolded, without)

    def links(self) -> dict[str, Link]:
        """How all sessions are tied to each other, newest first. Raises SessionError."""
        there = self._stamps()
        found = self._asked(there, _links)
        if found is not None:
            return found
        rows = (listing.row(self.directory / f"{stamp.id}.md", listing.moment(stamp.changed)) for stamp in there)
        return {row.id: Link(row.id, row.parent, row.merged, row.compacted) for row in rows}

    def compactions(self, ids: Iterable[str]) -> dict[str, str]:
        """What became of those of the sessions that were compacted, as a line: `61K → 9.4K tokens`."""
        wanted = json.dumps(list(ids))
        found = self.asked(
            lambda index: index.ask(
                "SELECT s.id, c.before, c.after FROM compactions c JOIN sessions s ON s.key = c.session "
                "WHERE s.id IN (SELECT value FROM json_each(?))",
                (wanted,),
            )
        )
        return {
            identity: f"compacted {compact_number(before)} → {compact_number(after)}"
            for identity, before, after in found or ()
        }

    def row(self, identity: str) -> SessionRow:
        """One session's row, from its file."""
        path = self.directory / f"{identity}.md"
        try:
            changed = path.lstat().st_mtime_ns
        except OSError:
            changed = 0
        return listing.row(path, listing.moment(changed))

    def bring_up_to_date(self, progress: Callable[[int, int], None] | None = None, *, anew: bool = False) -> int:
        """Read every changed file into the index (`anew`: every file); return how many. Raises SessionError."""
        from chat_loop.library.file import FILE, IndexTrouble, set_aside
        from chat_loop.library.index import Index
        from chat_loop.library.refresh import refresh, stale

        there = self._stamps()
        for attempt in (1, 2):
            try:
                if anew:
                    self.close()
                    with suppress(OSError):
                        (self.directory / FILE).unlink()
                self._index = self._index or Index(self.directory, busy=5.0)
                return refresh(self._index, self.directory, stale(self._index, there), progress=progress)
            except IndexTrouble as error:
                self.close()
                if attempt == 2 or not error.damaged:
                    raise SessionError(str(error), "Everything but searching works without it.") from error
                self._tell_set_aside(set_aside(self.directory, self.now()))
        return 0

    def asked(self, question: Callable[[Index], T]) -> T | None:
        """What the index answers when it is up to date; None when there is none that can be used: see `trouble`."""
        return self._asked(self._stamps(), question)

    def _stamps(self) -> list[Stamp]:
        try:
            return listing.newest_first(self.directory)
        except OSError as error:
            raise SessionError(f"The sessions folder {self.directory} cannot be read: {error.strerror}.") from error

    def _asked(self, there: Sequence[Stamp], question: Callable[[Index], T]) -> T | None:
        if not there:
            return None
        from chat_loop.library.file import IndexTrouble, set_aside
        from chat_loop.library.index import Index
        from chat_loop.library.refresh import refresh, stale

        self.trouble = ""
        try:
            self._index = self._index or Index(self.directory)
            behind = stale(self._index, there)
            if len(behind.files) > SOON_FILES or sum(stamp.size for stamp in behind.files) > SOON_BYTES:
                self.trouble = f"{len(behind.files):,} sessions are not in the index yet."
                return None
            if behind:
                refresh(self._index, self.directory, behind)
            return question(self._index)
        except IndexTrouble as error:
            self.close()
            self.trouble = str(error)
            if error.damaged:
                self._tell_set_aside(set_aside(self.directory, self.now()))
            return None

    def _tell_set_aside(self, aside: Path | None) -> None:
        if aside is not None:
            self.trouble = f"The index was damaged: it is kept as {aside.name}, and made anew from the sessions."

    def _from_files(
        self,
        there: Sequence[Stamp],
        limit: int | None,
        wanted: Wanted,
        fold: bool,
        unfolded: Collection[str],
        without: str,
    ) -> tuple[list[SessionRow], int]:
        """The same from the files, read newest first as far as it takes. What is behind them is not folded."""
        found: list[SessionRow] = []
        parents: set[str] = set()
        left = 0
        for stamp in there:
            if limit is not None and len(found) >= limit and not wanted:
                left += stamp.id not in parents and stamp.id != without
                continue
            row = listing.row(self.directory / f"{stamp.id}.md", listing.moment(stamp.changed))
            behind = fold and stamp.id in parents
            if fold and stamp.id not in unfolded:
                parents.update(filter(None, (row.parent, row.merged)))
            if behind or stamp.id == without or not wanted.holds(row):
                continue
            if limit is None or len(found) < limit:
                found.append(row)
            else:
                left += 1
        return found, left


def _links(index: Index) -> dict[str, Link]:
    found = index.ask("SELECT id, parent, merged, compacted FROM sessions ORDER BY changed DESC, id DESC")
    return {identity: Link(identity, parent, merged, bool(compacted)) for identity, parent, merged, compacted in found}


def _from_index(
    index: Index, limit: int | None, wanted: Wanted, fold: bool, unfolded: Collection[str], without: str
) -> tuple[list[SessionRow], int]:
    links = _links(index)
    ids: Iterable[str] = links
    if wanted:
        condition, values = wanted.sql()
        query = f"SELECT id FROM sessions WHERE {condition} ORDER BY changed DESC, id DESC"
        ids = [identity for (identity,) in index.ask(query, values)]
    chosen = list(folded(ids, links, unfolded) if fold else (Folded(identity, 0, 0) for identity in ids))
    if without:
        chosen = [one for one in chosen if one.id != without]
    shown = chosen[:limit]
    rows: dict[str, SessionRow] = {}
    for start in range(0, len(shown), _CHUNK):
        part = [one.id for one in shown[start : start + _CHUNK]]
        rows |= {row.id: row for _, row in index.rows(f"WHERE id IN ({', '.join('?' * len(part))})", part)}
    return [
        replace(rows[one.id], folded=one.behind, compactions=one.compactions) for one in shown if one.id in rows
    ], len(chosen) - len(shown)
