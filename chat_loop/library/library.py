"""The library: lists, filters and totals of all sessions of a folder, read from their index."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import IndexUnavailable, SessionError, UsageError, os_reason
from chat_loop.library import lineage
from chat_loop.library.engine import TEXTS, Condition, Engine, StoredExchange
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import (
    ALL,
    EPOCH,
    Branch,
    Header,
    Query,
    Reply,
    RunningTotals,
    Session,
    SessionRow,
)
from chat_loop.sessions.rows import stamps
from chat_loop.values import Usage, plural

if TYPE_CHECKING:
    from chat_loop.library.index import Index

AGAIN_SECONDS = 20.0  # before a team's library that failed is tried again
EXAMINED = 200
MOST_EXAMINED = 50_000
LISTED = 1_000
BROWSED = 2_000
"""In a library of very many sessions: the number that a page examines at first, the number after
which it stops, the conversations that have numbers, and those in the full-screen list.
"""
SOON_FILES = 100
SOON_BYTES = 1 << 20
"""The most that is indexed while a chat waits. Beyond that, only rows are read, into memory."""
LONG = 4 << 20
"""The bytes from which a session's texts are indexed only when a question needs them."""
TRIES = 12  # attempts at an index that other processes keep changing

MAX_WORDS = 16
_AGE = re.compile(r"([0-9]{1,5})([dhwmy])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_DAYS_AGO = {"today": 0, "yesterday": 1}

T = TypeVar("T")


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Filters that must all match. A word like `#work` is a tag; dates refer to the last use."""

    words: str = ""
    agent: str = ""
    project: str = ""
    since: datetime | None = None
    before: datetime | None = None

    def __bool__(self) -> bool:
        return self != SessionFilter()

    def conditions(self, *, of_any: bool = True, of_newest: bool = True) -> tuple[Condition, ...]:
        """Return conditions on the table `sessions`: with `of_any`, those that any session of a
        conversation may meet, and with `of_newest`, those that its newest session must meet.
        """
        words = self.words.lower().split()[:MAX_WORDS]
        tags = [word for word in words if word.strip("#") and word.startswith("#")]
        parts: list[Condition] = []
        if of_any:
            others = (word for word in words if word not in tags)
            parts += [Condition("searched", "contains", word) for word in others]
            named = ("agent", self.agent), ("project", self.project)
            parts += [Condition(name, "contains", text.lower()) for name, text in named if text]
        if of_newest:
            parts += [Condition("tags", "contains", f" {tag.lstrip('#')} ") for tag in tags]
            since = self.since
            before = self.before
            parts += [Condition("used", ">=", since.timestamp())] if since else []
            parts += [Condition("used", "<", before.timestamp())] if before else []
        return tuple(parts)


class Database:
    """A team's library at a URL, for any thread. When it fails, the user is told once, and the
    folder's index is used until it answers again.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._problem = ""
        self._is_said = False
        self._until = 0.0

    def open(self, directory: Path) -> Engine:
        """Return a connection for the sessions of a folder. Raises IndexUnavailable."""
        if time.monotonic() < self._until:
            raise IndexUnavailable(self._problem)
        module = import_module("chat_loop.library.postgres")
        index: Engine = module.PostgresIndex(directory, self._url)
        self._is_said = False
        return index

    def erase(self, directory: Path, ids: Sequence[str]) -> None:
        """Remove this owner's sessions from the library. Those that are still in the folder are
        stored again later, as they are then. Raises SessionError.
        """
        try:
            with closing(self.open(directory)) as index:
                index.erase(ids)
        except IndexUnavailable as error:
            hint = "Run the command again when the library answers."
            raise SessionError(f"{error} It may still have the words.", hint) from error

    def fail(self, error: IndexUnavailable, *, tells: bool) -> str:
        """Record a failure. Return a sentence if the caller `tells` the user and has not yet."""
        if time.monotonic() >= self._until:
            self._problem = str(error)
            self._until = time.monotonic() + AGAIN_SECONDS
        if self._is_said or not tells:
            return ""
        self._is_said = True
        return f"{self._problem} This machine's own index is used."


class _Page(NamedTuple):
    """A page of a list: the newest session of each row, all conversations and links that were
    examined, and the number of further rows, which is approximate in a very large library.
    """

    tips: list[str]
    every: dict[str, dict[str, int]]
    links: dict[str, Link]
    more: int


class Library:
    """The sessions of one folder and of the team's `database`, for one thread at a time. A
    `thorough` library always indexes all changes before it answers, however many. Changes of the
    session `unread` are not indexed. Unless it `tells`, it never reports a failing database.
    """

    def __init__(
        self,
        directory: Path,
        progress: Callable[[float, int], None] = lambda done, of: None,
        *,
        thorough: bool = False,
        unread: str = "",
        database: Database | None = None,
        tells: bool = True,
    ) -> None:
        self.directory = directory
        self.database = database
        self._tells = tells
        self.trouble = ""  # why the index was not used, or was rebuilt
        self._progress = progress
        self._thorough = thorough
        self._unread = unread
        self._index: Index | None = None
        self._in_memory: Index | None = None
        self.shared: Engine | None = None  # the team's library, while it answers
        self._count = 0  # files that were read for the last answer

    def close(self) -> None:
        """Close the index."""
        for index in filter(None, (self._index, self._in_memory, self.shared)):
            index.close()
        self._index = self._in_memory = self.shared = None

    def links(self) -> dict[str, Link]:
        """Return the links of all sessions, most recently used first. Raises SessionError."""
        return self.ask(lambda index: index.links(), texts=False)

    def relatives(self, identity: str) -> dict[str, Link]:
        """Return the links of a session, its relatives and perhaps others. Raises SessionError."""
        return self.ask(lambda index: index.relatives([identity]), texts=False)

    def session(self, identity: str) -> Session | None:
        """Return a session from the team's library, with queries and replies only and without
        secrets. Return None if no exchange of it is there. Raises SessionError.
        """

        def find(index: Engine) -> Session | None:
            row = index.rows([identity]).get(identity)
            exchanges = index.texts_of(identity)
            try:
                return stored_session(row, exchanges) if row is not None and exchanges else None
            except ValueError:
                raise index.damage() from None

        return self.ask(find) if self.database is not None else None

    def newest(self, ids: Sequence[str]) -> list[str]:
        """Return for each session the newest one of its conversation. Raises SessionError."""
        return self.ask(lambda index: lineage.newest(ids, index.relatives(ids)), texts=False)

    def rows_of(self, ids: Iterable[str]) -> dict[str, SessionRow]:
        """Return the rows of the indexed sessions among `ids`. Raises SessionError."""
        unique_ids = list(dict.fromkeys(ids))
        return self.ask(lambda index: index.rows(unique_ids), texts=False)

    def rows(
        self,
        limit: int | None = None,
        *,
        wanted: SessionFilter | None = None,
        fold: bool = True,
        here: str = "",
        everything: bool = False,
    ) -> tuple[list[SessionRow], int]:
        """Return the `limit` most recently used conversations, and the number of others. The row of
        a conversation is that of its newest session, with the totals of its chain; without `fold`,
        each session has its own row. Runs of `-p`, and unanswered conversations other than `here`,
        are included only with `everything`.
        """

        def find(index: Engine) -> tuple[list[SessionRow], int]:
            page = self._page(index, limit, wanted or SessionFilter(), fold, here, everything)
            needed = {session for tip in page.tips for session in page.every[tip]}
            sessions = index.rows([*needed])
            if len(sessions) < len(needed):
                raise index.damage()
            uses = Counter(chain.from_iterable(page.every.values()))
            running: dict[str, list[RunningTotals]] = {}
            rows = []
            for tip in page.tips:
                row = sessions[tip]
                if fold:
                    chain_ids = page.every[tip]
                    for identity in _left_early(chain_ids, sessions).difference(running):
                        running[identity] = _running_totals(index, sessions[identity].path)
                    row = _conversation(chain_ids, sessions, running, page.links, uses)
                rows.append(replace(row, current=row.id == here))
            return rows, page.more

        return self.ask(find, texts=False)

    def _page(
        self,
        index: Engine,
        limit: int | None,
        wanted: SessionFilter,
        fold: bool = True,
        here: str = "",
        everything: bool = False,
    ) -> _Page:
        """Return the page of `rows`, from an up-to-date index. Raises IndexUnavailable."""
        conditions = wanted.conditions(of_newest=False)
        of_last = wanted.conditions(of_any=False)
        examined = 0 if limit is None else max(EXAMINED, 4 * limit)
        while True:
            newest = index.newest_ids(conditions or of_last, examined) if examined else None
            links = index.links() if newest is None else index.relatives(newest)
            # if not whole, unexamined sessions may come before those used before the last examined
            is_whole = newest is None or len(newest) < examined
            order = [*links]
            known = order if newest is None or is_whole else order[: order.index(newest[-1]) + 1]
            every = {tip: {tip: ALL} for tip in links}
            if fold:
                every = lineage.conversations(links, here)
            tips = [tip for tip in known if tip in every]
            tips = [tip for tip in tips if everything or tip == here or links[tip].is_listed]
            if wanted:
                matching = {*newest} if newest is not None else index.ids_where(conditions)
                last = index.ids_where(of_last, tips)
                tips = [tip for tip in tips if tip in last and matching & every[tip].keys()]
            if is_whole or limit is None or len(tips) >= limit or examined >= MOST_EXAMINED:
                break
            examined = min(8 * examined, MOST_EXAMINED)
        listed = tips[:limit]
        more = len(tips) - len(listed)
        if not is_whole and not wanted:
            more = max(more, index.beginnings() - len(listed))
        return _Page(listed, every, links, more)

    def listed(self) -> list[str]:
        """Return the ids of the numbered conversations, in their order. Raises SessionError."""
        return self.ask(self.listed_in, texts=False)

    def listed_in(self, index: Engine) -> list[str]:
        """Return the same as `listed`, from an up-to-date index. Raises IndexUnavailable."""
        limit = None if index.newest_ids((), 1) is None else LISTED
        return self._page(index, limit, SessionFilter()).tips

    def figures(self) -> dict[str, int | float | None]:
        """Return the totals in FIGURES over all sessions. Raises SessionError."""
        return self.ask(
            lambda index: (
                index.figures() | {"conversations": len(lineage.conversations(index.links()))}
            )
        )

    def update_index(self, *, rebuild: bool = False) -> int:
        """Index the changed files, or on `rebuild` all files. Return the number that were read."""
        self.ask(bool, rebuild=rebuild)
        return self._count

    def ask(
        self, question: Callable[[Engine], T], *, texts: bool = True, rebuild: bool = False
    ) -> T:
        """Return the answer of an up-to-date index. If it needs no `texts`, a temporary index in
        memory may give it. Raises SessionError.
        """
        self.trouble = ""
        self._count = 0
        try:
            files = stamps(self.directory)
        except OSError as error:
            message = f"The sessions folder {self.directory} cannot be read: {os_reason(error)}."
            raise SessionError(message) from error
        problem = ""
        if self.database is not None:
            try:
                return self._ask_database(self.database, files, question, texts, rebuild)
            except IndexUnavailable as error:
                problem = self.trouble = self.database.fail(error, tells=self._tells)
        if files or texts:
            try:
                answer = self._ask_folder(files, question, texts, rebuild)
                self.trouble = self.trouble or problem
                return answer
            except IndexUnavailable as error:
                self.trouble = str(error)
                if texts:
                    hint = "Everything but searching works without it."
                    raise SessionError(self.trouble, hint) from error
        from chat_loop.library import index, refresh

        memory = self._in_memory = self._in_memory or index.Index(self.directory, in_memory=True)
        refresh.refresh(memory, *memory.stale(files), rows_only=True, progress=self._progress)
        return question(memory)

    def _ask_database(
        self,
        database: Database,
        files: Sequence[tuple[int, str, int]],
        question: Callable[[Engine], T],
        texts: bool,
        rebuild: bool,
    ) -> T:
        """Update the sessions of this folder in the team's library, and return its answer. Raises
        IndexUnavailable.
        """
        try:
            index = self.shared = self.shared or database.open(self.directory)
            for _ in range(TRIES):
                if answers := self._answers(index, files, question, texts, rebuild):
                    return answers[0]
        except IndexUnavailable:
            if self.shared is not None:
                self.shared.close()
                self.shared = None
            raise
        raise IndexUnavailable("The library is busy. Try again in a moment.")

    def _answers(
        self,
        index: Engine,
        files: Sequence[tuple[int, str, int]],
        question: Callable[[Engine], T],
        texts: bool,
        rebuild: bool,
    ) -> list[T]:
        """Return the index's answer in a list, which is empty if the index was only updated."""
        if rebuild and not self._count:
            index.clear()
        with index.transaction():
            stale, gone = index.stale(files, texts=texts)
            stale = [file for file in stale if file.id != self._unread]
            # A file that was just read may have changed again; the index has its session.
            ids = {file.id for file in stale}
            if not (stale or gone) or (self._count and ids <= index.ids_where((), ids)):
                return [question(index)]
        long = []
        if not texts and index is not self.shared:
            long = [file for file in stale if file.size > LONG]
        short = [file for file in stale if file not in long]
        much = len(stale) > SOON_FILES or sum(file.size for file in short) > SOON_BYTES
        if much and not (texts or self._thorough):
            count = plural(len(stale), "changed session")
            if index is not self.shared:
                raise IndexUnavailable(f"The index does not have {count} yet.")
            self.trouble = f"The library does not have {count} of this folder yet."
            with index.transaction():
                return [question(index)]
        from chat_loop.library.refresh import refresh  # loads the code that reads and redacts texts

        progress = self._progress if much else lambda done, of: None
        refresh(index, short, gone, progress=progress)
        refresh(index, long, (), rows_only=True)
        self._count += len(stale)
        return []

    def _ask_folder(
        self,
        files: Sequence[tuple[int, str, int]],
        question: Callable[[Engine], T],
        texts: bool,
        rebuild: bool,
    ) -> T:
        """Update the index of the folder, and return its answer. Raises IndexUnavailable."""
        from chat_loop.library.index import Index, discard

        is_anew = False
        for _ in range(TRIES):
            try:
                index = self._index
                if index is None:
                    index = Index(self.directory, patient=texts or self._thorough)
                    self._index = index
                if answers := self._answers(index, files, question, texts, rebuild):
                    return answers[0]
            except IndexUnavailable as error:
                if self._index is not None:
                    self._index.close()
                    self._index = None
                if error.was_replaced:
                    continue
                if is_anew or not (error.is_damaged and discard(self.directory)):
                    raise
                is_anew = True
                self.trouble = "The index was damaged: a new one is made from the sessions."
        raise IndexUnavailable(f"The index of {self.directory} is busy. Try again in a moment.")


def filter_of(values: Mapping[str, str], now: datetime, words: str = "") -> SessionFilter:
    """Return the filters that a user has typed. Raises UsageError for an invalid date."""
    tag = f"#{values['tag'].lstrip('#')} " if values.get("tag") else ""
    return SessionFilter(
        words=tag + words,
        agent=values.get("agent", ""),
        project=values.get("project", ""),
        since=moment_of(values["since"], now) if values.get("since") else None,
        before=moment_of(values["before"], now) if values.get("before") else None,
    )


def moment_of(text: str, now: datetime) -> datetime:
    """Return the moment that a date, or an age such as 30d, means. Raises UsageError."""
    try:
        if (age := _AGE.fullmatch(text)) is not None:
            return now - timedelta(days=int(age[1]) * _DAYS[age[2]])
        if text.lower() in _DAYS_AGO:
            return now.replace(hour=0, minute=0, second=0) - timedelta(days=_DAYS_AGO[text.lower()])
        return datetime.fromisoformat(text).astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        raise UsageError(
            f"“{text[:40]}” is not a date.", "A date such as 2026-11-21, or an age such as 30d."
        ) from None


def stored_session(row: SessionRow, stored: Sequence[StoredExchange]) -> Session:
    """Return a session with the queries and replies in the index. Raises ValueError."""
    entries: list[Query | Reply] = []
    for exchange in stored:
        at = datetime.fromisoformat(exchange.at)
        query, reply, *_ = TEXTS.decode(exchange.texts)
        entries.append(Query(number=exchange.number, at=at, text=query[1]))
        if reply[1]:
            entries.append(Reply(number=exchange.number, at=at, text=reply[1]))
    header = Header(
        id=row.id,
        created=row.created or EPOCH,
        agent=row.agent,
        parent=row.parent,
        name=row.name,
        tags=row.tags,
        project=row.project,
        git_branch=row.git_branch,
        mode=row.mode,
    )
    return Session(header=header, entries=tuple(entries))


def _conversation(
    last_queries: Mapping[str, int],
    sessions: Mapping[str, SessionRow],
    running: Mapping[str, Sequence[RunningTotals]],
    links: Mapping[str, Link],
    uses: Mapping[str, int],
) -> SessionRow:
    """Return the row of a conversation's newest session, with the totals of its whole chain."""
    identity, *older = last_queries
    row = sessions[identity]
    if not older and uses[identity] == 1:  # the usual case
        return replace(row, compactions=1) if row.compacted else row
    parts = [
        _part(sessions[session], number, running.get(session, ()))
        for session, number in last_queries.items()
    ]
    queries = [part.queries for part in parts]
    tokens = [part.tokens for part in parts]
    said = [part.said for part in parts]
    spent: dict[str, Usage] = {}
    for part in parts:
        for model, usage in part.spent or ():
            spent[model] = spent.get(model, Usage()) + usage
    branch = None
    if line := lineage.fork(identity, links, uses):
        *own, parent = (sessions[session] for session in line)
        at = own[-1].until
        if not at and parent.queries is not None:
            at = f"{parent.depth}.{parent.queries}"
        branch = Branch(at, next((part.words for part in reversed(own) if part.words), ""))
    return replace(
        row,
        name=next((part.name for part in parts if part.name), ""),
        created=next((part.created for part in reversed(parts) if part.created), None),
        queries=None if None in queries else sum(filter(None, queries)),
        tokens=None if None in tokens else sum(filter(None, tokens)),
        said=None if None in said else sum(filter(None, said)),
        spent=None if any(part.spent is None for part in parts) else (*spent.items(),),
        folded=len(older),
        compactions=sum(part.compacted for part in parts),
        branch=branch,
    )


def _running_totals(index: Engine, path: Path) -> list[RunningTotals]:
    """Return a session's running totals from the index or, if it has only rows, from the file."""
    known = index.running_totals(path.stem)
    if known is not None:
        return known
    from chat_loop.library.refresh import read_running_totals  # loads the code that redacts texts

    return read_running_totals(path)


def _left_early(last_queries: Mapping[str, int], sessions: Mapping[str, SessionRow]) -> set[str]:
    """Return the sessions of a conversation of which only the beginning belongs to it."""
    return {
        identity
        for identity, number in last_queries.items()
        if number < (sessions[identity].queries or 0)
    }


def _part(row: SessionRow, number: int, running: Sequence[RunningTotals]) -> SessionRow:
    """Return the row of a session up to query `number`, from which other sessions continue."""
    if row.queries is None or number >= row.queries:
        return row if number == ALL else replace(row, compacted=False)
    at = bisect_right(running, number, key=lambda totals: totals.number)
    if not at:
        return replace(row, queries=number, tokens=None, said=None, spent=None, compacted=False)
    totals = running[at - 1]
    return replace(
        row,
        queries=totals.queries,
        tokens=totals.tokens,
        said=totals.said,
        spent=totals.spent,
        compacted=False,
    )
