"""Background: the summary that is made while the user goes on, and what is read ahead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import closing, suppress
from typing import Literal

from msgspec import Struct

from chat_loop.context.budget import Narration
from chat_loop.context.messages import Context
from chat_loop.errors import ChatLoopError, SessionError
from chat_loop.events import Event, SummaryPrepared, Warned
from chat_loop.sessions.files import Lock
from chat_loop.sessions.records import Exchange, Summary
from chat_loop.tasks import in_daemon_thread, report_bug
from chat_loop.values import Usage

MAX_FAILURES = 3  # after this many failures in a row, the background makes no more summaries

SummaryState = Literal["in progress", "ready", "failed", ""]
MAKING: SummaryState = "in progress"


class DelayedBlock(Struct, frozen=True, kw_only=True):
    """The summary of the ended session `parent`, made after its child began. `problem` is why its
    file did not get it.
    """

    parent: str
    summary: Summary
    problem: SessionError | None = None


Narrate = Callable[[Context, Sequence[Exchange]], Awaitable[Narration]]
"""Has the models write the narrative of a span, without a question or a sign of progress."""
Deliver = Callable[[Narration], DelayedBlock | None]
"""Writes the summary of a session that has ended into its file, in a worker thread."""


def _read_ahead(context: Context) -> None:
    from chat_loop.context import ledger  # late: it takes long to load

    ledger.read_ahead(context.parent_block, context.unsummarized)


class Background:
    """Makes one summary at a time. `receive(block)` gets the block of the session before, and
    returns what it is used for. `cost(model, usage)` is in US dollars.
    """

    def __init__(
        self,
        narrate: Narrate,
        receive: Callable[[DelayedBlock], str],
        report: Callable[[Event], None],
        cost: Callable[[str, Usage], float | None],
    ) -> None:
        self._narrate = narrate
        self._receive = receive
        self._report = report
        self._cost = cost
        self._task: asyncio.Task[None] | None = None
        self._prepared = Narration()
        self._deliver: Deliver | None = None  # if the running summary is of a session that ended
        self._failures = 0  # in a row
        self._reading: asyncio.Future[None] | None = None

    @property
    def state(self) -> SummaryState:
        if self._task is not None:
            return MAKING
        if self._prepared.narrative is not None:
            return "ready"
        return "failed" if self._failures else ""

    @property
    def may_begin(self) -> bool:
        """True unless the models have failed several times in a row."""
        return self._failures < MAX_FAILURES

    def prepared(self, exchanges: Sequence[Exchange]) -> Narration:
        """Return the narration that is ready if it covers the first of `exchanges`, else none."""
        covered = self._prepared.covered
        if tuple(exchanges[: len(covered)]) == covered:
            return self._prepared
        return Narration()

    def record_success(self) -> None:
        """Allow more summaries, since a model has just written one."""
        self._failures = 0

    async def cancel(self) -> None:
        """Cancel the running summary, and drop the one that is ready."""
        self._prepared = Narration()
        self._deliver = None
        task = self._task
        self._task = None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def cancel_own(self) -> None:
        """Cancel the summary of this session, but not that of one that has ended."""
        if self._deliver is None:
            await self.cancel()

    async def cancel_delayed(self) -> None:
        """Cancel the summary of the session before, which comes too late now."""
        if self._deliver is not None:
            await self.cancel()

    def hand_over(self, deliver: Deliver | None) -> None:
        """Drop the summary that is ready, since its session has been sealed. Give the one that is
        still running, if any, to `deliver`.
        """
        self._prepared = Narration()
        self._deliver = deliver

    async def wait(self) -> None:
        """Wait until all background work is done and the summary's result is handled."""
        while self._task is not None:
            await asyncio.wait({self._task})
        await self.until_read()

    def begin(self, context: Context, end: int, *, idle: bool = False) -> None:
        """Make the summary of the first `end` unsummarized exchanges of a context, after what is
        ready. If `idle`, its cost is shown.
        """
        self._deliver = None
        self._start(self._summarize(context, end, idle=idle))

    def begin_delayed(self, context: Context, deliver: Deliver, lock: Lock) -> None:
        """Make the summary of a session that has ended. Hold `lock` until it is delivered."""

        async def summarize() -> None:
            with closing(lock):
                await self._summarize(context, len(context.unsummarized), idle=True)

        self._deliver = deliver
        self._start(summarize())

    def _start(self, work: Coroutine[object, object, None]) -> None:
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Future[None]) -> None:
        """Count and report a summary that has failed of a bug."""
        if not task.cancelled() and task.exception() is not None:
            self._failures += 1
            report_bug(task)

    async def _summarize(self, context: Context, end: int, *, idle: bool) -> None:
        """Make and keep or deliver a summary."""
        before = self.prepared(context.unsummarized)
        span = context.unsummarized[len(before.covered) : end]
        try:
            made = Narration()
            with suppress(ChatLoopError, OSError):  # a later summary is tried
                made = await self._narrate(context, span)
            if made.narrative is None:
                self._failures += 1
                return
            self._failures = 0
            use = await self._use(before, made)
            if idle:
                cost = None
                if made.usage is not None:
                    cost = await asyncio.to_thread(self._cost, made.model, made.usage)
                self._report(SummaryPrepared(usage=made.usage, cost=cost, use=use))
        finally:
            if self._task is asyncio.current_task():
                self._task = None

    async def _use(self, before: Narration, made: Narration) -> str:
        """Keep a narration that follows `before`, or deliver it. Return what it is used for."""
        from chat_loop.context.summary import join_narrations  # loads the ledger

        narration = join_narrations(before, made)
        if self._deliver is None:
            self._prepared = narration
            return ""
        return await self._delivered(self._deliver, narration)

    async def _delivered(self, deliver: Deliver, narration: Narration) -> str:
        """Deliver the summary of a session that has ended, and report a problem."""
        try:
            delayed = await asyncio.to_thread(deliver, narration)
        except ChatLoopError as error:
            self._report(Warned(error.message, error.hint))
            return ""
        if delayed is None:
            return ""
        if delayed.problem is not None:
            self._report(Warned(delayed.problem.message, delayed.problem.hint))
        return self._receive(delayed)

    def read_ahead(self, context: Context) -> None:
        """Parse the sources of the next compaction's block in a worker thread, unless another
        reading is still going on.
        """
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(in_daemon_thread(_read_ahead, context))
            self._reading.add_done_callback(report_bug)

    async def until_read(self) -> None:
        """Wait until what is being read ahead has been read."""
        if self._reading is not None and not self._reading.done():
            await asyncio.wait({self._reading})
