"""A summary in the making while the user goes on (act): one at a time, and none after too many
failures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from chat_loop.context.outcome import Outcome
from chat_loop.frozen import dataclass
from chat_loop.sessions.records import Exchange

MOST_FAILURES = 3
"""Failures in a row after which no more summaries are tried in the background."""
MAKING = "in the making"
GROWTH = 1.1
"""After a failure the context grows by this factor before the next attempt."""


@dataclass(frozen=True)
class Prepared:
    """What the model wrote of these exchanges."""

    exchanges: tuple[Exchange, ...]
    outcome: Outcome


class Background:
    """At most one call at a time. `failures` counts those in a row; `broken` says that no more are
    tried.
    """

    def __init__(self) -> None:
        self.failures = 0
        self.problem = ""
        """Why the last one failed."""
        self._prepared: Prepared | None = None
        self._task: asyncio.Task[Any] | None = None
        self._exchanges: tuple[Exchange, ...] = ()
        self._not_below = 0.0
        self._late: Callable[[Prepared], None] | None = None

    @property
    def running(self) -> bool:
        return self._task is not None

    @property
    def broken(self) -> bool:
        return self.failures >= MOST_FAILURES

    @property
    def state(self) -> str:
        """`in the making`, `ready`, `failed`, or empty when there is nothing to tell."""
        if self.running:
            return MAKING
        return "ready" if self._prepared is not None else "failed" if self.failures else ""

    def may_start(self, used: int) -> bool:
        """Whether a call should begin now, `used` tokens being in the context."""
        return not (self.running or self._prepared or self.broken or used < self._not_below)

    def start(
        self, exchanges: Sequence[Exchange], work: Coroutine[Any, Any, Outcome], used: int
    ) -> None:
        """Begin to summarise `exchanges` with `work`."""
        self._exchanges = tuple(exchanges)
        self._late = None
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(lambda task: self._ended(task, used))

    def ready(self, exchanges: Sequence[Exchange]) -> Prepared | None:
        """Return what is ready of the beginning of `exchanges`."""
        prepared = self._prepared
        if prepared is None or tuple(exchanges[: len(prepared.exchanges)]) != prepared.exchanges:
            return None
        return prepared

    def forget(self) -> None:
        """Forget what is ready: a compaction has used it, or has gone over it."""
        self._prepared, self._not_below = None, 0.0

    def later(self, call: Callable[[Prepared], None]) -> None:
        """Have the call that is under way hand its result to `call`: its exchanges were compacted
        without it.
        """
        if self._task is not None:
            self._late = call

    async def cancel(self) -> None:
        """Stop what is under way and forget what is ready."""
        self._prepared = self._late = None
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def wait(self) -> None:
        """Wait for the call under way to end, and for what is done with its result."""
        while self._task is not None:
            await asyncio.wait({self._task})
            await asyncio.sleep(0)

    def _ended(self, task: asyncio.Task[Outcome], used: int) -> None:
        if self._task is not task:
            return
        self._task = None
        if task.cancelled():
            return
        error = task.exception()
        outcome = None if error is not None else task.result()
        if outcome is None or outcome.narrative is None:
            self.failures += 1
            self.problem = (
                outcome.problem if outcome is not None else f"{type(error).__name__}: {error}"
            )
            self._not_below = used * GROWTH
            return
        self.failures = 0
        prepared = Prepared(self._exchanges, outcome)
        if self._late is None:
            self._prepared = prepared
            return
        self._task = asyncio.ensure_future(
            asyncio.to_thread(self._late, prepared)
        )  # it reads and writes files
        self._task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[Any]) -> None:
        if self._task is task:
            self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self.problem = f"{type(error).__name__}: {error}"
