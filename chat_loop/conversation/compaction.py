"""Compaction: the summary that is prepared in the background, the swap between turns, and the end.

A text is scanned and a summary block written in a worker thread; the event loop only decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from chat_loop.context import budget
from chat_loop.context.budget import Plan
from chat_loop.context.messages import Thread
from chat_loop.context.proposal import Draft, Outcome
from chat_loop.conversation.ancestors import Beginning
from chat_loop.conversation.background import GROWTH, Background
from chat_loop.conversation.live_context import LiveContext
from chat_loop.errors import SaveError, SessionError, UsageError
from chat_loop.events import Compacted, SummaryEnded, Warned
from chat_loop.providers import Provider
from chat_loop.sessions import summary_block
from chat_loop.sessions.naming import title
from chat_loop.sessions.records import Exchange, Seal, SealReason, Summary, SummarySource, Undo

TOO_LONG = "The server said that the conversation is too long"
LOCAL_SUMMARY_SECONDS = 600.0
"""The least time, in seconds, for an embedded model or a server on this machine."""
NOT_COMPACTED = "Not compacted: the conversation goes on with all its words."
MAKE_LATER = "It will be made when you resume the session."
SMALL_GAIN = 4_000
"""Tokens that a summary block may take: where less can be gained, its size is known only when it is
made.
"""

May = Callable[[int, int], Awaitable[bool]]
"""Asks whether to compact although so many tokens now would be so many after."""
T = TypeVar("T")


def uncancel() -> None:
    """Take back a cancellation: one step was skipped, and the task itself goes on."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Do `work` to its end even when cancelled meanwhile, and raise CancelledError only then."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        task.result()
        raise


class Compaction:
    """Decides when a live context shrinks, shrinks it, and seals it at its end."""

    def __init__(self, context: LiveContext) -> None:
        self._context = context
        self._options = context.options
        self.background = Background()
        self._told_broken = False
        self._not_below = 0.0

    @property
    def routes(self) -> tuple[Provider, ...]:
        """The providers that are asked for a summary, in this order."""
        own = self._context.agent.provider
        first = self._options.summarizer
        return (own,) if first is None else (first, own)

    @property
    def ledger_room(self) -> int:
        """Tokens that the ledger of a block may take."""
        return budget.ledger_room(self._context.window, self._options.limits)

    # Between turns

    async def make_room(self, waiting: int) -> None:
        """Compact when the next request, with a query of `waiting` tokens, reaches a limit. Calls
        no model.

        A summary that a local model writes would keep the reply waiting: it is stopped. A
        compaction that would not make the context smaller is left, until the context has grown; but
        the limit of messages holds, whatever they are worth.
        """
        own, limits = self._context.agent.provider.name, self._options.limits
        local = own in ("local", "python") and self.routes[0].name == own
        if local and self.background.running:
            await self.background.cancel()
        if not limits.enabled:
            return
        thread = self._context.thread
        used = self._context.budget.used + waiting
        if self._near(thread, used) < 1:
            return
        full = limits.max_messages and budget.messages_in(thread.exchanges) >= limits.max_messages
        if used < self._not_below and not full:
            return
        plan = await asyncio.to_thread(self._plan, thread, used)
        if not plan.compact:
            return
        draft = await self._without_waiting(plan, used, waiting)
        if draft.compaction.after >= used and not full:
            self._not_below = used * GROWTH
            return
        await self.take(draft)

    async def shrink(self, waiting: int) -> bool:
        """Take the newest query, of `waiting` tokens, back and compact what stands before it,
        without a model: a server refused it as too long. Return False, with everything as it was,
        when there is nothing to compact.
        """
        context = self._context
        last, used = context.session.exchanges[-1], context.budget.used
        if all(exchange.ref == last.ref for exchange in context.thread.fresh):
            return False
        context.add(Undo(number=last.query.number, at=context.sessions.now()))
        plan = await asyncio.to_thread(self._asked, context.thread)
        plan = replace(plan, reason=TOO_LONG)
        return await self.take(await self._without_waiting(plan, used, waiting))

    async def watch(self) -> None:
        """After a reply: begin the summary of what will be compacted next, when it is time."""
        context, limits = self._context, self._options.limits
        if not (limits.enabled and self._options.use_ai_summary):
            return
        if self.background.broken and not self._told_broken:
            self._told_broken = True
            context.show(
                Warned(
                    f"Three summaries in a row failed ({self.background.problem}); none is "
                    "tried in the background until one succeeds.",
                    "Compaction goes on without a model; /compact tries again.",
                )
            )
        thread, used = context.thread, context.budget.used
        near = self._near(thread, used)
        if near < budget.EARLY or used < self._not_below or not self.background.may_start(used):
            return
        ahead = max(1, int(used / near - used))
        plan = await asyncio.to_thread(self._plan, thread, used, ahead=ahead)
        if span := thread.uncovered(plan.compact):
            inherited = thread.inherited
            self.background.start(lambda: self._summarize(span, inherited, "", quiet=True), used)

    # The plan, the draft and the swap

    async def draft(
        self, focus: str = "", may: May | None = None, done: str = "compacted"
    ) -> Draft | None:
        """Return a compaction that is asked for, with nothing done yet. Raises UsageError for
        nothing to compact.

        It is made without the model when its summary fails, which is told; `done` says what is
        then. None when it would not make the context smaller and `may` says no; that is asked
        before a model is where little can be gained, by what code alone would make.
        """
        context = self._context
        if not context.thread.fresh:
            raise UsageError("There is nothing to compact yet.", "Say something first.")
        used = context.budget.used
        thread = await asyncio.to_thread(context.reread)
        plan = await asyncio.to_thread(self._asked, thread)
        confirmed = self._options.acknowledge
        outcome: Outcome | None = None
        asked = may is None
        if self._options.use_ai_summary:
            least = context.would_hold("", plan.keep, acknowledged=confirmed)
            if may is not None and used - least < SMALL_GAIN:
                draft = await self._drafted(thread, plan, None, used, acknowledged=confirmed)
                asked = draft.compaction.after >= used
                if asked and not await may(used, draft.compaction.after):
                    return None
            outcome = await self.narrate(
                thread, thread.uncovered(plan.compact), focus, extracted=f"{done} without the model"
            )
            if outcome.narrative is None:
                # what had come of it stands beside what can be extracted of everything
                outcome = replace(outcome, narrative=outcome.partial)
            confirmed = confirmed and outcome.answered
        draft = await self._drafted(thread, plan, outcome, used, acknowledged=confirmed)
        larger = draft.compaction.after >= used
        if larger and may is not None and not asked and not await may(used, draft.compaction.after):
            return None
        return replace(draft, answered=outcome is None or outcome.answered)

    def edited(self, draft: Draft, summary: Summary) -> Draft:
        """Return a draft that was asked for, with its block as the user left it."""
        after = self._context.would_hold(
            summary_block.render(summary), draft.plan.keep, acknowledged=self._options.acknowledge
        )
        compaction = replace(
            draft.compaction,
            after=after,
            decisions=len(summary.decisions),
            pins=len(summary.pinned),
            facts=len(summary.key_facts),
        )
        return replace(draft, summary=summary, compaction=compaction)

    async def take(self, draft: Draft) -> bool:
        """Seal the session as drafted and begin its child, even when cancelled meanwhile. Return
        False, with everything as it was, when the disk refuses.
        """
        return await to_its_end(self._take(draft))

    async def _take(self, draft: Draft) -> bool:
        context = self._context
        thread, parent = context.thread, context.session
        plan, keep = draft.plan, draft.plan.keep
        own = [one.query.number for one in plan.compact if one.depth == parent.depth]
        seal = Seal(
            at=context.sessions.now(),
            reason="compact",
            source=draft.source,
            summary=draft.summary,
            usage=draft.usage,
            seconds=draft.seconds,
            covers=max(own, default=0) if keep else None,
            compaction=draft.compaction,
        )
        try:
            await asyncio.to_thread(context.seal, seal)
        except SaveError as error:
            context.show(Warned(error.message, f"{NOT_COMPACTED} {error.hint}"))
            return False
        why = "compact" if draft.compaction.why == "asked" else "automatic"
        context.ended(seal, why)
        path, text = context.live.path, summary_block.render(draft.summary)
        self.background.forget()
        self._not_below = 0.0
        if draft.source == "extracted":
            self.background.later(lambda outcome: self._add_late(path, thread, draft, outcome))
        context.show(
            Compacted(
                compaction=draft.compaction, reason=plan.reason, source=draft.source, block=text
            )
        )
        # The id is the one it was sealed under: its file may have been changed from outside.
        header = replace(context.live.header, title=title(parent, seal))
        beginning = Beginning(
            parent=replace(parent, header=header),
            path=path,
            block=text,
            carried=keep,
            fresh=keep[0].ref if keep else "",
            in_file=True,
        )
        context.begin_child(beginning, why)
        return True

    def _near(self, thread: Thread, used: int) -> float:
        """Return how near the nearest limit is. Messages are counted only when they are limited."""
        limits = self._options.limits
        messages = budget.messages_in(thread.exchanges) if limits.max_messages else 0
        return budget.nearness(used, messages, self._context.window, limits)

    def _plan(self, thread: Thread, used: int, *, ahead: int = 0) -> Plan:
        context, restoration = self._context, thread.session.restoration
        return budget.plan(
            thread.exchanges,
            used=used,
            window=context.window,
            limits=self._options.limits,
            count=context.count,
            carried=len(thread.carried),
            restored=context.count(restoration.block) if restoration else 0,
            ahead=ahead,
        )

    def _asked(self, thread: Thread) -> Plan:
        context = self._context
        return budget.asked(
            thread.exchanges,
            window=context.window,
            limits=self._options.limits,
            count=context.count,
            carried=len(thread.carried),
        )

    async def _without_waiting(self, plan: Plan, used: int, waiting: int) -> Draft:
        """Return a compaction without a model call: with the narrative that is ready, or with none
        until it comes.

        Its block leaves room for the query that waits.
        """
        context = self._context
        thread = await asyncio.to_thread(context.reread)
        prepared = self.background.ready(thread.fresh)
        if prepared is not None and len(prepared.covered) > len(thread.uncovered(plan.compact)):
            # it covers more than must be compacted: all of it is
            cut = len(thread.exchanges) - len(thread.fresh) + len(prepared.covered)
            plan = replace(plan, compact=thread.exchanges[:cut], keep=thread.exchanges[cut:])
        return await self._drafted(thread, plan, prepared, used, waiting)

    async def _drafted(
        self,
        thread: Thread,
        plan: Plan,
        outcome: Outcome | None,
        used: int,
        waiting: int = 0,
        *,
        acknowledged: bool = False,
    ) -> Draft:
        """Return what a plan and what the model told of it come to, in a worker thread."""
        from chat_loop.context.summary import drafted  # not before something is compacted

        context = self._context

        def after(text: str, words: Sequence[Exchange]) -> int:
            return context.would_hold(text, words, acknowledged=acknowledged) + waiting

        work = asyncio.to_thread(
            drafted,
            thread,
            plan,
            outcome,
            used=used,
            after=after,
            window=context.window,
            ledger_room=self.ledger_room,
            count=context.count,
            cost=self._options.cost,
        )
        return await to_its_end(work)

    # Summaries

    async def narrate(
        self,
        thread: Thread,
        span: Sequence[Exchange],
        focus: str = "",
        *,
        otherwise: str = "",
        extracted: str = "made without the model",
        optional: bool = False,
    ) -> Outcome:
        """Have the model tell `span`, while the user waits; return what it told.

        What is ready from the background is used. `otherwise` says what happens when it fails and
        nothing is made instead, `extracted` what is made instead. `optional`: Ctrl-C does without.
        """
        outcome = None if focus else self.background.ready(span)
        await self.background.cancel()
        rest = span if outcome is None else span[len(outcome.covered) :]
        if outcome is None or rest:
            more = await self._summarize(rest, thread.inherited, focus, optional=optional)
            from chat_loop.context.summary import together  # loaded by then

            outcome = more if outcome is None else together(outcome, more)
        problem = outcome.problem
        if problem and otherwise:
            problem = f"Summary failed: {problem} {otherwise}"
        elif problem:
            problem = f"Summary failed ({problem.rstrip('.')}); {extracted}."
        if outcome.narrative is not None:
            self.background.succeeded()
            self._told_broken = False
        instead: SummarySource = "none" if otherwise else "extracted"
        self._context.show(
            SummaryEnded(
                source="model" if outcome.narrative is not None else instead,
                usage=outcome.usage,
                seconds=outcome.seconds,
                problem=problem,
            )
        )
        return outcome

    def summary_of_all(self, thread: Thread, outcome: Outcome | None) -> Summary:
        """Return the block of a session that ends: it covers everything."""
        return self._covering(thread, outcome, thread.fresh, ())

    def _covering(
        self,
        thread: Thread,
        outcome: Outcome | None,
        span: Sequence[Exchange],
        tail: Sequence[Exchange],
    ) -> Summary:
        from chat_loop.context.summary import covering  # not before something is compacted

        room, count = self.ledger_room, self._context.count
        return covering(thread, outcome, span, tail, ledger_room=room, count=count).summary

    async def _summarize(
        self,
        span: Sequence[Exchange],
        parent: Summary | None,
        focus: str,
        *,
        quiet: bool = False,
        optional: bool = False,
    ) -> Outcome:
        from chat_loop.context.summary import summarize  # not before it is needed

        context = self._context
        wanted = replace(
            self._options.wanted,
            patience=context.agent.patience,
            optional=optional,
            retry=not quiet,
        )
        if any(provider.first_event_seconds >= LOCAL_SUMMARY_SECONDS for provider in self.routes):
            wanted = replace(wanted, limit=max(wanted.limit, LOCAL_SUMMARY_SECONDS))
        return await summarize(
            self.routes,
            span,
            parent,
            count=context.count,
            show=(lambda event: None) if quiet else context.show,
            wanted=wanted,
            focus=focus,
        )

    def _add_late(self, path: Path, thread: Thread, draft: Draft, outcome: Outcome) -> None:
        """Write a narrative that comes after its session was sealed by `draft` into its file, in a
        worker thread: the next compaction reads it there.
        """
        context = self._context
        summary = self._covering(thread, outcome, draft.span, draft.plan.keep)
        try:
            loaded = context.sessions.load(path)
            seal = loaded.session.seal
            if seal is None or seal.summary != draft.summary:
                return  # somebody has edited it meanwhile: that counts
            late = replace(
                seal,
                source="model",
                summary=summary,
                usage=outcome.usage,
                seconds=outcome.seconds,
            )
            context.sessions.seal_later(loaded, late)
        except SessionError:
            return  # what stands there is complete without it

    # The end

    def leave(self, reason: SealReason) -> None:
        """End the session at once, without a model call; the caller begins the next one.

        Raises SaveError when the disk refuses: words that are nowhere but here are only left at the
        exit.
        """
        context = self._context
        if context.live.empty:
            context.live.close()
        elif reason == "exit":
            self._seal_anyway(self._seal_without_model(reason))
        else:
            seal = self._seal_without_model(reason)
            try:
                context.seal(seal)
            except SaveError as error:
                raise SaveError(error.message, f"This session is not left. {error.hint}") from error
            context.ended(seal)

    async def end(self) -> None:
        """Summarize and seal the session; when cancelled, seal it without a summary."""
        context = self._context
        if context.live.empty:
            await self.background.cancel()
            return
        seal = self._seal_without_model("exit")
        thread = context.thread
        answered = any(exchange.reply and exchange.reply.text.strip() for exchange in thread.fresh)
        if self._options.summary_on_exit and answered and self._options.use_ai_summary:
            try:
                outcome = await self.narrate(
                    thread, thread.fresh, otherwise=MAKE_LATER, optional=True
                )
            except asyncio.CancelledError:
                uncancel()
                context.show(SummaryEnded(source="none", problem=f"Summary skipped. {MAKE_LATER}"))
            else:
                if outcome.narrative is not None:
                    made = self.summary_of_all(thread, outcome)
                    seal = replace(seal, source="model", summary=made)
                seal = replace(
                    seal, usage=outcome.usage, seconds=outcome.seconds, at=context.sessions.now()
                )
        await self.background.cancel()
        self._seal_anyway(seal)

    def _seal_anyway(self, seal: Seal) -> None:
        """Seal the session as far as the disk allows; it ends in any case."""
        try:
            self._context.seal(seal)
        except SaveError as error:
            self._context.show(Warned(error.message, error.hint))
        self._context.ended(seal)

    def _seal_without_model(self, reason: SealReason) -> Seal:
        """Return a seal that costs nothing. A child without words passes its parent's block on."""
        seal = Seal(at=self._context.sessions.now(), reason=reason)
        thread = self._context.thread
        if thread.fresh and self._options.use_ai_summary:
            return seal
        if not thread.fresh and thread.inherited is None and not thread.pins:
            return seal
        return replace(seal, source="extracted", summary=self.summary_of_all(thread, None))
