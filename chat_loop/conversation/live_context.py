"""The live session of a chain, and what of the chain stands in its model's context.

The order of acts is the contract of `sessions/live.py`. Everything that happens is told to `show`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.context.budget import Budget, Count, reported, room, tools_size, truncated, weigh
from chat_loop.context.messages import (
    Thread,
    block_room,
    fitted,
    messages_of,
    pieces,
    shortened_block,
)
from chat_loop.conversation.ancestors import Beginning, edited_block, repinned
from chat_loop.conversation.options import Options
from chat_loop.conversation.turn import answer
from chat_loop.errors import SaveError
from chat_loop.events import Event, Restoring, SessionBegun, SessionSealed, Warned
from chat_loop.library import archive_tools
from chat_loop.redact import redacted
from chat_loop.sessions.live import LiveSession, save_error
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import (
    Entry,
    Exchange,
    QueryEntry,
    Reply,
    Restoration,
    Seal,
    Session,
    Summary,
)
from chat_loop.values import Message, ToolSpec, Usage

if TYPE_CHECKING:
    from chat_loop.agent.tools import Tool
    from chat_loop.library.archive import Archive

LONGEST_PAUSE = 5.0
"""Seconds that a server may ask to be waited for, before its acknowledgment is asked for again."""
ACKNOWLEDGMENT_TOKENS = 80
"""Tokens that an acknowledgment is expected to take, before it is there."""
CREDIBLE_TOKENS = 1_000
"""From this size on a report is trusted; below it what the wire adds weighs more."""
SMALLEST_BLOCK = 100
"""Tokens that a restored block keeps at least: its headings and its newest lines."""
MARGIN = 20
"""Tokens by which a shortened block is smaller than it must be: its parts are counted apart."""
PROBE = "0123456789"
"""Counted otherwise once the encoding is loaded."""


class LiveContext:
    """The live session, the agent that answers in it, and the budget of its next request.

    `count(text)` estimates tokens, `memory()` reads the memory.
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
    ) -> None:
        self.sessions = sessions
        self.options = options
        self.count = count
        self.show = show
        self.archive: Archive | None = None
        """The sealed ancestors; None until there is one."""
        self._memory = memory
        self.own_tools: tuple[Tool, ...] = agent.tools
        self._server_tools: tuple[Tool, ...] = ()
        self._problem_told = False
        self._begun_told = False
        self._fixed = 0
        """Tokens of system prompt, memory and tools in the last reported request, by our count."""
        self._ratio = 1.0
        """The server's tokens for one of ours, by the last report."""
        self._budget: tuple[tuple[object, ...], Budget] | None = None
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)
        self._carried: tuple[Exchange, ...] = ()
        self._block_path: Path | None = None
        """The file whose summary block the session was given."""
        self._edited: Summary | None = None
        """The parent's block as it is now, when it changed since this session began."""
        self._block_most: int | None = None
        """Tokens that the restored block may take, once a query has needed its room."""
        self._shortened = lru_cache(maxsize=4)(
            lambda text, most: shortened_block(text, most, count)
        )
        self.agent = replace(agent, memory=memory())
        self.live = self._fresh()

    # What stands in the context

    @property
    def session(self) -> Session:
        return self.live.session

    @property
    def thread(self) -> Thread:
        """The session, and what of its ancestors stands in the context."""
        return Thread(self.session, self._carried, self._edited)

    @property
    def window(self) -> int:
        """Tokens of the model's window."""
        return self.agent.provider.window.tokens

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the model would be sent now."""
        return self.fitted(self.thread)[0]

    @property
    def otherwise(self) -> str:
        """A sentence for a resume that fails: how things go on."""
        return "Starting fresh." if self.live.empty else "This session goes on."

    def known(self) -> frozenset[str]:
        """Return the references of what stands in the context in its own words."""
        return frozenset(exchange.ref for exchange in self.thread.exchanges)

    def reread(self) -> Thread:
        """Return the thread with its parent's block as it stands in the file now."""
        edited = edited_block(self.sessions, self._block_path, self.thread)
        if edited is not None:
            self._edited = edited
        return self.thread

    def fitted(self, thread: Thread) -> tuple[tuple[Message, ...], int]:
        """Return a thread as it is sent, and how many of its texts are shortened for it."""
        short, shortened = self._fit(thread)
        return messages_of(short, tools=self.agent.provider.calls_tools), shortened

    def _fit(self, thread: Thread) -> tuple[Thread, int]:
        def block(text: str) -> str:
            most = min(block_room(self.window), self._block_most or self.window)
            return self._shortened(text, most)

        return fitted(self._truncated(thread), self.window, self.count, block)

    def squeeze(self, over: int) -> None:
        """Send the restored block shorter by `over` tokens from now on; the file keeps it whole."""
        restoration = self.session.restoration
        if restoration is not None and restoration.block:
            most = min(
                self.count(restoration.block),
                block_room(self.window),
                self._block_most or self.window,
            )
            self._block_most = max(SMALLEST_BLOCK, most - over - MARGIN)

    @property
    def left_out(self) -> int:
        """The number of exchanges that the limits leave out of the next request while nothing is
        compacted automatically.
        """
        thread = self.thread
        short = self._truncated(thread)
        return 0 if short is thread else len(thread.exchanges) - len(short.exchanges)

    def _truncated(self, thread: Thread) -> Thread:
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

    # How much it is

    @property
    def budget(self) -> Budget:
        """Return how many tokens the next request holds, a new query apart, of how many.

        Every number that is shown, and the one that triggers a compaction, comes from here or from
        `would_hold`. It is asked for with every key: the answer is kept until something changes.
        """
        session, agent = self.session, self.agent
        state = (
            *(self.live, len(session.entries), agent, self.window, self._carried, self._edited),
            *(bool(agent.kept), self.count(PROBE), self._block_most),
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
        return self._weigh(self.thread, self._specs)

    def would_hold(
        self, block: str, words: Sequence[Exchange], *, acknowledged: bool = False
    ) -> int:
        """Return the tokens of a child's next request that is given `block` and `words`, a query
        apart.

        `acknowledged`: the agent confirms before it what it was given.
        """
        used = self._reported()
        if used is not None and (estimate := sum(self.weights.values())) >= CREDIBLE_TOKENS:
            self._ratio = min(2.0, max(0.5, used / estimate))
        live, totals, at = self.live.header, self.session.totals, self.sessions.now()
        restoration = Restoration(
            at=at,
            parent_created=at,
            queries=totals.queries,
            tokens=totals.combined,
            block=block,
            verbatim_from=words[0].ref if words else "",
        )
        header = replace(live, parent=live.id, parent_path=str(self.live.path))
        confirmed = (Reply(number=0, at=at, text="-"),) if acknowledged and block else ()
        thread = Thread(Session(header=header, entries=(restoration, *confirmed)), tuple(words))
        specs: tuple[ToolSpec, ...] = ()
        if self.agent.provider.calls_tools:
            specs = (
                *(tool.spec for tool in (*self.own_tools, *self._server_tools)),
                *(ToolSpec(name, *described) for name, described in archive_tools.TOOLS.items()),
            )
        whole = sum(self._weigh(thread, specs).values())
        return round((whole + (ACKNOWLEDGMENT_TOKENS if confirmed else 0)) * self._ratio)

    def _weigh(self, thread: Thread, specs: tuple[ToolSpec, ...]) -> dict[str, int]:
        agent = self.agent
        found = pieces(self._fit(thread)[0], tools=agent.provider.calls_tools)
        tools = self._tools_size(specs)
        return weigh(found, agent.system_prompt, agent.memory, tools, self.count)

    def _reported(self) -> int | None:
        """Return the next request's tokens by the last report; None when all is to be estimated."""
        used = None if self.left_out else reported(self.session, self.count, room(self.window) // 2)
        return None if used is None else used + self._fixed_size() - self._fixed

    @property
    def _specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them."""
        agent = self.agent
        if not agent.calls_tools:
            return ()
        from chat_loop.agent.results import READS  # not before there are tools

        return (*(tool.spec for tool in agent.tools), *([READS] if agent.kept else []))

    def _tools_size(self, specs: tuple[ToolSpec, ...]) -> int:
        if self._tools[0] != specs:
            self._tools = (specs, tools_size(specs, self.count))
        return self._tools[1]

    def _fixed_size(self) -> int:
        return self.count(self.agent.system) + self._tools_size(self._specs)

    # What happens to it

    def add(self, entry: Entry) -> None:
        """Append an entry and tell what became of it."""
        self.live.add(entry)
        self._tell_begun()
        self.tell_problem()

    def _tell_begun(self) -> None:
        """Say once that the live session has a file."""
        if self._begun_told or self.live.empty:
            return
        self._begun_told = True
        header = self.live.header
        self.show(
            SessionBegun(
                id=header.id, path=str(self.live.path), model=header.model, parent=header.parent
            )
        )
        if self.live.problem is None:
            self.sessions.point_to(header.id)

    def tell_problem(self) -> None:
        """Say once that saving fails, and once that it works again."""
        self.tell_moved()
        problem = self.live.problem
        if problem is not None and not self._problem_told:
            error = save_error(self.live.path, problem)
            self.show(Warned(error.message, error.hint))
        elif problem is None and self._problem_told:
            self.show(Warned("Saving works again: everything said so far is on disk."))
        self._problem_told = problem is not None

    def tell_moved(self) -> None:
        """Say that the session goes on in another file, since its own was changed from outside."""
        for message, hint in self.live.take_notices():
            self.sessions.point_to(self.live.header.id)
            self.show(Warned(message, hint))

    async def answer(
        self, number: int, messages: Sequence[Message], max_tokens: int | None = None
    ) -> Reply:
        """Stream one reply into the file. Raises ProviderError and CancelledError after saving it.

        The acknowledgment (0) is tried again once, and not after a long pause: the conversation
        goes on without it.
        """
        agent = self.agent
        if not number:
            patience = replace(
                agent.patience,
                attempts=min(2, agent.patience.attempts),
                longest_asked=LONGEST_PAUSE,
            )
            agent = replace(agent, patience=patience)
        expected = self.budget.used

        def estimate(text: str) -> Usage:
            return Usage(input=expected, output=self.count(text), estimated=True)

        def show(event: Event) -> None:
            self._tell_begun()
            self.show(event)

        try:
            reply = await answer(
                agent,
                self.live,
                tuple(messages),
                number=number,
                at=self.sessions.now(),
                estimate=estimate,
                show=show,
                max_tokens=max_tokens,
            )
        finally:
            self.tell_problem()
        if number and reply.usage is not None and not reply.usage.estimated:
            self._fixed = self._fixed_size()
        return reply

    def offer_tools(self, tools: Sequence[Tool]) -> None:
        """Give the agent `tools` beside its own, in place of those given before."""
        archive = self.agent.tools[len(self.own_tools) + len(self._server_tools) :]
        self._server_tools = tuple(tools)
        self._equip(archive)

    def _equip(self, archive: Sequence[Tool]) -> None:
        """Give the agent its own tools, those of the servers, and those of the archive."""
        self.agent = replace(self.agent, tools=(*self.own_tools, *self._server_tools, *archive))

    def remember(self) -> None:
        """Give the agent the memory as it stands now, from the next request on."""
        self.agent = replace(self.agent, memory=self._memory())

    def seal(self, seal: Seal) -> None:
        """Seal the live session in its file; `ended` tells it. Raises SaveError, with everything as
        it was, when the disk refuses. Safe in a worker thread.
        """
        try:
            self.live.seal(seal)
        except SaveError:
            self._problem_told = True  # by the caller
            raise

    def ended(self, seal: Seal, why: str = "") -> None:
        """Close the session that was sealed, as far as the disk allowed, and tell it; `why` is the
        reason that is told, where it is not the seal's.
        """
        self.tell_moved()
        live, totals = self.live, self.session.totals
        saved = live.saved
        live.close()
        self._problem_told = False
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

    def renew(self) -> None:
        """Have a fresh session that knows nothing."""
        self._given(())
        self._equip(())
        self.remember()
        self.live = self._fresh()

    def begin_child(self, beginning: Beginning, reason: str) -> None:
        """Begin a session that is given the beginning's block and words.

        Its file comes with its acknowledgment or its first query: where neither comes, nothing is
        left of it. A merge is kept at once, for what the user decided about it.
        """
        # once in a session's life: what providers cache of its beginning stays good
        self.remember()
        agent, parent = self.agent, beginning.parent
        self.show(Restoring(parent.header.id, reason))
        self.live = self.sessions.begin(
            agent=agent.name,
            agent_path=agent.path,
            model=agent.model,
            parent=parent.header.id,
            parent_path=str(beginning.path),
            after=parent,
        )
        self._given(beginning.carried, beginning.path if beginning.in_file else None)
        restoration = beginning.restoration(self.sessions.now())
        keep = self.live.hold if beginning.merged is None else self.add
        keep(restoration)
        self._follow(restoration.depth)
        if beginning.pins is not None:
            for entry in repinned(self.thread.pins, beginning.pins, self.sessions.now()):
                keep(entry)

    def _given(self, carried: tuple[Exchange, ...], block_path: Path | None = None) -> None:
        """Note what a session that begins is given."""
        self._carried, self._block_path = carried, block_path
        self._edited = self._block_most = None
        self._begun_told = False

    def _follow(self, depth: int) -> None:
        """Give the agent the archive of a session that begins, the depth-th of its chain."""
        from chat_loop.library.archive import Archive  # not before there is an archive

        if self.archive is None:
            self.archive = Archive(self.sessions, count=self.count, semantic=self.options.semantic)
        self.archive.follow(self.session, depth)
        self._equip(
            [
                self._archive_tool(ToolSpec(name, *described))
                for name, described in archive_tools.TOOLS.items()
            ]
        )

    def _archive_tool(self, spec: ToolSpec) -> Tool:
        """Return a tool that reads or searches the archive. Secrets are taken out of what comes
        back: it is recorded in another session's file.
        """
        from chat_loop.agent.tools import Tool  # not before there is an archive

        async def run(arguments: Mapping[str, object]) -> str:
            assert self.archive is not None
            call = self.archive.call
            return redacted(await asyncio.to_thread(call, spec.name, arguments, self.known()))

        return Tool(spec, run)

    def _fresh(self) -> LiveSession:
        return self.sessions.begin(
            agent=self.agent.name, agent_path=self.agent.path, model=self.agent.model
        )
