"""Library: the sessions of a folder as a whole, from the index as far as that knows them, else from the files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from chat_loop.errors import SessionError
from chat_loop.frozen import dataclass
from chat_loop.library.wanted import Wanted
from chat_loop.sessions import listing
from chat_loop.sessions.listing import Stamp
from chat_loop.sessions.row import SessionRow
from chat_loop.wording import compact_number, counted

if TYPE_CHECKING:
    from chat_loop.library.file import IndexTrouble
    from chat_loop.library.index import Index, Known
    from chat_loop.library.lineage import Link
    from chat_loop.library.shelf import Shelf

SOON_FILES = 100
SOON_BYTES = 1 << 20
"""So much that changed is read into the index at once, while the user waits; more is read from the files as it is."""
ENOUGH_FILES = 300
"""So many files are read for a page when the index does not know them; they are the newest."""

PATIENCE_SECONDS = 5.0
"""How long is waited for another process that writes, by somebody who asked for the index to be brought up to date."""
TRIES = 6
"""So often an index that other processes replace meanwhile is opened again."""

T = TypeVar("T")


@dataclass(frozen=True)
class _View:
    """What of the sessions is asked for."""

    limit: int | None
    wanted: Wanted
    fold: bool
    unfolded: Collection[str]
    without: str


class Library:
    """One folder's sessions. `now()` is the time. Not for several threads at once.

    `progress(done, of)` is told while files are read for a listing, and that all are.
    `trouble` is why the index was not used for everything the last time, as a sentence; empty: it was.
    """

    def __init__(
        self, directory: Path, now: Callable[[], datetime], progress: Callable[[int, int], None] | None = None
    ) -> None:
        self._progress = progress
        self._read: dict[Stamp, SessionRow] = {}
        """What was read from files to know how sessions are tied, for the listing that follows."""
        self.directory = directory
        self.now = now
        self.trouble = ""
        self._behind = False
        """Whether the index does not know everything."""
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
        is left out; its chain is not. What the index does not know is read from the files: for a page only the newest
        of them, and each of the others counts as one more. Raises SessionError when the folder cannot be read.
        """
        there = self._stamps()
        view = _View(limit, wanted or Wanted(), fold, unfolded, without)
        known = self._caught_up(there)
        answer = self._using(there, lambda index: self._listed(there, known(index), index, view))
        return answer if answer is not None else self._listed(there, {}, None, view)

    def links(self) -> dict[str, Link]:
        """How all sessions are tied to each other, newest first. Raises SessionError."""
        there = self._stamps()
        shelf = self._shelf(there, self._using(there, self._caught_up(there)) or {})
        shelf.read(len(there))
        return shelf.links

    def _shelf(self, there: Sequence[Stamp], known: Mapping[str, Known]) -> Shelf:
        from chat_loop.library.shelf import Shelf, no_progress

        return Shelf(self.directory, there, known, self._read, self._progress or no_progress)

    def compactions(self, ids: Iterable[str]) -> dict[str, str]:
        """What became of those of the sessions that were compacted, as a line: `61K → 9.4K tokens`."""
        import json  # not before it is asked for

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
        return self._brought(lambda index, count: count, progress, anew=anew)

    def answered(self, question: Callable[[Index], T], progress: Callable[[int, int], None] | None = None) -> T:
        """What the index answers when every changed file is in it. Raises SessionError."""
        return self._brought(lambda index, count: question(index), progress)

    def _brought(
        self, question: Callable[[Index, int], T], progress: Callable[[int, int], None] | None, *, anew: bool = False
    ) -> T:
        from chat_loop.library.file import FILE, IndexTrouble
        from chat_loop.library.index import Index
        from chat_loop.library.refresh import refresh
        from chat_loop.library.stale import stale

        self.trouble = ""
        for left in reversed(range(TRIES)):
            there = self._stamps()
            try:
                index = self._index = self._index or Index(self.directory, busy=PATIENCE_SECONDS)
                if anew:
                    index.clear()
                    anew = False  # whoever else makes it anew meanwhile does the same work
                changes = index.changes()
                count = refresh(index, self.directory, stale(index.known(), there), progress=progress)
                answer = question(index, count)
                if index.changes() == changes or {stamp.id for stamp in there} <= index.known().keys():
                    return answer
            except IndexTrouble as error:
                if not self._gave_up(error) or (left < TRIES - 1 and not error.moved):
                    raise SessionError(self.trouble, "Everything but searching works without it.") from error
        raise SessionError(
            f"The index {self.directory / FILE} is busy: other processes make it anew. Try again in a moment."
        )

    def asked(self, question: Callable[[Index], T]) -> T | None:
        """What the index answers when it is up to date; None when there is none that can be used: see `trouble`."""
        there = self._stamps()
        known = self._caught_up(there)
        return self._using(there, lambda index: question(index) if known(index) and not self._behind else None)

    def _stamps(self) -> list[Stamp]:
        try:
            return listing.newest_first(self.directory)
        except OSError as error:
            raise SessionError(f"The sessions folder {self.directory} cannot be read: {error.strerror}.") from error

    def _using(self, there: Sequence[Stamp], question: Callable[[Index], T]) -> T | None:
        """What the index answers; None when it cannot. A damaged one is set aside, and a new one asked."""
        if not there:
            return None
        from chat_loop.library.file import IndexTrouble
        from chat_loop.library.index import Index

        for _ in range(2):
            try:
                self._index = self._index or Index(self.directory)
                return question(self._index)
            except IndexTrouble as error:
                if not self._gave_up(error):
                    break
        return None

    def _caught_up(self, there: Sequence[Stamp]) -> Callable[[Index], dict[str, Known]]:
        """Have the index read what changed, when that is little; give what it knows then."""
        self.trouble = ""

        def known(index: Index) -> dict[str, Known]:
            from chat_loop.library.file import IndexTrouble
            from chat_loop.library.stale import stale

            known, self._behind = index.known(), False
            behind = stale(known, there)
            if len(behind.files) > SOON_FILES or sum(stamp.size for stamp in behind.files) > SOON_BYTES:
                self._behind = True
                count = len(behind.files)
                are = "is" if count == 1 else "are"
                self.trouble = self.trouble or f"{counted(count, 'session')} {are} not in the index yet."
            elif behind:
                from chat_loop.library.refresh import refresh  # reads files, which most listings need not

                try:
                    refresh(index, self.directory, behind)
                except IndexTrouble as error:
                    if error.damaged or error.moved:
                        raise
                    self._behind = True
                    self.trouble = self.trouble or str(error)
                else:
                    known = index.known()
            return known

        return known

    def _gave_up(self, error: IndexTrouble) -> bool:
        """Let the index go, and say why. True when it is out of the way: a new one can be opened."""
        from chat_loop.library.file import put_away

        self.close()
        told, is_away = put_away(self.directory, self.now(), error)
        self.trouble = (self.trouble or told) if is_away else told
        return is_away

    def _listed(
        self, there: Sequence[Stamp], known: Mapping[str, Known], index: Index | None, view: _View
    ) -> tuple[list[SessionRow], int]:
        """The listing from what is known in the index and, for the rest, from the files. Raises IndexTrouble."""
        from chat_loop.library.lineage import Folded, folded

        limit, wanted = view.limit, view.wanted
        shelf = self._shelf(there, known)
        self._read = {}
        matching = index.matching(*wanted.sql()) if wanted and index is not None else set()
        enough = len(there) if limit is None or wanted else max(ENOUGH_FILES, limit)
        while True:
            shelf.read(enough, view.without)
            ids = (one for one in shelf.links if shelf.holds(one, wanted, matching)) if wanted else iter(shelf.links)
            found = folded(ids, shelf.links, view.unfolded) if view.fold else (Folded(one, 0, 0) for one in ids)
            chosen = [one for one in found if one.id != view.without]
            if limit is None or len(chosen) >= limit or not shelf.unread:
                break
            enough *= 2
        shown = chosen[:limit]
        indexed = index.rows([one.id for one in shown if one.id not in shelf.rows]) if index is not None else {}
        rows = []
        for one in shown:
            row = indexed.get(one.id) or shelf.rows.get(one.id)
            if row is not None and (one.behind or one.compactions or row.compactions is None):
                row = replace(row, folded=one.behind, compactions=one.compactions)
            rows += [row] if row is not None else []
        return rows, len(chosen) - len(shown) + shelf.unread
