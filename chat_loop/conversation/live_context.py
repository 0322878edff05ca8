"""The live session of a chain, and what of the chain stands in the context.

The order of acts is the contract of `sessions/live.py`. Everything that happens is told to `show`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.agent.agent import Agent
from chat_loop.context.budget import Budget, Count, reported, room, tools_size, weigh
from chat_loop.context.fit import block_room, fitted, shortened_block
from chat_loop.context.messages import messages_of, pieces
from chat_loop.context.plan import Limits, truncated
from chat_loop.context.thread import Thread
from chat_loop.conversation.turn import answer
from chat_loop.errors import SaveError
from chat_loop.events import Event, Restoring, SessionBegun, SessionSealed, Warned
from chat_loop.frozen import dataclass
from chat_loop.library.meanings import Meanings
from chat_loop.providers import Provider
from chat_loop.sessions.live import LiveSession, save_error
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import (
    OF_QUERY,
    Entry,
    Exchange,
    Pin,
    Reply,
    Restoration,
    Seal,
    Session,
    Summary,
    Switch,
    Unpin,
)
from chat_loop.values import Message, ToolSpec, Usage

LONGEST_PAUSE = 5.0
"""Seconds that a server may ask to be waited for, before its acknowledgment is asked for again."""

if TYPE_CHECKING:
    from chat_loop.agent.tools import Tool
    from chat_loop.context.archive import Archive

ACKNOWLEDGMENT_TOKENS = 80
"""What an acknowledgment is expected to take, before it is there."""
CREDIBLE_TOKENS = 1_000
"""From this size on a report tells how the server counts; below it what the wire adds weighs
more.
"""
SMALLEST_BLOCK = 100
"""Tokens of a restored block that are not given to a query: its headings and the newest of its
lines.
"""
PROBE = "0123456789"
"""Counted otherwise once the encoding is loaded."""


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """What a child session begins with: its parent, the block and the words that stand for what was
    said before.

    `pins` are those that hold now, whatever the block says. A fork leaves out what the parent said
    after `until`; `merged` is a second parent, and `depth` then the child's place in the chain of
    both.
    """

    parent: Session
    path: Path
    block: str
    carried: tuple[Exchange, ...] = ()
    fresh: str = ""
    pins: tuple[str, ...] | None = None
    until: str = ""
    merged: Session | None = None
    depth: int = 0

    def renamed(self, was: str, identity: str) -> Beginning:
        """Return it for the case that the session `was` is called `identity` by now: its file was
        changed from outside, and it was sealed in another one.
        """
        if was == identity:
            return self
        merged = self.merged
        if merged is not None and merged.header.id == was:
            merged = replace(merged, header=replace(merged.header, id=identity))
        if self.parent.header.id != was:
            return replace(self, merged=merged)
        parent = replace(self.parent, header=replace(self.parent.header, id=identity))
        return replace(
            self, parent=parent, path=self.path.with_name(f"{identity}.md"), merged=merged
        )


class LiveContext:
    """The live session, and what of its chain stands in the context. `count(text)` estimates
    tokens.
    """

    def __init__(
        self,
        agent: Agent,
        sessions: SessionManager,
        count: Count,
        show: Callable[[Event], None],
        memory: Callable[[], str] = str,
        meanings: Meanings | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._memory = memory
        self._meanings = meanings
        self.own_tools = agent.tools
        self._plain = self.agent = replace(agent, memory=memory())
        """With the archive's tools while there is an archive."""
        self.archive: Archive | None = None
        """What stands before the words; None until there is something."""
        self.sessions = sessions
        self.count = count
        self.show = show
        self._problem_told = False
        self._fixed = 0
        """What the system prompt, the memory and the tools took in the last reported request, by
        our count.
        """
        self._ratio = 1.0
        """The server's tokens for one of ours, by the last report."""
        self._budget: tuple[tuple[object, ...], Budget] | None = None
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)
        self._carried: tuple[Exchange, ...] = ()
        self.edited: Summary | None = None
        """The parent's block when it was changed in its file since this session began."""
        self._block_most: int | None = None
        """What the restored block may take in this session, once a query has needed its room."""
        self._shortened = lru_cache(maxsize=4)(
            lambda text, most: shortened_block(text, most, count)
        )
        self.live = self._fresh()

    @property
    def session(self) -> Session:
        return self.live.session

    @property
    def thread(self) -> Thread:
        return Thread(self.session, self._carried, self.edited)

    def known(self) -> frozenset[str]:
        """The references of what stands in the context in its own words."""
        return frozenset(exchange.ref for exchange in self.thread.exchanges)

    @property
    def window(self) -> int:
        return self.agent.provider.window.tokens

    @property
    def budget(self) -> Budget:
        """Return how many tokens the next request holds, a new query apart, of how many.

        Every number that is shown, and the one that triggers a compaction, comes from here or from
        `would_hold`. It is asked for with every key: the answer is kept until something changes.
        """
        session, agent = self.session, self.agent
        state = (
            *(self.live, len(session.entries), agent, self.window, self._carried, self.edited),
            *(bool(agent.kept), self.count(PROBE), self._block_most),
        )
        if self._budget is not None and all(
            a is b or a == b for a, b in zip(self._budget[0], state, strict=True)
        ):
            return self._budget[1]
        used = self._reported()
        if used is None:
            found = Budget(
                self._calibrated(sum(self.weights().values())), agent.provider.window, True
            )
        else:
            found = Budget(used, agent.provider.window, False)
        self._budget = (state, found)
        return found

    def weights(
        self, thread: Thread | None = None, specs: Sequence[ToolSpec] | None = None
    ) -> dict[str, int]:
        """Estimate the tokens of a request with `thread` (the session's own), part by part."""
        agent = self.agent
        short, _ = self._fit(thread or self.thread)
        tools = self._tools_size(self._specs if specs is None else tuple(specs))
        found = pieces(short, tools=agent.provider.calls_tools)
        return weigh(found, agent.system_prompt, agent.memory, tools, self.count)

    def would_hold(
        self, block: str, words: Sequence[Exchange], *, acknowledged: bool = False
    ) -> int:
        """Return the tokens of a child's next request that is given `block` and `words`, a query
        apart.

        `acknowledged`: the agent confirms before it what it was given.
        """
        self._reported_ratio()
        live, totals, at = self.live.header, self.session.totals, self.sessions.now()
        since = words[0].ref if words else ""
        restoration = Restoration(
            at=at,
            parent_created=at,
            queries=totals.queries,
            tokens=totals.combined,
            block=block,
            since=since,
        )
        header = replace(live, parent=live.id, parent_path=str(self.live.path))
        confirmed = (Reply(number=0, at=at, text="-"),) if acknowledged and block else ()
        thread = Thread(Session(header=header, entries=(restoration, *confirmed)), tuple(words))
        specs: list[ToolSpec] = []
        if self._plain.provider.calls_tools:
            from chat_loop.context.archive import TOOLS  # not before there is an archive

            specs = [tool.spec for tool in self._plain.tools]
            specs += [ToolSpec(name, *described) for name, described in TOOLS.items()]
        whole = sum(self.weights(thread, specs).values())
        return self._calibrated(whole + (ACKNOWLEDGMENT_TOKENS if confirmed else 0))

    def _reported(self) -> int | None:
        """The next request's tokens by the last report; None when all of it has to be estimated."""
        used = None if self.left_out else reported(self.session, self.count, room(self.window) // 2)
        return None if used is None else used + self._fixed_size() - self._fixed

    def _reported_ratio(self) -> None:
        """Learn from the last report how the server's tokens differ from ours."""
        used = self._reported()
        if used is None:
            return
        estimate = sum(self.weights().values())
        if estimate >= CREDIBLE_TOKENS:
            self._ratio = min(2.0, max(0.5, used / estimate))

    def _calibrated(self, tokens: int) -> int:
        return round(tokens * self._ratio)

    @property
    def _specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them."""
        agent = self.agent
        if not agent.calls_tools:
            return ()
        from chat_loop.agent.results import READS  # not before there are tools

        return (*(tool.spec for tool in agent.tools), *([READS] if agent.kept else []))

    def _tools_size(self, specs: tuple[ToolSpec, ...]) -> int:
        if not specs:
            return 0
        if self._tools[0] != specs:
            self._tools = (specs, tools_size(specs, self.count))
        return self._tools[1]

    def _fixed_size(self) -> int:
        return self.count(self.agent.system) + self._tools_size(self._specs)

    @property
    def left_out(self) -> int:
        """How many exchanges the limits leave out of the next request while nothing is compacted by
        itself.
        """
        limits = self._limits
        if limits.enabled or not (limits.max_messages or limits.max_tokens):
            return 0
        return len(self.thread.exchanges) - len(self._truncated(self.thread).exchanges)

    def messages(self) -> tuple[Message, ...]:
        """What the model would be sent."""
        return self.fitted(self.thread)[0]

    def fitted(self, thread: Thread) -> tuple[tuple[Message, ...], int]:
        """A thread as it is sent, and how many of its texts are shortened for it."""
        short, shortened = self._fit(thread)
        return messages_of(short, tools=self.agent.provider.calls_tools), shortened

    def _fit(self, thread: Thread) -> tuple[Thread, int]:
        most = min(block_room(self.window), self._block_most or self.window)
        return fitted(
            self._truncated(thread),
            self.window,
            self.count,
            lambda text: self._shortened(text, most),
        )

    def squeeze(self, over: int) -> None:
        """Send the restored block shorter by `over` tokens from now on; what is left out stands in
        the file.
        """
        restoration = self.session.restoration
        if restoration is not None and restoration.block:
            most = min(
                self.count(restoration.block),
                block_room(self.window),
                self._block_most or self.window,
            )
            self._block_most = max(SMALLEST_BLOCK, most - over)

    def _truncated(self, thread: Thread) -> Thread:
        """The newest of a thread, within the limits that hold when nothing is compacted."""
        limits = self._limits
        if limits.enabled or not (limits.max_messages or limits.max_tokens):
            return thread
        kept = truncated(thread.exchanges, window=self.window, limits=limits, count=self.count)
        own = {exchange.query.number for exchange in kept if exchange.depth == thread.session.depth}
        entries = tuple(
            entry
            for entry in thread.session.entries
            if not isinstance(entry, OF_QUERY) or entry.number in own or not entry.number
        )
        carried = tuple(exchange for exchange in thread.carried if exchange in kept)
        return replace(thread, carried=carried, session=replace(thread.session, entries=entries))

    def add(self, entry: Entry) -> None:
        """Append an entry and tell what became of it."""
        first = self.live.empty
        self.live.add(entry)
        if first:
            self._begun()
        self.tell_problem()

    def _begun(self) -> None:
        """The live session got its first entry, and its file with it."""
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
        """Say that the session goes on in another file, because its own was changed from
        outside.
        """
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

        begun = not self.live.empty

        def show(event: Event) -> None:
            nonlocal begun
            if not begun and not self.live.empty:
                begun = True
                self._begun()
            self.show(event)

        at = self.sessions.now()
        try:
            reply = await answer(
                agent,
                self.live,
                tuple(messages),
                number=number,
                at=at,
                estimate=estimate,
                show=show,
                max_tokens=max_tokens,
            )
        finally:
            self.tell_problem()
        if number and reply.usage is not None and not reply.usage.estimated:
            self._fixed = self._fixed_size()
        return reply

    def offer(self, tools: Sequence[Tool]) -> None:
        """Give the agent `tools` beside its own, in the place of those given before, from the next
        request on.
        """
        archive = self.agent.tools[len(self._plain.tools) :]
        self._plain = replace(self._plain, tools=(*self.own_tools, *tools))
        self.agent = replace(self.agent, tools=(*self._plain.tools, *archive))

    def remember(self) -> None:
        """Give the agent the memory as it stands now, from the next request on."""
        memory = self._memory()
        self._plain, self.agent = (
            replace(self._plain, memory=memory),
            replace(self.agent, memory=memory),
        )

    def switch(self, provider: Provider) -> None:
        """Have another model answer from here on. One that answered by itself goes with its
        tools.
        """
        self._plain = replace(self._plain, provider=provider, own_tools=False)
        self.agent = replace(self.agent, provider=provider, own_tools=False)
        self._ratio = 1.0
        if self.live.empty:  # its header is not written yet
            self.live.header = replace(self.live.header, model=self.agent.model)
        else:
            self.add(Switch(at=self.sessions.now(), text=self.agent.model))

    def sealed(self, seal: Seal, told: str = "") -> None:
        """Seal the session; `told` is the reason that is told, when that is another than the
        seal's.

        Raises SaveError, with everything as it was, when the disk refuses.
        """
        try:
            self.live.seal(seal)
        except SaveError:
            self._problem_told = True
            raise
        self.tell_moved()
        self._ended(seal, told)

    def seal_anyway(self, seal: Seal) -> None:
        """Seal the session as far as the disk allows; it ends in any case."""
        try:
            self.live.seal(seal)
        except SaveError as error:
            self.show(Warned(error.message, error.hint))
        self.tell_moved()
        self._ended(seal)

    def renew(self) -> None:
        """Have a fresh session that knows nothing."""
        self._carried, self.edited, self._block_most, self.agent = (), None, None, self._plain
        self.remember()
        self.live = self._fresh()

    def begin_child(self, beginning: Beginning, reason: str) -> Restoration:
        """Begin a session that is given the beginning's block and words; return what it was given.

        Its file comes with its acknowledgment or its first query: where neither comes, nothing is
        left of it. A merge is kept at once, for what the user decided about it.
        """
        # once in a session's life: what providers cache of its beginning stays good
        self.remember()
        agent, parent = self.agent, beginning.parent
        totals = parent.totals
        self.show(Restoring(parent.header.id, reason))
        self.live = self.sessions.begin(
            agent=agent.name,
            agent_path=agent.path,
            model=agent.model,
            parent=parent.header.id,
            parent_path=str(beginning.path),
            after=parent,
        )
        self._carried, self.edited, self._block_most = beginning.carried, None, None
        restoration = Restoration(
            at=self.sessions.now(),
            parent_created=parent.header.created,
            queries=totals.queries,
            tokens=totals.combined,
            block=beginning.block,
            grandparent=parent.header.parent,
            depth=beginning.depth or parent.depth + 1,
            since=beginning.carried[0].ref if beginning.carried else "",
            fresh=beginning.fresh,
            until=beginning.until,
            merged=beginning.merged.header.id if beginning.merged is not None else "",
        )
        begin = self.live.hold if beginning.merged is None else self.add
        begin(restoration)
        self._equip(restoration.depth)
        if beginning.pins is not None:
            self._repin(beginning.pins, begin)
        return restoration

    def _equip(self, depth: int) -> None:
        """Give the agent the archive of a session that begins, the depth-th of its chain."""
        from chat_loop.context.archive import Archive
        from chat_loop.conversation.archive_tools import (
            archive_tools,
        )  # not before there is an archive

        if self.archive is None:
            self.archive = Archive(self.sessions, count=self.count, meanings=self._meanings)
        self.archive.follow(self.session, depth)
        self.agent = replace(
            self._plain, tools=(*self._plain.tools, *archive_tools(self.archive, self.known))
        )

    def _repin(self, pins: tuple[str, ...], keep: Callable[[Entry], None]) -> None:
        standing = self.thread.pins
        at = self.sessions.now()
        for text in standing:
            if text not in pins:
                keep(Unpin(at=at, text=text))
        for text in pins:
            if text not in standing:
                keep(Pin(at=at, text=text))

    def _fresh(self) -> LiveSession:
        return self.sessions.begin(
            agent=self.agent.name, agent_path=self.agent.path, model=self.agent.model
        )

    def _ended(self, seal: Seal, told: str = "") -> None:
        """The live session was sealed, as far as the disk allowed."""
        live, totals = self.live, self.session.totals
        saved = live.saved
        live.close()
        self._problem_told = False
        self.show(
            SessionSealed(
                id=live.header.id,
                path=str(live.path),
                reason=told or seal.reason,
                queries=totals.queries,
                session_tokens=totals.session,
                restoration_tokens=totals.restoration,
                saved=saved,
                summary=seal.source,
            )
        )
