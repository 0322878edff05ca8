"""Reading (act) what stands in the ancestors' files: the words that a session was given, and its
parent's block.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chat_loop.context.thread import Thread, place
from chat_loop.errors import SessionError, UsageError
from chat_loop.frozen import dataclass
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import known_to
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Session, Summary


@dataclass(frozen=True)
class Words:
    """Exchanges in their own words, oldest first. `missing` says in a sentence why there are fewer
    than there were.
    """

    exchanges: tuple[Exchange, ...]
    missing: str = ""


def carried(sessions: SessionManager, session: Session) -> Words:
    """What `session` was given of its ancestors' words, read from their files."""
    restoration = session.restoration
    if restoration is None or not restoration.since:
        return Words(())
    first = place(restoration.since)
    found: tuple[Exchange, ...] = ()
    depth, child = session.depth - 1, session
    while depth >= first[0] and child.header.parent:
        try:
            parent = sessions.load(sessions.directory / f"{child.header.parent}.md").session
        except SessionError as error:
            return Words(
                found, f"The words from {restoration.since} on are not all there: {error.message}"
            )
        here = (
            replace(exchange, depth=depth)
            for exchange in known_to(parent, child.restoration).exchanges
        )
        found = (
            *(exchange for exchange in here if (depth, exchange.query.number) >= first),
            *found,
        )
        depth, child = depth - 1, parent
    return Words(found)


def thread_of(sessions: SessionManager, session: Session) -> tuple[Thread, str]:
    """A stored session as its model saw it, and what is missing of it."""
    words = carried(sessions, session)
    return Thread(session, words.exchanges), words.missing


def edited_block(sessions: SessionManager, path: Path | None, thread: Thread) -> Summary | None:
    """The summary block at `path` when it is not the one that the thread's session was given: it
    was edited there.

    None also when the file or its block is gone: then what the session was given counts.
    """
    restoration = thread.session.restoration
    if path is None or restoration is None:
        return None
    try:
        seal = (sessions.load_ends(path) or sessions.load(path)).session.seal
    except SessionError:
        return None
    if (
        seal is None
        or seal.summary is None
        or summary_block.render(seal.summary) == restoration.block
    ):
        return None
    from chat_loop.context.ledger import said_by_hand  # not before something was edited

    return said_by_hand(
        seal.summary, summary_block.parse(restoration.block), thread.session.depth - 1
    )


def parent_of(session: Session) -> str:
    """The id of the session that a live one goes on from. Raises UsageError when it has none, or
    two.
    """
    parent, given = session.header.parent, session.restoration
    if not parent or given is None:
        raise UsageError(
            "This session was not compacted: it has all its words.",
            "sessions lists the saved ones.",
        )
    if given.merged:
        raise UsageError(
            f"Two sessions were merged here, {parent} and {given.merged}: nothing was compacted.",
            f"/resume {parent} --full goes back to one of them.",
        )
    return parent


def resumable(session: Session) -> bool:
    """Return True when there is anything in a session to go on from; failed queries are nothing."""
    return bool(
        any(not one.failed for one in session.exchanges)
        or session.restoration is not None
        or session.pins
    )
