"""Summarising (act): the model call behind a narrative, with its one retry, its time limit and its
check.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import cast

from msgspec.structs import replace

from chat_loop.agent.ask import Patience, ask
from chat_loop.context import summary, verify
from chat_loop.context.budget import Count
from chat_loop.context.messages import clipped
from chat_loop.context.outcome import Outcome, SummaryOptions
from chat_loop.errors import ChatLoopError, ContextTooLong, ProviderError, TimedOut
from chat_loop.events import Event, Finished, Retrying, SummaryProgress, SummaryStarted, TextDelta
from chat_loop.providers import Provider
from chat_loop.redact import redacted
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Summary
from chat_loop.values import Request, Usage

PROMPT_TOKENS = 700
"""What the summary call's own words take, generously."""
FOCUS_TOKENS = 200
"""What the user may ask to keep."""
INSTRUCTION_TOKENS = 400
"""What an agent's own instructions for summaries may take."""
SMALL_WINDOW = 16_384
"""A model with a window of at most this is not shown the parent's block: small ones copy it (seen
with 1.5 billion parameters) instead of summarising what is new. The background is then condensed
without a model.
"""
SMALLEST_SPAN = 1_400
"""Tokens: a summary may be as large as this, whatever it summarises. The grammar allows no more,
and small models use all of it; where the span is smaller, that is no matter.
"""


async def summarise(
    routes: Sequence[Provider],
    exchanges: Sequence[Exchange],
    parent: Summary | None,
    *,
    count: Count,
    show: Callable[[Event], None],
    wanted: SummaryOptions,
    focus: str = "",
) -> Outcome:
    """Have a model write the narrative of `exchanges`; `parent` is the block that stands before
    them.

    Each part of a long span is one call; one that fails is asked once more, of the next of `routes`
    when there is one. What takes too long is not asked again: it would take as long. A cancelled
    call raises CancelledError.
    """
    patience = wanted.patience or Patience()
    started = patience.clock()
    call = _Calls(routes, parent, count, show, replace(wanted, patience=patience), focus)
    try:
        await call.all(exchanges)
    except (ChatLoopError, summary.InvalidSummary) as error:
        return Outcome(
            narrative=None,
            usage=call.usage,
            seconds=_since(started, patience),
            model=call.model,
            problem=error.message if isinstance(error, ChatLoopError) else f"{error}.",
            answered=isinstance(error, summary.InvalidSummary | TimedOut),
            partial=summary.joined(call.all_found, parent) if call.all_found else None,
        )
    return Outcome(
        narrative=summary.joined(call.found, parent),
        usage=call.usage,
        seconds=_since(started, patience),
        model=call.model,
        invented=tuple(call.invented),
    )


def together(first: Outcome, second: Outcome) -> Outcome:
    """What was made of the beginning of a span and of its rest as one; a rest that failed fails the
    whole.
    """
    if first.narrative is None or second.narrative is None:
        return second
    return replace(
        second,
        narrative=summary.joined([first.narrative, second.narrative], None),
        usage=(first.usage or Usage()) + (second.usage or Usage()),
        seconds=first.seconds + second.seconds,
        invented=(*first.invented, *second.invented),
    )


def _since(started: float, patience: Patience) -> float:
    return round(patience.clock() - started, 2)


class _Calls:
    """The calls for one span's parts, each tried at most twice."""

    def __init__(
        self,
        routes: Sequence[Provider],
        parent: Summary | None,
        count: Count,
        show: Callable[[Event], None],
        wanted: SummaryOptions,
        focus: str,
    ) -> None:
        self._routes = routes
        self._parent = parent
        self._count = count
        self._show = show
        self._wanted = wanted
        self._patience = replace(wanted.patience or Patience(), attempts=1)
        self._focus = clipped(redacted(focus), FOCUS_TOKENS, count)
        self._instructions = clipped(wanted.instructions, INSTRUCTION_TOKENS, count)
        self.found: list[Summary] = []
        """The narratives of the span's parts, as far as there are."""
        self._begun: Summary | None = None
        """What came of a part until the time was over."""
        self.usage: Usage | None = None
        self.invented: list[str] = []
        self.model = ""

    @property
    def all_found(self) -> list[Summary]:
        """What there is, the beginning of a part among it."""
        return [*self.found, self._begun] if self._begun is not None else self.found

    async def all(self, exchanges: Sequence[Exchange]) -> None:
        """Have the narratives of the span's parts. Raises the second attempt's error."""
        provider = self._routes[0]
        spans = summary.parts(exchanges, self._room(provider), self._count)
        self._show(SummaryStarted(parts=len(spans), optional=self._wanted.optional))
        for number, span in enumerate(spans, 1):
            try:
                self.found.append(
                    await self._once(provider, span, number, len(spans), self._patience)
                )
            except (ProviderError, summary.InvalidSummary) as error:
                provider, patience = await self._again(provider, error)
                room = self._room(provider) // (2 if isinstance(error, ContextTooLong) else 1)
                for half in summary.cut(span, room, self._count):
                    self.found.append(
                        await self._once(provider, half, number, len(spans), patience)
                    )

    async def _again(
        self, provider: Provider, error: ProviderError | summary.InvalidSummary
    ) -> tuple[Provider, Patience]:
        """Whom to ask once more after an error, and how long to wait for it. Raises the error when
        nobody is asked.

        A provider that failed gets a short pause and must answer soon; another one, and one that
        only wrote no summary, has the time that it always has.
        """
        other = next((route for route in self._routes if route is not provider), None)
        pause, patience = 0.0, self._patience
        if other is None and not (self._wanted.retry or isinstance(error, ContextTooLong)):
            raise error
        if (
            other is None
            and isinstance(error, ProviderError)
            and not isinstance(error, ContextTooLong)
        ):
            pause = patience.first_pause if error.retry_after is None else error.retry_after
            rest = self._wanted.after_error - pause
            if not error.retryable or isinstance(error, TimedOut) or rest <= 0:
                raise error
            patience = replace(patience, first=rest, idle=min(rest, patience.idle))
        self._show(Retrying(reason=_reason(error), seconds=pause, attempt=2, attempts=2))
        self._begun = None
        if pause:
            await patience.sleep(pause)
        return other or provider, patience

    def _ceiling(self, provider: Provider) -> int:
        return min(self._wanted.max_tokens, max(256, provider.window.tokens // 5))

    def _before(self, provider: Provider) -> str:
        """The parent's narrative as this model is shown it."""
        window = provider.window.tokens
        if self._parent is None or window <= SMALL_WINDOW:
            return ""
        told = replace(self._parent, pinned=(), key_facts=(), files=(), tools=())
        return clipped(redacted(summary_block.render(told)), window // 4, self._count)

    def _room(self, provider: Provider) -> int:
        window = provider.window.tokens
        taken = self._ceiling(provider) + PROMPT_TOKENS + window // 20
        taken += sum(self._count(text) for text in (self._before(provider), self._instructions))
        return max(200, window - taken)

    async def _once(
        self, provider: Provider, span: str, part: int, parts: int, patience: Patience
    ) -> Summary:
        before = self._before(provider)
        request = summary.request(
            span,
            before if part == 1 else "",
            focus=self._focus,
            instructions=self._instructions,
            max_tokens=self._ceiling(provider),
        )
        limit = self._wanted.limit
        pieces: list[str] = []
        try:
            async with asyncio.timeout(limit):
                stop = await self._collect(provider, request, part, parts, patience, pieces)
        except TimeoutError as error:
            with suppress(summary.InvalidSummary):
                whole_lines = "".join(pieces).rpartition("\n")[0]
                self._begun = verify.verified(summary.narrative(whole_lines), f"{span}\n{before}")[
                    0
                ]
            raise TimedOut(f"It took more than {limit:.0f} seconds.") from error
        text = "".join(pieces)
        if stop == "length":
            raise summary.InvalidSummary("the summary was cut off at the token limit")
        if stop == "refusal":
            raise summary.InvalidSummary("the model refused to write it")
        made, invented = verify.verified(summary.narrative(text), f"{span}\n{before}")
        lines = (*made.topics, *made.decisions, *made.pending)
        if len(invented) > len(lines):
            raise summary.InvalidSummary("most of the summary names values that nobody said")
        size = self._count("\n".join(lines))
        if size > SMALLEST_SPAN and size > self._count(span):
            raise summary.InvalidSummary("the summary is larger than what it summarises")
        self.invented += invented
        self.model = f"{provider.name}:{provider.model}"
        return made

    async def _collect(
        self,
        provider: Provider,
        request: Request,
        part: int,
        parts: int,
        patience: Patience,
        pieces: list[str],
    ) -> str:
        """Put what comes into `pieces`; return why it stopped."""
        stop = "error"
        length = 0
        events = cast(AsyncGenerator[Event], ask(provider, request, patience))
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                    length += len(event.text)
                    self._show(SummaryProgress(part=part, parts=parts, characters=length))
                elif isinstance(event, Finished):
                    stop = event.stop
                    if event.usage is not None:
                        self.usage = event.usage if self.usage is None else self.usage + event.usage
        return stop


def _reason(error: ChatLoopError | summary.InvalidSummary) -> str:
    return (
        error.message
        if isinstance(error, ChatLoopError)
        else f"{str(error)[:1].upper()}{str(error)[1:]}."
    )
