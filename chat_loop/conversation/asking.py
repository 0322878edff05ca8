"""Asking: a query is saved and sent with what belongs to it, and its reply saved as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chat_loop.context.budget import room, size
from chat_loop.context.fit import check
from chat_loop.context.restore import with_task
from chat_loop.context.thread import Thread
from chat_loop.conversation.cancelling import uncancel
from chat_loop.conversation.compaction import Compacting
from chat_loop.conversation.live_context import LiveContext
from chat_loop.conversation.options import Options
from chat_loop.errors import ContextFull, ContextTooLong, ProviderError
from chat_loop.events import Recalled, Warned
from chat_loop.sessions.records import Query, Recall, Reply
from chat_loop.tokens import image_tokens
from chat_loop.values import Message
from chat_loop.wording import counted

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.attach.reading import Given

MOST_RECALLED = 400
"""Tokens of the archive that are attached to a query, at most; less on a small window."""
RECALL_MARGIN = 20
LONGEST_ACKNOWLEDGMENT = 2048
"""Tokens; a few sentences are asked for, and a small model may not find its end."""


def recall(context: LiveContext, options: Options, number: int, text: str) -> None:
    """Attach what the archive has on query `number`, for a model that cannot search it itself."""
    if not options.attach_from_archive or context.agent.calls_tools or context.archive is None:
        return
    restoration = context.session.restoration
    if restoration is None:
        return
    free = room(context.window) - context.budget.used - RECALL_MARGIN
    found, refs = context.archive.recall(
        text, context.known(), min(MOST_RECALLED, context.window // 16, free), restoration.block
    )
    if found:
        from chat_loop.redact import redacted  # not before something is found

        context.add(Recall(number=number, at=context.sessions.now(), text=redacted(found)))
        context.show(Recalled(refs))


class Asking:
    """Makes the requests of a conversation. `servers` are the MCP servers whose tools the agent
    has, if any.
    """

    def __init__(
        self,
        context: LiveContext,
        compacting: Compacting,
        options: Options,
        servers: Servers | None = None,
    ) -> None:
        self._context = context
        self._compacting = compacting
        self._options = options
        self._servers = servers
        self._shortened_told = 0
        self._truncation_told = False
        self._images_told: set[str] = set()

    async def ask(self, text: str, files: Sequence[Given]) -> Reply:
        """As `Conversation.ask`."""
        waiting = size("\n".join((text, *(file.text for file in files))), self._context.count)
        waiting += sum(image_tokens(file.width, file.height) for file in files if file.width)
        try:
            return await self._once(text, files, waiting)
        except ContextTooLong as error:
            if not (
                self._options.limits.enabled
                and self._may_ask_again()
                and self._compacting.shrink(waiting)
            ):
                raise
            self._context.show(
                Warned(
                    error.message, "The conversation was compacted for that; it is asked once more."
                )
            )
            return await self._once(text, files, waiting)

    async def acknowledge(self) -> None:
        """Let the agent confirm what it was given."""
        context = self._context
        restoration = context.session.restoration
        if not self._options.acknowledge or restoration is None or not restoration.block:
            return
        try:
            request = Message("user", with_task(context.fitted(Thread(context.session))[0][0].text))
            ceiling = min(LONGEST_ACKNOWLEDGMENT, context.window // 8)
            await context.answer(0, (request,), ceiling)
        except ProviderError as error:
            context.show(
                Warned(
                    f"The acknowledgment failed: {error.message}",
                    "The context is restored all the same.",
                )
            )
        except asyncio.CancelledError:
            uncancel()

    async def _once(self, text: str, files: Sequence[Given], waiting: int) -> Reply:
        """Ask; the query takes `waiting` tokens."""
        context = self._context
        self._compacting.make_room(waiting)
        await self._compacting.give_way()
        number = context.live.next_number
        context.add(Query(number=number, at=context.sessions.now(), text=text))
        if files:
            from chat_loop.conversation.attachments import keep  # loaded by then

            keep(context, number, files)
        recall(context, self._options, number, text)
        if self._servers is not None:
            from chat_loop.conversation.serving import offer_servers  # not without servers

            await offer_servers(context, self._servers)
        try:
            messages = self._messages()
        except ContextFull:
            context.add(
                Reply(number=number, at=context.sessions.now(), text="", stop="error", failed=True)
            )
            raise
        reply = await context.answer(number, messages)
        self._compacting.watch()
        return reply

    def _may_ask_again(self) -> bool:
        """Whether the newest query can be asked anew: none of its tools ran, whose work would be
        done twice.
        """
        last = self._context.session.exchanges[-1]
        return not last.uses and not (last.reply and last.reply.text)

    def _messages(self) -> tuple[Message, ...]:
        """The messages of the next request. Raises ContextFull when they do not fit."""
        context, limits = self._context, self._options.limits
        if not self._truncation_told and (left_out := context.left_out):
            self._truncation_told = True
            what = "max_history_messages" if limits.max_messages else "max_history_tokens"
            context.show(
                Warned(
                    f"The model no longer gets the oldest {counted(left_out, 'exchange')}: "
                    f"automatic compaction is off, and {what} is "
                    f"{limits.max_messages or limits.max_tokens:,}.",
                    "They are saved; compact keeps what matters in them.",
                )
            )
        if context.budget.used > room(
            context.window
        ):  # a server may count too much: what is sent is counted as well
            used = sum(context.weights().values())
            if used > room(context.window):
                context.squeeze(used - room(context.window))
                used = sum(context.weights().values())
            check(min(context.budget.used, used), context.window)
        messages, shortened = context.fitted(context.thread)
        if shortened > self._shortened_told:
            context.show(
                Warned(
                    f"A message is longer than half of the window ({context.window:,} tokens): "
                    "the model gets its "
                    "beginning and its end.",
                    "It is saved whole.",
                )
            )
        self._shortened_told = shortened
        if not any(message.images for message in messages):
            return messages
        from chat_loop.conversation.attachments import shown  # not before there is an image

        return shown(context, messages, self._images_told)
