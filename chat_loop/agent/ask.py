"""One model call with its timeouts, and the program's only retry loop. It retries only before the
first content arrives, because later the user would see two beginnings.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import cast

from msgspec import Struct

from chat_loop.agent.spending import Confirm, Spending, expected_usage
from chat_loop.errors import EmptyReply, ProviderError, TimedOut
from chat_loop.events import (
    Arriving,
    Event,
    Finished,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    Warned,
)
from chat_loop.providers import Provider
from chat_loop.values import Request, Usage

CONTENT = TextDelta | ThinkingDelta | ToolCalled | Finished
USUAL_SECONDS = 120.0  # until the first word
MAX_PAUSE = 30.0  # seconds between two attempts, unless the server asks for more


class CallLimits(Struct, frozen=True, kw_only=True):
    """Limits of one call, in seconds except `attempts`. `confirm` asks about `spending` limits."""

    attempts: int = 5
    first_pause: float = 1.0
    max_retry_after: float = 60.0
    budget: float = 120.0  # no attempt begins after it
    idle: float = 90.0  # of silence in a reply; a provider with a slow start may be silent as long
    wordless: float = 1800.0  # without a word, a thought or a part of a call
    tool: float = 60.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic
    spending: Spending | None = None
    confirm: Confirm | None = None


async def ask(
    provider: Provider, request: Request, limits: CallLimits | None = None
) -> AsyncGenerator[Event]:
    """Yield the provider's events, and a Retrying before each new attempt, or a warning if that
    leaves something out. Raises ProviderError.
    """
    limits = limits or CallLimits()
    usage: Usage | None = None
    if limits.spending is not None:
        usage = expected_usage(request)
        async for warning in limits.spending.allow(provider, usage, limits.confirm):
            yield warning
    started = limits.clock()
    attempt = 1
    while True:
        content = False
        try:
            events = cast(AsyncGenerator[Event], provider.stream(request))
            timed = _with_timeouts(events, provider.first_event_seconds, limits)
            async with aclosing(_checked(timed)) as checked:
                async for event in checked:
                    content = content or isinstance(event, CONTENT)
                    if isinstance(event, Finished):
                        usage = event.usage or usage
                    yield event
            return
        except EmptyReply as error:
            content = True
            usage = error.usage or usage
            raise
        except ProviderError as error:
            pause = None if content else _pause_after(error, attempt, limits)
            if pause is None or limits.clock() - started + pause > limits.budget:
                raise
            attempt = attempt + (not error.adapted)
            yield _announced(error, pause, attempt, limits)
            await limits.sleep(pause)
        finally:
            if content and usage is not None and limits.spending is not None:
                limits.spending.add(provider, usage)


def _announced(
    error: ProviderError, pause: float, attempt: int, limits: CallLimits
) -> Retrying | Warned:
    """Return what is said before the next attempt, which comes after `pause` seconds."""
    if error.adapted:
        return Warned(error.message)
    most = limits.attempts
    return Retrying(reason=error.message, seconds=pause, attempt=attempt, attempts=most)


def _pause_after(error: ProviderError, attempt: int, limits: CallLimits) -> float | None:
    """Return the seconds before the next attempt, or None if there must be none."""
    if not error.retryable or attempt >= limits.attempts:
        return None
    if error.retry_after is not None:
        if error.retry_after <= limits.max_retry_after:
            return error.retry_after
        return None
    pause = min(MAX_PAUSE, limits.first_pause * 2.0 ** (attempt - 1))
    return pause * (0.5 + limits.jitter() / 2)


async def _checked(events: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
    """Yield the same events without the signs of life that show nothing. Raise EmptyReply for a
    reply without a word and without a call.
    """
    is_empty = True
    thinks = False
    called = ""
    async with aclosing(events):
        async for event in events:
            match event:
                case Arriving(name=""):
                    continue
                case Arriving(name=name):
                    called = name
                case TextDelta(text):
                    is_empty = is_empty and not text.strip()
                case ThinkingDelta():
                    thinks = True
                case ToolCalled():
                    is_empty = False
                case Finished(stop="end" | "tool") if is_empty:
                    raise EmptyReply(event.usage, only_thoughts=thinks, called=called)
            yield event


async def _with_timeouts(
    events: AsyncGenerator[Event], first: float, limits: CallLimits
) -> AsyncGenerator[Event]:
    """Yield the same events. Raise TimedOut if the first word, whatever arrives later, or the next
    word takes too long. Until the first word, `first` is the limit of a silence; a slow model that
    gets longer than usual for it may be silent as long later, too.
    """
    clock = asyncio.get_running_loop().time
    silence = first
    later = limits.idle if first <= USUAL_SECONDS else first
    text = f"The model sent nothing for {first:.0f} seconds."
    word_at = clock()
    async with aclosing(events):
        while True:
            try:
                async with asyncio.timeout_at(min(clock() + silence, word_at + limits.wordless)):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                if clock() >= word_at + limits.wordless:
                    minutes = limits.wordless / 60
                    text = f"The connection is alive, but no word came for {minutes:.0f} minutes."
                raise TimedOut(text, "Try again, or take another model.") from error
            yield event
            if isinstance(event, Arriving) and not event.name:
                if silence == first:
                    text = f"The model sent no word, and then nothing for {first:.0f} seconds."
                continue
            silence = later
            word_at = clock()
            text = f"The reply stopped: nothing came for {later:.0f} seconds."
