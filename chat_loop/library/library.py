"""The library: the sessions of a folder as a whole, from their index, and filters of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import IndexUnavailable, SessionError, UsageError, os_reason
from chat_loop.library.engine import Condition, Engine
from chat_loop.library.lineage import conversations, fork
from chat_loop.sessions import partial
from chat_loop.sessions.chain import ALL, Link
from chat_loop.sessions.files import read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Branch, SessionRow
from chat_loop.values import Usage, plural

if TYPE_CHECKING:
    from chat_loop.library.index import Index

SOON_FILES, SOON_BYTES = 100, 1 << 20
"""The most that is indexed while a chat waits; of more, only the rows are read, into memory."""
LONG = 4 << 20  # bytes; a part of a longer session is not counted
TRIES = 12  # attempts at an index that other processes keep changing

MAX_WORDS = 16
_AGE = re.compile(r"([0-9]{1,5})([dhwmy])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_DAYS_AGO = {"today": 0, "yesterday": 1}

T = TypeVar("T")


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Filters that must all match; a word `#work` is a tag, the dates refer to the last use."""

    words: str = ""
    agent: str = ""
    project: str = ""
    since: datetime | None = None
    before: datetime | None = None

    def __bool__(self) -> bool:
        return self != SessionFilter()

    def conditions(self, *, of_any: bool = True, of_newest: bool = True) -> tuple[Condition, ...]:
        """Return the conditions over the table `sessions`: the part `of_any` session of a
        conversation, and `of_newest`, of its newest one.
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
            since, before = self.since, self.before
            parts += [Condition("used", ">=", since.timestamp())] if since else []
            parts += [Condition("used", "<", before.timestamp())] if before else []
        return tuple(parts)


class Library:
    """One folder's sessions, for one thread at a time. A `thorough` library reads everything that
    changed into the index, however much that is, but for the session `unread`.
    """

    def __init__(
        self,
        directory: Path,
        progress: Callable[[float, int], None] = lambda done, of: None,
        *,
        thorough: bool = False,
        unread: str = "",
    ) -> None:
        self.directory = directory
        self.trouble = ""  # why the index was not used, or was rebuilt
        self._progress = progress
        self._thorough, self._unread = thorough, unread
        self._index: Index | None = None
        self._in_memory: Index | None = None
        self._count = 0  # of the files that were read for the last answer

    def close(self) -> None:
        """Close the index."""
        for index in filter(None, (self._index, self._in_memory)):
            index.close()
        self._index = self._in_memory = None

    def links(self) -> dict[str, Link]:
        """Return the links between all sessions, last used first. Raises SessionError."""
        return self.ask(lambda index: index.links(), texts=False)

    def rows_of(self, ids: Iterable[str]) -> dict[str, SessionRow]:
        """Return the sessions with these ids. Raises SessionError."""
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
        """Return the `limit` conversations used last, and how many more there are. A conversation's
        row is that of its newest session with the numbers of its chain; without `fold` each session
        has its own. Runs of `-p` and unanswered conversations, but `here`, need `everything`.
        """

        def find(index: Engine) -> tuple[list[SessionRow], int]:
            links = index.links()
            every = conversations(links, here) if fold else {tip: {tip: ALL} for tip in links}
            tips = [tip for tip in every if everything or tip == here or links[tip].is_listed]
            if wanted:
                matching = index.ids_where(wanted.conditions(of_newest=False))
                newest = index.ids_where(wanted.conditions(of_any=False))
                tips = [tip for tip in tips if tip in newest and matching & every[tip].keys()]
            listed = tips[:limit]
            needed = {session for tip in listed for session in every[tip]}
            sessions = index.rows([*needed])
            if len(sessions) < len(needed):
                raise index.damage()
            uses = Counter(session for chain in every.values() for session in chain)
            rows = [
                _conversation(every[tip], sessions, links, uses) if fold else sessions[tip]
                for tip in listed
            ]
            rows = [replace(row, current=True) if row.id == here else row for row in rows]
            return rows, len(tips) - len(listed)

        return self.ask(find, texts=False)

    def listed(self) -> list[str]:
        """Return the ids of the conversations as lists number them. Raises SessionError."""
        return self.ask(self.listed_in, texts=False)

    def listed_in(self, index: Engine) -> list[str]:
        """Return the same as `listed`, from an up-to-date index. Raises IndexUnavailable."""
        links = index.links()
        return [tip for tip in conversations(links) if links[tip].is_listed]

    def figures(self) -> dict[str, int | float | None]:
        """Return the totals of all sessions, by the names of FIGURES. Raises SessionError."""
        return self.ask(
            lambda index: index.figures() | {"conversations": len(conversations(index.links()))}
        )

    def update_index(self, *, rebuild: bool = False) -> int:
        """Index the files that changed, or all (`rebuild`); return how many were read."""
        self.ask(bool, rebuild=rebuild)
        return self._count

    def ask(
        self, question: Callable[[Engine], T], *, texts: bool = True, rebuild: bool = False
    ) -> T:
        """Return the answer of an up-to-date index, without `texts` of one in memory if need be."""
        self.trouble, self._count = "", 0
        try:
            files = partial.newest_first(self.directory)
        except OSError as error:
            message = f"The sessions folder {self.directory} cannot be read: {os_reason(error)}."
            raise SessionError(message) from error
        if files or texts:
            try:
                return self._ask_folder(files, question, texts or self._thorough, rebuild)
            except IndexUnavailable as error:
                self.trouble = str(error)
                if texts:
                    hint = "Everything but searching works without it."
                    raise SessionError(self.trouble, hint) from error
        from chat_loop.library import index, refresh

        memory = self._in_memory = self._in_memory or index.Index(self.directory, in_memory=True)
        refresh.refresh(memory, *memory.stale(files), rows_only=True, progress=self._progress)
        return question(memory)

    def _ask_folder(
        self,
        files: Sequence[partial.Stamp],
        question: Callable[[Engine], T],
        patient: bool,
        rebuild: bool,
    ) -> T:
        """Return what the folder's index answers, brought up to date. Raises IndexUnavailable."""
        from chat_loop.library.index import Index, discard

        for _ in range(TRIES):
            try:
                index = self._index = self._index or Index(self.directory, patient=patient)
                if rebuild and not self._count:
                    index.clear()
                with index.transaction():
                    stale, gone = index.stale(files)
                    stale = [file for file in stale if file.id != self._unread]
                    # A file that was just read may have changed again: its session is there.
                    ids = (file.id for file in stale)
                    if not (stale or gone) or (self._count and index.ids_where().issuperset(ids)):
                        return question(index)
                much = len(stale) > SOON_FILES or sum(file.size for file in stale) > SOON_BYTES
                if much and not patient:
                    count = plural(len(stale), "changed session")
                    raise IndexUnavailable(f"The index does not have {count} yet.")
                from chat_loop.library.refresh import refresh  # loads what reads and redacts texts

                progress = self._progress if much else lambda done, of: None
                refresh(index, stale, gone, progress=progress)
                self._count += len(stale)
            except IndexUnavailable as error:
                if self._index is not None:
                    self._index.close()
                    self._index = None
                if error.was_replaced:
                    continue
                if self.trouble or not (error.is_damaged and discard(self.directory)):
                    raise
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
    """Return the moment of a date or of an age such as 30d. Raises UsageError."""
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


def _conversation(
    last_queries: Mapping[str, int],
    sessions: Mapping[str, SessionRow],
    links: Mapping[str, Link],
    uses: Mapping[str, int],
) -> SessionRow:
    """Return the row of a newest session, with the numbers of the whole chain."""
    identity, *older = last_queries
    row = sessions[identity]
    if not older and uses[identity] == 1:  # most are so
        return replace(row, compactions=1) if row.compacted else row
    parts = [_part(sessions[session], number) for session, number in last_queries.items()]
    queries, tokens = [part.queries for part in parts], [part.tokens for part in parts]
    spent: dict[str, Usage] = {}
    for part in parts:
        for model, usage in part.spent or ():
            spent[model] = spent.get(model, Usage()) + usage
    branch = None
    if line := fork(identity, links, uses):
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
        spent=None if any(part.spent is None for part in parts) else (*spent.items(),),
        folded=len(older),
        compactions=sum(part.compacted for part in parts),
        branch=branch,
    )


def _part(row: SessionRow, number: int) -> SessionRow:
    """Return the row of a session up to a query, as the sessions that fork there go on from it."""
    if row.queries is None or number >= row.queries:
        return row if number == ALL else replace(row, compacted=False)
    part = replace(row, queries=number, tokens=None, spent=None, compacted=False)
    with suppress(OSError):
        data, status = read_part(row.path, LONG)
        session = parse(data).session
        if session is not None and status.st_size <= len(data):
            whole = partial.row_of(session.up_to(number), row.path)
            return replace(part, queries=whole.queries, tokens=whole.tokens, spent=whole.spent)
    return part
