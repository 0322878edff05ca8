"""Conversation: the live end of a chain. It asks, saves, compacts, goes on from stored sessions and
ends; everything that happens is told to `show` as an event.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.context.budget import (
    MEMORY,
    SYSTEM,
    TOOLS,
    Budget,
    Count,
    entry_size,
    reported,
    room,
    size,
    tools_size,
    trigger,
    truncated,
    weigh,
)
from chat_loop.context.messages import (
    Thread,
    block_room,
    fitted,
    messages_of,
    pieces,
    shortened_block,
    with_task,
)
from chat_loop.conversation.compaction import Compaction, May, Offer, to_its_end, uncancel
from chat_loop.conversation.options import Options
from chat_loop.conversation.turn import answer
from chat_loop.errors import (
    ContextFull,
    ContextTooLong,
    ProviderError,
    SaveError,
    SessionError,
    UsageError,
)
from chat_loop.events import (
    Connecting,
    Event,
    Recalled,
    Restoring,
    SessionBegun,
    SessionSealed,
    SummaryEnded,
    Warned,
)
from chat_loop.library import archive_tools
from chat_loop.providers import Provider
from chat_loop.redact import redacted
from chat_loop.sessions import summary_block
from chat_loop.sessions.live import LiveSession, save_error
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import (
    ArchiveContext,
    Entry,
    Exchange,
    ModelChange,
    Name,
    Pin,
    Query,
    QueryEntry,
    Reply,
    Restoration,
    Seal,
    SealReason,
    Session,
    Summary,
    Tag,
    Undo,
    Unpin,
    Untag,
)
from chat_loop.values import Message, ToolSpec, Usage
from chat_loop.wording import counted, window_text

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.agent.tools import Tool
    from chat_loop.attach.reading import QueryFile
    from chat_loop.context.proposal import Draft
    from chat_loop.conversation.resume import Offers
    from chat_loop.library.archive import Archive

MARGIN = 20
"""Tokens left free where sizes are added up whose parts are counted apart."""
LATER = "It will be made when you resume the session."


class Conversation:
    """The live session of a chain, and the agent that answers in it.

    `count(text)` estimates tokens, `memory()` reads the memory, `servers` are the MCP servers whose
    tools the agent has, if any.
    """

    def __init__(
        self,
        agent: Agent,
        sessions: SessionManager,
        *,
        count: Count,
        show: Callable[[Event], None],
        options: Options,
        memory: Callable[[], str] = str,
        servers: Servers | None = None,
    ) -> None:
        self.sessions = sessions
        self.options = options
        self.count = count
        self.show = show
        self.agent = replace(agent, memory=memory())
        self.archive: Archive | None = None
        """The sealed ancestors; None until there is one."""
        self.own_tools = agent.tools
        self._server_tools: tuple[Tool, ...] = ()
        self._archive_tools: tuple[Tool, ...] = ()
        self._servers = servers
        self._memory = memory
        self._ratio = 1.0
        """The server's tokens for one of ours, by the last report."""
        self._fixed = 0
        """Tokens of system prompt, memory and tools in the last reported request, by our count."""
        self._budget: tuple[tuple[object, ...], Budget] | None = None
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)
        self._told: set[str] = set()
        """What is told once: lost images, and that the limits leave words out."""
        self._shortened_told = 0
        self._start(self._fresh())
        self.compaction = Compaction(self)

    def _fresh(self) -> LiveSession:
        agent = self.agent
        return self.sessions.begin(agent=agent.name, agent_path=agent.path, model=agent.model)

    def _start(
        self,
        live: LiveSession,
        carried: tuple[Exchange, ...] = (),
        block_path: Path | None = None,
    ) -> None:
        """Go on in a session that begins, given `carried` words and the block at `block_path`."""
        self.live = live
        self._carried, self._block_path = carried, block_path
        self._edited: Summary | None = None
        """The parent's block as it is now, when it changed since this session began."""
        self._block_most: int | None = None
        """Tokens that the restored block may take, once a query has needed its room."""
        self._begun_told = self._problem_told = False

    # What stands in the context, and how much it is

    @property
    def session(self) -> Session:
        return self.live.session

    @property
    def thread(self) -> Thread:
        """The session, and what of its ancestors stands in the context."""
        return Thread(self.live.session, self._carried, self._edited)

    @property
    def window(self) -> int:
        """Tokens of the model's window."""
        return self.agent.provider.window.tokens

    @property
    def trigger(self) -> int:
        """The tokens from which on the context is compacted."""
        return trigger(self.window, self.options.limits)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the messages that the model would be sent now."""
        return messages_of(self._fit(self.thread)[0], tools=self.agent.provider.calls_tools)

    @property
    def otherwise(self) -> str:
        """A sentence for a resume that fails: how things go on."""
        return "Starting fresh." if self.live.empty else "This session goes on."

    def known(self) -> frozenset[str]:
        """Return the references of what stands in the context in its own words."""
        return frozenset(exchange.ref for exchange in self.thread.exchanges)

    def reread(self) -> Thread:
        """Return the thread with its parent's block as the user left it in its file."""
        path, given = self._block_path, self.session.restoration
        if path is not None and given is not None:
            with contextlib.suppress(SessionError):  # without the file the block counts as given
                seal = (self.sessions.load_ends(path) or self.sessions.load(path)).session.seal
                now = seal.summary if seal is not None else None
                if now is not None and summary_block.render(now) != given.block:
                    from chat_loop.context.ledger import said_by_hand  # not before it was edited

                    before = summary_block.parse(given.block)
                    self._edited = said_by_hand(now, before, self.session.depth - 1)
        return self.thread

    @property
    def left_out(self) -> int:
        """The number of exchanges that the limits leave out of the next request while nothing is
        compacted automatically.
        """
        thread = self.thread
        short = self._within_limits(thread)
        return 0 if short is thread else len(thread.exchanges) - len(short.exchanges)

    def _within_limits(self, thread: Thread) -> Thread:
        """Return the newest of a thread, within the limits that hold when nothing is compacted."""
        limits = self.options.limits
        if limits.enabled or not (limits.max_messages or limits.max_tokens):
            return thread
        kept = truncated(thread.exchanges, window=self.window, limits=limits, count=self.count)
        own = {exchange.query.number for exchange in kept if exchange.depth == thread.session.depth}
        entries = tuple(
            entry
            for entry in thread.session.entries
            if not isinstance(entry, QueryEntry) or entry.number in own or not entry.number
        )
        carried = tuple(exchange for exchange in thread.carried if exchange in kept)
        return replace(thread, carried=carried, session=replace(thread.session, entries=entries))

    def _fit(self, thread: Thread) -> tuple[Thread, int]:
        """Return a thread as it is sent, and how many of its texts are shortened for it."""
        window, count = self.window, self.count
        most = min(block_room(window), self._block_most or window)
        short = self._within_limits(thread)
        return fitted(short, window, count, lambda text: shortened_block(text, most, count))

    @property
    def budget(self) -> Budget:
        """The tokens of the next request, a new query apart: the number that is shown, and the one
        that triggers a compaction. Asked for with every key, it is kept until something changes.
        """
        agent = self.agent
        state = (
            *(self.live, len(self.session.entries), agent, self.window, self._edited),
            # a text that is counted otherwise once the encoding is loaded
            *(bool(agent.cut_results), self.count("0123456789"), self._block_most),
        )
        if self._budget is None or self._budget[0] != state:
            used = self._reported()
            estimated = used is None
            if used is None:
                used = round(sum(self.weights.values()) * self._ratio)
            self._budget = (state, Budget(used, agent.provider.window, estimated))
        return self._budget[1]

    @property
    def weights(self) -> dict[str, int]:
        """The estimated tokens of the parts of the next request."""
        return self._weigh(self.thread)

    def would_hold(
        self, block: str, words: Sequence[Exchange], *, acknowledged: bool = False
    ) -> int:
        """Return the tokens of a child's next request that is given `block` and `words`, a query
        apart. `acknowledged`: the agent confirms before it what it was given, where that is wanted.
        """
        used = self._reported()
        estimate = sum(self.weights.values()) if used is not None else 0
        if used is not None and estimate >= 1_000:  # below, what the wire adds weighs more
            self._ratio = min(2.0, max(0.5, used / estimate))
        session, at = self.session, self.sessions.now()
        given = Restoration(
            at=at,
            parent_created=at,
            queries=session.totals.queries,
            tokens=session.totals.combined,
            block=block,
            verbatim_from=words[0].ref if words else "",
        )
        confirmed: tuple[Reply, ...] = ()
        if acknowledged and block and self.options.acknowledge:
            confirmed = (Reply(number=0, at=at, text="-"),)
        header = replace(session.header, parent=session.header.id, parent_path=str(self.live.path))
        thread = Thread(Session(header=header, entries=(given, *confirmed)), tuple(words))
        specs: tuple[ToolSpec, ...] = ()
        if self.agent.provider.calls_tools:
            specs = (
                *(tool.spec for tool in (*self.own_tools, *self._server_tools)),
                *(ToolSpec(name, *described) for name, described in archive_tools.TOOLS.items()),
            )
        whole = sum(self._weigh(thread, specs).values())
        return round((whole + 80 * len(confirmed)) * self._ratio)  # a reply of a few sentences

    def _weigh(self, thread: Thread, specs: tuple[ToolSpec, ...] | None = None) -> dict[str, int]:
        agent = self.agent
        found = pieces(self._fit(thread)[0], tools=agent.provider.calls_tools)
        tools = self._tools_size(specs)
        return weigh(found, agent.system_prompt, agent.memory, tools, self.count)

    def _reported(self) -> int | None:
        """Return the next request's tokens by the last report; None when all is to be estimated."""
        used = None if self.left_out else reported(self.session, self.count, room(self.window) // 2)
        return None if used is None else used + self._fixed_size() - self._fixed

    def _fixed_size(self) -> int:
        return self.count(self.agent.system) + self._tools_size()

    def _tools_size(self, specs: tuple[ToolSpec, ...] | None = None) -> int:
        """Return the tokens of tools; None: of those that the model is told of now."""
        agent = self.agent
        if specs is None and agent.calls_tools:
            from chat_loop.agent.tools import READ_RESULT  # not before there are tools

            specs = (
                *(tool.spec for tool in agent.tools),
                *([READ_RESULT] if agent.cut_results else []),
            )
        specs = specs or ()
        if self._tools[0] != specs:
            self._tools = (specs, tools_size(specs, self.count))
        return self._tools[1]

    # Asking

    async def files(self, typed: str) -> tuple[QueryFile, ...]:
        """Read the files that what was typed names with `@`. Raises UsageError for one that cannot
        be sent.
        """
        from chat_loop.conversation.attachments import files_of  # not before a file is named

        return await files_of(self, typed)

    async def ask(self, text: str, files: Sequence[QueryFile] = ()) -> Reply:
        """Save the query and its files, ask, save the reply as it arrives. Raises ProviderError
        after saving what came.

        When the context is too full it is compacted first, without a model call; when a server says
        that it is, it is compacted and asked once more. Raises ContextFull, with the query saved,
        when the request cannot fit. When cancelled, the partial reply is saved as interrupted and
        CancelledError goes on.
        """
        waiting = size(text, self.count)
        waiting += sum(entry_size(file.attachment, self.count, self.window) for file in files)
        try:
            return await self._ask(text, files, waiting)
        except ContextTooLong as error:
            last = self.session.exchanges[-1]
            # What its tools did would be done twice.
            untouched = not last.uses and not (last.reply and last.reply.text)
            if not (
                self.options.limits.enabled and untouched and await self.compaction.shrink(waiting)
            ):
                raise
            hint = "The conversation was compacted for that; it is asked once more."
            self.show(Warned(error.message, hint))
            return await self._ask(text, files, waiting)

    async def _ask(self, text: str, files: Sequence[QueryFile], waiting: int) -> Reply:
        """Ask; the query takes `waiting` tokens."""
        stopped: asyncio.CancelledError | None = None
        try:
            await self.compaction.make_room(waiting)
        except asyncio.CancelledError as error:
            stopped = error
        number = self.live.next_number
        self.add(Query(number=number, at=self.sessions.now(), text=text))
        if files:
            from chat_loop.conversation.attachments import keep  # loaded by then

            keep(self, number, files)
        if stopped is not None:
            self.add(Reply(number=number, at=self.sessions.now(), text="", stop="interrupted"))
            raise stopped
        if self.archive is not None:
            self._recall(self.archive, number, text)
        if self._servers is not None and self.agent.provider.calls_tools:
            await self._offer_servers(self._servers)
        try:
            messages = self._request()
        except ContextFull:
            at = self.sessions.now()
            self.add(Reply(number=number, at=at, text="", stop="error", failed=True))
            raise
        reply = await self._answer(self.agent, number, messages)
        await self.compaction.watch()
        return reply

    def _recall(self, archive: Archive, number: int, text: str) -> None:
        """Attach what the archive has on a query, for a model that cannot search it itself."""
        given = self.session.restoration
        if given is None or not self.options.attach_from_archive or self.agent.calls_tools:
            return
        # 400 tokens, less on a small window
        most = min(400, self.window // 16, room(self.window) - self.budget.used - MARGIN)
        found, refs = archive.recall(text, self.known(), most, given.block)
        if found:
            self.add(ArchiveContext(number=number, at=self.sessions.now(), text=redacted(found)))
            self.show(Recalled(refs))

    async def _offer_servers(self, servers: Servers) -> None:
        """Give the agent the servers' tools as they are now; wait for servers that still connect,
        and say so. What has failed is told, once.
        """
        waited: list[str] = []

        def waiting(names: tuple[str, ...]) -> None:
            waited.extend(names)
            self.show(Connecting(names))

        taken = {*(tool.spec.name for tool in self.own_tools), *archive_tools.TOOLS}
        # characters of all schemas; on a small window, half a character for each of its tokens
        most = min(100_000, self.window // 2)
        self.offer_tools(await servers.tools(taken, most, waiting))
        if waited:
            self.show(Connecting(()))
        for message, hint in servers.notices():
            self.show(Warned(message, hint))

    def offer_tools(self, tools: Sequence[Tool]) -> None:
        """Give the agent `tools` beside its own and the archive's, in place of those before."""
        self._server_tools = tuple(tools)
        all_tools = (*self.own_tools, *self._server_tools, *self._archive_tools)
        self.agent = replace(self.agent, tools=all_tools)

    def _request(self) -> tuple[Message, ...]:
        """Return the messages of the next request, and say what of them the model does not get.
        Raises ContextFull when they do not fit.
        """
        limits = self.options.limits
        if "limits" not in self._told and (left_out := self.left_out):
            self._told.add("limits")
            what = "max_history_messages" if limits.max_messages else "max_history_tokens"
            self.show(
                Warned(
                    f"The model no longer gets the oldest {counted(left_out, 'exchange')}: "
                    f"automatic compaction is off, and {what} is "
                    f"{limits.max_messages or limits.max_tokens:,}.",
                    "They are saved; compact keeps what matters in them.",
                )
            )
        if self.budget.used > room(self.window):
            self._fit_or_refuse()
        thread, shortened = self._fit(self.thread)
        if shortened > self._shortened_told:
            self.show(
                Warned(
                    f"A message is longer than half of the window ({self.window:,} tokens): "
                    "the model gets its beginning and its end.",
                    "It is saved whole.",
                )
            )
        self._shortened_told = shortened
        messages = messages_of(thread, tools=self.agent.provider.calls_tools)
        if not any(message.images for message in messages):
            return messages
        from chat_loop.conversation.attachments import shown  # not before there is an image

        return shown(self, messages, self._told)

    def _fit_or_refuse(self) -> None:
        """Send the restored block shorter from now on where that is enough; the file keeps it
        whole. Raises ContextFull where it is not: the request is better not sent.

        A server may count too much: what is sent is counted as well.
        """
        most = room(self.window)
        weights = self.weights
        given = self.session.restoration
        if (over := sum(weights.values()) - most) > 0 and given is not None and given.block:
            now = min(
                self.count(given.block), block_room(self.window), self._block_most or self.window
            )
            self._block_most = max(100, now - over - MARGIN)  # its headings and newest lines
            weights = self.weights
        used = min(self.budget.used, sum(weights.values()))
        if used <= most:
            return
        largest = max((TOOLS, MEMORY, SYSTEM), key=lambda part: weights.get(part, 0))
        hint = "compact makes room; a model with a larger window takes more."
        if weights.get(largest, 0) > most // 2:
            verb = "takes" if largest == SYSTEM else "take"
            hint = (
                f"{largest} alone {verb} {weights[largest]:,} of them, which compact cannot "
                "change: have less of that, or take a model with a larger window."
            )
        raise ContextFull(
            f"Not sent: the request would hold {used:,} tokens, and the window of "
            f"{window_text(self.window, False)} takes {most:,} beside a reply. Nothing is lost.",
            hint,
        )

    async def _answer(
        self, agent: Agent, number: int, messages: tuple[Message, ...], most: int | None = None
    ) -> Reply:
        """Stream one reply of at most `most` tokens into the file. Raises ProviderError and
        CancelledError after saving it.
        """
        expected = self.budget.used

        def estimate(text: str) -> Usage:
            return Usage(input=expected, output=self.count(text), estimated=True)

        def show(event: Event) -> None:
            if not self._begun_told:
                self._tell_saved()
            self.show(event)

        try:
            reply = await answer(
                agent,
                self.live,
                messages,
                number=number,
                at=self.sessions.now(),
                estimate=estimate,
                show=show,
                max_tokens=most,
            )
        finally:
            self._tell_saved()
        if number and reply.usage is not None and not reply.usage.estimated:
            self._fixed = self._fixed_size()
        return reply

    async def acknowledge(self) -> None:
        """Let the agent confirm what it was given. A failure is tried again once, and not after a
        long pause: the conversation goes on without it.
        """
        given = self.session.restoration
        if not self.options.acknowledge or given is None or not given.block:
            return
        patience = self.agent.patience
        patience = replace(patience, attempts=min(2, patience.attempts), longest_asked=5.0)
        block = messages_of(self._fit(Thread(self.session))[0])[0].text
        try:
            await self._answer(
                replace(self.agent, patience=patience),
                0,
                (Message("user", with_task(block)),),
                min(2048, self.window // 8),  # a small model may not find its end
            )
        except ProviderError as error:
            self.show(
                Warned(
                    f"The acknowledgment failed: {error.message}",
                    "The context is restored all the same.",
                )
            )
        except asyncio.CancelledError:
            uncancel()

    async def switch(self, provider: Provider) -> None:
        """Have another model answer from the next query on; an agent of its own goes with its
        tools.
        """
        await self.compaction.background.cancel()  # it may ask the model that goes
        before = self.agent.provider
        self.agent = replace(self.agent, provider=provider, own_tools=False)
        self._ratio = 1.0
        if self.live.empty:  # its header is not written yet
            self.live.change_header(model=self.agent.model)
        else:
            self.add(ModelChange(at=self.sessions.now(), text=self.agent.model))
        await before.close()

    def remember(self) -> None:
        """Give the agent the memory as it stands now, from the next request on."""
        self.agent = replace(self.agent, memory=self._memory())

    # Entries

    def add(self, entry: Entry) -> None:
        """Append an entry and tell what became of it."""
        self.live.add(entry)
        self._tell_saved()

    def _tell_saved(self) -> None:
        """Say once where the session is saved, that saving fails, and that it works again."""
        live, header, problem = self.live, self.live.header, self.live.problem
        if not (self._begun_told or live.empty):
            self._begun_told = True
            self.show(
                SessionBegun(
                    id=header.id, path=str(live.path), model=header.model, parent=header.parent
                )
            )
            if problem is None:
                self.sessions.point_to(header.id)
        for message, hint in live.take_notices():
            self.sessions.point_to(header.id)
            self.show(Warned(message, hint))
        if problem is not None and not self._problem_told:
            error = save_error(live.path, problem)
            self.show(Warned(error.message, error.hint))
        elif problem is None and self._problem_told:
            self.show(Warned("Saving works again: everything said so far is on disk."))
        self._problem_told = problem is not None

    def pin(self, text: str) -> None:
        """Keep `text` in every later summary block of the chain, word for word."""
        self.add(Pin(at=self.sessions.now(), text=text))

    def unpin(self, text: str) -> None:
        """Carry a pin no further."""
        self.add(Unpin(at=self.sessions.now(), text=text))

    def rename(self, text: str) -> None:
        """Name the conversation; an empty text leaves it to the program again."""
        if self.live.empty and not self.live.header.parent:  # its header is not written yet
            self.live.change_header(name=text)
        elif text != self.session.name:
            self.add(Name(at=self.sessions.now(), text=text))

    def tag(self, tags: Sequence[str]) -> None:
        """Give the conversation exactly these tags."""
        if self.live.empty and not self.live.header.parent:
            self.live.change_header(tags=tuple(tags))
            return
        at, standing = self.sessions.now(), self.session.tags
        changes: list[Entry] = [Tag(at=at, text=tag) for tag in tags if tag not in standing]
        changes += (Untag(at=at, text=tag) for tag in standing if tag not in tags)
        for change in changes:
            self.add(change)

    def last(self) -> tuple[Exchange, Loaded | None]:
        """Return the newest exchange; and right after a compaction, the session before it, whose
        last one it is. Raises UsageError when nothing was said in this session.
        """
        if self.session.exchanges:
            return self.session.exchanges[-1], None
        hint = ""
        if parent := self.session.header.parent:
            hint = "/tree shows the sessions before it; /fork and /uncompact go back to them."
            with contextlib.suppress(SessionError):
                found = self.sessions.load(self.sessions.session_file(parent))
                seal, exchanges = found.session.seal, found.session.exchanges
                if seal and seal.reason == "compact" and exchanges[1:]:
                    return exchanges[-1], found
        raise UsageError("Nothing was said in this session that could be undone.", hint)

    async def undo(self) -> Exchange:
        """Take the last exchange out of the conversation, and a compaction right after it with it;
        return it. Its words stay in the file. Raises UsageError as `last` does.
        """
        last, before = self.last()
        await self.compaction.background.cancel()
        if before is None:
            self.add(Undo(number=last.query.number, at=self.sessions.now()))
            return last
        offer = await self.offers().forked(before, before.session.exchanges[-2].query.number)
        await self.accept(offer, acknowledge=False)
        self.show(
            Warned(
                "The compaction was taken back with it: the words before it are in the context "
                "again."
            )
        )
        return last

    # Compaction, resume and end

    async def compact(self, focus: str = "", may: May | None = None) -> bool:
        """Seal this session with a summary and go on in a child that starts from it.

        Return False, with everything as it was, when the disk refuses, or it would not make the
        context smaller and `may` says no. Raises UsageError when there is nothing to compact.
        """
        draft = await self.compaction.draft(focus, may)
        return draft is not None and await self.take(draft)

    async def take(self, draft: Draft, *, acknowledge: bool = True) -> bool:
        """Carry out a draft. Return False, with everything as it was, when the disk refuses."""
        taken = await self.compaction.take(draft)
        if taken and acknowledge and draft.answered:
            await self.acknowledge()
        return taken

    def offers(self, *, quick: bool = False) -> Offers:
        """Return the ways to go on from stored sessions; when `quick`, without a model."""
        from chat_loop.conversation.resume import Offers  # not before something is resumed

        return Offers(self, quick=quick)

    async def accept(self, offer: Offer, *, acknowledge: bool = True) -> None:
        """End this session and go on as offered. Raises SaveError while its words are only here."""
        await to_its_end(self._leave("resume", offer))
        if acknowledge and offer.answered:
            await self.acknowledge()

    async def leave(self, reason: SealReason) -> None:
        """End this session at once, without a model call, and have a fresh one that knows nothing.

        Raises SaveError when the disk refuses: words that are nowhere but here are only left at the
        exit.
        """
        await to_its_end(self._leave(reason))

    async def _leave(self, reason: SealReason, offer: Offer | None = None) -> None:
        was = self.live.header.id
        if self.live.empty:
            self.live.close()
        else:
            seal = await asyncio.to_thread(self._seal_without_model, reason)
            try:
                await self.seal(seal, anyway=reason == "exit")
            except SaveError as error:
                raise SaveError(error.message, f"This session is not left. {error.hint}") from error
        if offer is None:
            self._archive_tools = ()
            self.offer_tools(self._server_tools)
            self.remember()
            self._start(self._fresh())
            return
        if (now := self.live.header.id) != was:  # changed from outside, it went into another file
            if offer.parent.header.id == was:
                header = replace(offer.parent.header, id=now)
                parent = replace(offer.parent, header=header)
                offer = replace(offer, parent=parent, path=self.live.path)
            offer = replace(offer, merged=now if offer.merged == was else offer.merged)
        self.begin_child(offer, "resume")

    async def seal(self, seal: Seal, why: str = "", *, anyway: bool = False) -> None:
        """Seal and close the live session, and tell it; `why` is the reason that is told, where it
        is not the seal's.

        Raises SaveError, with everything as it was, when the disk refuses; `anyway`, that is told,
        and the session ends as far as the disk allows.
        """
        live = self.live
        try:
            await asyncio.to_thread(live.seal, seal)
        except SaveError as error:
            self._problem_told = True
            if not anyway:
                raise
            self.show(Warned(error.message, error.hint))
        self._tell_saved()
        saved, totals = live.saved, self.session.totals
        live.close()
        self.show(
            SessionSealed(
                id=live.header.id,
                path=str(live.path),
                reason=why or seal.reason,
                queries=totals.queries,
                session_tokens=totals.session,
                restoration_tokens=totals.restoration,
                saved=saved,
                summary=seal.source,
            )
        )

    def _seal_without_model(self, reason: SealReason) -> Seal:
        """Return a seal that costs nothing. A child without words passes its parent's block on."""
        seal = Seal(at=self.sessions.now(), reason=reason)
        thread = self.thread
        if thread.fresh and self.options.use_ai_summary:
            return seal
        if not thread.fresh and thread.inherited is None and not thread.pins:
            return seal
        made = self.compaction.cover(thread)
        return replace(seal, source="extracted", summary=made)

    def begin_child(self, offer: Offer, reason: str) -> None:
        """Begin a session that is given the offered block and words.

        Its file comes with its acknowledgment or its first query; that of a merge at once, for what
        the user decided about it.
        """
        # once in a session's life: what providers cache of its beginning stays good
        self.remember()
        agent = self.agent
        self.show(Restoring(offer.parent.header.id, reason))
        live, entries = offer.begin(self.sessions, agent.name, agent.path, agent.model)
        self._start(live, offer.carried, offer.path if offer.in_file else None)
        for entry in entries:
            if offer.merged:
                self.add(entry)
            else:
                live.hold(entry)
        from chat_loop.agent.tools import Tool  # not before there is an archive
        from chat_loop.library.archive import Archive

        archive = self.archive
        if archive is None:
            archive = Archive(self.sessions, count=self.count, semantic=self.options.semantic)
            self.archive = archive
        archive.follow(self.session, self.session.depth)

        def tool(name: str) -> Tool:
            async def run(arguments: Mapping[str, object]) -> str:
                found = await asyncio.to_thread(archive.call, name, arguments, self.known())
                return redacted(found)  # it is recorded in another session's file

            return Tool(ToolSpec(name, *archive_tools.TOOLS[name]), run)

        self._archive_tools = tuple(map(tool, archive_tools.TOOLS))
        self.offer_tools(self._server_tools)

    async def end(self) -> None:
        """Summarize and seal the session; when cancelled, seal it without a summary."""
        if not self.live.empty:
            seal = Seal(at=self.sessions.now(), reason="exit")
            try:
                seal = await asyncio.to_thread(self._seal_without_model, "exit")
                seal = await self._seal_with_model(seal)
            except asyncio.CancelledError:
                uncancel()
                problem = f"Summary skipped. {LATER}"
                self.show(SummaryEnded(source="none", problem=problem))
            await self.compaction.background.cancel()
            await to_its_end(self.seal(seal, anyway=True))
        await self.compaction.background.cancel()

    async def _seal_with_model(self, seal: Seal) -> Seal:
        """Return a seal with the model's summary of the session, where that is wanted and made."""
        thread, options = self.thread, self.options
        answered = any(exchange.reply and exchange.reply.text.strip() for exchange in thread.fresh)
        if not (options.summary_on_exit and options.use_ai_summary and answered):
            return seal
        compaction = self.compaction
        outcome = await compaction.narrate(thread, thread.fresh, otherwise=LATER, optional=True)
        if outcome.narrative is not None:
            made = await asyncio.to_thread(compaction.cover, thread, outcome)
            seal = replace(seal, source="model", summary=made)
        at = self.sessions.now()
        return replace(seal, usage=outcome.usage, seconds=outcome.seconds, at=at)

    def close(self) -> None:
        """Give back the live session's file and lock, sealed or not."""
        self.live.close()
        if self.archive is not None:
            self.archive.close()
        self._tell_saved()

    async def settled(self) -> None:
        """Wait until nothing is prepared in the background and the archive can be searched."""
        await self.compaction.background.wait()
        if self.archive is not None:
            await asyncio.to_thread(self.archive.wait, 30.0)
