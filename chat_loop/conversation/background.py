"""The summary that is made in the background: one at a time, none after too many failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from chat_loop.context.proposal import Outcome
from chat_loop.sessions.records import Exchange

MOST_FAILURES = 3
"""Failures in a row after which no more summaries are tried in the background."""
MAKING = "in the making"
GROWTH = 1.1
"""After a failure, or a compaction that would gain nothing, the context grows by this factor before
the next attempt.
"""


class Background:
    """At most one summary call, and its result. `failures` counts those in a row, `problem` says
    why the last one failed.
    """

    def __init__(self) -> None:
        self.failures = 0
        self.problem = ""
        self._prepared: Outcome | None = None
        self._task: asyncio.Task[None] | None = None
        self._not_below = 0.0
        self._deliver_to: Callable[[Outcome], None] | None = None

    @property
    def running(self) -> bool:
        return self._task is not None

    @property
    def broken(self) -> bool:
        """True when no more calls are tried."""
        return self.failures >= MOST_FAILURES

    @property
    def state(self) -> str:
        """`in the making`, `ready`, `failed`, or empty when there is nothing to tell."""
        if self.running:
            return MAKING
        return "ready" if self._prepared is not None else "failed" if self.failures else ""

    def may_start(self, used: int) -> bool:
        """Return True when a call should begin, with `used` tokens in the context."""
        return not (self.running or self._prepared or self.broken or used < self._not_below)

    def start(self, work: Callable[[], Awaitable[Outcome]], used: int) -> None:
        """Begin a summary with `work`, `used` tokens being in the context."""
        self._deliver_to = None
        self._task = asyncio.ensure_future(self._run(work, used))

    def ready(self, exchanges: Sequence[Exchange]) -> Outcome | None:
        """Return what is ready of the beginning of `exchanges`."""
        prepared = self._prepared
        if prepared is None or tuple(exchanges[: len(prepared.covered)]) != prepared.covered:
            return None
        return prepared

    def forget(self) -> None:
        """Forget what is ready: a compaction has used it, or has gone over it."""
        self._prepared, self._not_below = None, 0.0

    def succeeded(self) -> None:
        """Note that a summary was made elsewhere: calls are tried again."""
        self.failures = 0

    def later(self, deliver_to: Callable[[Outcome], None]) -> None:
        """Have the call that is under way, if any, hand its result to `deliver_to` in a worker
        thread: its exchanges were compacted without it.
        """
        self._deliver_to = deliver_to

    async def cancel(self) -> None:
        """Stop what is under way and forget what is ready."""
        self._prepared = self._deliver_to = None
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def wait(self) -> None:
        """Wait for the call under way to end, and for what is done with its result."""
        while self._task is not None:
            await asyncio.wait({self._task})

    async def _run(self, work: Callable[[], Awaitable[Outcome]], used: int) -> None:
        try:
            [result] = await asyncio.gather(work(), return_exceptions=True)
            if isinstance(result, Outcome) and result.narrative is not None:
                self.failures = 0
                await self._deliver(result)
                return
            self.failures += 1
            self._not_below = used * GROWTH
            self.problem = result.problem if isinstance(result, Outcome) else _told(result)
        finally:
            if self._task is asyncio.current_task():
                self._task = None

    async def _deliver(self, prepared: Outcome) -> None:
        if self._deliver_to is None:
            self._prepared = prepared
            return
        work = asyncio.to_thread(self._deliver_to, prepared)
        [error] = await asyncio.gather(work, return_exceptions=True)
        if error is not None:
            self.problem = _told(error)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
