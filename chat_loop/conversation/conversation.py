"""Conversation: the live end of a chain. It asks, saves, compacts, resumes and ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent, Prompt, Prompts, only
from chat_loop.agent.tools import Tool
from chat_loop.context import budget, request
from chat_loop.context.budget import Announce, Narration, Plan
from chat_loop.context.messages import Context, prompt
from chat_loop.context.request import Calibration, Frame
from chat_loop.conversation import (
    attachments,
    child_plan,
    compaction,
    continuing,
    side_question,
    summarizer,
)
from chat_loop.conversation import exit as ending
from chat_loop.conversation.background import MAKING, Background, DelayedBlock
from chat_loop.conversation.child_plan import ChildPlan, basis_of
from chat_loop.conversation.compaction import Draft
from chat_loop.conversation.continuing import Missing, Planning
from chat_loop.conversation.conversation_options import (
    EFFORT,
    MAX_TOKENS,
    SAMPLING,
    SYSTEM,
    Options,
    changed_settings,
    parameters_for,
    sampling_text,
)
from chat_loop.conversation.exit import Leaving
from chat_loop.conversation.reading import QueryFile, read_files
from chat_loop.conversation.recorder import Recorder
from chat_loop.conversation.summarizer import Writer
from chat_loop.conversation.turn import Turn
from chat_loop.errors import (
    TRIED_AGAIN,
    ChatLoopError,
    ContextFull,
    ContextTooLong,
    ProviderError,
    SaveError,
    SessionLocked,
    StalePlan,
    UsageError,
    os_reason,
)
from chat_loop.events import (
    Attached,
    Connecting,
    Event,
    Recalled,
    Restoring,
    SummaryEnded,
    SummaryStarted,
    Warned,
)
from chat_loop.library import archive_tools
from chat_loop.providers import Provider
from chat_loop.redact import redact_text
from chat_loop.redact.outgoing import TextSource
from chat_loop.sessions import marker, summary_block
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import (
    ArchiveContext,
    Aside,
    AsideReply,
    Entry,
    Exchange,
    ExchangePart,
    LeftOut,
    ModelChange,
    Pin,
    Query,
    QueryEntry,
    Redo,
    Reply,
    Seal,
    SealReason,
    Session,
    Setting,
    Summary,
    Undo,
    UndoEntry,
    Unpin,
    place_of_ref,
)
from chat_loop.tasks import in_daemon_thread, run_to_completion, uncancel
from chat_loop.tokens import Count
from chat_loop.values import USUAL_EFFORT, Message, Parameters, Picture, Usage, plural, window_text

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import McpServers
    from chat_loop.library.archive import Archive

PREPARED_TOKENS = 4_000  # new tokens after which the summary for the exit is begun or continued
ASIDE_TOKENS = 60  # of the text around a question beside the conversation
GROWTH = 1.1  # of the context before the next compaction, if one would have gained nothing
SQUEEZED = {
    "query": "the middle of your message",
    "reply": "the reply so far",
    "result": "the newest result",
    "steps": "the beginning of the reply",
}
"""The names of the parts of an exchange that does not fit the window by itself."""


class Conversation:
    """The live session of a chain, and the agent that answers in it. `count(text)` estimates
    tokens, until `load_encoding` was called, in any thread; `steady()` returns a count that goes on
    as before, for work that must not mix both. `detach(id)` starts a process that makes a summary;
    it may raise OSError. Without `prepares`, nothing is done ahead for a next message, since there
    is none. Each session keeps the settings that are `given` in this run.
    """

    def __init__(
        self,
        agent: ModelAgent,
        sessions: SessionManager,
        *,
        count: Count,
        show: Callable[[Event], None],
        options: Options,
        memory: Callable[[], str] = str,
        servers: McpServers | None = None,
        load_encoding: Callable[[], object] | None = None,
        steady: Callable[[], Count] | None = None,
        detach: Callable[[str], None] | None = None,
        settle: Callable[[], Awaitable[None]] | None = None,
        prepares: bool = True,
        given: Mapping[str, str] | None = None,
    ) -> None:
        self.sessions = sessions
        self.count = count
        self.show = show
        self.agent = replace(agent, memory=memory())
        self.archive: Archive | None = None  # the sealed ancestors, once there are some
        self.background = Background(self._narrate_quietly, self._receive, show, self._cost)
        self.earlier_usage: list[tuple[str, Usage]] = []
        """What this conversation used in the sessions that it left since the program started."""
        self._configured = options
        self._own = agent
        self._given = given or {}
        self._server_tools: tuple[Tool, ...] = ()
        self._archive_tools: tuple[Tool, ...] = ()
        self._servers = servers
        self._load_encoding = load_encoding
        self._steady = steady or (lambda: self.count)
        self._detach = detach
        self._settle = settle
        self._prepares = prepares
        self._memory = memory
        self._lost_images: set[str] = set()
        self._calibration = Calibration()
        self._truncation_shown = False
        self._view: Draft | None = None  # a compaction that is carried out after the turn
        self._asides = side_question.Asides(self.add)
        self._start()

    def _start(self, child: LiveSession | None = None, plan: ChildPlan | None = None) -> None:
        """Begin a fresh session, or a child with the block and the exchanges of its plan."""
        agent = self.agent
        self.live = child or self.sessions.begin(
            agent=agent.name,
            agent_path=agent.path,
            model=agent.model,
            endpoint=agent.answering.endpoint,
            tools=self._tool_names,
        )
        parent = self.session
        if plan is not None:
            parent = plan.parent
        self.recorder = Recorder(self.live, self.sessions, self.show)
        self._write_settings(parent)
        self.agent = self._agent_in(self.session)
        self.agent.provider.begin_session()
        carried = plan.carried if plan is not None else ()
        self._context = Context(self.session, carried)
        self._measured: tuple[Frame, Context, budget.Budget] | None = None
        self._frame: tuple[object, Frame] | None = None
        self._not_below = 0.0  # tokens below which a compaction would gain nothing
        self.configure(self._configured)

    def _write_settings(self, parent: Session) -> None:
        """Put into the header what the session keeps of its `parent` and of this run."""
        parameters = self._parameters_after(parent)
        self.agent = replace(self.agent, parameters=parameters)
        settings = {**self.session.settings, **self._given}
        for name in (EFFORT, SAMPLING):
            settings.pop(name, "")
        if settings != self.session.settings:
            self.live.change_header(settings=json.dumps(settings, ensure_ascii=False))
        self.live.change_header(effort=parameters.effort, sampling=sampling_text(parameters))

    def _parameters_after(self, session: Session) -> Parameters:
        """Return how the agent's model is asked in what follows a session."""
        agent = self.agent
        if agent.own_tools:
            return agent.parameters
        return parameters_for(agent.model, self._configured.config, self._given, session)

    def _agent_in(self, session: Session) -> ModelAgent:
        """Return the agent with the system prompt and the longest reply that a session keeps."""
        agent = self.agent
        if agent.own_tools:
            return agent
        settings = {**session.settings, **self._given}
        most = settings.get(MAX_TOKENS, "")
        is_number = re.fullmatch("[1-9][0-9]{0,8}", most)
        return replace(
            agent,
            system_prompt=settings.get(SYSTEM, self._own.system_prompt),
            max_tokens=int(most) if is_number else self._own.max_tokens,
        )

    @property
    def _tool_names(self) -> str:
        """The names of the agent's own tools, as a header records them."""
        return ", ".join(tool.spec.name for tool in self._own.tools)

    @property
    def session(self) -> Session:
        return self.live.session

    @property
    def context(self) -> Context:
        """The session, and the part of its ancestors that is in the context."""
        if self._context.session is not self.session:
            self._context = replace(self._context, session=self.session)
        return self._context

    @property
    def sent_context(self) -> Context:
        """The context as it is sent: in a turn that has filled the window, the planned child's."""
        if self._view is None:
            return self.context
        return compaction.view_of(self._view, self.context, self.live.path)

    @property
    def summary(self) -> Summary | None:
        """The summary that the session begins with, with the pins of now; None if there is none."""
        block = self.session.block
        return replace(summary_block.parse(block), pinned=self.context.pins) if block else None

    @property
    def frame(self) -> Frame:
        """All that a request needs beside the context."""
        agent = self.agent
        provider = agent.provider
        limits = self.options.limits
        encoding = self.count(request.SAMPLE)
        learned = (provider.window, provider.calls_tools, provider.returns_opaque)
        state = (agent, learned, limits, self._calibration, encoding)
        if self._frame is None or self._frame[0] != state:
            frame = request.frame_of(agent, limits, self._steady(), self._calibration)
            if self._calibration.encoding not in (0, encoding):  # loaded since the last report
                frame = replace(frame, calibration=request.calibrated(frame, self.context))
            self._frame = state, frame
        return self._frame[1]

    @property
    def window(self) -> int:
        """The model's window in tokens."""
        return self.agent.provider.window.tokens

    @property
    def budget(self) -> budget.Budget:
        """The tokens of the next request, without a new query."""
        frame = self.frame
        context = self.context
        measured = self._measured
        if measured is None or measured[0] is not frame or measured[1] is not context:
            used = request.measure(frame, self.sent_context)
            measured = self._measured = frame, context, used
        return measured[2]

    @property
    def fallback_text(self) -> str:
        """The sentence that says what happens instead if a resume fails."""
        if self.live.is_empty:
            return "Starting fresh."
        return "Staying in this session."

    # Asking

    async def files(self, typed: str, pictures: Sequence[Picture] = ()) -> tuple[QueryFile, ...]:
        """Read the files that a query names with `@`, and add the `pictures` that have no file.
        Raises UsageError if one cannot be sent.
        """
        files = await in_daemon_thread(read_files, typed, pictures)  # an exit waits for no PDF
        attachments.check(files, self.agent, self.count)
        return files

    async def ask(self, text: str, files: Sequence[QueryFile] = ()) -> Reply:
        """Save the query and its files, ask, and save the reply as it arrives. Compact if the
        context is full, and ask again if it is the server that says so. Raises ProviderError,
        CancelledError or ContextFull after saving.
        """
        sizes = (budget.entry_size(file.attachment, self.count) for file in files)
        waiting = budget.size(text, self.count) + sum(sizes)
        with self._asides.waiting():
            try:
                return await self._ask(text, files, waiting)
            except ContextTooLong as error:
                last = self.session.exchanges[-1]
                # Otherwise its tools would do the same work twice.
                untouched = not last.uses and not (last.reply and last.reply.text)
                may_compact = self.options.limits.enabled and untouched
                if not (may_compact and await self._shrink(waiting)):
                    raise
                hint = "The conversation was compacted, and the message is sent again."
                self._warn(error.message, hint)
                return await self._ask(text, files, waiting)

    async def _ask(self, text: str, files: Sequence[QueryFile], waiting: int) -> Reply:
        """Ask once. The query and its files take `waiting` tokens."""
        cancellation: asyncio.CancelledError | None = None
        encoding = self.count(request.SAMPLE)
        try:
            await self._make_room(waiting)
        except asyncio.CancelledError as error:
            cancellation = error
        number = self.live.next_number
        now = self.sessions.now
        self.add(Query(number=number, at=now(), text=text))
        try:
            self._save_files(files, number)
            if cancellation is not None:
                self.add(Reply(number=number, at=now(), text="", stop="interrupted"))
                raise cancellation
            first = await self._request(number, text, encoding)
        except (ChatLoopError, OSError):
            self.add(Reply(number=number, at=now(), text="", stop="error", failed=True))
            raise

        async def prompts(step: int, refusal: ContextTooLong | None) -> Prompt:
            if step > 1:
                return await self._next_prompt(refusal)
            if refusal is None:
                return first
            may_compact = self.options.limits.enabled and len(self.context.unsummarized) > 1
            if may_compact or not await self._squeeze():
                raise refusal
            return self._prompt()

        try:
            reply = await self._answer(self.agent, number, prompts)
        finally:
            await self._compact_as_viewed()
        await self._watch()
        return reply

    def _save_files(self, files: Sequence[QueryFile], number: int) -> None:
        """Add the files to query `number`. Images are saved beside the sessions; of a file that is
        left out, only the name is saved.
        """
        for file in files:
            at = self.sessions.now()
            if file.left_out:
                self.add(
                    LeftOut(number=number, at=at, text=file.attachment.name, reason=file.left_out)
                )
                continue
            if problem := attachments.keep_image(self.sessions.images, file):
                self._warn(problem, "It is sent now, and may be missing later.")
            self.add(replace(file.attachment, number=number, at=at))
        described = tuple(file.description for file in files if not file.left_out)
        if described:
            self.show(Attached(described))

    async def _request(self, number: int, text: str, encoding: int) -> Prompt:
        """Return the prompt for a saved query. Raises ContextFull. Room was made by the counts of
        `encoding`: if the exact one has been loaded since, there may be too little.
        """
        await self._recall(number, text)
        if self._servers is not None and self.agent.provider.calls_tools:
            await self._connect(self._servers)
        if not self._truncation_shown and (
            left_out := request.left_out_text(self.frame, self.context)
        ):
            self._truncation_shown = True
            self._warn(left_out, "They are saved; compact summarizes them.")
        await self._squeeze()
        try:
            return self._prompt()
        except ContextFull:
            if self.count(request.SAMPLE) == encoding:
                raise
        return await self._next_prompt(None)

    async def _next_prompt(self, refusal: ContextTooLong | None) -> Prompt:
        """Return the prompt of the next step of a turn. Make room for it first: shorten older
        results, then summarize older exchanges, then shorten this one. Raises ContextFull or the
        `refusal`.
        """
        if refusal is None:  # the step before has just been reported
            await self._calibrate()
        frame = self.frame
        limit = frame.trigger if frame.limits.enabled else frame.room
        if refusal is not None or self.budget.used >= limit:
            used = max(self.budget.used, limit)
            has_room = await self._shorten(used)
            if not has_room or self.budget.used >= limit:
                has_room = await self._view_compacted(used) or has_room
            has_room = await self._squeeze() or has_room
            if refusal is not None and not has_room:
                raise refusal
        return self._prompt()

    def _prompt(self) -> Prompt:
        """Return the prompt of the present context, with its images. Raises ContextFull."""
        frame = self.frame
        used = self.budget.used
        messages = self._with_images(request.build(frame, self.sent_context, used))
        # older results and exchanges give way to new results
        room = max(frame.room - used, frame.room // 3)
        return Prompt(messages, used, room, self.agent.tools)

    def _with_images(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return messages with the data of their images; warn once of those that are missing."""
        if not any(message.images for message in messages):
            return messages
        store = self.sessions.images
        messages, problems = attachments.with_images(
            messages,
            lambda image: b64encode(store.data(image.file)).decode(),
            self.agent.provider.takes_images,
        )
        for problem in problems:
            if problem not in self._lost_images:
                self._warn(problem)
        self._lost_images.update(problems)
        return messages

    @property
    def recalls(self) -> bool:
        """True if archive passages are attached to queries, for a model that calls no tools."""
        # without saving there is no archive, and nothing may be indexed
        saves = self.sessions.saves
        return saves and self.options.attach_from_archive and not self.agent.calls_tools

    def recalled_for(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return passages of the archive that match a query, and their references. Blocks while the
        archive is read.
        """
        if self.archive is None or self.session.restoration is None:
            return "", ()
        from chat_loop.context.ledger import newer_values  # late: it takes long to load

        return self.archive.recall(
            text,
            self.context.unsought_refs,
            budget.recall_room(self.window),
            self.session.block,
            weak=self.window <= budget.SMALL_WINDOW,
            newer=newer_values,
        )

    async def _recall(self, number: int, text: str) -> None:
        """Attach passages of the archive that match a query, for a model that cannot search it."""
        if self.archive is None or not self.recalls:
            return  # at once: in a wait, a Ctrl-C that was meant for the prompt stops the request
        excerpts, refs = await asyncio.to_thread(self.recalled_for, text)
        if excerpts:
            self.add(
                ArchiveContext(number=number, at=self.sessions.now(), text=redact_text(excerpts))
            )
            self.show(Recalled(refs))

    async def _connect(self, servers: McpServers) -> None:
        """Give the agent the servers' current tools; wait for servers that are still connecting."""
        pending: list[str] = []

        def waiting(names: tuple[str, ...]) -> None:
            pending.extend(names)
            self.show(Connecting(names))

        reserved = {*(tool.spec.name for tool in self._own.tools), *archive_tools.TOOLS}
        # characters of all schemas; in a small window, half a character per token
        limit = min(100_000, self.window // 2)
        self.offer_tools(await servers.tools(reserved, limit, waiting))
        if pending:
            self.show(Connecting(()))
        for message, hint in servers.notices():
            self._warn(message, hint)

    def offer_tools(self, tools: Sequence[Tool]) -> None:
        """Offer the servers' tools along with the agent's own and the archive's."""
        self._server_tools = tuple(tools)
        all_tools = (*self._own.tools, *self._server_tools, *self._archive_tools)
        self.agent = replace(self.agent, tools=all_tools)

    async def _answer(
        self, agent: ModelAgent, number: int, prompts: Prompts, limit: int | None = None
    ) -> Reply:
        """Stream one reply of at most `limit` tokens into the file. Raises as `Turn.run` does."""

        def estimate(text: str) -> Usage:
            return Usage(input=self.budget.used, output=self.count(text), estimated=True)

        try:
            turn = Turn(self.live, number, self.sessions.now(), agent, estimate)
            reply = await turn.run(prompts, self.recorder.show, limit, self._settle_reply)
        finally:
            self.recorder.report()
        return reply

    async def _settle_reply(self) -> None:
        """Do what is left before the end of a reply is shown, since the prompt comes at once."""
        if self._settle is not None:
            await self._settle()
        await self._calibrate()

    async def _calibrate(self) -> None:
        """Compare our counts with the report that has just arrived, if there is one."""
        if budget.last_report(self.session, self.count) is None:
            return
        counted = asyncio.to_thread(request.calibrated, self.frame, self.context)
        self._calibration = await run_to_completion(counted)

    @property
    def acknowledges(self) -> bool:
        """True if the model is asked to confirm a restored context. An embedded one is too slow."""
        return self.options.acknowledge and self.agent.provider.name != "local"

    async def acknowledge(self) -> None:
        """Have the agent confirm the restored context. If that fails, continue without it."""
        context = self.context
        restoration = self.session.restoration
        if not self.acknowledges or restoration is None:
            return
        if not (self.session.block or context.exchanges):
            return
        limits = self.agent.limits
        attempts = min(2, limits.attempts)
        limits = replace(limits, attempts=attempts, max_retry_after=5.0, confirm=None)
        agent = replace(self.agent, limits=limits)
        frame = self.frame
        task = Message("user", prompt("acknowledge.txt"))
        messages = request.message_list(frame, context, [task])
        limit: int | None = min(2048, self.window // 8)  # a small model may not stop
        if agent.parameters.effort not in ("", "off", USUAL_EFFORT):
            limit = None  # it would count what is thought, too
        asked = Prompt(self._with_images(messages), self.budget.used)

        try:
            with self._asides.waiting():
                await self._answer(agent, 0, only(asked), limit)
        except ProviderError as error:
            text = f"The acknowledgment failed: {error.message}"
            self._warn(text, "The context is restored anyway.")
        except asyncio.CancelledError:
            uncancel()

    async def beside(self, question: str) -> AsideReply:
        """Ask a question with all that is in the context, also during a reply. It is kept in the
        file, and no later request has it. Raises ProviderError, ContextFull, UsageError, and
        CancelledError after keeping what arrived.
        """
        agent = self.agent
        if agent.own_tools:
            text = f"{agent.name} has tools of its own, and may act on what it is asked."
            raise UsageError(text, "/btw needs a model: /model shows them.")
        used = self.budget.used + budget.size(question, self.count) + ASIDE_TOKENS
        messages = request.beside(
            self.frame, self.sent_context, used, self.live.reply_text, question
        )
        limits = replace(agent.limits, confirm=None)  # a question would meet what is typed
        at = self.sessions.now()
        agent = replace(agent, limits=limits)
        answered = await side_question.answer(
            agent, Prompt(self._with_images(messages), used), at, self.count
        )
        if answered.is_kept:
            self._asides.keep(Aside(at=at, text=question), answered.reply)
        if answered.failure is not None:
            raise answered.failure
        return answered.reply

    # Settings and notes

    async def switch(self, provider: Provider) -> None:
        """Switch models from the next query on. An external agent's own tools are dropped."""
        await self.background.cancel()  # it may be asking the old model
        await self._use(provider)
        parameters = self._parameters_after(self.session)  # which names the old model
        answering = self.agent.answering
        if self.live.is_empty:  # its header is not written yet
            self.live.change_header(model=answering.model, endpoint=answering.endpoint)
        else:
            self.add(
                ModelChange(
                    at=self.sessions.now(),
                    text=answering.model,
                    endpoint=marker.safe_value(answering.endpoint),
                )
            )
        self._take(parameters)

    def ask_with_effort(self, effort: str) -> None:
        """Ask every model with this effort from now on."""
        self._given = {**self._given, EFFORT: effort}
        self._take(replace(self.agent.parameters, effort=effort))

    def ask_as_configured(self) -> None:
        """Ask the model as the config says from now on, whatever the session has kept."""
        self._take(parameters_for(self.agent.model, self._configured.config, self._given))

    def _take(self, parameters: Parameters) -> None:
        """Ask with these parameters from now on, and record those that have changed."""
        before = self.agent.parameters
        self.agent = replace(self.agent, parameters=parameters)
        if self.live.is_empty:  # its header is not written yet
            sampling = sampling_text(parameters)
            self.live.change_header(effort=parameters.effort, sampling=sampling)
            return
        for name, value in changed_settings(before, parameters).items():
            self.add(Setting(at=self.sessions.now(), text=f"{name}: {value}"))

    async def _use(self, provider: Provider) -> None:
        """Have another model answer from now on."""
        before = self.agent.provider
        if provider is before:
            return
        self.agent = replace(self.agent, provider=provider, own_tools=False)
        self._calibration = Calibration()  # the old model counted differently
        await before.close()

    def configure(self, options: Options) -> None:
        """Use other options from now on, except for the settings that the session keeps."""
        self._configured = options
        self.options = options.with_settings(self.session.settings)

    def keep_setting(self, name: str, value: str) -> None:
        """Keep a setting in the session and its children; an empty value removes it."""
        setting = Setting(at=self.sessions.now(), text=f"{name}: {value}")
        is_begun = self.live.header.parent or not self.live.is_empty
        (self.add if is_begun else self.live.defer)(setting)
        self.configure(self._configured)

    def remember(self) -> None:
        """Give the agent the current memory, from the next request on."""
        self.agent = replace(self.agent, memory=self._memory())

    def add(self, entry: Entry) -> None:
        """Append an entry and report whether it was saved."""
        self.recorder.add(entry)

    def _warn(self, message: str, hint: str = "") -> None:
        self.show(Warned(message, hint))

    def pin(self, text: str) -> None:
        """Keep `text` in every later summary block of the chain, word for word."""
        self.add(Pin(at=self.sessions.now(), text=text))

    def unpin(self, text: str) -> None:
        """Remove a pin from later summary blocks."""
        self.add(Unpin(at=self.sessions.now(), text=text))

    def describe(self, *, name: str | None = None, tags: tuple[str, ...] | None = None) -> None:
        """Set the name of the conversation, its tags, or both. An empty name restores the automatic
        one.
        """
        if self.live.is_empty and not self.live.header.parent:  # its header is not written yet
            if name is not None:
                self.live.change_header(name=name)
            if tags is not None:
                self.live.change_header(tags=tags)
        for note in self.session.metadata_notes(self.sessions.now(), name, tags):
            self.add(note)

    async def undo(self, exchange: Exchange) -> None:
        """Take an exchange out of the context. It stays in its file."""
        kept = [each for each in self.context.carried if each.key != exchange.key]
        await self._change(exchange, Undo, kept)

    async def redo(self, exchange: Exchange) -> None:
        """Bring back an exchange that was undone."""
        carried = sorted((*self.context.carried, exchange), key=lambda each: place_of_ref(each.ref))
        await self._change(exchange, Redo, carried)

    async def _change(
        self,
        exchange: Exchange,
        record: type[UndoEntry],
        carried: Sequence[Exchange],
    ) -> None:
        """Record that an exchange was undone or came back. If it is of an ancestor, carry these."""
        await self.background.cancel_own()
        at = self.sessions.now()
        if exchange.session == self.session.id:
            self.add(record(number=exchange.number, at=at))
            return
        self._context = replace(self.context, carried=tuple(carried))
        self.add(record(number=0, at=at, ref=exchange.ref, session=exchange.session))

    # Compaction

    def _writer(self, provider: Provider | None = None) -> Writer:
        """Return the writer of the summaries of a conversation in which this model answers."""
        own = provider or self.agent.provider
        return summarizer.writer_of(self.options, own, self.agent.limits, self.count)

    def _cost(self, model: str, usage: Usage) -> float | None:
        """Return the price of a usage in US dollars, by the present options."""
        return self.options.cost(model, usage)

    async def _narrate_quietly(self, context: Context, span: Sequence[Exchange]) -> Narration:
        """Have the models summarize a span in the background."""
        writer = self._writer().without_questions()
        return await summarizer.narrate(context, span, writer, lambda event: None)

    async def narrate(
        self,
        context: Context,
        span: Sequence[Exchange],
        focus: str = "",
        fallback: str = "",
        *,
        optional: bool = False,
        announce: Announce | None = None,
        provider: Provider | None = None,
    ) -> Narration:
        """Have the models summarize what is not prepared of a span, and report how that ended."""
        prepared = Narration() if focus else self.background.prepared(span)
        await self.background.cancel()
        writer = self._writer(provider).asked(optional=optional, announce=announce)
        narration = await summarizer.complete(
            prepared, context, span, writer, self.show, focus=focus, fallback=fallback
        )
        if not narration.problem:
            self.background.record_success()
        return narration

    async def _make_room(self, waiting: int) -> None:
        """Compact without a model if the next request, with `waiting` new tokens, is at a limit."""
        own = self.agent.provider
        writer = self.options.summarizer_for(own.name) or own
        if writer.name == own.name in ("local", "python") and self.background.state == MAKING:
            await self.background.cancel()
        frame = self.frame
        context = self.context
        if not frame.limits.enabled:
            return
        waiting = min(waiting, frame.room // 2)  # a longer query is shortened
        used = self.budget.used + waiting
        pressure = compaction.pressure_of(frame, context, used)
        if pressure.share < 1 or (used < self._not_below and not pressure.is_full):
            return
        if await self._shorten(used):
            frame = self.frame
            context = self.context
            used = self.budget.used + waiting
            if compaction.pressure_of(frame, context, used).share < 1:
                return
        await self.background.until_read()
        plan = await asyncio.to_thread(compaction.cut, frame, context, used)
        if not plan.compact:
            return
        draft = await self._draft_without_model(plan, used, waiting)
        if draft.compaction.after >= used and not pressure.is_full:
            self._not_below = used * GROWTH
        else:
            await self._compact(draft)

    async def _shorten(self, used: int) -> bool:
        """Shorten older results in a context of `used` tokens. Return False if there are none."""
        cuts = await asyncio.to_thread(request.fit, self.frame, self.context, used)
        if not cuts:
            return False
        self._record_shortened(cuts)
        text = f"{plural(len(cuts), 'older result')} of tools shortened, to make room."
        self._warn(text, "The model can read them again; /show has them whole.")
        return True

    def _record_shortened(self, cuts: Mapping[ExchangePart, int]) -> None:
        for entry in child_plan.shortened_entries(
            self.context.exchanges, cuts, self.sessions.now()
        ):
            self.add(entry)
        self._offer_archive()

    async def _squeeze(self) -> bool:
        """As a last resort, shorten the newest exchange, which does not fit by itself. Return False
        if it fits or cannot become shorter.
        """
        names: set[str] = set()
        for _ in range(3):  # the tools of the archive, and their encoding, change the size
            frame = self.frame
            context = self.sent_context
            used = self.budget.used
            if not request.excess(frame, context, used):
                break
            cuts = await asyncio.to_thread(request.squeezed, frame, context, used)
            if not cuts:
                break
            self._record_shortened(cuts)
            names |= {SQUEEZED[each.part] for each in cuts}
        if not names:
            return False
        text = f"The window of {window_text(self.window, False)} is too small for all of it: "
        text += f"{' and '.join(sorted(names))} {'were' if len(names) > 1 else 'was'} shortened."
        self._warn(text, "The file has all of it, and /show shows it.")
        return True

    async def _view_compacted(self, used: int) -> bool:
        """Send the rest of this turn as if its older exchanges were compacted, without a model.
        Return False if there is nothing to compact.
        """
        if self._view is not None or not self.options.limits.enabled:
            return False
        context = self.context
        plan = await asyncio.to_thread(compaction.cut, self.frame, context, used)
        plan = compaction.with_turn(plan, context)
        if not plan.compact:
            return False
        self._view = await self._draft_without_model(plan, used, 0)
        self._measured = None
        return True

    async def _compact_as_viewed(self) -> None:
        """Carry out the compaction that a turn has been sent with."""
        if self._view is not None:
            draft = compaction.after_turn(self._view, self.context)
            self._view = None
            self._measured = None
            await self._compact(draft)

    async def _shrink(self, waiting: int) -> bool:
        """Undo the newest query, which a server refused as too long, and compact the exchanges
        before it. If there are none or the seal cannot be saved, keep the query and return False.
        """
        live = self.live
        last = self.session.exchanges[-1]
        used = self.budget.used
        if self.session.covered is None and all(
            exchange.ref == last.ref for exchange in self.context.unsummarized
        ):
            return False
        number = last.number
        new_number = live.next_number
        entries = [
            entry
            for entry in live.session.entries
            if isinstance(entry, QueryEntry) and entry.number == number
        ]
        self.add(Undo(number=number, at=self.sessions.now()))
        try:
            plan = await asyncio.to_thread(compaction.cut, self.frame, self.context)
            plan = replace(plan, reason="The server said that the conversation is too long")
            draft = await self._draft_without_model(plan, used, waiting)
            return await self._compact(draft)
        finally:
            if self.live is live:  # the query stays; an undo cannot be taken back
                for entry in entries:
                    self.add(replace(entry, number=new_number))

    async def _watch(self) -> None:
        """After a reply, begin the summary for the next compaction if that is near."""
        frame = self.frame
        context = self.context
        if not (frame.limits.enabled and self._prepares):
            return
        used = self.budget.used
        share = compaction.pressure_of(frame, context, used).share
        near = share >= budget.EARLY and used >= self._not_below
        if near:
            self.background.read_ahead(context)
        if near and self.options.use_ai_summary and self.background.state != MAKING:
            ahead = max(1, int(used / share - used))
            plan = await asyncio.to_thread(compaction.cut, frame, context, used, ahead)
            await self._prepare(context, len(context.unsummarized_of(plan.compact)))

    async def prepare_exit(self) -> None:
        """Begin the summary for the exit, unless little is new or a compaction is near."""
        frame = self.frame
        context = self.context
        near = self.budget.used >= budget.EARLY * frame.trigger
        is_compacted = near and frame.limits.enabled
        is_making = self.background.state == MAKING
        if not (self.on_exit == "later" or is_making or is_compacted):
            await self._prepare(context, len(context.unsummarized), idle=True)

    async def _prepare(self, context: Context, end: int, *, idle: bool = False) -> None:
        """Begin the summary of the first `end` unsummarized exchanges if enough is new, or continue
        it.
        """
        done = len(self.background.prepared(context.unsummarized).covered)
        tokens = await asyncio.to_thread(
            compaction.tokens_of, self.frame, context.unsummarized[done:end]
        )
        is_enough = tokens >= PREPARED_TOKENS or (end and not done and not idle)
        if is_enough and self.background.may_begin:
            self.background.begin(context, end, idle=idle)

    async def draft(
        self,
        focus: str = "",
        announce: Announce | None = None,
        keep_from: Exchange | None = None,
    ) -> Draft:
        """Draft a requested compaction, of everything before `keep_from` if that is given.
        `announce` gets the model and the maximum usage of the summary before it is asked. Raises
        UsageError if there is nothing to compact.
        """
        context = self.context
        if not context.unsummarized and self.session.covered is None:
            raise UsageError("There is nothing to compact yet.", "Send a message first.")
        used = self.budget.used
        plan = await asyncio.to_thread(compaction.cut, self.frame, context)
        if keep_from is not None:
            plan = compaction.cut_before(plan, context, keep_from)
        span = context.unsummarized_of(plan.compact)
        narration = Narration()
        if span and self.options.use_ai_summary:
            narration = await self.narrate(context, span, focus, announce=announce)
        return await self._draft(plan, narration, used, acknowledged=True)

    async def _draft(
        self,
        plan: Plan,
        narration: Narration,
        used: int,
        waiting: int = 0,
        *,
        acknowledged: bool = False,
    ) -> Draft:
        """Draft a compaction in a worker thread, by exact counts if there is an encoding."""
        if self._load_encoding is not None:
            before = self.count(request.SAMPLE)
            await run_to_completion(asyncio.to_thread(self._load_encoding))
            if self.count(request.SAMPLE) != before:
                await self._calibrate()
        drafted = asyncio.to_thread(
            compaction.draft,
            self.frame,
            self.context,
            self.live.path,
            plan,
            narration,
            self.options.cost,
            used=used,
            waiting=waiting,
            acknowledged=acknowledged and self.acknowledges,
        )
        return await run_to_completion(drafted)

    async def _draft_without_model(self, plan: Plan, used: int, waiting: int) -> Draft:
        """Draft a compaction with the prepared narration, or without one until it arrives."""
        ready = self.background.prepared(self.context.unsummarized)
        plan = compaction.widened(plan, self.context, ready)
        return await self._draft(plan, ready, used, waiting)

    def edited(self, draft: Draft, summary: Summary) -> Draft:
        """Return a requested draft with the block that the user edited."""
        return compaction.edited(
            self.frame,
            self.context,
            self.live.path,
            draft,
            summary,
            acknowledged=self.acknowledges,
        )

    async def compact(self, focus: str = "") -> bool:
        """Seal this session with a summary and continue in a child."""
        return await self.take(await self.draft(focus))

    async def take(self, draft: Draft, *, acknowledge: bool = True) -> bool:
        """Carry out a draft. Return False, and change nothing, if it cannot be saved."""
        acknowledged = acknowledge and self.acknowledges and not draft.narration.problem
        applied = await self._compact(draft, acknowledged=acknowledged)
        if applied and acknowledged:
            await self.acknowledge()
        return applied

    async def _compact(self, draft: Draft, *, acknowledged: bool = False) -> bool:
        """Seal the session as drafted and begin its child. Return False if it cannot be saved."""
        context = self.context
        seal = compaction.seal_of(draft, context.session, self.sessions.now())
        deliver = None
        if seal.source == "extracted":
            deliver = partial(continuing.add_delayed, self.sessions, self.frame, context, draft)
        leaving = Leaving(
            seal=seal,
            reason="compact" if draft.compaction.why == "asked" else "automatic",
            refusal="Not compacted: the conversation continues with all its words.",
            deliver=deliver,
            is_new=False,
            compacted=draft,
            acknowledged=acknowledged,
        )
        try:
            await self.continue_in(
                compaction.compacted_child(draft, context, self.live.path, seal), leaving
            )
        except SaveError as error:
            self._warn(error.message, error.hint)
            return False
        return True

    def _receive(self, delayed: DelayedBlock) -> str:
        """Use a block that the parent got after this session was planned: restore it, or if the
        session has begun its file, base the next block on it. Return `restored` or `late`, or an
        empty text if it is not of this session's parent.
        """
        if self.live.header.parent != delayed.parent:
            return ""
        if self.live.is_empty:
            self.live.change_restoration(summary_block.render(delayed.summary))
            return "restored"
        self._context = replace(self.context, delayed_block=delayed.summary)
        return "late"

    # Continuing

    def planning(
        self, session: Session | None = None, provider: Provider | None = None
    ) -> Planning:
        """Return what the planning of a child needs: of a stored session if it is named, and with
        another model if one is to answer.
        """
        agent = self._agent_in(session or self.session)
        calibration = self._calibration
        if provider is not None and provider is not agent.provider:
            agent = replace(agent, provider=provider, own_tools=False)
            calibration = Calibration()
        frame = self.frame
        if agent != self.agent:
            frame = request.frame_of(agent, self.options.limits, self._steady(), calibration)
        return Planning(
            sessions=self.sessions,
            frame=frame,
            options=self._configured,
            answering=agent.answering,
            acknowledges=self._configured.acknowledge and agent.provider.name != "local",
            narrate=partial(self.narrate, provider=agent.provider),
            report=self.show,
            fallback=self.fallback_text,
        )

    def summarize_missing(self, missing: Missing) -> bool:
        """Begin the missing summary of the session that was resumed, in the background. It goes
        into that session's file and, if it arrives in time, into this one. Return False if no
        summary is begun.
        """
        if not (self.options.use_ai_summary and self.sessions.saves):
            return False
        try:
            lock = self.sessions.lock_summary(missing.loaded.session.id)
        except (SessionLocked, OSError):
            return False
        deliver = partial(continuing.deliver_missing, self.sessions, self.frame, missing)
        self.background.begin_delayed(missing.context, deliver, lock)
        return True

    async def accept(
        self, plan: ChildPlan, *, acknowledge: bool = True, is_branch: bool = False
    ) -> None:
        """End this session and begin the planned child. Raises SaveError if it cannot be saved."""
        leaving = await self._leaving("resume")
        await self.continue_in(plan, replace(leaving, is_branch=is_branch))
        if acknowledge:
            await self.acknowledge()

    async def leave(self, reason: SealReason) -> None:
        """End this session without a model call and start a fresh one. Raises SaveError."""
        await self.continue_in(None, await self._leaving(reason))

    async def _leaving(self, reason: SealReason) -> Leaving:
        """Return how this session is left for another one, without a model call."""
        seal = None
        if not self.live.is_empty:
            seal = await self._prepared_seal(reason) or await self._seal_without_model(reason)
        return Leaving(seal=seal, reason=reason, must_save=reason != "exit")

    async def continue_in(self, plan: ChildPlan | None, leaving: Leaving) -> None:
        """Leave the live session and begin the planned child, or a fresh session for None. Raises
        StalePlan, and SaveError if the session must be saved and cannot be.
        """
        if plan is not None and plan.basis not in (None, basis_of(self.session)):
            raise StalePlan("The conversation has gone on since.", "Try again.")
        with self._asides.waiting():
            await run_to_completion(self._swap(plan, leaving))

    async def _swap(self, plan: ChildPlan | None, leaving: Leaving) -> None:
        old_id = self.session.id
        if not leaving.is_new:
            await self.background.cancel_delayed()
        if leaving.seal is not None:
            try:
                await self._seal(leaving.seal, leaving.reason, must_save=leaving.must_save)
            except SaveError as error:
                hint = f"{leaving.refusal} {error.hint}"
                raise SaveError(error.message, hint) from error
        self.live.close()
        spending = self.agent.limits.spending
        if leaving.is_new:
            await self.background.cancel()
            self.earlier_usage.clear()
            if spending is not None:
                spending.begin_session()
        else:
            deliver = leaving.deliver
            self.background.hand_over(deliver and partial(deliver, self.live.path))
            self.earlier_usage += self.session.usage_of_models.items()
        if plan is None:
            self._archive_tools = ()
            self.offer_tools(self._server_tools)
            self.remember()
            self._start()
        else:
            plan = plan.with_parent(old_id, self.live.header, self.live.path)
            if plan.provider is not None:
                await self._use(plan.provider)
            self._begin_child(plan, leaving)

    def _begin_child(self, plan: ChildPlan, leaving: Leaving) -> None:
        """Begin the planned child. Its first record, or a merge at once, creates its file."""
        # only once per session, so that a provider's cache of its beginning stays valid
        self.remember()
        agent = self.agent
        live, entries = plan.begin(
            self.sessions,
            agent=agent.name,
            agent_path=agent.path,
            answering=agent.answering,
            tools=self._tool_names,
        )
        self._start(live, plan)
        if not plan.merged:
            for entry in entries:
                live.defer(entry)
        self._archive_tools = ()
        self.archive = self._new_archive()
        self.offer_tools(self._server_tools)
        if plan.omits:
            self._offer_archive()
        if leaving.compacted is not None:
            after = self.budget.used
            if leaving.acknowledged:
                after = request.with_acknowledgment(self.frame, self.context, after)
            self.show(compaction.event_of(leaving.compacted, after))
        if not leaving.is_branch:
            self.show(Restoring(plan.parent.header.id, leaving.reason))
        if plan.merged:
            for entry in entries:
                self.add(entry)

    def _new_archive(self) -> Archive:
        from chat_loop.library.archive import Archive  # late: it loads the index

        return Archive(
            self.sessions,
            self.session,
            current=lambda: self.live.session,
            count=self.count,
            semantic=self.options.semantic,
        )

    def _offer_archive(self) -> None:
        """Offer the tools that read the archive, from the first request on that lacks something."""
        if self._archive_tools:
            return
        archive = self.archive = self.archive or self._new_archive()
        if not self.frame.calls_tools:
            return

        async def run(name: str, arguments: Mapping[str, str]) -> str:
            refs = self.context.unsought_refs
            room = budget.archive_room(self.window)
            text = await asyncio.to_thread(archive.call, name, arguments, refs, room)
            return redact_text(text)  # it is recorded in another session's file

        tools = []
        for name, spec in archive_tools.TOOLS.items():
            tool = Tool(spec, partial(run, name), source=lambda _: TextSource("the archive"))
            tools.append(tool)
        self._archive_tools = tuple(tools)
        self.offer_tools(self._server_tools)

    # Ending

    async def _seal(self, seal: Seal, reason: str, *, must_save: bool) -> None:
        """Seal, close and report the live session. Raises SaveError if it must be saved. Else only
        warn, and keep a session open whose words are not all on disk.
        """
        error = await self.recorder.seal(seal)
        summary = seal.source
        if error is not None:
            if must_save:
                raise error
            summary = "none"
            later = f" {self._when_resumed}"
            if self.live.problem is not None:
                later = ""
            self._warn(error.message, error.hint.replace(TRIED_AGAIN, ".") + later)
        self.recorder.close(reason, summary)

    async def _prepared_seal(self, reason: SealReason) -> Seal | None:
        """Return a seal with the summary that is ready, or None if it covers too little."""
        context = self.context
        ready = self.background.prepared(context.unsummarized)
        if ready.narrative is None:
            return None
        at = self.sessions.now()
        return await asyncio.to_thread(ending.prepared_seal, self.frame, context, ready, at, reason)

    async def _seal_without_model(self, reason: SealReason) -> Seal:
        """Return a seal that costs nothing."""
        return await asyncio.to_thread(
            ending.seal_without_model,
            self.frame,
            self.context,
            self.sessions.now(),
            reason,
            uses_model=self.options.use_ai_summary,
        )

    @property
    def on_exit(self) -> str:
        """When to make the summary of a session that ends: `wait`, `background` or `later`."""
        return ending.when_summarized(self.options, self.agent, self.budget.used)

    @property
    def _when_resumed(self) -> str:
        """The sentence that says what a resume brings without a summary."""
        return ending.when_resumed(self.frame, self.context, self.options.config.resume.mode)

    async def _exit_seal(self) -> Seal | None:
        """Return the seal for the exit, or None if another process must make the summary."""
        frame = self.frame
        context = self.context
        mode = self.on_exit
        unsummarized = context.unsummarized
        fallback = self._when_resumed
        new = unsummarized
        if fallback == ending.VERBATIM_ON_RESUME:  # those that are carried come back as they are
            new = self.session.exchanges
        answered = any(exchange.reply and exchange.reply.text.strip() for exchange in new)
        if mode == "later" or not answered:
            return await self._seal_without_model("exit")
        has_deadline = mode == "background" and self._detach is not None
        try:
            async with asyncio.timeout(ending.EXIT_SECONDS if has_deadline else None):
                if has_deadline and self.background.state in (MAKING, "ready"):
                    self.show(SummaryStarted(parts=1, optional=True))
                    await self.background.wait()
                    if seal := await self._prepared_seal("exit"):
                        self.show(
                            SummaryEnded(source="model", usage=seal.usage, seconds=seal.seconds)
                        )
                        return seal
                if has_deadline and not await asyncio.to_thread(ending.is_quick, frame, context):
                    return None
                narration = await self.narrate(
                    context, unsummarized, fallback=fallback, optional=True
                )
        except TimeoutError:
            return None
        return await asyncio.to_thread(
            ending.narrated_seal, frame, context, narration, self.sessions.now()
        )

    async def end(self) -> None:
        """Seal the session with its summary. Leave one that takes long to another process."""
        if self.live.is_empty:
            await self.background.cancel()
            return
        seal = Seal(at=self.sessions.now(), reason="exit")
        detach = None
        try:
            if ready := await self._exit_seal():
                seal = ready
            else:
                detach = self._detach
                self.show(SummaryEnded(source="background"))
        except asyncio.CancelledError:
            uncancel()
            problem = f"Summary skipped. {self._when_resumed}"
            self.show(SummaryEnded(source="none", problem=problem))
        await self.background.cancel()
        await run_to_completion(self._seal(seal, "exit", must_save=False))
        if detach is not None and self.live.is_sealed:
            try:
                with contextlib.suppress(SessionLocked):  # another process is making it
                    detach(self.session.id)
            except OSError as error:
                text = f"Can't start a process for the summary: {os_reason(error)}."
                self._warn(text, self._when_resumed)

    def close(self) -> None:
        """Release the live session's file and lock, sealed or not."""
        self.live.close()
        self.recorder.report()
