"""Compaction: decides when a context shrinks, and swaps the session for a child between turns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import closing, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chat_loop.context import budget
from chat_loop.context.budget import Draft, Outcome, Plan
from chat_loop.context.messages import Thread
from chat_loop.conversation.plans import ChildPlan, LateBlock
from chat_loop.errors import (
    ChatLoopError,
    IndexUnavailable,
    SaveError,
    SessionError,
    UsageError,
    os_reason,
)
from chat_loop.events import Compacted, SummaryPrepared, Warned
from chat_loop.library.library import Library
from chat_loop.sessions import records, summary_block
from chat_loop.sessions.files import Lock
from chat_loop.sessions.naming import title
from chat_loop.sessions.records import Summary
from chat_loop.tasks import in_daemon_thread, report_bug, run_to_completion

if TYPE_CHECKING:
    from chat_loop.conversation.conversation import Conversation
    from chat_loop.conversation.summaries import SummaryWriter

MAX_FAILURES = 3  # after this many failures in a row, the background makes no more summaries
PREPARED_TOKENS = 4_000  # new tokens after which the summary for the exit is begun or continued
GROWTH = 1.1  # of the context before the next compaction, if one would have gained nothing
MAKING = "in progress"
NOT_READ = (SessionError, IndexUnavailable, OSError, MemoryError)
"""Errors of reading ahead. What could not be read is read again when it is needed."""

Confirm = Callable[[int, int], Awaitable[bool]]  # asks the user, given the tokens before and after
Deliver = Callable[[Outcome], LateBlock | None]


class Compaction:
    """Shrinks the context of a conversation, with a summary prepared in the background."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._not_below = 0.0  # tokens below which a compaction would gain nothing
        self._task: asyncio.Task[None] | None = None
        self._prepared: Outcome | None = None
        self._deliver_to: Deliver | None = None  # takes the running summary, if of an ended session
        self._failures = 0  # of background summaries, in a row
        self._reading: asyncio.Future[Any] | None = None
        self._indexed: tuple[records.Exchange, ...] = ()  # once a compaction is near

    @property
    def state(self) -> str:
        """The state of the background summary: `in progress`, `ready`, `failed`, or empty."""
        if self._task is not None:
            return MAKING
        return "ready" if self._prepared is not None else "failed" if self._failures else ""

    @cached_property
    def summaries(self) -> SummaryWriter:
        from chat_loop.conversation.summaries import SummaryWriter  # loads the ledger

        return SummaryWriter(self._conversation)

    def prepared(self, exchanges: Sequence[records.Exchange]) -> Outcome:
        """Return the prepared outcome if it covers the first of `exchanges`, else an empty one."""
        ready = self._prepared or Outcome()
        return ready if tuple(exchanges[: len(ready.covered)]) == ready.covered else Outcome()

    def note_success(self) -> None:
        """Allow summaries in the background again."""
        self._failures = 0

    async def cancel(self, *, own: bool = False) -> None:
        """Cancel the background summary, and drop the one that is ready. If `own`, do nothing
        while the summary of an ended session is running.
        """
        if own and self._deliver_to is not None:
            return
        self._prepared = self._deliver_to = None
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def wait(self) -> None:
        """Wait until all background work is done and the summary's result is handled."""
        while self._task is not None:
            await asyncio.wait({self._task})
        await self._until_read()

    async def _prepare(self, thread: Thread, end: int, *, idle: bool = False) -> None:
        """Begin or continue the summary of the first `end` fresh exchanges in the background."""
        done = len(self.prepared(thread.fresh).covered)
        new = await self._conversation.meter.size(thread.fresh[done:end])
        enough = new >= PREPARED_TOKENS or (end and not done and not idle)
        if enough and self._failures < MAX_FAILURES:
            self._deliver_to = None
            self._begin(self._summarize(thread, end, idle=idle))

    def summarize_parent(self, thread: Thread, deliver: Deliver, lock: Lock) -> None:
        """Begin the summary of this session's parent. Hold `lock` until the summary ends."""

        async def summarize() -> None:
            with closing(lock):
                await self._summarize(thread, len(thread.fresh), idle=True)

        self._deliver_to = deliver
        self._begin(summarize())

    def _begin(self, summary: Coroutine[Any, Any, None]) -> None:
        """Make a summary in the background."""
        self._task = asyncio.ensure_future(summary)
        self._task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Future[None]) -> None:
        """Count and report a background summary that has failed of a bug."""
        if not task.cancelled() and task.exception() is not None:
            self._failures += 1
            report_bug(task)

    async def _summarize(self, thread: Thread, end: int, *, idle: bool) -> None:
        """Have the model summarize the exchanges not prepared yet. If `idle`, show the cost."""
        before = self.prepared(thread.fresh)
        span = thread.fresh[len(before.covered) : end]
        try:
            result = Outcome()
            with suppress(ChatLoopError, OSError):  # a later summary is tried
                result = await self.summaries.ask(thread, span, quiet=True)
            if result.narrative is None:
                self._failures += 1
                return
            self._failures = 0
            conversation = self._conversation
            usage = result.usage
            use = ""
            result = self.summaries.join(before, result)
            if self._deliver_to is None:
                self._prepared = result
            else:
                use = await self._delivered(self._deliver_to, result)
            if idle:
                price = conversation.options.cost
                cost = await asyncio.to_thread(price, result.model, usage) if usage else None
                conversation.show(SummaryPrepared(usage=usage, cost=cost, use=use))
        finally:
            if self._task is asyncio.current_task():
                self._task = None

    async def _delivered(self, deliver: Deliver, outcome: Outcome) -> str:
        """Deliver the summary of an ended session, and report a problem. Return its use here."""
        conversation = self._conversation
        try:
            late = await asyncio.to_thread(deliver, outcome)
        except ChatLoopError as error:
            conversation.show(Warned(error.message, error.hint))
            return ""
        except OSError as error:
            text = f"The summary of the session before cannot be saved: {os_reason(error)}."
            conversation.show(Warned(text))
            return ""
        if late is None:
            return ""
        if late.problem is not None:
            conversation.show(Warned(late.problem.message, late.problem.hint))
        return conversation.note_late_block(late.parent, late.summary)

    def _read_ahead(self, thread: Thread, *, near: bool) -> None:
        """Begin to index, in a worker thread, what the next query would wait for. If a compaction
        is `near`, also parse the sources of its block.
        """
        conversation, archive = self._conversation, self._conversation.archive

        def read() -> None:
            if near:
                self.summaries.read_ahead(thread)
            is_late = archive is not None and archive.late
            if conversation.recalls and (is_late or (near and not self._is_indexed(thread))):
                library = Library(conversation.sessions.directory)
                with closing(library), suppress(*NOT_READ):
                    library.update_index()
                    self._indexed = thread.fresh if near else ()
            if archive is not None:
                archive.late = ""

        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(in_daemon_thread(read))
            self._reading.add_done_callback(report_bug)

    async def _until_read(self) -> None:
        if self._reading is not None and not self._reading.done():
            await asyncio.wait({self._reading})

    def _is_indexed(self, thread: Thread) -> bool:
        """Return True if the words of this thread were indexed when a compaction was near."""
        return bool(self._indexed) and thread.fresh[: len(self._indexed)] == self._indexed

    async def make_room(self, waiting: int) -> None:
        """Compact without a model if the next request, with `waiting` new tokens, is at a limit."""
        conversation, limits = self._conversation, self._conversation.options.limits
        own = conversation.agent.provider
        writer = conversation.options.summarizer or own
        if writer.name == own.name in ("local", "python") and self.state == MAKING:
            await self.cancel()
        if not limits.enabled or waiting > budget.room(conversation.window):
            return  # a query that is too long by itself is refused, and the context stays
        thread, used = conversation.thread, conversation.budget.used + waiting
        messages = budget.messages_in(thread.exchanges) if limits.max_messages else 0
        full = 0 < limits.max_messages <= messages
        share = budget.nearest_limit(used, messages, conversation.window, limits)[0]
        if share < 1 or (used < self._not_below and not full):
            return
        await self._until_read()
        plan = await asyncio.to_thread(self._plan, thread, used)
        if not plan.compact:
            return
        draft = await self._without_model(plan, used, waiting)
        if draft.compaction.after >= used and not full:
            self._not_below = used * GROWTH
        else:
            await run_to_completion(self.take(draft))

    async def shrink(self, waiting: int) -> bool:
        """Undo the newest query, which a server refused as too long, and compact the exchanges
        before it. If there are none or the seal cannot be saved, keep the query and return False.
        """
        conversation, live = self._conversation, self._conversation.live
        last, used = conversation.session.exchanges[-1], conversation.budget.used
        if all(exchange.ref == last.ref for exchange in conversation.thread.fresh):
            return False
        number, new_number = last.query.number, live.next_number
        entries = [
            entry
            for entry in live.session.entries
            if isinstance(entry, records.QueryEntry) and entry.number == number
        ]
        conversation.add(records.Undo(number=number, at=conversation.sessions.now()))
        try:
            plan = await asyncio.to_thread(self._plan, conversation.thread)
            plan = replace(plan, reason="The server said that the conversation is too long")
            draft = await self._without_model(plan, used, waiting)
            return await run_to_completion(self.take(draft))
        finally:
            if conversation.live is live:  # the query stays; an undo cannot be taken back
                for entry in entries:
                    conversation.add(replace(entry, number=new_number))

    async def watch(self) -> None:
        """After a reply, begin the summary for the next compaction if that is near."""
        conversation, limits = self._conversation, self._conversation.options.limits
        if not limits.enabled:
            return
        thread, used = conversation.thread, conversation.budget.used
        messages = budget.messages_in(thread.exchanges) if limits.max_messages else 0
        share = budget.nearest_limit(used, messages, conversation.window, limits)[0]
        near = share >= budget.EARLY and used >= self._not_below
        if near or (conversation.archive is not None and conversation.archive.late):
            self._read_ahead(thread, near=near)
        if near and conversation.options.use_ai_summary and not self._task:
            ahead = max(1, int(used / share - used))
            plan = await asyncio.to_thread(self._plan, thread, used, ahead)
            await self._prepare(thread, len(thread.uncovered(plan.compact)))

    async def prepare_exit(self) -> None:
        """Begin the summary for the exit, unless little is new or a compaction is near."""
        conversation, thread = self._conversation, self._conversation.thread
        near = conversation.budget.used >= budget.EARLY * conversation.trigger
        is_compacted = near and conversation.options.limits.enabled
        if not (conversation.on_exit == "later" or self._task or is_compacted):
            await self._prepare(thread, len(thread.fresh), idle=True)

    def _plan(self, thread: Thread, used: int | None = None, ahead: int = 0) -> Plan:
        """Plan a compaction of a context of `used` tokens, or a requested one if `used` is None."""
        window, count = self._conversation.window, self._conversation.count
        limits = self._conversation.options.limits
        words, carried = thread.exchanges, len(thread.carried)
        if used is None:
            return budget.plan_requested(words, window, limits, count, carried)
        restoration = thread.session.restoration
        restored = count(restoration.block) if restoration else 0
        return budget.plan(
            words, window, limits, count, used=used, carried=carried, restored=restored, ahead=ahead
        )

    async def draft(
        self, focus: str = "", confirm: Confirm | None = None, **options: Any
    ) -> Draft | None:
        """Draft a requested compaction. Return None if it gains nothing and `confirm` says no."""
        conversation, summaries = self._conversation, self.summaries
        if not conversation.thread.fresh:
            raise UsageError("There is nothing to compact yet.", "Send a message first.")
        used = conversation.budget.used
        thread = conversation.thread
        plan = await asyncio.to_thread(self._plan, thread)
        draft = await summaries.draft(thread, plan, Outcome(), used, acknowledge=True)
        after = draft.compaction.after
        if confirm is not None and after >= used and not await confirm(used, after):
            return None
        if not self._conversation.options.use_ai_summary:
            return draft
        outcome = await summaries.narrate(thread, thread.uncovered(plan.compact), focus, **options)
        return await summaries.draft(thread, plan, outcome, used, acknowledge=True)

    def edited(self, draft: Draft, summary: Summary) -> Draft:
        """Return a requested draft with the block that the user edited."""
        block = summary_block.render(summary)
        compaction = replace(
            draft.compaction,
            after=self._conversation.meter.child_size(block, draft.plan.keep, acknowledged=True),
            decisions=len(summary.decisions),
            pins=len(summary.pinned),
            facts=len(summary.key_facts),
        )
        return replace(draft, summary=summary, compaction=compaction)

    async def _without_model(self, plan: Plan, used: int, waiting: int) -> Draft:
        """Draft a compaction with the prepared narrative, or without one until it arrives."""
        thread = self._conversation.thread
        prepared = self.prepared(thread.fresh)
        if len(prepared.covered) > len(thread.uncovered(plan.compact)):
            # it covers more than planned, so compact all that it covers
            cut = len(thread.exchanges) - len(thread.fresh) + len(prepared.covered)
            plan = replace(plan, compact=thread.exchanges[:cut], keep=thread.exchanges[cut:])
        return await self.summaries.draft(thread, plan, prepared, used, waiting)

    async def take(self, draft: Draft) -> bool:
        """Seal the session as drafted and begin its child. Return False if it cannot be saved."""
        conversation, summaries = self._conversation, self.summaries
        if self._deliver_to is not None:  # a summary of the previous session is too late now
            await self.cancel()
        thread, parent, keep = conversation.thread, conversation.session, draft.plan.keep
        compacted = draft.plan.compact
        own = [said.query.number for said in compacted if said.depth == parent.depth]
        seal = replace(
            draft.outcome.seal(conversation.sessions.now(), "compact", draft.summary),
            covers=max(own, default=0) if keep else None,
            compaction=draft.compaction,
        )
        reason = "compact" if draft.compaction.why == "asked" else "automatic"
        try:
            await conversation.seal(seal, reason)
        except SaveError as error:
            hint = f"Not compacted: the conversation continues with all its words. {error.hint}"
            conversation.show(Warned(error.message, hint))
            return False
        path, block = conversation.live.path, summary_block.render(draft.summary)
        self._not_below, self._prepared, self._deliver_to = 0.0, None, None
        if seal.source == "extracted":
            self._deliver_to = lambda late: summaries.add_late(path, thread, draft, late)
        why, source = draft.plan.reason, seal.source
        conversation.show(
            Compacted(compaction=draft.compaction, reason=why, source=source, block=block)
        )
        # Use the id it was sealed under, which is new if another program changed its file.
        header = replace(conversation.live.header, title=title(parent, seal))
        parent, first = replace(parent, header=header), keep[0].ref if keep else ""
        plan = ChildPlan(
            parent=parent, path=path, block=block, carried=keep, unsummarized_from=first
        )
        conversation.begin_child(plan, reason, late=self._is_indexed(thread))
        return True
