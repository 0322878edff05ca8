"""Summarising (act): the model call behind a summary block, with its one retry and its time limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

from chat_loop.agent.ask import Patience, ask
from chat_loop.context import ledger, summary
from chat_loop.errors import ChatLoopError, ProviderError
from chat_loop.events import Event, Finished, Retrying, SummaryProgress, SummaryStarted, TextDelta
from chat_loop.providers import Provider
from chat_loop.sessions import block
from chat_loop.sessions.records import Session, Summary, SummarySource
from chat_loop.values import Request, Usage

LONGEST_SUMMARY = 4096
"""Tokens a summary may take, on a window that is large enough; reasoning counts too."""
PROMPT_TOKENS = 700
"""What the summary call's own words take, generously."""
FOCUS_TOKENS = 200
"""What the user may ask to keep."""


SMALL_WINDOW = 16_384
"""A model with a window of at most this is not shown the parent's block: small ones copy it (seen with 1.5 billion
parameters) instead of summarising what is new. The background is then condensed without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a summary call came to. `problem` says why `source` is not `model`, as a sentence's rest."""

    summary: Summary
    source: SummarySource
    usage: Usage | None
    seconds: float
    problem: str = ""


async def summarise(
    provider: Provider,
    session: Session,
    *,
    count: Callable[[str], int],
    show: Callable[[Event], None],
    limit: float,
    focus: str = "",
    patience: Patience | None = None,
) -> Outcome:
    """Make a session's summary block with the model, or without it when the model fails twice.

    Each part of a long span is one call of at most `limit` seconds. A cancelled call raises CancelledError.
    """
    patience = patience or Patience()
    started = patience.clock()
    parent = ledger.inherited(session)
    window = provider.window.tokens
    ceiling = min(LONGEST_SUMMARY, max(256, window // 5))
    shown = parent if window > SMALL_WINDOW else None
    before = summary.clipped(block.render(shown), window // 4, count) if shown else ""
    focus = summary.clipped(focus, FOCUS_TOKENS, count)
    room = max(200, window - ceiling - PROMPT_TOKENS - count(before) - window // 20)
    spans = summary.parts(session.exchanges, room, count)
    show(SummaryStarted(parts=len(spans)))
    found: list[Summary] = []
    usage: Usage | None = None
    try:
        for number, span in enumerate(spans, 1):
            request = summary.request(span, before if number == 1 else "", focus=focus, max_tokens=ceiling)
            call = _Call(provider, request, limit, patience, show, (number, len(spans)))
            try:
                found.append(await call.twice())
            finally:
                usage = call.usage if usage is None else usage + (call.usage or Usage())
    except (ChatLoopError, summary.InvalidSummary) as error:
        problem = error.message if isinstance(error, ChatLoopError) else f"{error}."
        return Outcome(
            summary=ledger.carry(summary.extracted(session, parent), session),
            source="extracted",
            usage=usage,
            seconds=round(patience.clock() - started, 2),
            problem=problem,
        )
    made = ledger.carry(summary.joined(found, parent), session)
    return Outcome(summary=made, source="model", usage=usage, seconds=round(patience.clock() - started, 2))


class _Call:
    """One part's call, tried at most twice."""

    def __init__(
        self,
        provider: Provider,
        request: Request,
        limit: float,
        patience: Patience,
        show: Callable[[Event], None],
        part: tuple[int, int],
    ) -> None:
        self._provider = provider
        self._request = request
        self._limit = limit
        self._patience = patience
        self._show = show
        self._part = part
        self.usage: Usage | None = None

    async def twice(self) -> Summary:
        """Return the checked narrative. Raises the second attempt's error."""
        try:
            return await self._once()
        except (ProviderError, summary.InvalidSummary) as error:
            if isinstance(error, ProviderError) and not error.retryable:
                raise
            self._show(Retrying(reason=_reason(error), seconds=0, attempt=2, attempts=2))
            return await self._once()

    async def _once(self) -> Summary:
        try:
            async with asyncio.timeout(self._limit):
                text, stop = await self._collect()
        except TimeoutError as error:
            raise summary.InvalidSummary(f"it took more than {self._limit:.0f} seconds") from error
        if stop == "length":
            raise summary.InvalidSummary("the summary was cut off at the token limit")
        if stop == "refusal":
            raise summary.InvalidSummary("the model refused to write it")
        return summary.narrative(text)

    async def _collect(self) -> tuple[str, str]:
        pieces: list[str] = []
        stop = "error"
        length = 0
        events = cast(AsyncGenerator[Event], ask(self._provider, self._request, self._patience))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                    length += len(event.text)
                    self._show(SummaryProgress(part=self._part[0], parts=self._part[1], characters=length))
                elif isinstance(event, Finished):
                    stop = event.stop
                    if event.usage is not None:
                        self.usage = event.usage if self.usage is None else self.usage + event.usage
                elif isinstance(event, Retrying):
                    self._show(event)
        return "".join(pieces), stop


def _reason(error: ChatLoopError | summary.InvalidSummary) -> str:
    return error.message if isinstance(error, ChatLoopError) else f"{str(error)[:1].upper()}{str(error)[1:]}."
