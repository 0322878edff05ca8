"""ContextMeter: builds the messages of the next request, and counts its tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.context import budget, messages
from chat_loop.context.budget import MEMORY, SYSTEM, Budget
from chat_loop.context.messages import Thread
from chat_loop.conversation.plans import ChildPlan
from chat_loop.errors import ContextFull
from chat_loop.events import Warned
from chat_loop.library import archive_tools
from chat_loop.sessions import records
from chat_loop.values import Message, ToolSpec, plural, window_text

if TYPE_CHECKING:
    from chat_loop.conversation.conversation import Conversation


class ContextMeter:
    """Fits a conversation's thread into its model's window, and counts its tokens."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._count = conversation.count
        self._ratio = 1.0  # the server's token count divided by ours, by the last report
        self._reported_fixed = 0  # our count of prompt, memory and tools at the last report
        self._budget: tuple[tuple[object, ...], Budget] | None = None
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)
        self._truncation_shown = False

    def note_report(self) -> None:
        """Remember the fixed part of the request whose tokens the server just reported."""
        self._reported_fixed = self._fixed_size()

    def budget(self) -> Budget:
        """Return the tokens of the next request without a query, the number shown everywhere."""
        conversation, session = self._conversation, self._conversation.session
        agent, window = conversation.agent, conversation.agent.provider.window
        encoding = self._count("0123456789")  # changes once the encoding is loaded
        length, limits = len(session.entries), conversation.options.limits
        restored = session.restoration
        state = (session.header.id, length, restored, agent, window, limits, encoding)
        if self._budget is None or self._budget[0] != state:
            used = reported = self._reported()
            if used is None:
                used = round(sum(self.weights().values()) * self._ratio)
            self._budget = state, Budget(used, window, estimated=reported is None)
        return self._budget[1]

    def weights(self) -> dict[str, int]:
        """Return the estimated tokens of each part of the next request."""
        agent, thread = self._conversation.agent, self._as_sent(self._conversation.thread)
        pieces = messages.pieces(thread, tools=agent.provider.calls_tools)
        tools = self._tools_size()
        return budget.weigh(pieces, agent.system_prompt, agent.memory, tools, self._count)

    def child_size(
        self, block: str, words: Sequence[records.Exchange], *, acknowledged: bool = False
    ) -> int:
        """Return the tokens of a child's next request with `block` and `words`, without a query."""
        agent, count, window = self._conversation.agent, self._count, self._conversation.window
        reported, weights = self._reported(), self.weights()
        estimate = sum(weights.values())
        if reported is not None and estimate >= 1_000:  # below, the wire's overhead distorts it
            self._ratio = min(2.0, max(0.5, reported / estimate))
        size = weights[SYSTEM] + weights[MEMORY]
        if agent.provider.calls_tools:
            specs = {tool.spec.name: tool.spec for tool in agent.tools}
            specs |= archive_tools.TOOLS
            size += self._tools_size(tuple(specs.values()))
        if block:
            session, path = self._conversation.session, self._conversation.live.path
            short = messages.shorten_block(block, messages.block_room(window), count)
            plan = ChildPlan(parent=session, path=path, block=short, carried=tuple(words))
            header = replace(session.header, parent=session.header.id, parent_path=str(path))
            text = messages.restoration_text(header, plan.restoration(header.created))
            if acknowledged and self._conversation.acknowledges:
                text = messages.with_task(text)
                size += budget.size("-", count) + 80  # a few sentences
            size += budget.size(text, count)
        size += sum(budget.exchange_size(word, count, tools=False) for word in words)
        return round(size * self._ratio)

    async def size(self, exchanges: Sequence[records.Exchange]) -> int:
        """Return the tokens of exchanges as they are sent, counted in a worker thread."""
        sizes = (budget.exchange_size(exchange, self._count) for exchange in exchanges)
        return await asyncio.to_thread(sum, sizes)

    def left_out(self) -> int:
        """Return the number of exchanges that the limits leave out of the next request."""
        thread = self._conversation.thread
        return len(thread.exchanges) - len(self._as_sent(thread).exchanges)

    def messages(self, thread: Thread | None = None) -> tuple[Message, ...]:
        """Return the messages that would be sent now, for this thread or another."""
        thread = self._as_sent(thread or self._conversation.thread)
        return messages.messages_of(thread, tools=self._conversation.agent.provider.calls_tools)

    def request(self) -> tuple[Message, ...]:
        """Return the messages of the next request. Raises ContextFull when they do not fit."""
        conversation, limits = self._conversation, self._conversation.options.limits
        truncates = not (limits.enabled or self._truncation_shown)
        if truncates and (left_out := self.left_out()):
            self._truncation_shown = True
            setting = "max_history_messages" if limits.max_messages else "max_history_tokens"
            text = f"The model no longer gets the oldest {plural(left_out, 'exchange')}: automatic"
            text += f" compaction is off, and {setting} is "
            text += f"{limits.max_messages or limits.max_tokens:,}."
            conversation.show(Warned(text, "They are saved; compact summarizes them."))
        room = budget.room(conversation.window)
        if isinstance(conversation.session.entries[-1], records.ArchiveContext):
            room += budget.recall_room(conversation.window)
        used = self.budget().used
        if used > room:  # check our own count as well: a server may count too much
            used = min(used, sum(self.weights().values()))
        if used > room:
            text = f"Not sent: the request would hold {used:,} tokens, and the window of "
            text += f"{window_text(conversation.window, False)} takes {room:,} beside a reply. "
            hint = "/context shows what fills it; compact makes the conversation smaller."
            raise ContextFull(f"{text}Nothing is lost.", hint)
        return self.messages()

    def _reported(self) -> int | None:
        """Return the next request's tokens based on the last report; None if no report applies."""
        if not self._conversation.options.limits.enabled and self.left_out():
            return None
        used = budget.reported(self._conversation.live.session, self._count)
        return None if used is None else used + self._fixed_size() - self._reported_fixed

    def _fixed_size(self) -> int:
        return self._count(self._conversation.agent.system) + self._tools_size()

    def _tools_size(self, specs: tuple[ToolSpec, ...] | None = None) -> int:
        """Return the tokens of `specs`, by default those of the tools that the model has now."""
        agent = self._conversation.agent
        if specs is None:
            specs = tuple(tool.spec for tool in agent.tools) if agent.calls_tools else ()
        if self._tools[0] != specs:
            self._tools = specs, budget.tools_size(specs, self._count)
        return self._tools[1]

    def _as_sent(self, thread: Thread) -> Thread:
        """Return a thread as sent: with a block that fits, and only the exchanges within limits."""
        limits, session = self._conversation.options.limits, thread.session
        entries = session.entries
        if not limits.enabled and (limits.max_messages or limits.max_tokens):
            newest = budget.newest_within(thread.exchanges, limits, self._count)
            own = {0, *(said.query.number for said in newest if said.depth == session.depth)}
            entries = tuple(
                entry
                for entry in entries
                if not isinstance(entry, records.QueryEntry) or entry.number in own
            )
            carried = tuple(exchange for exchange in thread.carried if exchange in newest)
            thread = replace(thread, carried=carried, session=replace(session, entries=entries))
        if (restoration := session.restoration) is None:
            return thread
        room = messages.block_room(self._conversation.window)
        block = messages.shorten_block(restoration.block, room, self._count)
        if block == restoration.block:
            return thread
        fitting = replace(restoration, block=block)
        entries = tuple(fitting if entry is restoration else entry for entry in entries)
        return replace(thread, session=replace(session, entries=entries))
