"""Conversation: the live end of a chain. It asks, saves, compacts, resumes and ends."""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chat_loop import errors, events
from chat_loop.agent.agent import Agent
from chat_loop.agent.tools import Tool
from chat_loop.context import budget
from chat_loop.context.messages import Thread, with_task
from chat_loop.conversation import attachments, compaction, leaving
from chat_loop.conversation.meter import ContextMeter
from chat_loop.conversation.options import Options
from chat_loop.conversation.plans import ChildPlan
from chat_loop.conversation.reading import QueryFile, read_files
from chat_loop.conversation.turn import Turn
from chat_loop.library import archive_tools
from chat_loop.providers import Provider
from chat_loop.redact import redact_text
from chat_loop.sessions import records, summary_block
from chat_loop.sessions.chain import exchange_of
from chat_loop.sessions.live import LiveSession, save_error
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Reply, Seal, SealReason
from chat_loop.tasks import in_daemon_thread, run_to_completion, uncancel
from chat_loop.values import Message, Usage

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import McpServers
    from chat_loop.context.budget import Draft
    from chat_loop.conversation.resume import ChildPlanner
    from chat_loop.library.archive import Archive


class Conversation:
    """The live session of a chain, and the agent that answers in it. `count(text)` estimates
    tokens. `detach(id)` starts a process that makes a summary; it may raise OSError.
    """

    def __init__(
        self,
        agent: Agent,
        sessions: SessionManager,
        *,
        count: budget.Count,
        show: Callable[[events.Event], None],
        options: Options,
        memory: Callable[[], str] = str,
        servers: McpServers | None = None,
        detach: Callable[[str], None] | None = None,
        settle: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.sessions = sessions
        self._configured = options
        self.count = count
        self.show = show
        self.agent = replace(agent, memory=memory())
        self.archive: Archive | None = None  # the sealed ancestors, once there are some
        self._own_tools = agent.tools
        self._server_tools: tuple[Tool, ...] = ()
        self._archive_tools: tuple[Tool, ...] = ()
        self._servers = servers
        self._detach = detach
        self._settle = settle
        self._memory = memory
        self._lost_images: set[str] = set()
        self.meter = ContextMeter(self)
        self.compaction = compaction.Compaction(self)
        self._start()

    def _start(self, child: LiveSession | None = None, plan: ChildPlan | None = None) -> None:
        """Begin a fresh session, or a child with the block and the words of its plan."""
        name, path, model = self.agent.name, self.agent.path, self.agent.model
        self.live = child or self.sessions.begin(agent=name, agent_path=path, model=model)
        self.agent.provider.begin_session()
        self._carried = plan.carried if plan is not None else ()
        self.configure(self._configured)
        self._late_block: records.Summary | None = None  # the parent's, made after this one began
        self._begun_shown = self._problem_shown = False

    @property
    def session(self) -> records.Session:
        return self.live.session

    @property
    def thread(self) -> Thread:
        """The session, and the part of its ancestors that is in the context."""
        return Thread(self.live.session, self._carried, self._late_block)

    @property
    def window(self) -> int:
        """The model's window in tokens."""
        return self.agent.provider.window.tokens

    @property
    def trigger(self) -> int:
        """The number of tokens at which the context is compacted."""
        return budget.trigger(self.window, self.options.limits)

    @property
    def budget(self) -> budget.Budget:
        """The tokens of the next request, without a new query."""
        return self.meter.budget()

    @property
    def fallback_text(self) -> str:
        """The sentence that says what happens instead if a resume fails."""
        return "Starting fresh." if self.live.is_empty else "Staying in this session."

    @property
    def saved_text(self) -> str:
        """The sentence that says where the words are; empty if no file has any."""
        path = self.live.path
        parent = self.live.header.parent
        if self.live.is_empty:
            path = self.sessions.directory / f"{parent}.md"
        if not self.sessions.saves or (self.live.is_empty and not parent):
            return ""
        if self.live.problem is not None:
            return f"What could be saved is in {path}."
        return f"What was said is saved in {path}."

    def context_refs(self) -> frozenset[str]:
        """Return the references of the exchanges that are in the context verbatim."""
        return frozenset(exchange.ref for exchange in self.thread.exchanges)

    def note_late_block(self, parent: str, block: records.Summary) -> str:
        """Use a block that the parent got after this session was planned: restore it, or if the
        session has begun its file, base the next block on it. Return `restored` or `late`, or an
        empty text if `parent` is not this session's parent.
        """
        if self.live.header.parent != parent:
            return ""
        if self.live.is_empty:
            self.live.change_restoration(summary_block.render(block))
            return "restored"
        self._late_block = block
        return "late"

    async def files(self, typed: str) -> tuple[QueryFile, ...]:
        """Read the files that a query names with `@`. Raises UsageError if one cannot be sent."""
        files = await in_daemon_thread(partial(read_files, typed))  # an exit waits for no PDF
        attachments.check(files, self.agent, self.count)
        return files

    async def ask(self, text: str, files: Sequence[QueryFile] = ()) -> Reply:
        """Save the query and its files, ask, and save the reply as it arrives. Compact if the
        context is full. Raises ProviderError, CancelledError or ContextFull after saving.
        """
        sizes = (budget.entry_size(file.attachment, self.count) for file in files)
        waiting = budget.size(text, self.count) + sum(sizes)
        try:
            return await self._ask(text, files, waiting)
        except errors.ContextTooLong as error:
            last = self.session.exchanges[-1]
            # Otherwise its tools would do the same work twice.
            untouched = not last.uses and not (last.reply and last.reply.text)
            may_compact = self.options.limits.enabled and untouched
            if not (may_compact and await self.compaction.shrink(waiting)):
                raise
            hint = "The conversation was compacted, and the message is sent again."
            self.show(events.Warned(error.message, hint))
            return await self._ask(text, files, waiting)

    async def _ask(self, text: str, files: Sequence[QueryFile], waiting: int) -> Reply:
        """Ask once. The query and its files take `waiting` tokens."""
        cancellation: asyncio.CancelledError | None = None
        try:
            await self.compaction.make_room(waiting)
        except asyncio.CancelledError as error:
            cancellation = error
        number, now = self.live.next_number, self.sessions.now
        self.add(records.Query(number=number, at=now(), text=text))
        try:
            if files:
                attachments.save_files(self, files, number)
            if cancellation is not None:
                self.add(Reply(number=number, at=now(), text="", stop="interrupted"))
                raise cancellation
            messages = await self._request(number, text)
        except (errors.ChatLoopError, OSError):
            self.add(Reply(number=number, at=now(), text="", stop="error", failed=True))
            raise
        reply = await self._answer(self.agent, number, messages)
        await self.compaction.watch()
        return reply

    async def _request(self, number: int, text: str) -> tuple[Message, ...]:
        """Return the messages of the request for a saved query. Raises ContextFull."""
        if self.archive is not None:
            await self._recall(self.archive, number, text)
        if self._servers is not None and self.agent.provider.calls_tools:
            await self._connect(self._servers)
        messages = self.meter.request()
        if not any(message.images for message in messages):
            return messages
        store, takes_images = self.sessions.images, self.agent.provider.takes_images
        messages, problems = attachments.with_images(
            messages, lambda image: b64encode(store.data(image.file)).decode(), takes_images
        )
        for problem in problems:
            if problem not in self._lost_images:
                self.show(events.Warned(problem))
        self._lost_images.update(problems)
        return messages

    @property
    def recalls(self) -> bool:
        """True if archive passages are attached to queries, for a model that calls no tools."""
        saves = self.sessions.saves  # else there is no archive, and nothing may be indexed
        return saves and self.options.attach_from_archive and not self.agent.calls_tools

    async def _recall(self, archive: Archive, number: int, text: str) -> None:
        """Attach passages of the archive that match a query."""
        restoration = self.session.restoration
        if restoration is None or not self.recalls:
            return
        room = budget.recall_room(self.window)
        block, in_context = restoration.block, self.context_refs()
        excerpts, refs = await asyncio.to_thread(archive.recall, text, in_context, room, block)
        if excerpts:
            at = self.sessions.now()
            self.add(records.ArchiveContext(number=number, at=at, text=redact_text(excerpts)))
            self.show(events.Recalled(refs))

    async def _connect(self, servers: McpServers) -> None:
        """Give the agent the servers' current tools; wait for servers that are still connecting."""
        pending: list[str] = []

        def waiting(names: tuple[str, ...]) -> None:
            pending.extend(names)
            self.show(events.Connecting(names))

        reserved = {*(tool.spec.name for tool in self._own_tools), *archive_tools.TOOLS}
        # characters of all schemas; in a small window, half a character per token
        limit = min(100_000, self.window // 2)
        self.offer_tools(await servers.tools(reserved, limit, waiting))
        if pending:
            self.show(events.Connecting(()))
        for message, hint in servers.notices():
            self.show(events.Warned(message, hint))

    def offer_tools(self, tools: Sequence[Tool]) -> None:
        """Offer the servers' tools along with the agent's own and the archive's."""
        self._server_tools = tuple(tools)
        all_tools = (*self._own_tools, *self._server_tools, *self._archive_tools)
        self.agent = replace(self.agent, tools=all_tools)

    async def _answer(
        self, agent: Agent, number: int, messages: tuple[Message, ...], limit: int | None = None
    ) -> Reply:
        """Stream one reply of at most `limit` tokens into the file. Raises as `Turn.run` does."""
        expected = self.budget.used

        def estimate(text: str) -> Usage:
            return Usage(input=expected, output=self.count(text), estimated=True)

        def show(event: events.Event) -> None:
            if not self._begun_shown:
                self._report_saving()
            self.show(event)

        try:
            turn = Turn(self.live, number, self.sessions.now(), agent, estimate)
            reply = await turn.run(messages, show, limit, self._settle)
        finally:
            self._report_saving()
        if number and reply.usage is not None and not reply.usage.estimated:
            self.meter.note_report()
        return reply

    @property
    def acknowledges(self) -> bool:
        """True if the model is asked to confirm a restored context. An embedded one is too slow."""
        return self.options.acknowledge and self.agent.provider.name != "local"

    async def acknowledge(self) -> None:
        """Have the agent confirm the restored context. If that fails, continue without it."""
        restoration = self.session.restoration
        if not self.acknowledges or restoration is None or not restoration.block:
            return
        limits = self.agent.limits
        attempts = min(2, limits.attempts)
        limits = replace(limits, attempts=attempts, max_retry_after=5.0, confirm=None)
        agent = replace(self.agent, limits=limits)
        block = self.meter.messages(Thread(self.session))[0].text
        limit = min(2048, self.window // 8)  # a small model may not stop
        try:
            await self._answer(agent, 0, (Message("user", with_task(block)),), limit)
        except errors.ProviderError as error:
            text = f"The acknowledgment failed: {error.message}"
            self.show(events.Warned(text, "The context is restored anyway."))
        except asyncio.CancelledError:
            uncancel()

    async def switch(self, provider: Provider) -> None:
        """Switch models from the next query on. An external agent's own tools are dropped."""
        await self.compaction.cancel()  # it may be asking the old model
        before = self.agent.provider
        self.agent = replace(self.agent, provider=provider, own_tools=False)
        self.meter = ContextMeter(self)  # the old model counted differently
        if self.live.is_empty:  # its header is not written yet
            self.live.change_header(model=self.agent.model)
        else:
            self.add(records.ModelChange(at=self.sessions.now(), text=self.agent.model))
        await before.close()

    def configure(self, options: Options) -> None:
        """Use other options from now on, except for the settings that the session keeps."""
        self._configured = options
        self.options = self.options_of(self.session)

    def options_of(self, session: records.Session) -> Options:
        """Return the options for a session, with the settings that it keeps."""
        return self._configured.with_settings(session.settings)

    def keep_setting(self, name: str, value: str) -> None:
        """Keep a setting in the session and its children; an empty value removes it."""
        setting = records.Setting(at=self.sessions.now(), text=f"{name}: {value}")
        is_begun = self.live.header.parent or not self.live.is_empty
        (self.add if is_begun else self.live.defer)(setting)
        self.configure(self._configured)

    def remember(self) -> None:
        """Give the agent the current memory, from the next request on."""
        self.agent = replace(self.agent, memory=self._memory())

    def add(self, entry: records.Entry) -> None:
        """Append an entry and report whether it was saved."""
        self.live.add(entry)
        self._report_saving()

    def _report_saving(self) -> None:
        """Report once where the session is saved, when saving fails, and when it works again."""
        live, header, problem = self.live, self.live.header, self.live.problem
        if not (self._begun_shown or live.is_empty):
            self._begun_shown = True
            event = events.SessionBegun(
                id=header.id, path=str(live.path), model=header.model, parent=header.parent
            )
            self.show(event)
            if problem is None:
                self.sessions.set_current(header.id)
        for message in live.take_notices():
            self.sessions.set_current(header.id)
            self.show(events.Warned(message))
        if problem is not None and not self._problem_shown:
            error = save_error(live.path, problem)
            self.show(events.Warned(error.message, error.hint))
        elif problem is None and self._problem_shown:
            self.show(events.Warned("Saving works again: everything said so far is on disk."))
        self._problem_shown = problem is not None

    def pin(self, text: str) -> None:
        """Keep `text` in every later summary block of the chain, word for word."""
        self.add(records.Pin(at=self.sessions.now(), text=text))

    def unpin(self, text: str) -> None:
        """Remove a pin from later summary blocks."""
        self.add(records.Unpin(at=self.sessions.now(), text=text))

    def describe(self, **values: Any) -> None:
        """Set the `name` of the conversation (empty restores the automatic one) or its `tags`."""
        if self.live.is_empty and not self.live.header.parent:  # its header is not written yet
            self.live.change_header(**values)
        for note in self.session.metadata_notes(self.sessions.now(), **values):
            self.add(note)

    async def undo(self) -> Exchange:
        """Undo the last exchange and return it. Its words stay in the file. Raises UsageError."""
        last = exchange_of(self.session, 0)
        await self.compaction.cancel(own=True)
        self.add(records.Undo(number=last.query.number, at=self.sessions.now()))
        return last

    async def compact(self, focus: str = "", confirm: compaction.Confirm | None = None) -> bool:
        """Seal this session with a summary and continue in a child."""
        draft = await self.compaction.draft(focus, confirm)
        return draft is not None and await self.take(draft)

    async def take(self, draft: Draft, *, acknowledge: bool = True) -> bool:
        """Carry out a draft. Return False, and change nothing, if it cannot be saved."""
        applied = await run_to_completion(self.compaction.take(draft))
        if applied and acknowledge and not draft.outcome.problem:
            await self.acknowledge()
        return applied

    def planner(self, *, quick: bool = False) -> ChildPlanner:
        """Return a planner for continuing stored sessions. If `quick`, it asks no model."""
        from chat_loop.conversation.resume import ChildPlanner  # loads the ledger

        return ChildPlanner(self, quick=quick)

    async def accept(self, plan: ChildPlan, *, acknowledge: bool = True) -> None:
        """End this session and begin the planned child. Raises SaveError if it cannot be saved."""
        await run_to_completion(self._leave("resume", plan))
        if acknowledge:
            await self.acknowledge()

    async def leave(self, reason: SealReason) -> None:
        """End this session without a model call and start a fresh one. Raises SaveError."""
        await run_to_completion(self._leave(reason))

    async def _leave(self, reason: SealReason, plan: ChildPlan | None = None) -> None:
        old_id = self.live.header.id
        if self.live.is_empty:
            self.live.close()
        else:
            seal = await leaving.prepared_seal(self, reason)
            if seal is None:
                seal = await asyncio.to_thread(leaving.free_seal, self, reason)
            try:
                await self.seal(seal, anyway=reason == "exit")
            except errors.SaveError as error:
                hint = f"Staying in this session. {error.hint}"
                raise errors.SaveError(error.message, hint) from error
        await self.compaction.cancel()
        if self.agent.limits.spending is not None:
            self.agent.limits.spending.begin_session()
        if plan is None:
            self._archive_tools = ()
            self.offer_tools(self._server_tools)
            self.remember()
            self._start()
            return
        new_id = self.live.header.id
        if new_id != old_id:  # another program changed its file, so it was saved under a new id
            if plan.parent.header.id == old_id:
                parent = replace(plan.parent, header=replace(plan.parent.header, id=new_id))
                plan = replace(plan, parent=parent, path=self.live.path)
            plan = replace(plan, merged=new_id if plan.merged == old_id else plan.merged)
        self.begin_child(plan, "resume")

    async def seal(self, seal: Seal, reason: str = "", *, anyway: bool = False) -> None:
        """Seal, close and report the live session. Raises SaveError, or only warns if `anyway`."""
        live = self.live
        try:
            await asyncio.to_thread(live.seal, seal)
        except errors.SaveError as error:
            self._problem_shown = True
            if not anyway:
                raise
            self.show(events.Warned(error.message, error.hint))
        self._report_saving()
        saved, totals = live.is_saved, self.session.totals
        live.close()
        self.show(
            events.SessionSealed(
                id=live.header.id,
                path=str(live.path),
                reason=reason or seal.reason,
                queries=totals.queries,
                session_tokens=totals.session,
                restoration_tokens=totals.restoration,
                saved=saved,
                summary=seal.source,
            )
        )

    def begin_child(self, plan: ChildPlan, reason: str, *, late: bool = False) -> None:
        """Begin the planned child. Its file is created with its first words, or at once for a
        merge. If `late`, its first query does not wait until the end of the parent is indexed.
        """
        from chat_loop.library.archive import Archive  # late: it loads the index

        # only once per session, so that a provider's cache of its beginning stays valid
        self.remember()
        agent = self.agent
        self.show(events.Restoring(plan.parent.header.id, reason))
        live, entries = plan.begin(self.sessions, agent.name, agent.path, agent.model)
        self._start(live, plan)
        for entry in entries:
            if plan.merged:
                self.add(entry)
            else:
                live.defer(entry)
        archive = self.archive = Archive(
            self.sessions,
            self.session,
            count=self.count,
            semantic=self.options.semantic,
            late=plan.parent.header.id if late else "",
        )

        async def run(name: str, arguments: Mapping[str, str]) -> str:
            text = await asyncio.to_thread(archive.call, name, arguments, self.context_refs())
            return redact_text(text)  # it is recorded in another session's file

        self._archive_tools = tuple(
            Tool(spec, partial(run, name)) for name, spec in archive_tools.TOOLS.items()
        )
        self.offer_tools(self._server_tools)

    @property
    def on_exit(self) -> str:
        """When to make the summary of a session that ends: `wait`, `background` or `later`."""
        if not self.options.use_ai_summary:
            return "later"
        writer = self.options.summarizer or self.agent.provider
        spending = self.agent.limits.spending
        usage = Usage(input=self.budget.used, output=self.options.summary.max_tokens)
        if spending is not None and spending.check(f"{writer.name}:{writer.model}", usage)[1]:
            return "later"  # the user is not asked at the end
        return self.options.on_exit or ("later" if writer.name == "local" else "background")

    async def end(self) -> None:
        """Seal the session with its summary. Leave one that takes long to another process."""
        if self.live.is_empty:
            await self.compaction.cancel()
            return
        seal = Seal(at=self.sessions.now(), reason="exit")
        detach = None
        try:
            if ready := await leaving.final_seal(self, can_detach=self._detach is not None):
                seal = ready
            else:
                detach = self._detach
                self.show(events.SummaryEnded(source="background"))
        except asyncio.CancelledError:
            uncancel()
            problem = f"Summary skipped. {leaving.SUMMARY_ON_RESUME}"
            self.show(events.SummaryEnded(source="none", problem=problem))
        await self.compaction.cancel()
        await run_to_completion(self.seal(seal, anyway=True))
        if detach is not None and self.live.is_saved:
            try:
                with contextlib.suppress(errors.SessionLocked):  # another process is making it
                    detach(self.live.header.id)
            except OSError as error:
                text = f"Can't start a process for the summary: {errors.os_reason(error)}."
                self.show(events.Warned(text, leaving.SUMMARY_ON_RESUME))

    def close(self) -> None:
        """Release the live session's file and lock, sealed or not."""
        self.live.close()
        self._report_saving()
