"""Library: the sessions of a folder as a whole, from the index as far as that knows them, else from
the files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.library.filters import SessionFilter
from chat_loop.sessions import partial
from chat_loop.sessions.dates import instant
from chat_loop.sessions.files import read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.partial import Stamp
from chat_loop.sessions.records import Branch, SessionRow
from chat_loop.values import Usage
from chat_loop.wording import compact_number, counted

if TYPE_CHECKING:
    from chat_loop.library.file import IndexUnavailable
    from chat_loop.library.index import Index, Known
    from chat_loop.library.lineage import Chain, Fork, Link, Shares
    from chat_loop.library.shelf import Shelf

SOON_FILES = 100
SOON_BYTES = 1 << 20
"""So much that changed is read into the index at once, while the user waits; more is read from the
files as it is.
"""
AHEAD = timedelta(days=1)
"""A record that is dated further ahead was written by a clock that was wrong."""
LONG = 4 << 20
"""A part of a longer session is not counted."""

PATIENCE_SECONDS = 5.0
"""How long is waited for another process that writes, by somebody who asked for the index to be
brought up to date.
"""
TRIES = 6
"""So often an index that other processes replace meanwhile is opened again."""

T = TypeVar("T")


class _View(Struct, frozen=True):
    """What of the sessions is asked for."""

    limit: int | None
    wanted: SessionFilter
    fold: bool
    unfolded: Collection[str]
    here: str
    everything: bool


class Library:
    """One folder's sessions. `now()` is the time. Not for several threads at once.

    `progress(done, of)` is told while files are read for a listing, and that all are. A `thorough`
    one reads everything that changed into the index at once, however much that is: nobody else
    does. `trouble` is why the index was not used for everything the last time, as a sentence;
    empty: it was.
    """

    def __init__(
        self,
        directory: Path,
        now: Callable[[], datetime],
        progress: Callable[[int, int], None] | None = None,
        *,
        thorough: bool = False,
    ) -> None:
        self._progress = progress
        self._thorough = thorough
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
        wanted: SessionFilter | None = None,
        fold: bool = True,
        unfolded: Collection[str] = (),
        here: str = "",
        everything: bool = False,
    ) -> tuple[list[SessionRow], int]:
        """Return the `limit` conversations that were used last of those that are wanted, and how
        many more there are.

        The row of a conversation is that of its newest session, with the numbers of its chain;
        after one that is in `unfolded` the rows of its older sessions follow. Without `fold` each
        session has a row of its own. Runs of `-p` and conversations without a reply are there only
        with `everything`, but for the one that is open `here`. Raises SessionError when the folder
        cannot be read.
        """
        there = self._stamps()
        view = _View(limit, wanted or SessionFilter(), fold, unfolded, here, everything)
        known = self._caught_up(there)
        answer = self._using(there, lambda index: self._listed(there, known(index), index, view))
        return answer if answer is not None else self._listed(there, {}, None, view)

    def links(self) -> dict[str, Link]:
        """Return how all sessions are tied to each other, last used first. Raises SessionError."""
        there = self._stamps()
        return self._shelf(there, self._using(there, self._caught_up(there)) or {}).links

    def listed(self) -> list[str]:
        """Return the ids of the conversations in the order in which lists number them. Raises
        SessionError.
        """
        from chat_loop.library.lineage import chains

        links = self.links()
        return [chain.id for chain in chains(links) if links[chain.id].is_listed]

    def _shelf(self, there: Sequence[Stamp], known: Mapping[str, Known]) -> Shelf:
        from chat_loop.library.shelf import Shelf, no_progress

        latest = instant(self.now() + AHEAD) or 0
        return Shelf(
            self.directory, there, known, latest, self._read, self._progress or no_progress
        )

    def compactions(self, ids: Iterable[str]) -> dict[str, str]:
        """What became of those of the sessions that were compacted, as a line: `61K → 9.4K
        tokens`.
        """
        import json  # not before it is asked for

        wanted = json.dumps(list(ids))
        found = self.asked(
            lambda index: index.ask(
                "SELECT s.id, c.before, c.after FROM compactions c JOIN sessions s ON s.key = "
                "c.session "
                "WHERE s.id IN (SELECT value FROM json_each(?))",
                (wanted,),
            )
        )
        return {
            identity: f"compacted {compact_number(before)} → {compact_number(after)}"
            for identity, before, after in found or ()
        }

    def row(self, identity: str) -> SessionRow:
        """Return one session's row, from its file."""
        row = partial.row(self.directory / f"{identity}.md")
        return (
            row
            if row.updated is None or row.updated <= self.now() + AHEAD
            else replace(row, updated=None)
        )

    def bring_up_to_date(
        self, progress: Callable[[int, int], None] | None = None, *, anew: bool = False
    ) -> int:
        """Read every changed file into the index (`anew`: every file); return how many. Raises
        SessionError.
        """
        return self._brought(lambda index, count: count, progress, anew=anew)

    def answered(
        self, question: Callable[[Index], T], progress: Callable[[int, int], None] | None = None
    ) -> T:
        """What the index answers when every changed file is in it. Raises SessionError."""
        return self._brought(lambda index, count: question(index), progress)

    def _brought(
        self,
        question: Callable[[Index, int], T],
        progress: Callable[[int, int], None] | None,
        *,
        anew: bool = False,
    ) -> T:
        from chat_loop.library.file import FILE, IndexUnavailable
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
                count = refresh(
                    index, self.directory, stale(index.known(), there), progress=progress
                )
                answer = question(index, count)
                if (
                    index.changes() == changes
                    or {stamp.id for stamp in there} <= index.known().keys()
                ):
                    return answer
            except IndexUnavailable as error:
                if not self._gave_up(error) or (left < TRIES - 1 and not error.moved):
                    raise SessionError(
                        self.trouble, "Everything but searching works without it."
                    ) from error
        raise SessionError(
            f"The index {self.directory / FILE} is busy: other processes make it anew. Try "
            "again in a moment."
        )

    def asked(self, question: Callable[[Index], T]) -> T | None:
        """What the index answers when it is up to date; None when there is none that can be used:
        see `trouble`.
        """
        there = self._stamps()
        known = self._caught_up(there)
        return self._using(
            there, lambda index: question(index) if known(index) and not self._behind else None
        )

    def _stamps(self) -> list[Stamp]:
        try:
            return partial.newest_first(self.directory)
        except OSError as error:
            raise SessionError(
                f"The sessions folder {self.directory} cannot be read: {error.strerror}."
            ) from error

    def _using(self, there: Sequence[Stamp], question: Callable[[Index], T]) -> T | None:
        """What the index answers; None when it cannot. A damaged one is set aside, and a new one
        asked.
        """
        if not there:
            return None
        from chat_loop.library.file import BUSY_SECONDS, IndexUnavailable
        from chat_loop.library.index import Index

        for _ in range(2):
            try:
                self._index = self._index or Index(
                    self.directory, busy=PATIENCE_SECONDS if self._thorough else BUSY_SECONDS
                )
                return question(self._index)
            except IndexUnavailable as error:
                if not self._gave_up(error):
                    break
        return None

    def _caught_up(self, there: Sequence[Stamp]) -> Callable[[Index], dict[str, Known]]:
        """Have the index read what changed, when that is little; give what it knows then."""
        self.trouble = ""

        def known(index: Index) -> dict[str, Known]:
            from chat_loop.library.file import IndexUnavailable
            from chat_loop.library.stale import stale

            known, self._behind = index.known(), False
            behind = stale(known, there)
            much = (
                len(behind.files) > SOON_FILES
                or sum(stamp.size for stamp in behind.files) > SOON_BYTES
            )
            if much and not self._thorough:
                self._behind = True
                count = len(behind.files)
                are = "is" if count == 1 else "are"
                self.trouble = (
                    self.trouble or f"{counted(count, 'session')} {are} not in the index yet."
                )
            elif behind:
                from chat_loop.library.refresh import (
                    refresh,
                )  # reads files, which most listings need not

                try:
                    refresh(
                        index, self.directory, behind, progress=self._progress if much else None
                    )
                except IndexUnavailable as error:
                    if error.damaged or error.moved:
                        raise
                    self._behind = True
                    self.trouble = self.trouble or str(error)
                else:
                    known = index.known()
            return known

        return known

    def _gave_up(self, error: IndexUnavailable) -> bool:
        """Let the index go, and say why. True when it is out of the way: a new one can be
        opened.
        """
        from chat_loop.library.file import put_away

        self.close()
        told, is_away = put_away(self.directory, self.now(), error)
        self.trouble = (self.trouble or told) if is_away else told
        return is_away

    def _listed(
        self, there: Sequence[Stamp], known: Mapping[str, Known], index: Index | None, view: _View
    ) -> tuple[list[SessionRow], int]:
        """Return the listing from what is known in the index and, for the rest, from the files.
        Raises IndexUnavailable.
        """
        from chat_loop.library.lineage import Shares, chains

        shelf = self._shelf(there, known)
        self._read = {}
        links, wanted = shelf.links, view.wanted
        found = chains(links, view.here) if view.fold else []
        every: dict[str, Chain | None] = (
            {chain.id: chain for chain in found} if view.fold else dict.fromkeys(links)
        )
        chosen = {
            one: chain
            for one, chain in every.items()
            if view.everything or links[one].is_listed or one == view.here
        }
        if wanted:
            any_one, newest = wanted.of_any, wanted.of_newest
            of_any = index.matching(*any_one.sql()) if index is not None else set()
            of_newest = index.matching(*newest.sql()) if index is not None else set()
            chosen = {
                one: chain
                for one, chain in chosen.items()
                if wanted.dated(links[one].used)
                and shelf.holds(one, newest, of_newest)
                and any(
                    shelf.holds(session, any_one, of_any)
                    for session in (chain.taken if chain else (one,))
                )
            }
        shown = dict(islice(chosen.items(), view.limit))
        ids = dict.fromkeys(
            one
            for identity, chain in shown.items()
            for one in (chain.taken if chain else (identity,))
        )
        indexed = (
            index.rows([one for one in ids if one not in shelf.rows]) if index is not None else {}
        )
        by_id = {
            one: row for one in ids if (row := shelf.rows.get(one) or indexed.get(one)) is not None
        }
        by_id = {
            one: row if links[one].used is not None else replace(row, updated=None)
            for one, row in by_id.items()
        }
        rows = []
        shares, unfolded = Shares(found), set(shown)
        for one, chain in shown.items():
            if one not in by_id:
                continue
            rows.append(
                self._conversation(chain, by_id, shares, links) if chain is not None else by_id[one]
            )
            if chain is not None and one in view.unfolded:
                older = [
                    session
                    for session in chain.older
                    if session in by_id and session not in unfolded
                ]
                unfolded.update(older)
                rows += [replace(by_id[identity], behind=one) for identity in older]
        here = view.here
        rows = [replace(row, current=True) if here and row.id == here else row for row in rows]
        return rows, len(chosen) - len(shown)

    def _conversation(
        self,
        chain: Chain,
        by_id: Mapping[str, SessionRow],
        shares: Shares,
        links: Mapping[str, Link],
    ) -> SessionRow:
        """Return the row of a conversation: that of its newest session, with what the whole chain
        comes to.
        """
        row = by_id[chain.id]
        if len(chain.taken) == 1 and not shares.shared(chain):  # most are
            return replace(row, compactions=1) if row.compacted else row
        there = {one: number for one, number in chain.taken.items() if one in by_id}
        parts = {one: self._part(by_id[one], number) for one, number in there.items()}
        shared = {one: number for one, number in shares.shared(chain).items() if one in parts}
        fork = shares.fork(chain, links)
        return replace(
            row,
            name=next((name for one in parts if (name := by_id[one].name)), ""),
            created=next((date for one in reversed(parts) if (date := by_id[one].created)), None),
            queries=_sum(part.queries for part in parts.values()),
            tokens=_sum(part.tokens for part in parts.values()),
            spent=_spent(part.spent for part in parts.values()),
            folded=len(parts) - 1,
            compactions=sum(part.compacted for part in parts.values()),
            shared=sum(min(parts[one].queries or 0, number) for one, number in shared.items()),
            branch=None if fork is None else self._branch(fork, chain, by_id, links),
        )

    def _part(self, row: SessionRow, number: int) -> SessionRow:
        """Return the row of a session up to a query, as the sessions that fork there go on from
        it.
        """
        from chat_loop.library.lineage import ALL
        from chat_loop.library.stored import shown

        if row.queries is None or number >= row.queries:
            return row if number == ALL else replace(row, compacted=False)
        part = replace(row, queries=number, tokens=None, spent=None, compacted=False)
        try:
            data, _, status = read_part(row.path, LONG)
        except OSError:
            return part
        session = parse(data).session
        if session is None or status.st_size > len(data):
            return part
        found = shown(partial.row_of(session.until(number), row.path))
        return replace(part, queries=found.queries, tokens=found.tokens, spent=found.spent)

    def _branch(
        self, fork: Fork, chain: Chain, by_id: Mapping[str, SessionRow], links: Mapping[str, Link]
    ) -> Branch | None:
        first, parent = by_id.get(fork.first), by_id.get(fork.parent)
        if first is None or parent is None:
            return None
        at = first.until or ("" if parent.queries is None else f"{parent.depth}.{parent.queries}")
        line = [chain.id]
        while line[-1] != fork.first:
            line.append(links[line[-1]].parent)
        words = (row.words for one in reversed(line) if (row := by_id.get(one)) is not None)
        return Branch(at, next(filter(None, words), ""))


def _sum(numbers: Iterable[int | None]) -> int | None:
    """Return the sum; None when one of them is unknown."""
    found = list(numbers)
    return None if None in found else sum(filter(None, found))


def _spent(
    parts: Iterable[tuple[tuple[str, Usage], ...] | None],
) -> tuple[tuple[str, Usage], ...] | None:
    """Return the tokens of each model in all parts; None when those of one part are unknown."""
    found: dict[str, Usage] = {}
    for part in parts:
        if part is None:
            return None
        for model, usage in part:
            found[model] = found.get(model, Usage()) + usage
    return (*found.items(),)
