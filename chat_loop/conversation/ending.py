"""Ending: how a conversation's session is sealed, with a summary or without a model."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from chat_loop.conversation.cancelling import uncancel
from chat_loop.conversation.compaction import Compacting
from chat_loop.conversation.live_context import LiveContext
from chat_loop.conversation.options import Options
from chat_loop.errors import SaveError
from chat_loop.events import SummaryEnded
from chat_loop.sessions.records import Seal, SealReason

MAKE_LATER = "It will be made when you resume the session."


class Ending:
    """Seals the session at a conversation's context."""

    def __init__(self, context: LiveContext, compacting: Compacting, options: Options) -> None:
        self._context = context
        self._compacting = compacting
        self._options = options

    def leave(self, reason: SealReason) -> None:
        """End this session at once, without a model call; the caller begins the next one.

        Raises SaveError when the disk refuses: words that are nowhere but here are only left at the
        exit.
        """
        if self._context.live.empty:
            self._context.live.close()
        elif reason == "exit":
            self._context.seal_anyway(self._without_model(reason))
        else:
            try:
                self._context.sealed(self._without_model(reason))
            except SaveError as error:
                raise SaveError(error.message, f"This session is not left. {error.hint}") from error

    async def end(self) -> None:
        """Summarise and seal the session. Cancelled during the summary, it is sealed without
        one.
        """
        if self._context.live.empty:
            await self._compacting.stop()
            return
        seal = self._without_model("exit")
        thread = self._context.thread
        answered = any(exchange.reply and exchange.reply.text.strip() for exchange in thread.fresh)
        if self._options.summary_on_exit and answered and self._options.use_ai_summary:
            try:
                outcome, _ = await self._compacting.narrate(
                    thread, thread.fresh, otherwise=MAKE_LATER, optional=True
                )
            except asyncio.CancelledError:
                uncancel()
                self._context.show(
                    SummaryEnded(source="none", problem=f"Summary skipped. {MAKE_LATER}")
                )
            else:
                if outcome.narrative is not None:
                    made = self._compacting.summary_of_all(thread, outcome)
                    seal = replace(seal, source="model", summary=made)
                seal = replace(
                    seal,
                    usage=outcome.usage,
                    seconds=outcome.seconds,
                    at=self._context.sessions.now(),
                )
        await self._compacting.stop()
        self._context.seal_anyway(seal)

    def _without_model(self, reason: SealReason) -> Seal:
        """A seal that costs nothing: a child in which nothing was said passes its parent's block
        on.
        """
        seal = Seal(at=self._context.sessions.now(), reason=reason)
        thread = self._context.thread
        if thread.fresh and self._options.use_ai_summary:
            return seal
        if not thread.fresh and thread.inherited is None and not thread.pins:
            return seal
        made = self._compacting.summary_of_all(thread, None)
        return replace(seal, source="extracted", summary=made)
