"""The library: lists, filters and totals of all sessions of a folder, read from their index. With a
library that is shared, it joins the answers of both.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from chat_loop.errors import IndexUnavailable, SessionError, os_reason
from chat_loop.library import lineage, listing
from chat_loop.library.filters import SessionFilter
from chat_loop.library.indexed import Progress, silent
from chat_loop.library.listing import Conversations, Known, Which
from chat_loop.library.shared import Answer, SharedLibrary, SharedPage, joined, read_page
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import RunningTotals, Session, SessionRow
from chat_loop.sessions.rows import Seen, Stamp, Stamps, look
from chat_loop.values import plural

if TYPE_CHECKING:
    from chat_loop.library.index import Index

LISTED = 1_000
BROWSED = 2_000
"""With a shared library: the conversations that have numbers, and those in the full-screen list."""
SOON_FILES = 100
SOON_BYTES = 1 << 20
"""The most that is indexed while a chat waits. Beyond that, only rows are read, into memory."""
LONG = 4 << 20
"""The bytes from which a session's texts are indexed only when a question needs them."""
TRIES = 12  # attempts at an index that other processes keep changing

T = TypeVar("T")


class _Spare:
    """Open indexes of a folder that no library uses, for any thread."""

    def __init__(self) -> None:
        self._indexes: list[Index] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def take(self) -> Index | None:
        """Return an index that is open already, if there is one."""
        with self._lock:
            if not self._indexes:
                return None
            return self._indexes.pop()

    def give(self, index: Index) -> None:
        """Keep an index for the next library."""
        with self._lock:
            if self._is_closed:  # a question outlived the chat
                index.close()
            else:
                self._indexes.append(index)

    def close(self) -> None:
        """Close all, and those that are given later."""
        with self._lock:
            self._is_closed = True
            while self._indexes:
                self._indexes.pop().close()


class Page(NamedTuple):
    """Rows of a list, and the number of others."""

    rows: list[SessionRow]
    more: int


class Library:
    """The sessions of one folder and of the library that it shares, for one thread at a time. A
    `thorough` library always indexes all changes before it answers, however many. Changes of the
    session `unread` are not indexed, nor the texts of files of more than `longest` bytes.

    The warning of an answer says why an index was not used, or was made anew.
    """

    def __init__(
        self,
        directory: Path,
        progress: Progress = silent,
        *,
        thorough: bool = False,
        unread: str = "",
        longest: float = math.inf,
        shared: SharedLibrary | None = None,
        spare: _Spare | None = None,
    ) -> None:
        self.directory = directory
        self.shared = shared
        self._progress = progress
        self._thorough = thorough
        self._unread = unread
        self._longest = longest
        self._is_first = spare is None
        self._spare = spare or _Spare()
        self._index = self._spare.take()
        self._in_memory: Index | None = None

    def close(self) -> None:
        """Close the index, or leave it to the next library that is made `beside` the first one."""
        if self._index is not None:
            self._spare.give(self._index)
            self._index = None
        if self._in_memory is not None:
            self._in_memory.close()
            self._in_memory = None
        if self._is_first:
            self._spare.close()

    def beside(
        self,
        progress: Progress = silent,
        *,
        alone: bool = False,
    ) -> Library:
        """Return a library of the same sessions, or if `alone` of the folder's, for another thread.
        It goes on with an index that an earlier one has left, which knows the files already.
        """
        shared = self.shared
        if alone:
            shared = None
        return Library(self.directory, progress, shared=shared, spare=self._spare)

    def links(self, files: Stamps | None = None) -> Answer[dict[str, Link]]:
        """Return the links of all sessions of the folder, most recently used first. Raises
        SessionError.
        """
        return self.ask(lambda index: index.links(), texts=False, files=files)

    def relatives(self, ids: Sequence[str]) -> Answer[Mapping[str, Link]]:
        """Return the links of sessions, their relatives and perhaps others, most recently used
        first. Raises SessionError.
        """
        page = None
        problem = ""
        if self.shared is not None:
            page, problem = self.shared.family(ids)
        known, warning = self.ask(lambda index: _known(index, SessionFilter(), page), texts=False)
        return Answer(known.links, warning or problem)

    def newest(self, ids: Sequence[str]) -> Answer[list[str]]:
        """Return for each session the newest one of its conversation. Raises SessionError."""
        links, warning = self.relatives(ids)
        return Answer(lineage.newest(ids, links), warning)

    def session(self, identity: str) -> Answer[Session | None]:
        """Return a session from the shared library, with queries and replies only and without
        secrets. Return None if no exchange of it is there.
        """
        if self.shared is None:
            return Answer(None)
        return self.shared.session(identity)

    def rows_of(self, ids: Iterable[str]) -> Answer[dict[str, SessionRow]]:
        """Return the rows of the sessions among `ids` that are known. Raises SessionError."""
        unique_ids = list(dict.fromkeys(ids))
        rows, warning = self.ask(lambda index: index.rows(unique_ids), texts=False)
        missing = [identity for identity in unique_ids if identity not in rows]
        if self.shared is None or not missing:
            return Answer(rows, warning)
        (others, _), problem = self.shared.rows(missing)
        return Answer({**rows, **others}, warning or problem)

    def rows(
        self,
        limit: int | None = None,
        *,
        wanted: SessionFilter | None = None,
        fold: bool = True,
        here: str = "",
        everything: bool = False,
        files: Stamps | None = None,
    ) -> Answer[Page]:
        """Return the `limit` most recently used conversations, and the number of others, which is
        approximate with a shared library. The row of a conversation is that of its newest session,
        with the totals of its chain; without `fold`, each session has its own row. Runs of `-p`,
        and unanswered conversations other than `here`, are included only with `everything`. The
        folder's files are `files`, or those of now. Raises SessionError.
        """
        which = Which(fold=fold, here=here, everything=everything)
        wanted = wanted or SessionFilter()
        page, problem = self._page(wanted, limit, which)

        def find(index: Index) -> _Found:
            known = _known(index, wanted, page)
            every = listing.conversations(known.links, which)
            listed = listing.listed(known, every, which)
            tips = listed[:limit]
            needed = {identity for tip in tips for identity in every[tip]}
            sessions = index.rows([*needed])
            missing = needed - sessions.keys()
            if page is not None:
                missing -= page.links.keys()
            if missing:
                raise index.damage()
            forked = set[str]()
            if fold:
                forked = listing.left_early(tips, every, known.links)
            running: dict[str, Sequence[RunningTotals]] = {}
            for identity in forked & sessions.keys():
                running[identity] = _running_totals(index, sessions[identity].path)
            return _Found(known.links, every, listed, tips, sessions, running, forked)

        found, warning = self.ask(find, texts=False, files=files)
        if self.shared is not None:
            found = _with_shared(found, self.shared)
        rows = [found.sessions[tip] for tip in found.tips]
        if fold:
            rows = listing.folded_rows(
                found.tips, found.every, found.sessions, found.links, found.running
            )
        more = len(found.listed) - len(rows)
        if page is not None and page.next is not None and not wanted:
            more = max(more, page.beginnings - len(rows))
        if here:
            rows = [replace(row, current=row.id == here) for row in rows]
        return Answer(Page(rows, more), warning or problem)

    def listed(self) -> Answer[list[str]]:
        """Return the ids of the numbered conversations, in their order. Raises SessionError."""
        page, problem = self.numbered_page()
        listed, warning = self.ask(lambda index: listed_in(index, page), texts=False)
        return Answer(listed, warning or problem)

    def numbered_page(self) -> Answer[SharedPage | None]:
        """Return the shared library's part of the numbered conversations."""
        return self._page(SessionFilter(), LISTED, Which())

    def _page(
        self, wanted: SessionFilter, limit: int | None, which: Which
    ) -> Answer[SharedPage | None]:
        """Return what the shared library has for a list."""
        if self.shared is None:
            return Answer(None)
        page, problem = read_page(self.shared, wanted, limit, which)
        return Answer(page, problem)

    def figures(self) -> Answer[dict[str, int | float | None]]:
        """Return the totals in FIGURES over all sessions of the folder. Raises SessionError."""

        def find(index: Index) -> dict[str, int | float | None]:
            return index.figures() | {"conversations": len(lineage.conversations(index.links()))}

        return self.ask(find, texts=self.directory.exists())

    def update_index(self, *, rebuild: bool = False) -> int:
        """Index the changed files, or on `rebuild` all files. Return the number that were read.
        Raises SessionError.
        """
        with _necessary():
            files = self.look().stamps
            _, count = self._ask_folder(files, lambda index: None, texts=True, rebuild=rebuild)
        return count

    def ask(
        self, question: Callable[[Index], T], *, texts: bool = True, files: Stamps | None = None
    ) -> Answer[T]:
        """Return the answer of the folder's up-to-date index. If it needs no `texts`, a temporary
        index in memory may give it. It looks at the folder, or takes its files to be `files`.
        Raises SessionError.
        """
        if files is None:
            files = self.look().stamps
        if texts:
            with _necessary():
                return self._ask_folder(files, question, texts=True)[0]
        warning = ""
        if files:
            try:
                return self._ask_folder(files, question, texts=False)[0]
            except IndexUnavailable as error:
                warning = str(error)
        from chat_loop.library import index, refresh

        memory = self._in_memory = self._in_memory or index.Index(self.directory, in_memory=True)
        refresh.refresh(memory, *memory.stale(files), rows_only=True, progress=self._progress)
        return Answer(question(memory), warning)

    def look(self) -> Seen:
        """Return the files of the folder. Raises SessionError."""
        try:
            return look(self.directory)
        except OSError as error:
            message = f"The sessions folder {self.directory} cannot be read: {os_reason(error)}."
            raise SessionError(message) from error

    def _ask_folder(
        self,
        files: Stamps,
        question: Callable[[Index], T],
        *,
        texts: bool,
        rebuild: bool = False,
    ) -> tuple[Answer[T], int]:
        """Update the index of the folder. Return its answer, and the number of files that were
        read. Raises IndexUnavailable.
        """
        from chat_loop.library.index import Index, discard

        count = 0
        warning = ""
        for _ in range(TRIES):
            try:
                patient = texts or self._thorough
                index = self._index or Index(self.directory, patient=patient)
                self._index = index
                index.set_patience(patient=patient)
                if rebuild and not count:
                    index.clear()
                with index.transaction():
                    stale, gone = index.stale(files, texts=texts)
                    stale = [file for file in stale if file.id != self._unread]
                    # A file that was just read may have changed again; the index has its session.
                    is_read = count and {file.id for file in stale} <= index.ids_where()
                    if is_read or not (stale or gone):
                        return Answer(question(index), warning), count
                self._update(index, stale, gone, texts)
                count += len(stale)
            except IndexUnavailable as error:
                if self._index is not None:
                    self._index.close()
                    self._index = None
                if error.was_replaced:
                    continue
                if warning or not (error.is_damaged and discard(self.directory)):
                    raise
                warning = "The index was damaged: a new one is made from the sessions."
        raise IndexUnavailable(f"The index of {self.directory} is busy. Try again in a moment.")

    def _update(self, index: Index, stale: list[Stamp], gone: Set[str], texts: bool) -> None:
        """Index stale files, or raise IndexUnavailable when that would take too long."""
        longest = self._longest if texts else LONG
        long = [file for file in stale if file.size > longest]
        short = [file for file in stale if file not in long]
        much = len(stale) > SOON_FILES or sum(file.size for file in short) > SOON_BYTES
        if much and not (texts or self._thorough):
            count = plural(len(stale), "changed session")
            raise IndexUnavailable(f"The index does not have {count} yet.")
        from chat_loop.library.refresh import refresh  # loads the code that reads and redacts texts

        progress = self._progress if much else silent
        refresh(index, short, gone, progress=progress)
        refresh(index, long, (), rows_only=True)


@contextmanager
def _necessary() -> Iterator[None]:
    """Make an index that cannot be used a SessionError, where nothing else can answer."""
    try:
        yield
    except IndexUnavailable as error:
        raise SessionError(str(error), "Everything but searching works without it.") from error


def listed_in(index: Index, page: SharedPage | None) -> list[str]:
    """Return the ids of the numbered conversations of a folder and of a shared library's page."""
    known = _known(index, SessionFilter(), page)
    which = Which()
    listed = listing.listed(known, listing.conversations(known.links, which), which)
    if page is None:
        return listed
    return listed[:LISTED]


def _known(index: Index, wanted: SessionFilter, page: SharedPage | None) -> Known:
    """Return the sessions that a list is made of, those of the folder and those of a page."""
    known = Known(links=index.links())
    if wanted:
        some = index.ids_where(wanted.conditions(of_newest=False))
        newest = index.ids_where(wanted.conditions(of_any=False))
        known = replace(known, any=some, newest=newest)
    if page is None:
        return known
    return joined(known, index.uses(), page)


class _Found(NamedTuple):
    """The conversations of a list, and what is known of the sessions of its page."""

    links: Mapping[str, Link]
    every: Conversations
    listed: list[str]
    tips: list[str]
    sessions: dict[str, SessionRow]
    running: dict[str, Sequence[RunningTotals]]
    forked: set[str]


def _with_shared(found: _Found, shared: SharedLibrary) -> _Found:
    """Add the rows that only the shared library has. A conversation stays away if one has just
    been deleted there.
    """
    needed = {identity for tip in found.tips for identity in found.every[tip]}
    missing = needed - found.sessions.keys()
    if not missing:
        return found
    (rows, running), _ = shared.rows([*missing], [*found.forked & missing])
    sessions = {**rows, **found.sessions}
    tips = [tip for tip in found.tips if found.every[tip].keys() <= sessions.keys()]
    return found._replace(tips=tips, sessions=sessions, running={**running, **found.running})


def _running_totals(index: Index, path: Path) -> list[RunningTotals]:
    """Return a session's running totals from the index or, if it has only rows, from the file."""
    known = index.running_totals(path.stem)
    if known is not None:
        return known
    from chat_loop.library.refresh import read_running_totals  # loads the code that redacts texts

    return read_running_totals(path)
