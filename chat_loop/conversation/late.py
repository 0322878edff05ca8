"""A narrative that comes after its session was sealed is written into it; the next compaction reads
it there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chat_loop.context.background import Prepared
from chat_loop.context.draft import Draft, covering
from chat_loop.context.thread import Thread
from chat_loop.conversation.live_context import LiveContext
from chat_loop.errors import SessionError


def add_late(
    context: LiveContext, room: int, path: Path, thread: Thread, draft: Draft, prepared: Prepared
) -> None:
    """Write what was `prepared` into the session at `path`, which was sealed by `draft`, unless
    somebody edited it.

    `room` is the ledger's, in tokens.
    """
    outcome = prepared.outcome
    kept = covering(
        thread,
        outcome.narrative,
        prepared.exchanges,
        draft.span,
        draft.plan.keep,
        room=room,
        count=context.count,
    )
    try:
        loaded = context.sessions.load(path)
        seal = loaded.session.seal
        if seal is None or seal.summary != draft.summary:
            return  # somebody has edited it meanwhile: that counts
        late = replace(
            seal, source="model", summary=kept.summary, usage=outcome.usage, seconds=outcome.seconds
        )
        context.sessions.seal_later(loaded, late)
    except SessionError:
        return  # what stands there is complete without it
