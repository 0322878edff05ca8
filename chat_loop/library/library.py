"""The library: the sessions of a folder as a whole, from their index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library.filters import SessionFilter
from chat_loop.library.lineage import ALL, Chain, Fork, Link, Shares, chains
from chat_loop.sessions import partial
from chat_loop.sessions.dates import instant
from chat_loop.sessions.files import read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.partial import Stamp
from chat_loop.sessions.records import Branch, SessionRow
from chat_loop.values import Usage
from chat_loop.wording import compact_number, counted

if TYPE_CHECKING:
    from chat_loop.library.index import Index, Stale

SOON_FILES = 100
SOON_BYTES = 1 << 20
"""So much that changed is read into the index at once while a chat waits; of more, the rows alone
are read, into an index in memory.
"""
AHEAD = timedelta(days=1)
"""A record that is dated further ahead was written by a clock that was wrong."""
LONG = 4 << 20
"""A part of a longer session is not counted."""
TRIES = 6
"""So often an index that other processes replace meanwhile is opened again."""

T = TypeVar("T")
Rows = Mapping[str, SessionRow]
Progress = Callable[[int, int], None]


class Library:
    """One folder's sessions. `now()` is the time. Not for several threads at once.

    `progress(done, of)` is called while files are read for a listing. A `thorough` library reads
    everything that changed into the index, however much that is. `trouble` says why the index was
    not used the last time, or was made anew, as a sentence; empty: all is well.
    """

    def __init__(
        self,
        directory: Path,
        now: Callable[[], datetime],
        progress: Progress | None = None,
        *,
        thorough: bool = False,
    ) -> None:
        self.directory = directory
        self.now = now
        self.trouble = ""
        self._progress = progress
        self._thorough = thorough
        self._index: Index | None = None
        self._in_memory: Index | None = None

    def close(self) -> None:
        """Close the index."""
        for index in (self._index, self._in_memory):
            if index is not None:
                index.close()
        self._index = self._in_memory = None

    def links(self) -> dict[str, Link]:
        """Return how all sessions are tied to each other, last used first. Raises SessionError."""
        return self._answer(lambda index: index.links(self._latest()))

    def rows_of(self, ids: Iterable[str]) -> dict[str, SessionRow]:
        """Return the sessions with these ids. Raises SessionError."""
        wanted = list(dict.fromkeys(ids))
        return self._answer(lambda index: index.rows(wanted, self._latest()))

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
        with `everything`, except for the one that is open `here`. Raises SessionError when the
        folder cannot be read.
        """
        latest = self._latest()

        def ask(index: Index) -> tuple[dict[str, Link], list[Chain], list[Chain], int, Rows]:
            links = index.links(latest)
            every = chains(links, here) if fold else [Chain(one, {one: 0}) for one in links]
            found = [
                one for one in every if everything or one.id == here or links[one.id].is_listed
            ]
            if wanted is not None:
                found = _matching(index, wanted, latest, found)
            shown = found if limit is None else found[:limit]
            ids = {one for chain in shown for one in chain.taken}
            sessions = index.rows([*ids], latest)
            if len(sessions) < len(ids):
                raise index.damage()
            return links, every, shown, len(found) - len(shown), sessions

        links, every, shown, more, sessions = self._answer(ask)
        shares = Shares(every if fold else ())
        listed = {chain.id for chain in shown}
        rows: list[SessionRow] = []
        for chain in shown:
            row = sessions[chain.id]
            rows.append(self._conversation(chain, sessions, shares, links) if fold else row)
            if fold and chain.id in unfolded:
                older = [one for one in chain.older if one not in listed]
                listed.update(older)
                rows += [replace(sessions[one], behind=chain.id) for one in older]
        rows = [replace(row, current=True) if here and row.id == here else row for row in rows]
        return rows, more

    def _latest(self) -> int:
        """Return the microsecond after which no record can have been written."""
        return instant(self.now() + AHEAD) or 0

    def listed(self) -> list[str]:
        """Return the ids of the conversations in the order in which lists number them. Raises
        SessionError.
        """
        return self._answer(self.listed_in)

    def listed_in(self, index: Index) -> list[str]:
        """Return what `listed` does, from an index that is up to date. Raises IndexUnavailable."""
        links = index.links(self._latest())
        return [chain.id for chain in chains(links) if links[chain.id].is_listed]

    def compactions(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the sizes before and after those of the compactions that ended the sessions:
        `compacted 61K → 9.4K`.
        """
        wanted = list(ids)
        sizes = self._answer(lambda index: index.compactions(wanted))
        return {
            identity: f"compacted {compact_number(before)} → {compact_number(after)}"
            for identity, (before, after) in sizes.items()
        }

    def figures(self, progress: Progress | None = None) -> dict[str, int | float | None]:
        """Return what all sessions come to, by name: counts, tokens, bytes, and US dollars as a
        float, None where a price is unknown. Raises SessionError.
        """
        return self.answered(
            lambda index: index.figures() | {"conversations": len(chains(index.links()))}, progress
        )

    def bring_up_to_date(self, progress: Progress | None = None, *, anew: bool = False) -> int:
        """Read every changed file into the index (`anew`: every file); return how many. Raises
        SessionError.
        """
        return self._brought(lambda index, count: count, progress, anew=anew)

    def answered(self, question: Callable[[Index], T], progress: Progress | None = None) -> T:
        """Return what the index answers when every changed file is in it. Raises SessionError."""
        return self._brought(lambda index, count: question(index), progress)

    def _brought(
        self,
        question: Callable[[Index, int], T],
        progress: Progress | None,
        *,
        anew: bool = False,
    ) -> T:
        """Bring the index up to date, and return what it answers then. Raises SessionError."""
        from chat_loop.library.refresh import refresh

        self.trouble = ""
        rebuilt = False
        for _ in range(TRIES):
            there = self._stamps()
            try:
                index = self._opened(patient=True)
                if anew:
                    index.clear()
                    anew = False  # another process that makes it anew meanwhile does the same work
                changes = index.changes()
                count = refresh(index, index.stale(there), progress=progress)
                answer = question(index, count)
                if index.changes() == changes:
                    return answer
                if {stamp.id for stamp in there} <= index.matching("1", ()):
                    return answer
            except IndexUnavailable as error:
                if not self._makes_way(error) or (rebuilt and not error.moved):
                    raise SessionError(
                        str(error), "Everything but searching works without it."
                    ) from error
                rebuilt = rebuilt or not error.moved
        raise SessionError(
            f"The index of {self.directory} is busy: other processes make it anew. Try "
            "again in a moment."
        )

    def _answer(self, question: Callable[[Index], T]) -> T:
        """Return what an index answers that knows every file as it is: the folder's, else one in
        memory. Raises SessionError.
        """
        from chat_loop.library.index import Index

        self.trouble = ""
        there = self._stamps()
        for _ in range(2 if there else 0):
            try:
                index = self._opened(patient=self._thorough)
                if not self._caught_up(index, index.stale(there)):
                    break
                if self._in_memory is not None:
                    self._in_memory.close()
                    self._in_memory = None
                with index.reading():
                    return question(index)
            except IndexUnavailable as error:
                if not self._makes_way(error):
                    break
        from chat_loop.library.refresh import refresh_rows

        index = self._in_memory = self._in_memory or Index(self.directory, in_memory=True)
        refresh_rows(index, index.stale(there), self._progress)
        return question(index)

    def _caught_up(self, index: Index, changed: Stale) -> bool:
        """Read what changed into the index. Return False when that is too much for now."""
        if not changed:
            return True
        count = len(changed.files)
        much = count > SOON_FILES or sum(stamp.size for stamp in changed.files) > SOON_BYTES
        if much and not self._thorough:
            are = "is" if count == 1 else "are"
            self.trouble = f"{counted(count, 'session')} {are} not in the index yet."
            return False
        from chat_loop.library.refresh import refresh  # loads what reads and redacts texts

        refresh(index, changed, progress=self._progress if much else None)
        return True

    def _opened(self, *, patient: bool) -> Index:
        from chat_loop.library.index import Index

        self._index = self._index or Index(self.directory, patient=patient)
        return self._index

    def _makes_way(self, error: IndexUnavailable) -> bool:
        """Close the index and say why. Return True when another one can be opened."""
        from chat_loop.library.index_file import make_way

        if self._index is not None:
            self._index.close()
            self._index = None
        line = make_way(self.directory, error)
        self.trouble = str(error) if line is None else line or self.trouble
        return line is not None

    def _stamps(self) -> list[Stamp]:
        try:
            return partial.newest_first(self.directory)
        except OSError as error:
            raise SessionError(
                f"The sessions folder {self.directory} cannot be read: {error.strerror}."
            ) from error

    def _conversation(
        self, chain: Chain, sessions: Rows, shares: Shares, links: Mapping[str, Link]
    ) -> SessionRow:
        """Return the row of a conversation: that of its newest session, with the numbers of the
        whole chain.
        """
        row = sessions[chain.id]
        shared = shares.shared(chain)
        if len(chain.taken) == 1 and not shared:  # most are
            return replace(row, compactions=1) if row.compacted else row
        parts = {one: self._part(sessions[one], number) for one, number in chain.taken.items()}
        return replace(
            row,
            name=next((name for one in parts if (name := sessions[one].name)), ""),
            created=next(
                (date for one in reversed(parts) if (date := sessions[one].created)), None
            ),
            queries=_sum(part.queries for part in parts.values()),
            tokens=_sum(part.tokens for part in parts.values()),
            spent=_spent(part.spent for part in parts.values()),
            folded=len(parts) - 1,
            compactions=sum(part.compacted for part in parts.values()),
            shared=sum(min(parts[one].queries or 0, number) for one, number in shared.items()),
            branch=_branch(shares.fork(chain, links), chain, sessions),
        )

    def _part(self, row: SessionRow, number: int) -> SessionRow:
        """Return the row of a session up to a query, as the sessions that fork there go on from
        it.
        """
        from chat_loop.library.refresh import without_secrets

        if row.queries is None or number >= row.queries:
            return row if number == ALL else replace(row, compacted=False)
        part = replace(row, queries=number, tokens=None, spent=None, compacted=False)
        try:
            data, status = read_part(row.path, LONG)
        except OSError:
            return part
        session = parse(data).session
        if session is None or status.st_size > len(data):
            return part
        found = without_secrets(partial.row_of(session.until(number), row.path))
        return replace(part, queries=found.queries, tokens=found.tokens, spent=found.spent)


def _matching(index: Index, wanted: SessionFilter, latest: int, found: list[Chain]) -> list[Chain]:
    """Return the conversations that are wanted. Raises IndexUnavailable."""
    if of_any := wanted.of_any:
        ids = index.matching(*of_any.condition())
        found = [chain for chain in found if not ids.isdisjoint(chain.taken)]
    if of_newest := wanted.of_newest:
        condition, values = of_newest.condition()
        if wanted.is_dated:
            condition, values = f"{condition} AND used <= ?", [*values, latest]
        ids = index.matching(condition, values)
        found = [chain for chain in found if chain.id in ids]
    return found


def _branch(fork: Fork | None, chain: Chain, sessions: Rows) -> Branch | None:
    """Return where a conversation leaves others, and how it goes on there."""
    if fork is None:
        return None
    parent = sessions[fork.parent]
    at = sessions[fork.first].until
    if not at and parent.queries is not None:
        at = f"{parent.depth}.{parent.queries}"
    line = [chain.id]
    while line[-1] != fork.first:
        line.append(sessions[line[-1]].parent)
    words = (sessions[one].words for one in reversed(line))
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
