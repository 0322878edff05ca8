"""One model call and its limits: retries, timeouts, and closing the stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.ask import CallLimits, ask
from chat_loop.agent.spending import Spending
from chat_loop.config import LimitsConfig
from chat_loop.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    ContextTooLong,
    EmptyReply,
    ModelNotFound,
    NoProvider,
    Overloaded,
    ProviderError,
    RateLimited,
    RequestRejected,
    SpendingLimit,
    StreamBroken,
    TimedOut,
)
from chat_loop.events import Event, Finished, Retrying, TextDelta
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Message, Request, Usage
from tests.support.agent_turns import events_of
from tests.support.scripted_chat import CALL_SECONDS, Model, Says, Step

REQUEST = Request(system="Be kind.", messages=(Message("user", "Hi"),))
USAGE = Usage(input=100, output=10)
ANSWER: list[Event] = [TextDelta("Hello."), Finished(stop="end", usage=USAGE)]
DOWN = Overloaded("It is down.")


class Asked:
    """One call of a scripted model, with its events, its error and the seconds of its pauses."""

    def __init__(
        self, *steps: Step, jitter: float = 1.0, attempts: int = 5, budget: float = 120.0
    ) -> None:
        self.model = Model(*steps)
        self.events: list[Event] = []
        self.error: ProviderError | None = None
        self.slept: list[float] = []
        self.limits = CallLimits(
            attempts=attempts,
            budget=budget,
            sleep=self._sleep,
            jitter=lambda: jitter,
            clock=self.model.clock.monotonic,
        )
        asyncio.run(self._run())

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.model.clock.sleep(seconds)

    async def _run(self) -> None:
        try:
            async for event in ask(self.model, REQUEST, self.limits):
                self.events.append(event)
        except ProviderError as error:
            self.error = error


def again(seconds: float, attempt: int, reason: str = "It is down.", attempts: int = 5) -> Retrying:
    return Retrying(reason=reason, seconds=seconds, attempt=attempt, attempts=attempts)


def test_pauses_double_and_the_last_attempts_error_is_raised() -> None:
    last = Overloaded("It is still down.")
    asked = Asked(DOWN, DOWN, DOWN, DOWN, last)
    assert asked.events == [again(1.0, 2), again(2.0, 3), again(4.0, 4), again(8.0, 5)]
    assert asked.error is last
    assert asked.slept == [1.0, 2.0, 4.0, 8.0]
    assert asked.model.requests == [REQUEST] * 5


def test_a_pause_varies_between_half_and_whole() -> None:
    assert [Asked(DOWN, "Hello.", jitter=jitter).slept for jitter in (0.0, 0.5, 1.0)] == [
        [0.5],
        [0.75],
        [1.0],
    ]


def test_a_pause_is_never_longer_than_the_longest() -> None:
    asked = Asked(*[DOWN] * 8, attempts=8, budget=1e9)
    assert asked.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


@pytest.mark.parametrize("seconds", [0.0, 7.5, 60.0])
def test_the_pause_that_the_server_asks_for_is_kept(seconds: float) -> None:
    asked = Asked(RateLimited("Too many.", retry_after=seconds), "Hello.", jitter=0.0)
    assert asked.events == [again(seconds, 2, "Too many."), *ANSWER]
    assert asked.slept == [seconds]


def test_a_pause_that_is_asked_for_but_too_long_is_not_waited_for() -> None:
    asked = Asked(RateLimited("Too many.", retry_after=60.5))
    assert asked.events == []
    assert isinstance(asked.error, RateLimited)
    assert asked.slept == []


def test_no_attempt_begins_after_the_budget() -> None:
    """Attempts take 2 s and pauses 1, 2 and 4 s: the fourth attempt begins 13 s after the first."""
    within = Asked(DOWN, DOWN, DOWN, "Hello.", budget=13.0)
    assert within.events == [again(1.0, 2), again(2.0, 3), again(4.0, 4), *ANSWER]
    beyond = Asked(DOWN, DOWN, DOWN, budget=12.9)
    assert beyond.events == [again(1.0, 2), again(2.0, 3)]
    assert beyond.error is DOWN
    assert beyond.model.clock.seconds == 3 * CALL_SECONDS + 3.0


@pytest.mark.parametrize(
    "step",
    [
        Says(("Hel",), then=StreamBroken("It broke.")),
        Says(then=StreamBroken("It broke."), thinking="A greeting."),
    ],
)
def test_nothing_is_tried_again_after_content(step: Says) -> None:
    asked = Asked(step)
    assert not any(isinstance(event, Retrying) for event in asked.events)
    assert len(asked.events) == 1
    assert isinstance(asked.error, StreamBroken)


@pytest.mark.parametrize(
    "kind", [Overloaded, RateLimited, ConnectionFailed, StreamBroken, TimedOut]
)
def test_what_may_pass_is_tried_again(kind: type[ProviderError]) -> None:
    assert Asked(kind("No."), "Hello.").events == [again(1.0, 2, "No."), *ANSWER]


@pytest.mark.parametrize(
    "kind",
    [
        NoProvider,
        AuthenticationFailed,
        ModelNotFound,
        ContextTooLong,
        RequestRejected,
        ProviderError,
    ],
)
def test_what_will_not_pass_is_raised_at_once(kind: type[ProviderError]) -> None:
    asked = Asked(kind("No.", retry_after=1.0))
    assert asked.events == []
    assert type(asked.error) is kind


class Hesitant(Model):
    """A model that pauses for one turn of the event loop after its first word."""

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        yield TextDelta("Hel")
        await asyncio.sleep(0)
        yield TextDelta("lo.")
        yield Finished(stop="end")


@pytest.mark.parametrize(("patience", "said"), [(120.0, ["Hel"]), (121.0, ["Hel", "lo."])])
def test_only_a_model_with_a_slow_start_may_be_silent_as_long_later(
    patience: float, said: list[str]
) -> None:
    model = Hesitant()
    model.first_event_seconds = patience
    words: list[str] = []

    async def read() -> None:
        with suppress(TimedOut):
            async for event in ask(model, REQUEST, CallLimits(attempts=1, idle=0.0)):
                if isinstance(event, TextDelta):
                    words.append(event.text)

    asyncio.run(read())
    assert words == said


def test_a_reply_without_words_is_paid_for(tmp_path: Path) -> None:
    sessions = SessionManager(tmp_path)
    spending = Spending(LimitsConfig(session_cost=1.5), lambda model, usage: 1.0, sessions)
    model = Model(Says(()), "Hello.")

    async def read() -> None:
        async for _ in ask(model, REQUEST, CallLimits(attempts=1, spending=spending)):
            pass

    with pytest.raises(EmptyReply):
        asyncio.run(read())
    with pytest.raises(SpendingLimit, match=r"\$1.00 so far"):
        asyncio.run(read())
    assert len(model.requests) == 1


async def test_closing_the_call_closes_the_providers_stream() -> None:
    model = Model(Says(("Hel", "lo.")))

    async with aclosing(ask(model, REQUEST)) as events:
        assert await anext(events) == TextDelta("Hel")
    assert model.cancelled == 1


async def test_cancelling_in_a_pause_sends_nothing_more() -> None:
    model = Model(DOWN)
    pausing = asyncio.Event()

    async def pause(seconds: float) -> None:
        pausing.set()
        await asyncio.Event().wait()

    async def read() -> None:
        async for _ in ask(model, REQUEST, CallLimits(sleep=pause)):
            pass

    task = asyncio.ensure_future(read())
    await pausing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(model.requests) == 1


def test_an_agent_asks_with_its_system_prompt_and_patience() -> None:
    model = Model(DOWN, "Hello.")
    limits = CallLimits(
        sleep=model.clock.sleep, jitter=lambda: 0.0, clock=model.clock.monotonic, first_pause=10.0
    )
    agent = ModelAgent(name="Sally", system_prompt="Be kind.", provider=model, limits=limits)

    assert asyncio.run(events_of(agent, *REQUEST.messages)) == [again(5.0, 2), *ANSWER]
    assert model.requests == [REQUEST] * 2
    assert agent.model == "scripted:test"
