"""Ancestors: the words that a session was given, and its parent's block, read from their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.context.messages import Thread, place
from chat_loop.errors import SessionError, UsageError
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import ChainReader, known_to, placed
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Session, Summary

if TYPE_CHECKING:
    from chat_loop.conversation.live_context import LiveContext


def thread_of(sessions: SessionManager, session: Session) -> tuple[Thread, str]:
    """Return a stored session as its model saw it, and a sentence that says what is missing of the
    words it was given.
    """
    restoration = session.restoration
    if restoration is None or not restoration.verbatim_from:
        return Thread(session), ""
    first = place(restoration.verbatim_from)
    words: tuple[Exchange, ...] = ()
    missing = ""
    depth, child = session.depth - 1, session
    while depth >= first[0] and child.header.parent:
        try:
            parent = sessions.load(sessions.directory / f"{child.header.parent}.md").session
        except SessionError as error:
            missing = (
                f"The words from {restoration.verbatim_from} on are not all there: {error.message}"
            )
            break
        here = (
            replace(exchange, depth=depth)
            for exchange in known_to(parent, child.restoration).exchanges
        )
        words = (*(one for one in here if (depth, one.query.number) >= first), *words)
        depth, child = depth - 1, parent
    return Thread(session, words), missing


def edited_block(sessions: SessionManager, path: Path | None, thread: Thread) -> Summary | None:
    """Return the summary block at `path` when it is not the one that the thread's session was
    given: it was edited there.

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
    """Return the id of the session that a live one goes on from. Raises UsageError when it has
    none, or two.
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


def conversation_totals(sessions: SessionManager, session: Session) -> tuple[int, int]:
    """Return the queries and the tokens of a session and its first parents, as far as their files
    tell; of one that was forked, the queries up to the fork.
    """
    queries, tokens = session.totals.queries, session.totals.combined
    seen = {session.header.id}
    while (parent := session.header.parent) and parent not in seen:
        seen.add(parent)
        path = sessions.directory / f"{parent}.md"
        try:
            found = (sessions.load_ends(path) or sessions.load(path)).session
        except SessionError:
            break
        given = session.restoration
        most = place(given.until)[1] if given is not None else 0
        queries += min(found.totals.queries, most or found.totals.queries)
        tokens += found.totals.combined
        session = found
    return queries, tokens


def only_in_archive(context: LiveContext) -> tuple[str, ...]:
    """Return the sentences with exact values of all sessions of the chain that stand in the archive
    only.

    Raises UsageError when nothing was compacted, SessionError when an ancestor's file cannot be
    read.
    """
    from chat_loop.context.archived import only_archived  # rarely asked for

    session = context.session
    parent_of(session)
    chain = ChainReader(context.sessions).read(session)
    if chain.broken:
        raise SessionError(chain.broken)
    ancestors = placed(chain, session.depth)
    return only_archived((one for sessions in ancestors for one in sessions), context.thread)
