"""A conversation in a test: a model that follows a script, one clock for everything, and the events
as they arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal, TypeVar

from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.ask import CallLimits
from chat_loop.conversation import continuing
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import ProviderError
from chat_loop.events import Event, Finished, TextDelta, ThinkingDelta
from chat_loop.providers import Provider
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Message, Request, StopReason, Usage, Window

START = datetime(2026, 11, 21, 22, 30, 15, tzinfo=timezone(timedelta(hours=1)))
CALL_SECONDS = 2.0
QUIET = Options(acknowledge=False, on_exit="later", attach_from_archive=False)
"""Options of a conversation that makes no requests of its own."""

SUMMARY = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- Greetings [1]

**Decisions Made:**
- Stay polite [1]

**Pending:**
- none"""

T = TypeVar("T")


class Clock:
    """A clock that advances only when a test or the model says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Says:
    """One call: its pieces of text, then its end. `silence` waits until the call is canceled."""

    pieces: tuple[str, ...] = ()
    then: StopReason | ProviderError | Literal["silence"] = "end"
    usage: Usage | None = field(default_factory=lambda: Usage(input=100, output=10))
    thinking: str = ""


Step = str | ProviderError | Says


class Model(Provider):
    """A model that follows its script, one step per call, and remembers every request. A call
    without a step fails.
    """

    name = "scripted"
    calls_tools = takes_images = False

    def __init__(
        self,
        *steps: Step,
        clock: Clock | None = None,
        window: Window | None = None,
        model: str = "test",
    ) -> None:
        self.model = model
        self.steps = list(steps)
        self.warmed = self.closed = 0
        self.clock = clock or Clock()
        self.window = window or Window(100_000)
        self.first_event_seconds = 120.0
        self.requests: list[Request] = []
        self.cancelled = 0
        """The number of calls that were closed before their end."""
        self.silent = asyncio.Event()
        """Set when a call has fallen silent."""
        self.at_silence: Callable[[], None] = self.silent.set

    def warm(self) -> None:
        """There is nothing to load."""
        self.warmed += 1

    def begin_session(self) -> None:
        """There is nothing to try again."""

    async def close(self) -> None:
        """There is nothing to release."""
        self.closed += 1

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        self.requests.append(request)
        assert self.steps, f"a call that the script does not know: {request}"
        step = self.steps.pop(0)
        if isinstance(step, str):
            step = Says((step,))
        elif isinstance(step, ProviderError):
            step = Says(then=step)
        ended = False
        try:
            if step.thinking:
                yield ThinkingDelta(step.thinking)
            for piece in step.pieces:
                yield TextDelta(piece)
            if step.then == "silence":
                self.at_silence()
                await asyncio.Event().wait()
            self.clock.seconds += CALL_SECONDS
            ended = True
            if isinstance(step.then, ProviderError):
                raise step.then
            assert step.then != "silence"
            yield Finished(stop=step.then, usage=step.usage)
        finally:
            self.cancelled += not ended


class Talk:
    """A conversation with the scripted model in `directory`, and all its events."""

    def __init__(
        self,
        directory: Path,
        *steps: Step,
        options: Options | None = None,
        window: Window | None = None,
        files: Files | None = None,
        clock: Clock | None = None,
        attempts: int = 1,
        agent: str = "Sally",
        memory: Callable[[], str] = str,
    ) -> None:
        self.clock = clock or Clock()
        self.model = Model(*steps, clock=self.clock, window=window)
        self.events: list[Event] = []
        self.screen: Callable[[Event], None] | None = None
        """An additional function that receives the events, if set."""
        self.sessions = SessionManager(
            directory, now=self.clock.now, monotonic=self.clock.monotonic, files=files
        )
        limits = CallLimits(
            attempts=attempts,
            sleep=self.clock.sleep,
            jitter=lambda: 1.0,
            clock=self.clock.monotonic,
            idle=60.0,
        )
        self.conversation = Conversation(
            ModelAgent(name=agent, system_prompt="Be kind.", provider=self.model, limits=limits),
            self.sessions,
            count=words,
            show=self._tell,
            options=options
            or Options(attach_from_archive=False),  # with an archive, a thread would decide
            memory=memory,
        )

    @property
    def path(self) -> Path:
        return self.conversation.live.path

    @property
    def text(self) -> str:
        """The live session's transcript as it is on disk."""
        return self.path.read_text("utf-8")

    @property
    def sent(self) -> list[tuple[Message, ...]]:
        """Return the messages of every request."""
        return [request.messages for request in self.model.requests]

    def _tell(self, event: Event) -> None:
        self.events.append(event)
        if self.screen is not None:
            self.screen(event)

    def told(self) -> list[Event]:
        """Return the events since the last call."""
        events, self.events[:] = list(self.events), []
        return events

    async def resume(self, identity: str, *, last: int = 0, summary: bool = True) -> None:
        """Resume from the summary, or with a `summary` of false as the command does by itself. Wait
        for the summary that is made in the background.
        """
        loaded = self.sessions.load(self.sessions.directory / f"{identity}.md")
        planning = self.conversation.planning()
        resumed = await continuing.resume(planning, loaded, last=last, summary=summary)
        await self.conversation.accept(resumed.plan, acknowledge=resumed.missing is None)
        if resumed.missing is not None:
            self.conversation.summarize_missing(resumed.missing)
        await self.conversation.background.wait()

    async def interrupt(self, work: Coroutine[Any, Any, object]) -> None:
        """Run `work`, cancel it once the model has fallen silent, and let it end."""
        task = asyncio.ensure_future(work)
        await self.model.silent.wait()
        self.model.silent.clear()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def words(text: str) -> int:
    """Count words as tokens, so that totals are easy to follow."""
    return len(text.split())


def said(*texts: str) -> tuple[Message, ...]:
    """Return messages that alternate, beginning with the user's."""
    return tuple(
        Message("assistant" if number % 2 else "user", text) for number, text in enumerate(texts)
    )


def names(directory: Path) -> Sequence[str]:
    """Return the names of the transcripts in a folder."""
    return sorted(path.name for path in directory.glob("*.md"))
