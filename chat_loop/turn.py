"""One turn: a reply streams from the agent into the file, and is saved however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from typing import cast

from chat_loop.agent.agent import Agent
from chat_loop.events import Event, Finished, ReplyEnded, TextDelta
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.records import Reply
from chat_loop.values import Message, StopReason, Usage


async def answer(
    agent: Agent,
    live: LiveSession,
    messages: tuple[Message, ...],
    *,
    number: int,
    at: datetime,
    estimate: Callable[[str], Usage],
    show: Callable[[Event], None],
    max_tokens: int | None = None,
) -> Reply:
    """Ask, write the text as it arrives, end the record. `number` is the query's, 0 the acknowledgment's.

    `estimate(text)` is the usage of a reply whose server told none. Raises ProviderError and CancelledError after
    saving what came.
    """
    clock = agent.patience.clock
    started = clock()
    writer = live.begin_reply(number, at)
    stop: StopReason = "error"
    usage: Usage | None = None
    try:
        events = cast(AsyncGenerator[Event], agent.run(messages, max_tokens))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    writer.feed(event.text)
                elif isinstance(event, Finished):
                    stop, usage = event.stop, event.usage
                show(event)
    except asyncio.CancelledError:
        stop = "interrupted"
        raise
    finally:
        text, seconds = writer.text, round(clock() - started, 2)
        if usage is None and (text or stop not in ("error", "interrupted")):
            usage = estimate(text)
        reply = Reply(number=number, at=at, text=text, stop=stop, seconds=seconds, usage=usage)
        writer.finish(reply)
        show(ReplyEnded(number=number, stop=stop, usage=usage, seconds=seconds))
    return reply
