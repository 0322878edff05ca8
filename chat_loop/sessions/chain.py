"""The chain of a session: its links to other sessions, and its ancestors, read from their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import SessionError, UsageError
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.records import ALL, ID_PATTERN, PURGED_PARENT, Exchange, Session

TREE = "/tree shows the sessions before it."
NO_BEGINNING = "The chain has no beginning: its sessions go on from each other."


class Link(Struct, frozen=True, gc=False, array_like=True):
    """The links of a session to others. Either parent may be empty or missing."""

    id: str
    parent: str = ""
    merged: str = ""
    until: str = ""  # the reference of the last query of its parent that it continues; empty: all
    queries: int | None = None
    mode: str = ""
    answered: bool = True
    bare: bool = False
    merged_until: str = ""  # the same as `until`, of the second parent

    @property
    def is_listed(self) -> bool:
        """False for a run of `-p`, for a conversation without a reply, and for a child in which
        nothing was recorded but an acknowledgment.
        """
        if self.mode or self.bare:
            return False
        return self.answered or bool(self.parent or self.merged) or not self.queries

    @property
    def parents(self) -> tuple[str, ...]:
        """The ids of its parents, each once."""
        if not (self.parent or self.merged):  # most have none
            return ()
        both = self.parent, self.merged
        return tuple(dict.fromkeys(parent for parent in both if parent not in ("", self.id)))

    @property
    def last_query(self) -> int:
        """The number of the last query of its parent that it continues, or ALL."""
        return self.last_query_of(self.parent)

    def last_query_of(self, parent: str) -> int:
        """Return the number of the last query of one of its parents that it continues, or ALL."""
        until = self.until if parent == self.parent else self.merged_until
        number = until.partition(".")[2]
        return int(number) if number else ALL


class Chain(Struct, frozen=True):
    """The ancestors of a session, its parent first. `ends` are the last queries that count, by id;
    `problem` says why some are missing.
    """

    ancestors: tuple[LoadedSession, ...] = ()
    problem: str = ""
    ends: Mapping[str, int] = {}


def link_of(session: Session) -> Link:
    """Return the link of a session that may have no file yet."""
    header = session.header
    restoration = session.restoration
    if restoration is None:
        return Link(header.id, header.parent)
    return Link(
        header.id,
        header.parent,
        restoration.merged,
        until=restoration.until,
        merged_until=restoration.merged_until,
    )


def last_queries(identity: str, links: Mapping[str, Link]) -> dict[str, int]:
    """Return a session and its ancestors, nearest first, each with its last query that counts.

    If two sessions were merged, the line of the second one comes nearer.
    """
    last = {identity: ALL}
    if not links[identity].parents:  # most have none
        return last
    oldest_first: dict[str, None] = {}
    pending = [(identity, False)]
    while pending:
        session, is_done = pending.pop()
        if is_done:
            oldest_first[session] = None
            continue
        link = links[session]
        pending.append((session, True))
        for parent in reversed(link.parents):
            if parent in links:
                if parent not in last:
                    pending.append((parent, False))
                last[parent] = max(last.get(parent, 0), link.last_query_of(parent))
    return {session: last[session] for session in reversed(oldest_first)}


Load = Callable[[Path], LoadedSession]
"""Reads a session, or the part of it that is needed. Raises SessionError."""


def read_chain(sessions: SessionManager, session: Session, load: Load | None = None) -> Chain:
    """Read the ancestors that the folder has, without the exchanges after a fork. Without `load`,
    they are read whole.
    """
    load = load or sessions.load
    links = {session.id: link_of(session)}
    loaded: dict[str, LoadedSession] = {}
    problem = ""
    pending = [*links.values()]
    while pending:
        link = pending.pop()
        child = loaded[link.id].session if link.id in loaded else session
        for parent in link.parents:
            if parent in links:
                continue
            try:
                loaded[parent] = _load_parent(sessions, child, parent, load)
            except SessionError as error:
                problem = problem or error.message
            else:
                links[parent] = link_of(loaded[parent].session)
                pending.append(links[parent])
    if not problem and all(link.parent for link in links.values()):
        problem = NO_BEGINNING
    nearest_first = last_queries(session.id, links)
    del nearest_first[session.id]
    ancestors = []
    for identity, number in nearest_first.items():
        ancestor = loaded[identity]
        seen = ancestor.session.as_continued(number, session.standing)
        ancestors.append(replace(ancestor, session=seen))
    return Chain(tuple(ancestors), problem, nearest_first)


def ancestors_of(sessions: SessionManager, session: Session) -> Iterator[LoadedSession]:
    """Yield the ancestors of a session, its parent first, each read when it is asked for, without
    the exchanges after a fork. A merged one has only its first parent. Raises SessionError.
    """
    standing = session.standing
    seen = {session.id}
    while session.header.parent:
        if session.header.parent in seen:
            raise SessionError(NO_BEGINNING, TREE)
        parent = session.header.parent
        loaded = _load_parent(sessions, session, parent, sessions.load)
        seen.add(session.header.parent)
        last = link_of(session).last_query
        yield replace(loaded, session=loaded.session.as_continued(last, standing))
        session = loaded.session


def _load_parent(
    sessions: SessionManager, child: Session, parent: str, load: Load
) -> LoadedSession:
    """Load a parent of `child`. Raises SessionError, which says that the chain ends."""
    try:
        if not ID_PATTERN.fullmatch(parent):
            raise SessionError("that is not a session id.")
        return load(sessions.session_file(parent))
    except SessionError as error:
        why = error.message
        if child.restoration and child.restoration.block == PURGED_PARENT:
            why = "the user removed that session."
        raise SessionError(f"The chain ends before {parent}: {why}", TREE) from error


def exchange_of(session: Session, number: int) -> Exchange:
    """Return the exchange of a query, or the last one for 0. Raises UsageError if there is none."""
    if not session.exchanges:
        hint = "/tree shows the sessions before it; /fork and /uncompact go back to them."
        raise UsageError("This session has no messages yet.", hint * bool(session.header.parent))
    if number == 0:
        return session.exchanges[-1]
    for exchange in session.exchanges:
        if exchange.number == number:
            return exchange
    raise UsageError(no_message(f"{session.depth}.{number}", session), "Undone ones do not count.")


def no_message(reference: str, session: Session) -> str:
    """Return the sentence that a session with messages does not have this one."""
    first = session.exchanges[0].ref
    last = session.exchanges[-1].ref
    has = first if first == last else f"{first} to {last}"
    return f"No message {reference}: that session has {has}."
