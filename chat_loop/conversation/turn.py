"""One turn: a reply streams from the agent into the file and is saved, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import datetime, timedelta

from msgspec.structs import asdict

from chat_loop.agent.agent import ModelAgent, Prompts
from chat_loop.context.exchanges import INTERRUPTED
from chat_loop.errors import EmptyReply, RequestRejected
from chat_loop.events import (
    Event,
    Finished,
    OpaqueArrived,
    ReplyEnded,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.opaque import origin_of
from chat_loop.sessions.records import Call, Change, LeftOut, Opaque, Reply, Result, join_replies
from chat_loop.values import StopReason, ToolCall, Usage


class Turn:
    """Writes the records of one turn as its events arrive. `number` is that of the query, or 0 for
    the acknowledgment, which gets no tools. `estimate(text)` is the usage of an unreported step.
    """

    def __init__(
        self,
        live: LiveSession,
        number: int,
        at: datetime,
        agent: ModelAgent,
        estimate: Callable[[str], Usage],
    ) -> None:
        self._live = live
        self._agent = agent
        self._number = number
        self._at = self._step_at = at
        self._clock = agent.limits.clock
        self._estimate = estimate
        self._started = self._step_started = self._clock()
        live.begin_reply(number, at)
        self._streams = True  # False while tools run, and at the end
        self._calls: list[ToolCall] = []  # those of the current step
        self._opaque = ""  # what the service wants back with the current step
        self._running: list[str] = []  # the ids of the running calls
        self._steps: list[Reply] = []
        self._complete = self._answered = False

    async def run(
        self,
        prompts: Prompts,
        show: Callable[[Event], None],
        max_tokens: int | None = None,
        settle: Callable[[], Awaitable[None]] | None = None,
    ) -> Reply:
        """Ask, save each step as it arrives, and return the joined reply. Raises as `Agent.run`.
        Before the end is shown, `settle` waits until everything else is.
        """
        stop: StopReason = "error"
        rejected = False
        usage: Usage | None = None
        try:
            called = sum(isinstance(entry, Call) for entry in self._live.session.entries)
            run = self._agent.run(
                prompts, max_tokens, offer_tools=self._number > 0, first_call=called + 1
            )
            async with aclosing(run) as events:
                async for event in events:
                    self._take(event)
                    if not isinstance(event, OpaqueArrived):
                        show(event)
            if settle is not None:
                await settle()
        except asyncio.CancelledError:
            stop = "interrupted"
            raise
        except RequestRejected:
            rejected = True
            raise
        except EmptyReply as error:
            usage = error.usage
            raise
        finally:
            reply = self._close(stop, usage, rejected=rejected)
            usage = reply.usage
            seconds = reply.seconds or 0.0
            show(ReplyEnded(number=self._number, stop=reply.stop, usage=usage, seconds=seconds))
        return reply

    def _take(self, event: Event) -> None:
        """Write an event from the agent to the file."""
        match event:
            case TextDelta(text):
                self._answered = self._answered or bool(text.strip())
                self._begin_step()
                self._live.feed(text)
            case ToolCalled(call):
                self._answered = True
                self._calls.append(call)
            case OpaqueArrived(text):
                self._opaque = text
            case Finished(stop=stop, usage=usage):
                self._complete = not self._calls
                self._end_step(stop, usage)
            case ToolReturned():
                self._step_started += event.asked  # the user's time is not the reply's
                self._end_call(event)
                for change in event.changes:
                    self._live.add(Change(number=self._number, at=self._now(), **asdict(change)))
                for left_out in event.left_out:
                    self._live.add(LeftOut(number=self._number, at=self._now(), **asdict(left_out)))

    def _close(self, stop: StopReason, usage: Usage | None, *, rejected: bool) -> Reply:
        """Close open records, with `stop` and `usage` unless the reply is complete. Return the
        joined reply.
        """
        if not self._complete:
            self._interrupt_calls()
            failed = stop == "error" and (rejected or not self._answered)
            self._end_step(stop, usage, failed=failed)
            self._interrupt_calls()  # the calls of that step
        return join_replies(self._steps)

    def _now(self) -> datetime:
        """Return the time of day, in whole seconds as everywhere in a transcript."""
        return self._at + timedelta(seconds=int(self._clock() - self._started))

    def _begin_step(self) -> None:
        if not self._streams:
            self._streams = True
            self._step_at = self._now()
            self._live.begin_reply(self._number, self._step_at)

    def _end_step(self, stop: StopReason, usage: Usage | None, *, failed: bool = False) -> None:
        self._begin_step()
        ended = self._clock()
        number = self._number
        text = self._live.reply_text
        broken_off = stop in ("error", "interrupted")
        if usage is None and (text or self._calls or not broken_off):
            calls = (f"{call.name} {call.arguments}" for call in self._calls)
            usage = self._estimate("\n".join([text, *calls]))
        reply = Reply(
            number=number,
            at=self._step_at,
            text=text,
            stop=stop,
            seconds=round(max(0.0, ended - self._step_started), 2),
            usage=usage,
            failed=failed or stop == "refusal",
        )
        if text or number or not broken_off:
            self._live.finish(reply)
        self._steps.append(reply)
        self._streams = False
        self._step_started = ended
        self._keep_opaque()
        for call in self._calls:
            self._live.add(
                Call(
                    number=number,
                    at=self._now(),
                    id=call.id,
                    name=call.name,
                    arguments=call.arguments,
                )
            )
            self._running.append(call.id)
        self._calls = []

    def _keep_opaque(self) -> None:
        """Write what goes back to the service with this step."""
        provider = self._agent.provider
        origin = origin_of(provider.model, provider.endpoint)
        text = self._opaque
        self._opaque = ""
        number = self._number
        if text and number and origin is not None:
            part = Opaque(
                number=number,
                at=self._now(),
                text=text,
                model=origin.model,
                endpoint=origin.endpoint,
            )
            self._live.add(part)

    def _end_call(self, event: ToolReturned) -> None:
        """Write the result of a call."""
        self._running.remove(event.id)
        self._live.add(
            Result(
                number=self._number,
                at=self._now(),
                id=event.id,
                text=event.text,
                failed=event.failed,
                seconds=event.seconds,
                given=event.given,
                not_kept=event.not_kept,
            )
        )

    def _interrupt_calls(self) -> None:
        """Write that the running calls have no result."""
        for identity in self._running:
            self._live.add(
                Result(
                    number=self._number, at=self._now(), id=identity, text=INTERRUPTED, failed=True
                )
            )
        self._running.clear()
