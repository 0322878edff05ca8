"""Compacting: the summary that is prepared in the background, the swap between turns, and the way
back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from chat_loop.context import plan as planning
from chat_loop.context.background import Background
from chat_loop.context.budget import room
from chat_loop.context.draft import Draft, covering, drafted, read_ahead, spanned, with_summary
from chat_loop.context.fit import shortened_block
from chat_loop.context.outcome import Outcome
from chat_loop.context.plan import Plan
from chat_loop.context.thread import Thread
from chat_loop.conversation.ancestors import edited_block
from chat_loop.conversation.late import add_late
from chat_loop.conversation.live_context import Beginning, LiveContext
from chat_loop.conversation.options import Options
from chat_loop.errors import SaveError, UsageError
from chat_loop.events import Compacted, SummaryEnded, Warned
from chat_loop.providers import Provider
from chat_loop.sessions import summary_block
from chat_loop.sessions.naming import title
from chat_loop.sessions.records import Exchange, Seal, Summary, Undo

TOO_LONG = "The server said that the conversation is too long"
LOCAL_SUMMARY_SECONDS = 600.0
"""What an embedded model, or a server on this machine, is given at least."""
NOT_COMPACTED = "Not compacted: the conversation goes on with all its words."
GROWTH = 1.1
"""After a compaction that would gain nothing the context grows by this factor before the next one
is considered.
"""

May = Callable[[int, int], Awaitable[bool]]
"""Asks whether to compact although so many tokens now would be so many after."""


class Compacting:
    """Decides when the context's context shrinks, and shrinks it."""

    def __init__(self, context: LiveContext, options: Options) -> None:
        self._context = context
        self._options = options
        self._background = Background()
        self._told_broken = False
        self._not_below = 0.0
        self._block_from: Path | None = None
        """The file whose summary block the session was given; an edit by hand there counts."""

    @property
    def routes(self) -> tuple[Provider, ...]:
        """Who is asked for a summary, in this order."""
        own = self._context.agent.provider
        first = self._options.summariser
        return (own,) if first is None else (first, own)

    @property
    def state(self) -> str:
        """What becomes of the summary that is made in the background; empty: there is none."""
        return self._background.state

    def restored_from(self, path: Path | None) -> None:
        """Note whose block the session was given."""
        self._block_from = path

    def make_room(self, waiting: int) -> None:
        """Compact when the next request, with a query of `waiting` tokens, reaches a limit. Calls
        no model.

        A compaction that would not make the context smaller is left, until the context has grown;
        but the limit of messages holds, whatever they are worth.
        """
        context, limits = self._context, self._options.limits
        if not limits.enabled:
            return
        thread = context.thread
        used = context.budget.used + waiting
        if self._near(thread, used) < 1 or not (found := self._plan(thread, used)).compact:
            return
        full = limits.max_messages and planning.messages_in(thread.exchanges) >= limits.max_messages
        if used < self._not_below and not full:
            return
        draft = self._at_once(thread, found, used, waiting)
        if draft.compaction.after >= used and not full:
            self._not_below = used * GROWTH
            return
        self.take(draft)

    def shrink(self, waiting: int) -> bool:
        """Take the newest query, of `waiting` tokens, back and compact what stands before it,
        without a model: a server refused it as too long. False, with everything as it was, when
        there is nothing to compact.
        """
        context = self._context
        last, used = context.session.exchanges[-1], context.budget.used
        if all(exchange.ref == last.ref for exchange in context.thread.fresh):
            return False
        context.add(Undo(number=last.query.number, at=context.sessions.now()))
        thread = context.thread
        found = planning.asked(
            thread.exchanges,
            window=context.window,
            limits=self._options.limits,
            count=context.count,
            carried=len(thread.carried),
        )
        return self.take(self._at_once(thread, replace(found, reason=TOO_LONG), used, waiting))

    async def give_way(self) -> None:
        """Stop a summary that would keep the reply waiting."""
        if self._background.running and self.routes[
            0
        ].name == self._context.agent.provider.name in (
            "local",
            "python",
        ):
            await self._background.cancel()

    def watch(self) -> None:
        """After a reply: begin the summary of what will be compacted next, when it is time."""
        context, limits = self._context, self._options.limits
        asyncio.get_running_loop().run_in_executor(
            None, read_ahead, context.session
        )  # takes long for a long reply
        if not (limits.enabled and self._options.use_ai_summary):
            return
        if self._background.broken and not self._told_broken:
            self._told_broken = True
            context.show(
                Warned(
                    f"Three summaries in a row failed ({self._background.problem}); none is "
                    "tried in the background "
                    "until one succeeds.",
                    "Compaction goes on without a model; /compact tries again.",
                )
            )
        thread, used = context.thread, context.budget.used
        near = self._near(thread, used)
        if near < planning.EARLY or used < self._not_below or not self._background.may_start(used):
            return
        found = self._plan(thread, used, ahead=max(1, int(used / near - used)))
        span = spanned(thread, found)
        if span:
            work = self._summarise(span, thread.inherited, "", quiet=True)
            self._background.start(span, work, used)

    async def draft(
        self, focus: str, may: May | None = None, done: str = "compacted"
    ) -> Draft | None:
        """Return what a compaction asked for would be. Raises UsageError for nothing to compact.

        It is made without the model when its summary fails, which is told; `done` says what is
        then. None when it would not make the context smaller and `may` says no; that is asked
        before a model is, by what code alone would make.
        """
        context = self._context
        thread = context.thread
        if not thread.fresh:
            raise UsageError("There is nothing to compact yet.", "Say something first.")
        used = context.budget.used
        found = planning.asked(
            thread.exchanges,
            window=context.window,
            limits=self._options.limits,
            count=context.count,
            carried=len(thread.carried),
        )
        thread = self._as_edited(thread)
        confirmed = self._options.acknowledge
        draft = self._drafted(thread, found, None, (), used, acknowledged=confirmed)
        larger = draft.compaction.after >= used
        if larger and may is not None and not await may(used, draft.compaction.after):
            return None
        if self._options.use_ai_summary:
            span = spanned(thread, found)
            outcome, covered = await self.narrate(
                thread, span, focus, extracted=f"{done} without the model"
            )
            if (
                outcome.narrative is None
            ):  # what had come of it stands beside what can be extracted of everything
                outcome = replace(outcome, narrative=outcome.partial)
            confirmed = confirmed and outcome.answered
            draft = self._drafted(thread, found, outcome, covered, used, acknowledged=confirmed)
            draft = replace(draft, answered=outcome.answered)
            grown = draft.compaction.after >= used and not larger
            if grown and may is not None and not await may(used, draft.compaction.after):
                return None
        return draft

    async def narrate(
        self,
        thread: Thread,
        span: Sequence[Exchange],
        focus: str = "",
        *,
        otherwise: str = "",
        extracted: str = "made without the model",
        optional: bool = False,
    ) -> tuple[Outcome, tuple[Exchange, ...]]:
        """Have the model tell `span`, while the user waits; return what it told and of which
        exchanges.

        What is ready from the background is used. `otherwise` says what happens when it fails and
        nothing is made instead, `extracted` what is made instead. `optional`: see `SessionFilter`.
        """
        prepared = None if focus else self._background.ready(span)
        await self._background.cancel()
        done = prepared.exchanges if prepared else ()
        rest = span[len(done) :]
        if prepared is not None and not rest:
            outcome = prepared.outcome
        else:
            outcome = await self._summarise(rest, thread.inherited, focus, optional=optional)
            if prepared is not None:
                from chat_loop.context.compactor import together  # loaded by then

                outcome = together(prepared.outcome, outcome)
        source = (
            "none"
            if outcome.narrative is None and otherwise
            else "model"
            if outcome.narrative
            else "extracted"
        )
        problem = outcome.problem
        if problem:
            problem = (
                f"Summary failed: {problem} {otherwise}"
                if otherwise
                else f"Summary failed ({problem.rstrip('.')}); {extracted}."
            )
        if outcome.narrative is not None:
            self._background.failures, self._told_broken = 0, False
        self._context.show(
            SummaryEnded(
                source=source, usage=outcome.usage, seconds=outcome.seconds, problem=problem
            )
        )
        return outcome, tuple(span) if outcome.narrative is not None else ()

    def summary_of_all(self, thread: Thread, outcome: Outcome | None) -> Summary:
        """The block of a session that ends: everything is covered, nothing stays in its own
        words.
        """
        context = self._context
        told = outcome.narrative if outcome else None
        span = thread.fresh
        covered = span if told is not None else ()
        return covering(
            thread, told, covered, span, (), room=self.ledger_room, count=context.count
        ).summary

    async def stop(self) -> None:
        """Stop what is being prepared."""
        await self._background.cancel()

    async def settled(self) -> None:
        """Wait until nothing is being prepared."""
        await self._background.wait()

    @property
    def ledger_room(self) -> int:
        """Tokens that the ledger of a block may take."""
        return planning.ledger_room(self._context.window, self._options.limits)

    def _near(self, thread: Thread, used: int) -> float:
        """How near the nearest limit is. Messages are only counted when they are limited: there may
        be many.
        """
        limits = self._options.limits
        messages = planning.messages_in(thread.exchanges) if limits.max_messages else 0
        return planning.fullness(used, messages, self._context.window, limits)[0]

    def _plan(self, thread: Thread, used: int, *, ahead: int = 0) -> Plan:
        context = self._context
        restoration = thread.session.restoration
        return planning.plan(
            thread.exchanges,
            used=used,
            window=context.window,
            limits=self._options.limits,
            count=context.count,
            carried=len(thread.carried),
            restored=context.count(restoration.block) if restoration else 0,
            ahead=ahead,
        )

    def _at_once(self, thread: Thread, found: Plan, used: int, waiting: int) -> Draft:
        """A compaction without waiting: with the narrative that is ready, or with none until it
        comes.

        Its block leaves room for the query that waits.
        """
        thread = self._as_edited(thread)
        span = spanned(thread, found)
        prepared = self._background.ready(thread.fresh)
        if prepared is None:
            return self._drafted(thread, found, None, (), used, waiting)
        done = prepared.exchanges
        if len(done) > len(span):  # it covers more than must be compacted: all of it is
            keep = thread.exchanges[len(thread.exchanges) - len(thread.fresh) + len(done) :]
            found = replace(
                found, compact=thread.exchanges[: len(thread.exchanges) - len(keep)], keep=keep
            )
        return self._drafted(thread, found, prepared.outcome, done, used, waiting)

    def _drafted(
        self,
        thread: Thread,
        found: Plan,
        outcome: Outcome | None,
        covered: Sequence[Exchange],
        used: int,
        waiting: int = 0,
        *,
        acknowledged: bool = False,
    ) -> Draft:
        context = self._context

        def after(text: str, words: Sequence[Exchange]) -> int:
            return context.would_hold(text, words, acknowledged=acknowledged) + waiting

        draft = drafted(
            thread,
            found,
            outcome,
            covered,
            used=used,
            after=after,
            room=self.ledger_room,
            count=context.count,
            cost=self._options.cost,
        )
        over = draft.compaction.after - room(context.window)
        if over <= 0:
            return draft
        text = summary_block.render(draft.summary)
        text = shortened_block(text, context.count(text) - over, context.count)
        return with_summary(draft, summary_block.parse(text), after(text, draft.plan.keep))

    def edited(self, draft: Draft, summary: Summary) -> Draft:
        """Return the draft of a compaction that was asked for with the block as the user left
        it.
        """
        words, confirmed = draft.plan.keep, self._options.acknowledge
        return with_summary(
            draft,
            summary,
            self._context.would_hold(summary_block.render(summary), words, acknowledged=confirmed),
        )

    def take(self, draft: Draft) -> bool:
        """Carry a draft out. False, with everything as it was, when the disk refuses."""
        context = self._context
        thread, parent = context.thread, context.session
        own = [
            exchange.query.number
            for exchange in draft.plan.compact
            if exchange.depth == parent.depth
        ]
        seal = Seal(
            at=context.sessions.now(),
            reason="compact",
            source=draft.source,
            summary=draft.summary,
            usage=draft.usage,
            seconds=draft.seconds,
            covers=None if not draft.plan.keep else max(own, default=0),
            compaction=draft.compaction,
        )
        told = "compact" if draft.compaction.why == "asked" else "automatic"
        try:
            context.sealed(seal, told)
        except SaveError as error:
            context.show(Warned(error.message, f"{NOT_COMPACTED} {error.hint}"))
            return False
        path = context.live.path
        self._background.forget()
        self._not_below = 0.0
        if draft.source == "extracted" and self._background.running:
            self._background.later(
                lambda prepared: add_late(context, self.ledger_room, path, thread, draft, prepared)
            )
        text, keep = summary_block.render(draft.summary), draft.plan.keep
        context.show(
            Compacted(
                compaction=draft.compaction,
                reason=draft.plan.reason,
                source=draft.source,
                block=text,
            )
        )
        fresh = keep[0].ref if keep else ""
        # The id is the one it was sealed under: its file may have been changed from outside.
        parent = replace(parent, header=replace(context.live.header, title=title(parent, seal)))
        context.begin_child(
            Beginning(parent=parent, path=path, block=text, carried=keep, fresh=fresh), told
        )
        self._block_from = path
        return True

    def _as_edited(self, thread: Thread) -> Thread:
        """The thread with its parent's block as it stands in the file now."""
        found = edited_block(self._context.sessions, self._block_from, thread)
        if found is None:
            return thread
        self._context.edited = found
        return replace(thread, edited=found)

    async def _summarise(
        self,
        span: Sequence[Exchange],
        parent: Summary | None,
        focus: str,
        *,
        quiet: bool = False,
        optional: bool = False,
    ) -> Outcome:
        from chat_loop.context.compactor import summarise  # not before something is summarised

        context = self._context
        wanted = replace(
            self._options.wanted,
            patience=context.agent.patience,
            optional=optional,
            retry=not quiet,
        )
        if any(provider.first_event_seconds >= LOCAL_SUMMARY_SECONDS for provider in self.routes):
            wanted = replace(wanted, limit=max(wanted.limit, LOCAL_SUMMARY_SECONDS))
        return await summarise(
            self.routes,
            span,
            parent,
            count=context.count,
            show=(lambda event: None) if quiet else context.show,
            wanted=wanted,
            focus=focus,
        )
