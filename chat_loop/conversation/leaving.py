"""Makes the seal of a session that ends: with a prepared summary, a quick one, or none yet."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.context.budget import Outcome
from chat_loop.conversation.compaction import MAKING
from chat_loop.events import SummaryEnded, SummaryStarted
from chat_loop.sessions.records import Seal, SealReason

if TYPE_CHECKING:
    from chat_loop.conversation.conversation import Conversation

SUMMARY_ON_RESUME = "It will be made when you resume the session."
EXIT_SECONDS = 3.0  # the longest that an exit waits for a summary that another process can make
QUICK_TOKENS = 2_000  # the largest conversation whose summary is tried in that time
REST_TOKENS = 8_000  # the most tokens that a prepared summary may leave uncovered


async def final_seal(conversation: Conversation, *, can_detach: bool) -> Seal | None:
    """Return the seal for the exit, or None if another process must make the summary."""
    mode, compaction = conversation.on_exit, conversation.compaction
    thread, fresh = conversation.thread, conversation.thread.fresh
    answered = any(exchange.reply and exchange.reply.text.strip() for exchange in fresh)
    if mode == "later" or not answered:
        return await asyncio.to_thread(free_seal, conversation, "exit")
    has_deadline = mode == "background" and can_detach
    try:
        async with asyncio.timeout(EXIT_SECONDS if has_deadline else None):
            if has_deadline and compaction.state in (MAKING, "ready"):
                conversation.show(SummaryStarted(parts=1, optional=True))
                await compaction.wait()
                if seal := await prepared_seal(conversation, "exit"):
                    ended = SummaryEnded(source="model", usage=seal.usage, seconds=seal.seconds)
                    conversation.show(ended)
                    return seal
            if has_deadline and await conversation.meter.size(fresh) > QUICK_TOKENS:
                return None
            outcome = await compaction.summaries.narrate(
                thread, fresh, fallback=SUMMARY_ON_RESUME, optional=True
            )
    except TimeoutError:
        return None
    at = conversation.sessions.now()
    if outcome.narrative is None:
        return Seal(at=at, reason="exit", usage=outcome.usage, seconds=outcome.seconds)
    summary = await asyncio.to_thread(compaction.summaries.cover, thread, outcome)
    return outcome.seal(at, "exit", summary)


async def prepared_seal(conversation: Conversation, reason: SealReason) -> Seal | None:
    """Return a seal with the prepared summary if it covers nearly all exchanges, else None."""
    thread, compaction = conversation.thread, conversation.compaction
    ready = compaction.prepared(thread.fresh)
    rest = thread.fresh[len(ready.covered) :]
    if ready.narrative is None or any(exchange.depth != thread.session.depth for exchange in rest):
        return None
    if await conversation.meter.size(rest) > min(REST_TOKENS, conversation.window // 8):
        return None
    block = compaction.summaries.block
    covered = await asyncio.to_thread(block, thread, ready, ready.covered, rest)
    seal = ready.seal(conversation.sessions.now(), reason, covered.summary)
    return replace(seal, covers=rest[0].query.number - 1 if rest else None)


def free_seal(conversation: Conversation, reason: SealReason) -> Seal:
    """Return a seal without calling a model. An empty child passes on its parent's block."""
    at, thread = conversation.sessions.now(), conversation.thread
    costs = bool(thread.fresh) and conversation.options.use_ai_summary
    if costs or not (thread.fresh or thread.inherited or thread.pins):
        return Seal(at=at, reason=reason)
    return Outcome().seal(at, reason, conversation.compaction.summaries.cover(thread))
