"""Spending limits: a request that would exceed one needs the user's consent, or is refused."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from datetime import date, datetime

from msgspec import Struct

from chat_loop.config import LimitsConfig
from chat_loop.errors import SessionError, SpendingLimit
from chat_loop.events import Event, Warned
from chat_loop.providers import Provider
from chat_loop.providers.lengths import request_size
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import ModelChange, Reply
from chat_loop.sessions.rows import newest_first
from chat_loop.values import Request, Usage, dollars_text

REPLY_TOKENS = 1_000  # the expected length of a reply, unless the request allows less

Confirm = Callable[[str, str], Awaitable[bool]]  # asks the user, given a sentence and a question


class Limit(Struct):
    """A limit of `step` dollars, infinite if none is set. The user can allow more `steps`."""

    name: str
    step: float
    spent: float = 0.0
    steps: int = 1


class Spending:
    """Counts the estimated cost of all requests of the open session, and of the day."""

    def __init__(
        self,
        limits: LimitsConfig,
        cost: Callable[[str, Usage], float | None],
        sessions: SessionManager,
    ) -> None:
        self._config = limits
        self._cost = cost
        self._sessions = sessions
        self._date: date | None = None
        self._unpriced = set[str]()
        self.begin_session()

    def begin_session(self) -> None:
        """Begin to count the cost of another session from zero."""
        self._session = Limit("this session", self._config.session_cost or math.inf)

    def check(self, model: str, usage: Usage) -> tuple[float | None, list[Limit]]:
        """Return the price of a request (None: unknown), and the limits that it would exceed."""
        now = self._sessions.now()
        if now.date() != self._date:
            self._date = now.date()
            self._day = Limit("today", self._config.day_cost or math.inf)
            with suppress(OSError):  # the folder cannot be read
                self._day.spent = self._spent_since(now.replace(hour=0, minute=0, second=0))
        price = self._cost(model, usage)
        limits = (self._session, self._day) if price else ()
        cost = price or 0.0
        return price, [limit for limit in limits if limit.spent + cost > limit.step * limit.steps]

    async def allow(
        self, provider: Provider, usage: Usage, confirm: Confirm | None
    ) -> AsyncGenerator[Event]:
        """Yield a warning if the price is unknown. Raises SpendingLimit unless the user agrees."""
        model = f"{provider.name}:{provider.model}"
        price, passed = await asyncio.to_thread(self.check, model, usage)  # reads sessions
        if price is None and model not in self._unpriced:
            self._unpriced.add(model)
            text = f"The price of {model} is unknown: no spending limit counts it."
            yield Warned(text, "models: in the config sets prices.")
        for limit in passed:
            spent = "nothing"
            if limit.spent:
                spent = dollars_text(limit.spent)
            text = f"The next request, about {dollars_text(price)}, would pass the limit of "
            text += f"{dollars_text(limit.step * limit.steps)} for {limit.name} ({spent} so far)."
            steps = math.floor((limit.spent + (price or 0.0)) / limit.step) + 1
            question = f"Go on, up to {dollars_text(limit.step * steps)}?"
            if confirm is None:
                raise SpendingLimit(text, "limits: in the config sets it.")
            if not await confirm(text, question):
                raise SpendingLimit("Not sent.")
            limit.steps = steps

    def add(self, provider: Provider, usage: Usage) -> None:
        """Count the cost of a request."""
        for limit in (self._session, self._day):
            limit.spent += self._cost(f"{provider.name}:{provider.model}", usage) or 0.0

    def _spent_since(self, start: datetime) -> float:
        """Return the cost of the replies in all saved sessions since `start`. Raises OSError."""
        spent = 0.0
        sessions = self._sessions
        for stamp in newest_first(sessions.directory) if self._config.day_cost else ():
            if stamp.changed < start.timestamp() * 1e9:
                break
            with suppress(SessionError):
                session = sessions.load(sessions.session_file(stamp.id)).session
                model = session.header.model
                for entry in session.entries:
                    if isinstance(entry, ModelChange):
                        model = entry.text
                    elif isinstance(entry, Reply) and entry.usage and entry.at >= start:
                        spent += self._cost(model, entry.usage) or 0.0
        return spent


def expected_usage(request: Request) -> Usage:
    """Return the estimated tokens of a request with a reply of usual length."""
    output = min(request.max_tokens or REPLY_TOKENS, REPLY_TOKENS)
    return Usage(input=request_size(request), output=output, estimated=True)
