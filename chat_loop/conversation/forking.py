"""Forking a stored session without a chat: its child is written, and resumed later."""

from __future__ import annotations

from chat_loop.conversation.ancestors import thread_of
from chat_loop.errors import UsageError
from chat_loop.sessions import summary_block
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import Pin, Restoration, Unpin


def fork_stored(sessions: SessionManager, loaded: Loaded, number: int) -> str:
    """Write a child of a session that knows what was said up to query `number`; return its id.

    Raises UsageError, and SaveError when the disk refuses.
    """
    session = loaded.session
    if all(exchange.query.number != number for exchange in session.exchanges):
        raise UsageError(f"There is no query {number} in this session: {session.numbers}.")
    thread, _ = thread_of(sessions, session.until(number))
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
                block=summary_block.render(thread.inherited)
                if thread.inherited is not None
                else "",
                grandparent=session.header.parent,
                depth=session.depth + 1,
                since=thread.exchanges[0].ref,
                fresh=thread.fresh[0].ref if thread.fresh else "",
                until=f"{session.depth}.{number}",
            )
        )
        inherited = thread.inherited.pinned if thread.inherited is not None else ()
        for text in thread.pins:
            if text not in inherited:
                live.add(Pin(at=sessions.now(), text=text))
        for text in inherited:
            if text not in thread.pins:
                live.add(Unpin(at=sessions.now(), text=text))
        live.ensure_saved()
        return live.header.id
    finally:
        live.close()
