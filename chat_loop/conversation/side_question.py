"""A question beside the conversation: it is asked with the whole context, and is no part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from datetime import datetime

from msgspec import Struct

from chat_loop.agent.agent import ModelAgent, Prompt, only
from chat_loop.errors import ChatLoopError, EmptyReply
from chat_loop.events import Finished, TextDelta
from chat_loop.sessions.records import AsideReply, Entry
from chat_loop.tokens import Count
from chat_loop.values import StopReason, Usage


class Answered(Struct, frozen=True):
    """What arrived in answer to a question, and why it ended early, if it did."""

    reply: AsideReply
    failure: ChatLoopError | asyncio.CancelledError | None = None

    @property
    def is_kept(self) -> bool:
        """True if something arrived, or was paid for."""
        return bool(self.reply.text.strip()) or self.reply.usage is not None


class Asides:
    """The questions that are not in the conversation's file yet. They wait while somebody writes
    there, since they must not break into a reply or a change of sessions.
    """

    def __init__(self, add: Callable[[Entry], None]) -> None:
        self._add = add
        self._entries: list[Entry] = []
        self._works = 0  # the number of calls that are writing the file or changing the session

    def keep(self, *entries: Entry) -> None:
        """Write these entries now, or after what is being written."""
        self._entries += entries
        self._write()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let questions wait until this work is done."""
        self._works += 1
        try:
            yield
        finally:
            self._works -= 1
            self._write()

    def _write(self) -> None:
        while self._entries and not self._works:
            self._add(self._entries.pop(0))


async def answer(agent: ModelAgent, prompt: Prompt, at: datetime, count: Count) -> Answered:
    """Ask, without tools, and return the answer. Nothing is shown until it is complete."""
    pieces: list[str] = []
    stop: StopReason = "error"
    usage: Usage | None = None
    failure: ChatLoopError | asyncio.CancelledError | None = None
    started = agent.limits.clock()
    try:
        async with aclosing(agent.run(only(prompt), offer_tools=False)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                elif isinstance(event, Finished):
                    stop = event.stop
                    usage = event.usage
    except asyncio.CancelledError as error:
        stop = "interrupted"
        failure = error
    except ChatLoopError as error:
        failure = error
        if isinstance(error, EmptyReply):
            usage = error.usage
    text = "".join(pieces)
    if usage is None and text:
        usage = Usage(input=prompt.tokens, output=count(text), estimated=True)
    reply = AsideReply(
        at=at,
        text=text,
        stop=stop,
        seconds=round(max(0.0, agent.limits.clock() - started), 2),
        usage=usage,
        failed=stop == "refusal",
    )
    return Answered(reply, failure)
