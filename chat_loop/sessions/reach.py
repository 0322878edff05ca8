"""Finds a message of a conversation by its reference: `2.14` is query 14 of the chain's second
session, and a number alone is a query of the open one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import UsageError
from chat_loop.sessions.chain import TREE, Load, no_message, read_chain
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.records import (
    Exchange,
    Query,
    Redo,
    Restoration,
    Session,
    Undo,
    UndoEntry,
)
from chat_loop.values import plural

REFERENCE = re.compile(r"(?:([0-9]{1,6})\.)?([0-9]{1,9})")
NOTHING = "This session has no messages yet."


class Found(Struct, frozen=True):
    """A message of a chain: its exchange, the session that has it, and that session as the open one
    goes on from it. It does not count if it was undone, or said after the place of a fork.
    """

    exchange: Exchange
    loaded: LoadedSession
    session: Session
    counts: bool

    @property
    def ref(self) -> str:
        return self.exchange.ref


class LoadedChain(Struct, frozen=True):
    """The sessions of a conversation, the open one first, then those before it. `ends` are the last
    queries that count, by id; `problem` says why some are missing.
    """

    sessions: tuple[LoadedSession, ...]
    depth: int
    problem: str = ""
    ends: Mapping[str, int] = {}

    def at(self, depth: int) -> LoadedSession | None:
        """Return the session with this place in the chain, or None if it is missing."""
        distance = self.depth - depth
        return self.sessions[distance] if 0 <= distance < len(self.sessions) else None

    def read(self, view: LoadedSession, load: Load) -> LoadedSession:
        """Return a session of the line as the open one goes on from it, read again by `load`.
        Raises SessionError.
        """
        if view is self.sessions[0]:
            return view
        return self.continued(load(view.path))

    def continued(self, loaded: LoadedSession) -> LoadedSession:
        """Return an ancestor that was read as the open session goes on from it."""
        session = loaded.session
        last = self.ends[session.id]
        standing = self.sessions[0].session.standing
        return replace(loaded, session=session.as_continued(last, standing))


def numbered(session: Session, depth: int) -> list[Exchange]:
    """Return the exchanges of a session with their places in the chain."""
    return [replace(exchange, depth=depth) for exchange in session.exchanges]


def line_of(sessions: SessionManager, live: LoadedSession, load: Load | None = None) -> LoadedChain:
    """Read the sessions of a conversation that the folder has: without what was said, unless `load`
    reads more.
    """
    chain = read_chain(sessions, live.session, load or sessions.load_head)
    depth = max(live.session.depth, len(chain.ancestors) + 1)
    return LoadedChain((live, *chain.ancestors), depth, chain.problem, chain.ends)


def messages_of(
    sessions: SessionManager, live: LoadedSession, typed: str = ""
) -> Iterator[Exchange]:
    """Yield the messages of a conversation that count and whose references begin with what was
    `typed`, newest first, without what was said to them. A file is read when its messages are
    needed. Raises SessionError.
    """
    line = line_of(sessions, live)
    for distance, view in enumerate(line.sessions):
        depth = line.depth - distance
        prefix = f"{depth}."
        if not (prefix.startswith(typed) or typed.startswith(prefix)):
            continue
        session = line.read(view, sessions.load_queries).session
        for exchange in reversed(numbered(session, depth)):
            if exchange.ref.startswith(typed):
                yield exchange


def find(sessions: SessionManager, live: LoadedSession, reference: str) -> Found:
    """Return the message with a reference. A number alone is one of the open session or, as long as
    nothing was said in that, of the one before. Raises UsageError if there is none.
    """
    match = REFERENCE.fullmatch(reference)
    if match is None:
        text = f"“{reference[:40]}” names no message."
        raise UsageError(text, "A number of this session, or a reference such as 2.14.")
    number = int(match[2])
    own_depth = live.session.depth
    depth = own_depth
    if match[1]:
        depth = int(match[1])
    elif live.session.header.parent and not live.session.totals.queries:
        depth -= 1
    if depth == own_depth:
        return _found(live, live, number, depth)
    line = line_of(sessions, live)
    view = line.at(depth)
    if view is None:
        text = f"The chain has {plural(line.depth, 'session')}."
        if line.problem and depth < line.depth:
            text = line.problem
        raise UsageError(f"No message {reference}. {text}", TREE)
    loaded = sessions.load(view.path)
    return _found(line.continued(loaded), loaded, number, depth)


def _found(view: LoadedSession, loaded: LoadedSession, number: int, depth: int) -> Found:
    """Return query `number` of the session `loaded`, of which the open one sees `view`."""
    for exchange in view.session.exchanges:
        if exchange.number == number:
            return Found(replace(exchange, depth=depth), loaded, view.session, counts=True)
    undone = loaded.session.exchange(number)
    if undone is not None:
        return Found(replace(undone, depth=depth), loaded, view.session, counts=False)
    exchanges = view.session.exchanges
    if not exchanges:
        hint = "/history shows those before it." if view.session.header.parent else ""
        raise UsageError(NOTHING, hint)
    raise UsageError(no_message(f"{depth}.{number}", view.session), "/history lists them.")


def newest(sessions: SessionManager, live: LoadedSession, carried: Sequence[Exchange]) -> Found:
    """Return the last message of a conversation: of the open session, of the words that it
    carries, or of the sessions before it. Raises UsageError if there is none.
    """
    if live.session.exchanges:
        return _found(live, live, live.session.exchanges[-1].number, live.session.depth)
    line = line_of(sessions, live)
    if carried:
        last = carried[-1]
        view = line.at(last.depth)
        if view is not None:
            loaded = sessions.load(view.path)
            return _found(line.continued(loaded), loaded, last.number, last.depth)
    for distance, view in enumerate(line.sessions[1:], start=1):
        loaded = sessions.load(view.path)
        seen = line.continued(loaded)
        if seen.session.exchanges:
            number = seen.session.exchanges[-1].number
            return _found(seen, loaded, number, line.depth - distance)
    if last_undone(sessions, live) is not None:
        raise UsageError("Every message was undone.", "/redo brings the last one back.")
    raise UsageError(NOTHING, line.problem)


class Undone(Struct, frozen=True):
    """The message that was undone last; `is_newest` if nothing was said since."""

    ref: str
    is_newest: bool


def last_undone(sessions: SessionManager, live: LoadedSession) -> Undone | None:
    """Return the message of a conversation that was undone last, if there is one. A merge goes on
    from summaries, so that no message from before it comes back.
    """
    is_newest = True
    standing = live.session.standing.values()
    redone = {entry.ref for entry in standing if isinstance(entry, Redo)}
    line = line_of(sessions, live)
    for view in line.sessions:
        session = line.read(view, sessions.load_queries).session
        undone = _last_undone(session, redone)
        if undone is not None:
            return Undone(undone.ref, is_newest and undone.is_newest)
        if any(isinstance(entry, Query) for entry in session.entries):
            is_newest = False
        if session.restoration is not None and session.restoration.merged:
            break
    return None


def _last_undone(session: Session, redone: Collection[str]) -> Undone | None:
    """Return what was undone last in a session, except messages that its descendants `redone`."""
    undone: dict[str, bool] = {}
    for entry in session.entries:
        match entry:
            case Restoration():
                undone.clear()  # what stands before it was undone in another session
            case Query():
                undone = dict.fromkeys(undone, False)
            case UndoEntry():
                ref = entry.ref or f"{session.depth}.{entry.number}"
                undone.pop(ref, None)
                if isinstance(entry, Undo):
                    undone[ref] = True
    for ref, is_newest in reversed(undone.items()):
        if ref not in redone:
            return Undone(ref, is_newest)
    return None
