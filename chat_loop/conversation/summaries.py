"""SummaryWriter: has a model write narratives, and builds the summary blocks of sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chat_loop.context import budget, ledger, summary
from chat_loop.context.budget import Draft, Outcome
from chat_loop.context.messages import Thread, shorten_block
from chat_loop.conversation.options import FEEDBACK
from chat_loop.conversation.plans import LateBlock
from chat_loop.errors import SessionError
from chat_loop.events import Event, SummaryEnded
from chat_loop.sessions import marker, summary_block
from chat_loop.sessions.records import Exchange, Summary
from chat_loop.tasks import run_to_completion
from chat_loop.values import Compaction

if TYPE_CHECKING:
    from chat_loop.conversation.conversation import Conversation


class SummaryWriter:
    """Writes summaries, using those that the compaction has prepared."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def narrate(
        self,
        thread: Thread,
        span: Sequence[Exchange],
        focus: str = "",
        *,
        fallback: str = "",
        **options: Any,
    ) -> Outcome:
        """Have the model summarize `span`. `fallback` tells the user what happens if that fails."""
        compaction = self._conversation.compaction
        outcome = Outcome() if focus else compaction.prepared(span)
        await compaction.cancel()
        if rest := span[len(outcome.covered) :]:
            second = await self.ask(thread, rest, focus, **options)
            outcome = summary.join_outcomes(outcome, second)
        problem = outcome.problem.removesuffix(".")
        if problem:
            problem = f"Summary failed: {problem}. {fallback or 'It is made without the model.'}"
        else:
            compaction.note_success()
        source = "none" if problem and fallback else outcome.source
        usage, seconds = outcome.usage, outcome.seconds
        self._conversation.show(
            SummaryEnded(source=source, usage=usage, seconds=seconds, problem=problem)
        )
        return outcome

    async def ask(
        self,
        thread: Thread,
        span: Sequence[Exchange],
        focus: str = "",
        *,
        quiet: bool = False,
        **more: Any,
    ) -> Outcome:
        """Ask the models for the narrative of `span`. If `quiet`, show no progress."""
        conversation, own = self._conversation, self._conversation.agent.provider
        first = conversation.options.summarizer
        routes = (own,) if first is None else (first, own)
        limits = conversation.agent.limits
        if quiet or more.get("optional"):
            limits = replace(limits, confirm=None)
        options = replace(conversation.options.summary, limits=limits, **more)
        if feedback := thread.session.settings.get(FEEDBACK):
            focus = f"{focus} (said of the last summary: {feedback})".strip()
        if any(provider.first_event_seconds >= 600 for provider in routes):  # it runs locally
            options = replace(options, limit=max(options.limit, 600.0))
        show: Callable[[Event], None] = (lambda event: None) if quiet else conversation.show
        parent, count = thread.inherited, conversation.count
        return await summary.summarize(
            routes, span, parent, count=count, show=show, options=options, focus=focus
        )

    def read_ahead(self, thread: Thread) -> None:
        """Parse the sources of a thread's block in advance, to make the next compaction faster."""
        ledger.read_ahead(thread.inherited, thread.fresh)

    join = staticmethod(summary.join_outcomes)

    def cover(self, thread: Thread, outcome: Outcome | None = None) -> Summary:
        """Return the final block of a session, which covers everything in it."""
        return self.block(thread, outcome or Outcome(), thread.fresh).summary

    def block(
        self,
        thread: Thread,
        outcome: Outcome,
        span: Sequence[Exchange],
        tail: Sequence[Exchange] = (),
    ) -> ledger.LedgerBlock:
        """Return the block of `span`. Exchanges that the narrative does not cover become topics."""
        parent, pins = thread.inherited, thread.pins
        if not span:  # nothing new was said: the parent's block is passed on
            return ledger.LedgerBlock(replace(parent or Summary(), pinned=pins))
        parts = [] if outcome.narrative is None else [outcome.narrative]
        rest = span[len(outcome.covered) :]
        if rest or not parts:
            parts.append(summary.extract(rest, parent))
        conversation, narrative = self._conversation, summary.join(parts, parent)
        room = budget.ledger_room(conversation.window, conversation.options.limits)
        return ledger.ledger(parent, narrative, span, tail, pins, room, conversation.count)

    async def draft(
        self,
        thread: Thread,
        plan: budget.Plan,
        outcome: Outcome,
        used: int,
        waiting: int = 0,
        *,
        acknowledge: bool = False,
    ) -> Draft:
        """Combine a plan and the model's outcome into a draft. Shorten the block until it fits."""
        conversation, count = self._conversation, self._conversation.count
        room = budget.room(conversation.window)

        def size_with(block: str) -> int:
            size = conversation.meter.child_size(block, plan.keep, acknowledged=acknowledge)
            return waiting + size

        def build() -> Draft:
            span = thread.uncovered(plan.compact)
            child = self.block(thread, outcome, span, plan.keep)
            whole, block = child.summary, summary_block.render(child.summary)
            after = size_with(block)
            if after > room:
                block = shorten_block(block, count(block) - after + room, count)
                whole, after = summary_block.parse(block), size_with(block)
            cost: float | None = 0.0
            if outcome.usage is not None:
                cost = self._conversation.options.cost(outcome.model, outcome.usage)
            archived = {value for line in child.archived for value in ledger.read(line.text).values}
            compaction = Compaction(
                first=(span or plan.compact)[0].ref,
                last=(span or plan.compact)[-1].ref,
                before=used,
                after=after,
                why="asked" if plan.reason == "Asked for" else "automatic",
                model=marker.safe_value(outcome.model),
                cost=cost,
                decisions=len(whole.decisions),
                pins=len(whole.pinned),
                facts=len(whole.key_facts),
                archived=len(archived),
                superseded=child.superseded,
            )
            return Draft(plan=plan, outcome=outcome, summary=whole, compaction=compaction)

        return await run_to_completion(asyncio.to_thread(build))

    def add_late(
        self, path: Path, thread: Thread, draft: Draft, outcome: Outcome
    ) -> LateBlock | None:
        """Write a late narrative into the session that `draft` sealed, unless it was edited."""
        sessions = self._conversation.sessions
        span = thread.uncovered(draft.plan.compact)
        late = self.block(thread, outcome, span, draft.plan.keep).summary
        with suppress(SessionError):
            loaded = sessions.load(path)
            seal = loaded.session.seal
            if seal is not None and seal.summary == draft.summary:
                usage, seconds = outcome.usage, outcome.seconds
                seal = replace(seal, source="model", summary=late, usage=usage, seconds=seconds)
                sessions.seal_stored(loaded, seal)
                return LateBlock(parent=loaded.session.header.id, summary=late)
        return None
