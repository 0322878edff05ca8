"""Compaction: the summary that is prepared in the background, and the swap between turns.

A text is scanned and a summary block written in a worker thread; the event loop only decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context import budget
from chat_loop.context.budget import Plan
from chat_loop.context.messages import Thread
from chat_loop.context.proposal import Draft, Outcome
from chat_loop.errors import SaveError, SessionError, UsageError
from chat_loop.events import Compacted, Event, SummaryEnded, Warned
from chat_loop.providers import Provider
from chat_loop.sessions import summary_block
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.naming import title
from chat_loop.sessions.records import (
    Entry,
    Exchange,
    Pin,
    Restoration,
    Seal,
    Session,
    Summary,
    Undo,
    Unpin,
)

if TYPE_CHECKING:
    from chat_loop.conversation.conversation import Conversation

MOST_FAILURES = 3
"""Failures in a row after which no more summaries are tried in the background."""
GROWTH = 1.1
"""After a failure, or a compaction that would gain nothing, the context grows by this factor before
the next attempt.
"""
MAKING = "in the making"

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


class Offer(Struct, frozen=True, kw_only=True):
    """The beginning of a child session: its parent, and the block and the words that stand for what
    was said before.

    `in_file`: the block is the summary in the file at `path`, where the user may edit it. `pins`
    are those that hold now, whatever the block says. A fork leaves out what the parent said after
    `until`; `merged` is the id of a second parent, and `depth` then the child's place in the chain
    of both. `left_out` exchanges do not fit in their own words; the block stands for them.
    `answered` is False when the model failed at the block: it is asked for nothing more at once.
    """

    parent: Session
    path: Path
    block: str
    carried: tuple[Exchange, ...] = ()
    unsummarized_from: str = ""
    in_file: bool = False
    pins: tuple[str, ...] | None = None
    until: str = ""
    merged: str = ""
    depth: int = 0
    left_out: int = 0
    answered: bool = True

    def begin(
        self, sessions: SessionManager, agent: str, agent_path: str, model: str
    ) -> tuple[LiveSession, list[Entry]]:
        """Return the child, which has no file yet, and its first entries."""
        parent, totals, at = self.parent, self.parent.totals, sessions.now()
        header = parent.header
        restoration = Restoration(
            at=at,
            parent_created=header.created,
            queries=totals.queries,
            tokens=totals.combined,
            block=self.block,
            grandparent=header.parent,
            depth=self.depth or parent.depth + 1,
            verbatim_from=self.carried[0].ref if self.carried else "",
            unsummarized_from=self.unsummarized_from,
            until=self.until,
            merged=self.merged,
        )
        entries: list[Entry] = [restoration]
        if self.pins is not None:
            standing = summary_block.parse(self.block).pinned if self.block else ()
            entries += (Unpin(at=at, text=text) for text in standing if text not in self.pins)
            entries += (Pin(at=at, text=text) for text in self.pins if text not in standing)
        live = sessions.begin(
            agent=agent,
            agent_path=agent_path,
            model=model,
            parent=header.id,
            parent_path=str(self.path),
            after=parent,
        )
        return live, entries


class Background:
    """At most one summary call, and its result. No more begin after too many failures in a row;
    `problem` says why the last one failed.
    """

    def __init__(self) -> None:
        self.failures = 0
        self.problem = ""
        self._prepared: Outcome | None = None
        self._task: asyncio.Task[None] | None = None
        self._not_below = 0.0
        self._deliver_to: Callable[[Outcome], None] | None = None

    @property
    def broken(self) -> bool:
        """True when no more calls are tried."""
        return self.failures >= MOST_FAILURES

    @property
    def state(self) -> str:
        """`in the making`, `ready`, `failed`, or empty when there is nothing to tell."""
        if self._task is not None:
            return MAKING
        return "ready" if self._prepared is not None else "failed" if self.failures else ""

    def may_start(self, used: int) -> bool:
        """Return True when a call should begin, with `used` tokens in the context."""
        return not (self._task or self._prepared or self.broken or used < self._not_below)

    def start(self, work: Callable[[], Awaitable[Outcome]], used: int) -> None:
        """Begin a summary with `work`, `used` tokens being in the context."""
        self._deliver_to = None
        self._task = asyncio.ensure_future(self._run(work, used))

    async def _run(self, work: Callable[[], Awaitable[Outcome]], used: int) -> None:
        error: object = None
        try:
            [result] = await asyncio.gather(work(), return_exceptions=True)
            if not isinstance(result, Outcome) or result.narrative is None:
                self.failures += 1
                self._not_below = used * GROWTH
                error = result
            else:
                self.failures = 0
                if self._deliver_to is None:
                    self._prepared = result
                else:
                    delivery = asyncio.to_thread(self._deliver_to, result)
                    [error] = await asyncio.gather(delivery, return_exceptions=True)
        finally:
            if self._task is asyncio.current_task():
                self._task = None
        if isinstance(error, Outcome):
            self.problem = error.problem
        elif error is not None:
            self.problem = f"{type(error).__name__}: {error}"

    def ready(self, exchanges: Sequence[Exchange]) -> Outcome | None:
        """Return what is ready of the beginning of `exchanges`."""
        prepared = self._prepared
        if prepared is None or tuple(exchanges[: len(prepared.covered)]) != prepared.covered:
            return None
        return prepared

    def forget(self, deliver_to: Callable[[Outcome], None] | None) -> None:
        """Forget what is ready: a compaction has used it, or has gone over it. A call under way
        hands its result to `deliver_to` in a worker thread: its exchanges were compacted without
        it.
        """
        self._prepared, self._not_below, self._deliver_to = None, 0.0, deliver_to

    def try_again(self) -> None:
        """Try calls again: a summary was made elsewhere."""
        self.failures = 0

    async def cancel(self) -> None:
        """Stop what is under way and forget what is ready."""
        self._prepared = self._deliver_to = None
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def wait(self) -> None:
        """Wait for the call under way to end, and for what is done with its result."""
        while self._task is not None:
            await asyncio.wait({self._task})


class Compaction:
    """Decides when the context of a conversation shrinks, and shrinks it."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._options = conversation.options
        self.background = Background()
        self._told_broken = False
        self._not_below = 0.0

    @property
    def ledger_room(self) -> int:
        """Tokens that the ledger of a block may take."""
        return budget.ledger_room(self._conversation.window, self._options.limits)

    # Between turns

    async def make_room(self, waiting: int) -> None:
        """Compact when the next request, with a query of `waiting` tokens, reaches a limit. Calls
        no model; a summary that a local one writes is stopped, since the reply would wait for it.

        A compaction that would not make the context smaller is left until the context has grown;
        but the limit of messages holds, whatever they are worth.
        """
        conversation, limits = self._conversation, self._options.limits
        own = conversation.agent.provider.name
        writer = self._options.summarizer or conversation.agent.provider
        if writer.name == own in ("local", "python") and self.background.state == MAKING:
            await self.background.cancel()
        if not limits.enabled:
            return
        thread, used = conversation.thread, conversation.budget.used + waiting
        messages = budget.messages_in(thread.exchanges) if limits.max_messages else 0
        full = limits.max_messages and messages >= limits.max_messages
        if budget.nearest(used, messages, conversation.window, limits)[0] < 1 or (
            used < self._not_below and not full
        ):
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
        conversation = self._conversation
        last, used = conversation.session.exchanges[-1], conversation.budget.used
        if all(exchange.ref == last.ref for exchange in conversation.thread.fresh):
            return False
        conversation.add(Undo(number=last.query.number, at=conversation.sessions.now()))
        plan = await asyncio.to_thread(self._plan, conversation.thread)
        plan = replace(plan, reason="The server said that the conversation is too long")
        return await self.take(await self._without_waiting(plan, used, waiting))

    async def watch(self) -> None:
        """After a reply: begin the summary of what will be compacted next, when it is time."""
        conversation, limits = self._conversation, self._options.limits
        if not (limits.enabled and self._options.use_ai_summary):
            return
        if self.background.broken and not self._told_broken:
            self._told_broken = True
            conversation.show(
                Warned(
                    f"Three summaries in a row failed ({self.background.problem}); none "
                    "is tried in the background until one succeeds.",
                    "Compaction goes on without a model; /compact tries again.",
                )
            )
        thread, used = conversation.thread, conversation.budget.used
        messages = budget.messages_in(thread.exchanges) if limits.max_messages else 0
        near = budget.nearest(used, messages, conversation.window, limits)[0]
        if near < budget.EARLY or used < self._not_below or not self.background.may_start(used):
            return
        plan = await asyncio.to_thread(self._plan, thread, used, max(1, int(used / near - used)))
        if span := thread.uncovered(plan.compact):
            inherited = thread.inherited
            self.background.start(lambda: self._summarize(span, inherited, quiet=True), used)

    # The plan, the draft and the swap

    def _plan(self, thread: Thread, used: int | None = None, ahead: int = 0) -> Plan:
        """Return the plan for a context of `used` tokens, `ahead` more of which are expected until
        then; for None, that of a compaction that is asked for.
        """
        window, count = self._conversation.window, self._conversation.count
        limits, carried = self._options.limits, len(thread.carried)
        if used is None:
            return budget.asked(
                thread.exchanges, window=window, limits=limits, count=count, carried=carried
            )
        restoration = thread.session.restoration
        return budget.plan(
            thread.exchanges,
            used=used,
            window=window,
            limits=limits,
            count=count,
            carried=carried,
            restored=count(restoration.block) if restoration else 0,
            ahead=ahead,
        )

    async def draft(self, focus: str = "", may: May | None = None) -> Draft | None:
        """Return a compaction that is asked for, with nothing done yet. Raises UsageError for
        nothing to compact.

        It is made without the model when its summary fails, which is told. None when it would not
        make the context smaller and `may` says no; that is asked before a model is paid, where code
        alone would gain nothing.
        """
        conversation = self._conversation
        if not conversation.thread.fresh:
            raise UsageError("There is nothing to compact yet.", "Say something first.")
        used = conversation.budget.used
        thread = await asyncio.to_thread(conversation.reread)
        plan = await asyncio.to_thread(self._plan, thread)
        draft = await self._drafted(thread, plan, None, used, acknowledged=True)
        answered = True
        if self._options.use_ai_summary:
            if may is not None and draft.compaction.after >= used:
                if not await may(used, draft.compaction.after):
                    return None
                may = None
            outcome = await self.narrate(thread, thread.uncovered(plan.compact), focus)
            answered = outcome.answered
            # of a narrative that failed stands its beginning, beside what is extracted
            outcome = replace(outcome, narrative=outcome.narrative or outcome.partial)
            draft = await self._drafted(thread, plan, outcome, used, acknowledged=answered)
        after = draft.compaction.after
        if after >= used and may is not None and not await may(used, after):
            return None
        return replace(draft, answered=answered)

    def edited(self, draft: Draft, summary: Summary) -> Draft:
        """Return a draft that was asked for, with its block as the user left it."""
        block = summary_block.render(summary)
        compaction = replace(
            draft.compaction,
            after=self._conversation.would_hold(block, draft.plan.keep, acknowledged=True),
            decisions=len(summary.decisions),
            pins=len(summary.pinned),
            facts=len(summary.key_facts),
        )
        return replace(draft, summary=summary, compaction=compaction)

    async def _without_waiting(self, plan: Plan, used: int, waiting: int) -> Draft:
        """Return a compaction without a model call: with the narrative that is ready, or with none
        until it comes. Its block leaves room for the query that waits.
        """
        thread = await asyncio.to_thread(self._conversation.reread)
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

        conversation = self._conversation

        def after(text: str, words: Sequence[Exchange]) -> int:
            return conversation.would_hold(text, words, acknowledged=acknowledged) + waiting

        work = asyncio.to_thread(
            drafted,
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
        return await to_its_end(work)

    async def take(self, draft: Draft) -> bool:
        """Seal the session as drafted and begin its child, even when cancelled meanwhile. Return
        False, with everything as it was, when the disk refuses.
        """
        return await to_its_end(self._take(draft))

    async def _take(self, draft: Draft) -> bool:
        conversation = self._conversation
        thread, parent, keep = conversation.thread, conversation.session, draft.plan.keep
        own = [one.query.number for one in draft.plan.compact if one.depth == parent.depth]
        seal = Seal(
            at=conversation.sessions.now(),
            reason="compact",
            source=draft.source,
            summary=draft.summary,
            usage=draft.usage,
            seconds=draft.seconds,
            covers=max(own, default=0) if keep else None,
            compaction=draft.compaction,
        )
        why = "compact" if draft.compaction.why == "asked" else "automatic"
        try:
            await conversation.seal(seal, why)
        except SaveError as error:
            hint = f"Not compacted: the conversation goes on with all its words. {error.hint}"
            conversation.show(Warned(error.message, hint))
            return False
        path, text = conversation.live.path, summary_block.render(draft.summary)
        self._not_below = 0.0
        late = draft.source == "extracted"
        self.background.forget(
            (lambda outcome: self._add_late(path, thread, draft, outcome)) if late else None
        )
        conversation.show(
            Compacted(
                compaction=draft.compaction,
                reason=draft.plan.reason,
                source=draft.source,
                block=text,
            )
        )
        # The id is the one it was sealed under: its file may have been changed from outside.
        header = replace(conversation.live.header, title=title(parent, seal))
        conversation.begin_child(
            Offer(
                parent=replace(parent, header=header),
                path=path,
                block=text,
                carried=keep,
                unsummarized_from=keep[0].ref if keep else "",
                in_file=True,
            ),
            why,
        )
        return True

    # Summaries

    async def narrate(
        self,
        thread: Thread,
        span: Sequence[Exchange],
        focus: str = "",
        *,
        otherwise: str = "",
        optional: bool = False,
    ) -> Outcome:
        """Have the model tell `span`, while the user waits; return what it told.

        What is ready from the background is used. `otherwise` says what happens when it fails and
        the summary is not made without a model instead. `optional`: Ctrl-C does without.
        """
        outcome = None if focus else self.background.ready(span)
        await self.background.cancel()
        rest = span if outcome is None else span[len(outcome.covered) :]
        if outcome is None or rest:
            more = await self._summarize(rest, thread.inherited, focus, optional=optional)
            from chat_loop.context.summary import together  # loaded by then

            outcome = more if outcome is None else together(outcome, more)
        problem = outcome.problem.removesuffix(".")
        if problem:
            problem = f"Summary failed: {problem}. {otherwise or 'It is made without the model.'}"
        source = "none" if otherwise else "extracted"
        if outcome.narrative is not None:
            source, self._told_broken = "model", False
            self.background.try_again()
        usage, seconds = outcome.usage, outcome.seconds
        self._conversation.show(
            SummaryEnded(source=source, usage=usage, seconds=seconds, problem=problem)
        )
        return outcome

    def cover(
        self,
        thread: Thread,
        outcome: Outcome | None = None,
        span: Sequence[Exchange] | None = None,
        tail: Sequence[Exchange] = (),
    ) -> Summary:
        """Return the block of a session that ends; it covers everything, or only `span`."""
        from chat_loop.context.summary import covering  # not before something is compacted

        span = thread.fresh if span is None else span
        room, count = self.ledger_room, self._conversation.count
        return covering(thread, outcome, span, tail, ledger_room=room, count=count).summary

    async def _summarize(
        self,
        span: Sequence[Exchange],
        parent: Summary | None,
        focus: str = "",
        *,
        quiet: bool = False,
        optional: bool = False,
    ) -> Outcome:
        from chat_loop.context.summary import summarize  # not before it is needed

        conversation, own = self._conversation, self._conversation.agent.provider
        first = self._options.summarizer
        routes: tuple[Provider, ...] = (own,) if first is None else (first, own)
        wanted = replace(
            self._options.wanted,
            patience=conversation.agent.patience,
            optional=optional,
            retry=not quiet,
        )
        if any(provider.first_event_seconds >= 600 for provider in routes):  # on this machine
            wanted = replace(wanted, limit=max(wanted.limit, 600.0))

        def show(event: Event) -> None:
            if not quiet:
                conversation.show(event)

        count = conversation.count
        return await summarize(
            routes, span, parent, count=count, show=show, wanted=wanted, focus=focus
        )

    def _add_late(self, path: Path, thread: Thread, draft: Draft, outcome: Outcome) -> None:
        """Write a narrative that comes after its session was sealed by `draft` into its file, in a
        worker thread: the next compaction reads it there.
        """
        sessions = self._conversation.sessions
        summary = self.cover(thread, outcome, draft.span, draft.plan.keep)
        try:
            loaded = sessions.load(path)
            seal = loaded.session.seal
            if seal is None or seal.summary != draft.summary:
                return  # somebody has edited it meanwhile: that counts
            usage, seconds = outcome.usage, outcome.seconds
            seal = replace(seal, source="model", summary=summary, usage=usage, seconds=seconds)
            sessions.seal_later(loaded, seal)
        except SessionError:
            return  # what stands there is complete without it
