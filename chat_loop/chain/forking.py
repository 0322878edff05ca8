"""Forking a stored session without a chat: its child is written, and resumed later."""

from __future__ import annotations

from chat_loop.chain.words import thread_of
from chat_loop.errors import UsageError
from chat_loop.sessions import block
from chat_loop.sessions.entries import OF_QUERY, Restoration
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import Session


def cut_after(session: Session, number: int) -> Session:
    """A session as it was after query `number`. Raises UsageError when there is no such query."""
    numbers = [exchange.query.number for exchange in session.exchanges]
    if number not in numbers:
        there = f"it has {min(numbers)} to {max(numbers)}" if numbers else "nothing was said in it"
        raise UsageError(f"There is no query {number} in this session: {there}.", "/tree shows its chain.")
    entries = tuple(entry for entry in session.standing if not isinstance(entry, OF_QUERY) or entry.number <= number)
    return Session(header=session.header, entries=entries)


def fork_stored(sessions: SessionManager, loaded: Loaded, number: int) -> str:
    """Write a child of a session that knows what was said up to query `number`; return its id.

    Raises UsageError, and SaveError when the disk refuses.
    """
    session = loaded.session
    thread, _ = thread_of(sessions, cut_after(session, number))
    totals = session.totals
    live = sessions.begin(
        agent=session.header.agent,
        agent_path=session.header.agent_path,
        model=session.header.model,
        parent=session.header.id,
        parent_path=str(loaded.path),
        after=session,
    )
    try:
        live.add(
            Restoration(
                at=sessions.now(),
                parent_created=session.header.created,
                queries=totals.queries,
                tokens=totals.combined,
                block=block.render(thread.inherited) if thread.inherited is not None else "",
                grandparent=session.header.parent,
                depth=session.depth + 1,
                since=thread.exchanges[0].ref,
                fresh=thread.fresh[0].ref if thread.fresh else "",
                until=f"{session.depth}.{number}",
            )
        )
        live.ensure_saved()
        return live.header.id
    finally:
        live.close()
