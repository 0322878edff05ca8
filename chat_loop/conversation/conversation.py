"""Conversation: one chain as it goes on. Asks, saves, compacts, restores and ends; shows nothing
itself.

Everything that happens is told to `show` as an event. The order of acts is the contract of
`sessions/live.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from chat_loop.agent.agent import Agent
from chat_loop.context.budget import Budget
from chat_loop.context.draft import Draft
from chat_loop.context.plan import trigger
from chat_loop.context.thread import Thread
from chat_loop.conversation.asking import Asking
from chat_loop.conversation.compaction import Compacting, May
from chat_loop.conversation.describing import describe
from chat_loop.conversation.ending import Ending
from chat_loop.conversation.live_context import LiveContext
from chat_loop.conversation.options import Options
from chat_loop.errors import SessionError, UsageError
from chat_loop.events import Event, SessionFound, Warned
from chat_loop.providers import Provider
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import (
    Exchange,
    Pin,
    Reply,
    SealReason,
    Session,
    Summary,
    Undo,
    Unpin,
)
from chat_loop.values import Message, Usage

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.attach.reading import Given
    from chat_loop.conversation.merging import Merging
    from chat_loop.conversation.resume import Offer, Resuming

ARCHIVE_SECONDS = 30.0


class Conversation:
    """The live session and the agent that answers in it. `count(text)` estimates tokens, `memory()`
    reads it.
    """

    def __init__(
        self,
        agent: Agent,
        sessions: SessionManager,
        *,
        count: Callable[[str], int],
        show: Callable[[Event], None],
        options: Options,
        memory: Callable[[], str] = str,
        servers: Servers | None = None,
    ) -> None:
        self.sessions = sessions
        self.options = options
        self._show = show
        self._context = LiveContext(
            agent, sessions, count, show, memory, options.meanings, options.limits
        )
        self._compacting = Compacting(self._context, options)
        self._asking = Asking(self._context, self._compacting, options, servers)
        self._ending = Ending(self._context, self._compacting, options)

    @property
    def agent(self) -> Agent:
        return self._context.agent

    @property
    def live(self) -> LiveSession:
        return self._context.live

    @property
    def session(self) -> Session:
        return self._context.session

    @property
    def thread(self) -> Thread:
        """What of the chain stands in the context."""
        return self._context.thread

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model would be sent now."""
        return self._context.messages()

    @property
    def weights(self) -> dict[str, int]:
        """The estimated tokens of the parts of the next request."""
        return self._context.weights()

    @property
    def left_out(self) -> int:
        """How many exchanges the limits leave out of the next request while nothing is compacted by
        itself.
        """
        return self._context.left_out

    def first_request(self, offer: Offer) -> int:
        """Return the tokens of the first request after `offer` was accepted and acknowledged, a
        query apart.
        """
        beginning = offer.beginning
        return self._context.would_hold(
            beginning.block, beginning.carried, acknowledged=self.options.acknowledge
        )

    @property
    def budget(self) -> Budget:
        """How full the window is, as of now."""
        return self._context.budget

    @property
    def otherwise(self) -> str:
        """What happens when a resume fails, as a sentence."""
        return "Starting fresh." if self.live.empty else "This session goes on."

    @property
    def trigger(self) -> int:
        """The tokens from which on the context is compacted."""
        return trigger(self._context.window, self.options.limits)

    @property
    def summary_state(self) -> str:
        """The summary in the background: `in the making`, `ready`, `failed`, or empty."""
        return self._compacting.state

    @property
    def next_usage(self) -> Usage:
        """What the next request would be charged for before its reply."""
        return Usage(input=self.budget.used, estimated=True)

    def only_in_archive(self) -> tuple[str, ...]:
        """The sentences with exact values of all sessions of the chain that stand in the archive
        only.

        Raises UsageError when nothing was compacted, SessionError when an ancestor's file cannot be
        read.
        """
        from chat_loop.context.archived import only_archived
        from chat_loop.conversation.ancestors import parent_of  # rarely asked for
        from chat_loop.sessions.chain import ChainReader, placed

        parent_of(self.session)
        chain = ChainReader(self.sessions).read(self.session)
        if chain.broken:
            raise SessionError(chain.broken)
        ancestors = placed(chain, self.session.depth)
        return only_archived(
            (exchange for session in ancestors for exchange in session), self.thread
        )

    @property
    def pins(self) -> tuple[str, ...]:
        return self.thread.pins

    async def files(self, typed: str) -> tuple[Given, ...]:
        """The files that what was typed names with `@`, read now. Raises UsageError for one that
        cannot be sent.
        """
        from chat_loop.conversation.attachments import files_of  # not before a file is named

        return await files_of(self._context, typed)

    async def ask(self, text: str, files: Sequence[Given] = ()) -> Reply:
        """Save the query and its files, ask, save the reply as it arrives. Raises ProviderError
        after saving what came.

        When the context is too full it is compacted first, without a model call; when a server says
        that it is, it is compacted and asked once more. Raises ContextFull, with the query saved,
        when the request cannot fit. When cancelled, the partial reply is saved as interrupted and
        CancelledError goes on.
        """
        return await self._asking.ask(text, files)

    async def switch(self, provider: Provider) -> None:
        """Have another model answer from the next query on. The window is its own from now on."""
        await self._compacting.stop()  # it may be made with the model that goes
        before = self.agent.provider
        self._context.switch(provider)
        await before.close()

    def pin(self, text: str) -> None:
        """Keep `text` in every later summary block of the chain, word for word."""
        self._context.add(Pin(at=self.sessions.now(), text=text))

    def unpin(self, text: str) -> None:
        """Carry a pin no further."""
        self._context.add(Unpin(at=self.sessions.now(), text=text))

    def rename(self, text: str) -> None:
        """Call the conversation so; an empty text leaves it to the program again."""
        describe(self._context, name=text)

    def tag(self, tags: Sequence[str]) -> None:
        """Have exactly these tags."""
        describe(self._context, tags=tags)

    def last(self) -> tuple[Exchange, Loaded | None]:
        """Return the newest exchange; and right after a compaction, the session before it, whose
        last one it is.

        Raises UsageError when nothing was said in this session: the words before it are another
        session's.
        """
        if not self.session.exchanges:
            header, found = self.session.header, None
            if header.parent:
                with contextlib.suppress(SessionError):
                    found = self.sessions.load(self.sessions.directory / f"{header.parent}.md")
            if (
                found
                and found.session.seal
                and found.session.seal.reason == "compact"
                and found.session.exchanges[1:]
            ):
                return found.session.exchanges[-1], found
            carried = self.thread.carried
            further = "" if self.live.empty else "All of it was undone; the words stay in the file."
            if self.session.header.parent:
                further = "/tree shows the sessions before it; /uncompact takes a compaction back."
            if len(carried) > 1:
                further = f"/fork {carried[-2].ref} goes on without the last one before it."
            raise UsageError("Nothing was said in this session that could be undone.", further)
        return self.session.exchanges[-1], None

    async def undo(self) -> Exchange:
        """Take the last exchange out of the conversation; return it. Its words stay in the file.

        Right after a compaction that is taken back as well: the conversation goes on with the words
        before it. Raises UsageError as `last` does.
        """
        last, before = self.last()
        await self._compacting.stop()
        if before is not None:
            offer = await self.resuming().forked(before, before.session.exchanges[-2].query.number)
            await self.accept(offer, acknowledge=False)
            self._show(
                Warned(
                    "The compaction was taken back with it: the words before it are in the "
                    "context again."
                )
            )
            return last
        self._context.add(Undo(number=last.query.number, at=self.sessions.now()))
        return last

    def remember(self) -> None:
        """Give the agent the memory as it stands now, from the next request on."""
        self._context.remember()

    def resuming(self, *, quick: bool = False) -> Resuming:
        """What takes stored sessions up, forks them, and makes their summaries; when `quick`,
        without a model.
        """
        from chat_loop.conversation.resume import Resuming  # rarely asked for

        return Resuming(self._context, self._compacting, self.options, quick=quick)

    def merging(self) -> Merging:
        """What puts two branches together."""
        from chat_loop.conversation.merging import Merging  # rarely asked for

        return Merging(self._context, self.resuming(), self._compacting.ledger_room)

    async def compact(self, focus: str = "", may: May | None = None) -> bool:
        """Seal this session with a summary and go on in a child that starts from it.

        Without the model when its summary fails, which is told. Returns False, with everything as
        it was, when the disk refuses, or it would not make the context smaller and `may` says no.
        Raises UsageError when there is nothing to compact. When cancelled before the session is
        sealed, nothing has changed.
        """
        draft = await self.draft(focus, may)
        return draft is not None and await self.take(draft)

    async def draft(
        self, focus: str = "", may: May | None = None, done: str = "compacted"
    ) -> Draft | None:
        """Return what `compact` would do, with nothing done yet; None when `may` says no.

        `done` is what is said to have been done without the model when its summary fails.
        """
        return await self._compacting.draft(focus, may, done)

    def edited(self, draft: Draft, summary: Summary) -> Draft:
        """Return a draft with the block as the user left it."""
        return self._compacting.edited(draft, summary)

    async def take(self, draft: Draft, *, acknowledge: bool = True) -> bool:
        """Carry out a draft of this session. False, with everything as it was, when the disk
        refuses.
        """
        if not self._compacting.take(draft):
            return False
        if acknowledge and draft.answered:
            await self._asking.acknowledge()
        return True

    async def offer(
        self, loaded: Loaded, *, last: int = 0, whole: bool = False, quick: bool = False
    ) -> Offer:
        """How a stored session would be taken up: from its summary (made now when it has none) and
        its last words, or whole. A `quick` offer calls no model. Raises SessionError when there is
        nothing in it to resume.
        """
        from chat_loop.conversation.ancestors import resumable  # not before something is resumed

        session = loaded.session
        totals = session.totals
        if not resumable(session):
            raise SessionError(
                f"Session {session.header.id} has no exchanges: it can't be resumed.",
                self.otherwise,
            )
        self._show(
            SessionFound(
                id=session.header.id,
                agent=session.header.agent,
                created=session.header.created,
                queries=totals.queries,
                tokens=totals.combined,
                damage=loaded.damage,
            )
        )
        resuming = self.resuming(quick=quick)
        return await (resuming.whole(loaded) if whole else resuming.summarised(loaded, last))

    async def offer_undone(self) -> Offer:
        """How the conversation would go on as if its last compaction had not been.

        Raises UsageError when there was none, SessionError when the parent's file cannot be read.
        """
        return await self.resuming().undone()

    async def resume(self, loaded: Loaded) -> None:
        """End this session and go on in a child of `loaded`, from its summary. Raises as `offer`
        and `accept` do.
        """
        await self.accept(await self.offer(loaded))

    async def accept(self, offer: Offer, *, acknowledge: bool = True) -> None:
        """End this session and go on as offered. Raises SaveError while its words are nowhere but
        here.
        """
        live, was = self.live, self.live.header.id
        self._ending.leave("resume")
        beginning = offer.beginning.renamed(was, live.header.id)
        self._context.begin_child(beginning, "resume")
        self._compacting.restored_from(beginning.path if offer.has_own_block else None)
        if acknowledge and offer.answered:
            await self._asking.acknowledge()

    def leave(self, reason: SealReason) -> None:
        """End this session at once, without a model call, and have a fresh one.

        Raises SaveError when the disk refuses: words that are nowhere but here are only left at the
        exit.
        """
        self._ending.leave(reason)
        self._context.renew()
        self._compacting.restored_from(None)

    async def end(self) -> None:
        """Summarise and seal the session. Cancelled during the summary, it is sealed without
        one.
        """
        await self._ending.end()

    def close(self) -> None:
        """Give back the live session's file and lock, sealed or not."""
        self.live.close()
        if self._context.archive is not None:
            self._context.archive.close()
        self._context.tell_moved()

    async def settled(self) -> None:
        """Wait until nothing is being prepared in the background, and the archive can be
        searched.
        """
        await self._compacting.settled()
        if self._context.archive is not None:
            await asyncio.to_thread(self._context.archive.wait, ARCHIVE_SECONDS)
