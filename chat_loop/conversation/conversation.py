"""Conversation: one chain as it goes on. Asks, saves, compacts, resumes and ends; shows nothing
itself.

Everything that happens is told to `show` as an event. The order of acts is the contract of
`sessions/live.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.context.budget import MEMORY, SYSTEM, TOOLS, room, size, trigger
from chat_loop.context.messages import Thread, with_task
from chat_loop.conversation.compaction import Compaction, May, uncancel
from chat_loop.conversation.live_context import LiveContext
from chat_loop.conversation.options import Options
from chat_loop.errors import ContextFull, ContextTooLong, ProviderError, SessionError, UsageError
from chat_loop.events import Connecting, Event, Recalled, Warned
from chat_loop.library import archive_tools
from chat_loop.providers import Provider
from chat_loop.redact import redacted
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import (
    ArchiveContext,
    Exchange,
    ModelChange,
    Name,
    Pin,
    Query,
    Reply,
    SealReason,
    Tag,
    Undo,
    Unpin,
    Untag,
)
from chat_loop.tokens import image_tokens
from chat_loop.values import Message
from chat_loop.wording import counted, window_text

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.attach.reading import Given
    from chat_loop.context.proposal import Draft
    from chat_loop.conversation.resume import Offer, Offers
    from chat_loop.library.archive import Archive

ARCHIVE_SECONDS = 30.0
MOST_RECALLED = 400
"""Tokens of the archive that are attached to a query, at most; less on a small window."""
RECALL_MARGIN = 20
LONGEST_ACKNOWLEDGMENT = 2048
"""Tokens; a few sentences are asked for, and a small model may not find its end."""
MOST_TOOL_CHARACTERS = 100_000
"""Characters that the schemas of all MCP tools may take; on a small window, half a character for
each of its tokens.
"""


class Conversation(LiveContext):
    """A live context that asks, compacts and takes stored sessions up. `servers` are the MCP
    servers whose tools the agent has, if any.
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
        super().__init__(agent, sessions, count=count, show=show, options=options, memory=memory)
        self.compaction = Compaction(self)
        self._servers = servers
        self._shortened_told = 0
        self._truncation_told = False
        self._images_told: set[str] = set()

    @property
    def trigger(self) -> int:
        """The tokens from which on the context is compacted."""
        return trigger(self.window, self.options.limits)

    # Asking

    async def files(self, typed: str) -> tuple[Given, ...]:
        """Read the files that what was typed names with `@`. Raises UsageError for one that cannot
        be sent.
        """
        from chat_loop.conversation.attachments import files_of  # not before a file is named

        return await files_of(self, typed)

    async def ask(self, text: str, files: Sequence[Given] = ()) -> Reply:
        """Save the query and its files, ask, save the reply as it arrives. Raises ProviderError
        after saving what came.

        When the context is too full it is compacted first, without a model call; when a server says
        that it is, it is compacted and asked once more. Raises ContextFull, with the query saved,
        when the request cannot fit. When cancelled, the partial reply is saved as interrupted and
        CancelledError goes on.
        """
        waiting = size("\n".join((text, *(file.text for file in files))), self.count)
        waiting += sum(image_tokens(file.width, file.height) for file in files if file.width)
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
            self.show(
                Warned(
                    error.message, "The conversation was compacted for that; it is asked once more."
                )
            )
            return await self._ask(text, files, waiting)

    async def _ask(self, text: str, files: Sequence[Given], waiting: int) -> Reply:
        """Ask; the query takes `waiting` tokens."""
        try:
            await self.compaction.make_room(waiting)
        except asyncio.CancelledError:
            number = self._add_query(text, files)
            self.add(Reply(number=number, at=self.sessions.now(), text="", stop="interrupted"))
            raise
        number = self._add_query(text, files)
        if self.archive is not None:
            self._recall(self.archive, number, text)
        if self._servers is not None and self.agent.provider.calls_tools:
            await self._offer_servers(self._servers)
        try:
            messages = self._next_messages()
        except ContextFull:
            self.add(
                Reply(number=number, at=self.sessions.now(), text="", stop="error", failed=True)
            )
            raise
        reply = await self.answer(number, messages)
        await self.compaction.watch()
        return reply

    def _add_query(self, text: str, files: Sequence[Given]) -> int:
        """Save a query with its files; return its number."""
        number = self.live.next_number
        self.add(Query(number=number, at=self.sessions.now(), text=text))
        if files:
            from chat_loop.conversation.attachments import keep  # loaded by then

            keep(self, number, files)
        return number

    def _recall(self, archive: Archive, number: int, text: str) -> None:
        """Attach what the archive has on a query, for a model that cannot search it itself."""
        restoration = self.session.restoration
        wanted = self.options.attach_from_archive and not self.agent.calls_tools
        if restoration is None or not wanted:
            return
        free = room(self.window) - self.budget.used - RECALL_MARGIN
        found, refs = archive.recall(
            text, self.known(), min(MOST_RECALLED, self.window // 16, free), restoration.block
        )
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
        characters = min(MOST_TOOL_CHARACTERS, self.window // 2)
        self.offer_tools(await servers.tools(taken, characters, waiting))
        if waited:
            self.show(Connecting(()))
        for message, hint in servers.notices():
            self.show(Warned(message, hint))

    def _next_messages(self) -> tuple[Message, ...]:
        """Return the messages of the next request. Raises ContextFull when they do not fit."""
        if not self._truncation_told and (left_out := self.left_out):
            self._tell_truncation(left_out)
        if self.budget.used > room(self.window):
            self._fit_or_refuse()
        messages, shortened = self.fitted(self.thread)
        if shortened > self._shortened_told:
            self.show(
                Warned(
                    f"A message is longer than half of the window ({self.window:,} tokens): "
                    "the model gets its beginning and its end.",
                    "It is saved whole.",
                )
            )
        self._shortened_told = shortened
        if not any(message.images for message in messages):
            return messages
        from chat_loop.conversation.attachments import shown  # not before there is an image

        return shown(self, messages, self._images_told)

    def _tell_truncation(self, left_out: int) -> None:
        """Say that the model does not get the oldest `left_out` exchanges any more."""
        self._truncation_told = True
        limits = self.options.limits
        what = "max_history_messages" if limits.max_messages else "max_history_tokens"
        self.show(
            Warned(
                f"The model no longer gets the oldest {counted(left_out, 'exchange')}: automatic "
                f"compaction is off, and {what} is {limits.max_messages or limits.max_tokens:,}.",
                "They are saved; compact keeps what matters in them.",
            )
        )

    def _fit_or_refuse(self) -> None:
        """Shorten the restored block where that is enough. Raises ContextFull where it is not: the
        request is better not sent.

        A server may count too much: what is sent is counted as well.
        """
        most = room(self.window)
        weights = self.weights
        if sum(weights.values()) > most:
            self.squeeze(sum(weights.values()) - most)
            weights = self.weights
        used = min(self.budget.used, sum(weights.values()))
        if used <= most:
            return
        fixed = {part: weights.get(part, 0) for part in (TOOLS, MEMORY, SYSTEM)}
        largest = max(fixed, key=fixed.__getitem__)
        hint = "compact makes room; a model with a larger window takes more."
        if fixed[largest] > most // 2:
            verb = "takes" if largest == SYSTEM else "take"
            hint = (
                f"{largest} alone {verb} {fixed[largest]:,} of them, which compact cannot change: "
                "have less of that, or take a model with a larger window."
            )
        raise ContextFull(
            f"Not sent: the request would hold {used:,} tokens, and the window of "
            f"{window_text(self.window, False)} takes {most:,} beside a reply. Nothing is lost.",
            hint,
        )

    async def acknowledge(self) -> None:
        """Let the agent confirm what it was given."""
        restoration = self.session.restoration
        if not self.options.acknowledge or restoration is None or not restoration.block:
            return
        try:
            given = self.fitted(Thread(self.session))[0][0].text
            ceiling = min(LONGEST_ACKNOWLEDGMENT, self.window // 8)
            await self.answer(0, (Message("user", with_task(given)),), ceiling)
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
        """Have another model answer from the next query on. The window is its own from now on.

        An agent that answered by itself goes with its tools.
        """
        await (
            self.compaction.background.cancel()
        )  # the summary may be made with the model that goes
        before = self.agent.provider
        self.agent = replace(self.agent, provider=provider, own_tools=False)
        self._ratio = 1.0
        if self.live.empty:  # its header is not written yet
            self.live.header = replace(self.live.header, model=self.agent.model)
        else:
            self.add(ModelChange(at=self.sessions.now(), text=self.agent.model))
        await before.close()

    # Pins, name and tags

    def pin(self, text: str) -> None:
        """Keep `text` in every later summary block of the chain, word for word."""
        self.add(Pin(at=self.sessions.now(), text=text))

    def unpin(self, text: str) -> None:
        """Carry a pin no further."""
        self.add(Unpin(at=self.sessions.now(), text=text))

    def rename(self, text: str) -> None:
        """Name the conversation; an empty text leaves it to the program again."""
        if self._has_no_file():
            self.live.header = replace(self.live.header, name=text)
        elif text != self.session.name:
            self.add(Name(at=self.sessions.now(), text=text))

    def tag(self, tags: Sequence[str]) -> None:
        """Give the conversation exactly these tags."""
        if self._has_no_file():
            self.live.header = replace(self.live.header, tags=tuple(tags))
            return
        at, standing = self.sessions.now(), self.session.tags
        for tag in tags:
            if tag not in standing:
                self.add(Tag(at=at, text=tag))
        for tag in standing:
            if tag not in tags:
                self.add(Untag(at=at, text=tag))

    def _has_no_file(self) -> bool:
        """Return True while the header is not written, nor to be written for a child."""
        return self.live.empty and not self.live.header.parent

    # Undo

    def last(self) -> tuple[Exchange, Loaded | None]:
        """Return the newest exchange; and right after a compaction, the session before it, whose
        last one it is.

        Raises UsageError when nothing was said in this session: the words before it are another
        session's.
        """
        if self.session.exchanges:
            return self.session.exchanges[-1], None
        parent = self.session.header.parent
        if parent:
            with contextlib.suppress(SessionError):
                found = self.sessions.load(self.sessions.session_file(parent))
                seal, exchanges = found.session.seal, found.session.exchanges
                if seal and seal.reason == "compact" and exchanges[1:]:
                    return exchanges[-1], found
        carried = self.thread.carried
        further = "" if self.live.empty else "All of it was undone; the words stay in the file."
        if parent:
            further = "/tree shows the sessions before it; /uncompact takes a compaction back."
        if len(carried) > 1:
            further = f"/fork {carried[-2].ref} goes on without the last one before it."
        raise UsageError("Nothing was said in this session that could be undone.", further)

    async def undo(self) -> Exchange:
        """Take the last exchange out of the conversation; return it. Its words stay in the file.

        Right after a compaction that is taken back as well: the conversation goes on with the words
        before it. Raises UsageError as `last` does.
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

        Without the model when its summary fails, which is told. Returns False, with everything as
        it was, when the disk refuses, or it would not make the context smaller and `may` says no.
        Raises UsageError when there is nothing to compact. When cancelled before the session is
        sealed, nothing has changed.
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
        """Return what makes offers of how to go on from stored sessions; when `quick`, without a
        model.
        """
        from chat_loop.conversation.resume import Offers  # not before something is resumed

        return Offers(self, self.compaction, quick=quick)

    async def accept(self, offer: Offer, *, acknowledge: bool = True) -> None:
        """End this session and go on as offered. Raises SaveError while its words are only here."""
        live, was = self.live, self.live.header.id
        self.compaction.leave("resume")
        self.begin_child(offer.beginning.renamed(was, live.header.id), "resume")
        if acknowledge and offer.answered:
            await self.acknowledge()

    def leave(self, reason: SealReason) -> None:
        """End this session at once, without a model call, and have a fresh one.

        Raises SaveError when the disk refuses: words that are nowhere but here are only left at the
        exit.
        """
        self.compaction.leave(reason)
        self.renew()

    async def end(self) -> None:
        """Summarize and seal the session; when cancelled, seal it without a summary."""
        await self.compaction.end()

    def close(self) -> None:
        """Give back the live session's file and lock, sealed or not."""
        self.live.close()
        if self.archive is not None:
            self.archive.close()
        self.tell_moved()

    async def settled(self) -> None:
        """Wait until nothing is prepared in the background and the archive can be searched."""
        await self.compaction.background.wait()
        if self.archive is not None:
            await asyncio.to_thread(self.archive.wait, ARCHIVE_SECONDS)
