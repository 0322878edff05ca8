"""SummaryWriter: has a model write narratives, and builds the summary blocks of sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.context import budget, summary
from chat_loop.context.budget import Draft, Outcome
from chat_loop.context.messages import Thread
from chat_loop.conversation.compaction import Background, run_to_completion
from chat_loop.errors import SessionError
from chat_loop.events import Event, SummaryEnded
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Restoration, Summary

if TYPE_CHECKING:
    from chat_loop.conversation.conversation import Conversation


class SummaryWriter:
    """Writes summaries; `background` may have one ready."""

    def __init__(self, conversation: Conversation, background: Background) -> None:
        self._conversation = conversation
        self._options = conversation.options
        self._background = background

    @property
    def ledger_room(self) -> int:
        """The tokens that the ledger of a block may take."""
        return budget.ledger_room(self._conversation.window, self._options.limits)

    async def draft(
        self,
        thread: Thread,
        plan: budget.Plan,
        outcome: Outcome | None,
        used: int,
        waiting: int = 0,
        *,
        acknowledged: bool = False,
    ) -> Draft:
        """Build the draft of a plan and the model's narrative, in a worker thread."""
        conversation = self._conversation

        def after(block: str, words: Sequence[Exchange]) -> int:
            return conversation.meter.child_size(block, words, acknowledged=acknowledged) + waiting

        work = asyncio.to_thread(
            summary.draft,
            thread,
            plan,
            outcome,
            used=used,
            after=after,
            window=conversation.window,
            ledger_room=self.ledger_room,
            count=conversation.count,
            cost=self._options.cost,
        )
        return await run_to_completion(work)

    async def narrate(
        self,
        thread: Thread,
        span: Sequence[Exchange],
        focus: str = "",
        *,
        fallback: str = "",
        optional: bool = False,
    ) -> Outcome:
        """Have the model summarize `span` while the user waits, using what is ready of it.
        `fallback` describes the alternative to a summary without a model on failure; Ctrl-C skips
        an `optional` one.
        """
        outcome = None if focus else self._background.ready(span)
        await self._background.cancel()
        rest = span if outcome is None else span[len(outcome.covered) :]
        if outcome is None or rest:
            more = await self.ask(rest, thread.inherited, focus, optional=optional)
            outcome = more if outcome is None else summary.join_outcomes(outcome, more)
        problem = outcome.problem.removesuffix(".")
        if problem:
            problem = f"Summary failed: {problem}. {fallback or 'It is made without the model.'}"
        if outcome.narrative is not None:
            self._background.try_again()
        self._conversation.show(
            SummaryEnded(
                source="model" if outcome.narrative else "none" if fallback else "extracted",
                usage=outcome.usage,
                seconds=outcome.seconds,
                problem=problem,
            )
        )
        return outcome

    async def ask(
        self,
        span: Sequence[Exchange],
        parent: Summary | None,
        focus: str = "",
        *,
        quiet: bool = False,
        optional: bool = False,
    ) -> Outcome:
        """Ask the models for the narrative of `span`; when `quiet`, show nothing of it."""
        conversation, own = self._conversation, self._conversation.agent.provider
        first = self._options.summarizer
        routes = (own,) if first is None else (first, own)
        options = replace(
            self._options.summary,
            limits=conversation.agent.limits,
            optional=optional,
            retry=not quiet,
        )
        if any(provider.first_event_seconds >= 600 for provider in routes):  # on this machine
            options = replace(options, limit=max(options.limit, 600.0))

        def show(event: Event) -> None:
            if not quiet:
                conversation.show(event)

        count = conversation.count
        return await summary.summarize(
            routes, span, parent, count=count, show=show, options=options, focus=focus
        )

    def cover(
        self,
        thread: Thread,
        outcome: Outcome | None = None,
        span: Sequence[Exchange] | None = None,
        tail: Sequence[Exchange] = (),
    ) -> Summary:
        """Return the final block of a session; it covers everything, or only `span`."""
        span = thread.fresh if span is None else span
        room, count = self.ledger_room, self._conversation.count
        return summary.cover(thread, outcome, span, tail, ledger_room=room, count=count).summary

    def edited(self, path: Path, restoration: Restoration) -> Summary | None:
        """Return the block of the parent at `path` if the user has edited it since, else None."""
        sessions = self._conversation.sessions
        try:
            seal = (sessions.load_ends(path) or sessions.load(path)).session.seal
        except SessionError:
            return None
        now = seal.summary if seal is not None else None
        unchanged = now is None or summary_block.render(now) == restoration.block
        return None if unchanged else now

    def add_late(self, path: Path, thread: Thread, draft: Draft, outcome: Outcome) -> None:
        """Write a narrative that arrived after `draft` sealed its session into the file."""
        sessions = self._conversation.sessions
        late = self.cover(thread, outcome, draft.span, draft.plan.keep)
        try:
            loaded = sessions.load(path)
            seal = loaded.session.seal
            if seal is None or seal.summary != draft.summary:
                return  # it was edited meanwhile, which has priority
            usage, seconds = outcome.usage, outcome.seconds
            seal = replace(seal, source="model", summary=late, usage=usage, seconds=seconds)
            sessions.seal_stored(loaded, seal)
        except SessionError:
            return  # the file is complete without it
