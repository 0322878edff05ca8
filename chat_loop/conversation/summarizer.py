"""The summarizer: has models write the narrative of a span, and builds summary blocks. It knows no
conversation, so that a chat, its exit and `sessions compact` use the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.agent.ask import CallLimits
from chat_loop.context import budget
from chat_loop.context.budget import Announce, Narration, SummaryOptions
from chat_loop.context.messages import Context
from chat_loop.context.request import Frame
from chat_loop.conversation.conversation_options import FEEDBACK, Options
from chat_loop.events import Event, SummaryEnded
from chat_loop.providers import Provider
from chat_loop.sessions.records import Exchange, Summary
from chat_loop.tokens import Count

if TYPE_CHECKING:
    from chat_loop.context.ledger import LedgerBlock

LOCAL_SECONDS = 600.0
"""The least time for a summary by a model on this machine, which is slow to begin."""

Report = Callable[[Event], None]


class Writer(Struct, frozen=True, kw_only=True):
    """The models that write a summary, in the order in which they are tried, and how."""

    routes: tuple[Provider, ...]
    options: SummaryOptions
    count: Count

    def asked(
        self,
        *,
        optional: bool = False,
        announce: Announce | None = None,
    ) -> Writer:
        """Return the writer for one summary, which the user may skip if it is `optional`.
        `announce` gets the model and the maximum usage before it is asked.
        """
        writer = self
        if optional:
            writer = self.without_questions()
        options = replace(writer.options, optional=optional, announce=announce)
        return replace(writer, options=options)

    def without_questions(self) -> Writer:
        """Return a writer that never asks the user whether to spend more."""
        limits = replace(self.options.limits, confirm=None)
        return replace(self, options=replace(self.options, limits=limits))


def writer_of(options: Options, own: Provider, limits: CallLimits, count: Count) -> Writer:
    """Return the writer of a conversation: the summarizer of its options, then its own model."""
    first = options.summarizer_for(own.name)
    routes = (own,) if first is None else (first, own)
    summary_options = replace(options.summary, limits=limits)
    if any(provider.first_event_seconds >= LOCAL_SECONDS for provider in routes):
        seconds = max(summary_options.limit, LOCAL_SECONDS)
        summary_options = replace(summary_options, limit=seconds)
    return Writer(routes=routes, options=summary_options, count=count)


async def narrate(
    context: Context, span: Sequence[Exchange], writer: Writer, report: Report, focus: str = ""
) -> Narration:
    """Have the models write the narrative of `span`, a part of the context."""
    from chat_loop.context import summary  # late: it loads the ledger

    if feedback := context.session.settings.get(FEEDBACK):
        focus = f"{focus} (said of the last summary: {feedback})".strip()
    return await summary.summarize(
        writer.routes,
        span,
        context.parent_block,
        count=writer.count,
        show=report,
        options=writer.options,
        focus=focus,
    )


async def complete(
    prepared: Narration,
    context: Context,
    span: Sequence[Exchange],
    writer: Writer,
    report: Report,
    *,
    focus: str = "",
    fallback: str = "",
) -> Narration:
    """Have the models write what a `prepared` narration of `span` lacks, and report how that ended.
    `fallback` tells the user what happens if it fails.
    """
    from chat_loop.context import summary

    narration = prepared
    if rest := span[len(prepared.covered) :]:
        added = await narrate(context, rest, writer, report, focus)
        narration = summary.join_narrations(prepared, added)
    source = narration.source
    problem = narration.problem.removesuffix(".")
    if problem:
        source = "none" if fallback else source
        problem = f"Summary failed: {problem}. {fallback or 'It is made without the model.'}"
    report(
        SummaryEnded(
            source=source, usage=narration.usage, seconds=narration.seconds, problem=problem
        )
    )
    return narration


def build_block(
    frame: Frame,
    context: Context,
    narration: Narration,
    span: Sequence[Exchange],
    tail: Sequence[Exchange] = (),
) -> LedgerBlock:
    """Return the block of `span`. Exchanges that the narration does not cover become topics."""
    from chat_loop.context import ledger, summary

    parent = context.parent_block
    pins = context.pins
    if not span:  # nothing new was said: the parent's block is passed on
        return ledger.LedgerBlock(replace(parent or Summary(), pinned=pins))
    parts = []
    if narration.narrative is not None:
        parts.append(narration.narrative)
    rest = span[len(narration.covered) :]
    if rest or not parts:
        parts.append(summary.extract(rest, parent))
    joined = summary.join(parts, parent)
    room = budget.ledger_room(frame.window.tokens, frame.limits)
    return ledger.ledger(parent, joined, span, tail, pins, room, frame.count)


def final_block(frame: Frame, context: Context, narration: Narration | None = None) -> Summary:
    """Return the block of a session that ends, which covers everything in its context."""
    return build_block(frame, context, narration or Narration(), context.unsummarized).summary
