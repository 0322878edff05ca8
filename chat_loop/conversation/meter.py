"""ContextMeter: what of a conversation the next request holds, and how many tokens that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.agent.tools import READ_RESULT
from chat_loop.context import budget, messages
from chat_loop.context.budget import MEMORY, SYSTEM, TOOLS, Budget, Count
from chat_loop.context.messages import Thread
from chat_loop.conversation.options import Options
from chat_loop.errors import ContextFull
from chat_loop.events import Event, Warned
from chat_loop.library import archive_tools
from chat_loop.sessions.records import Exchange, QueryEntry, Reply, Restoration, Session
from chat_loop.values import Message, ToolSpec
from chat_loop.wording import counted, window_text

MARGIN = 20
"""Tokens left free where sizes are added up whose parts are counted apart."""


class ContextMeter:
    """Fits a thread into the window of an agent's model, and counts it. `count(text)` estimates
    tokens; `show` gets a warning about what the model does not get.
    """

    def __init__(self, options: Options, count: Count, show: Callable[[Event], None]) -> None:
        self._limits = options.limits
        self._acknowledge = options.acknowledge
        self._count = count
        self._show = show
        self._ratio = 1.0
        """The server's tokens for one of ours, by the last report."""
        self._reported_fixed = 0
        """Tokens of system prompt, memory and tools in the last reported request, by our count."""
        self._budget: tuple[tuple[object, ...], Budget] | None = None
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)
        self._block_limits: dict[str, int] = {}
        """Session -> tokens that its restored block may take, once a query has needed its room."""
        self._limits_announced = False
        self._shortened = 0

    def change_model(self) -> None:
        """Forget how the last model counts."""
        self._ratio = 1.0

    def note_report(self, agent: Agent) -> None:
        """Note what was fixed in the request whose tokens the server has just reported."""
        self._reported_fixed = self._fixed_size(agent)

    # Sizes

    def budget(self, thread: Thread, agent: Agent) -> Budget:
        """Return the tokens of the next request, a new query apart: the number that is shown, and
        the one that triggers a compaction. It is counted again only when something changed.
        """
        session, window = thread.session, agent.provider.window
        state = (
            *(session.header.id, len(session.entries), agent, window, thread.edited),
            # texts are counted otherwise once the encoding is loaded
            *(bool(agent.cut_results), self._count("0123456789"), *self._block_limits.items()),
        )
        if self._budget is None or self._budget[0] != state:
            reported = self._reported(thread, agent)
            used = reported
            if used is None:
                used = round(sum(self.weights(thread, agent).values()) * self._ratio)
            self._budget = (state, Budget(used, window, estimated=reported is None))
        return self._budget[1]

    def weights(
        self, thread: Thread, agent: Agent, specs: Sequence[ToolSpec] | None = None
    ) -> dict[str, int]:
        """Return the estimated tokens of the parts of the next request, with the tools `specs` or
        those that the agent has now.
        """
        pieces = messages.pieces(self._fit(thread, agent)[0], tools=agent.provider.calls_tools)
        tools = self._tools_size(agent, specs)
        return budget.weigh(pieces, agent.system_prompt, agent.memory, tools, self._count)

    def child_size(
        self,
        thread: Thread,
        agent: Agent,
        path: Path,
        block: str,
        words: Sequence[Exchange],
        *,
        acknowledged: bool,
    ) -> int:
        """Return the tokens of a child's next request, a query apart, when it is given `block` and
        `words`. `path` is the live session's file; `acknowledged`: the agent confirms what it was
        given, where that is wanted.
        """
        reported = self._reported(thread, agent)
        if reported is not None:
            estimate = sum(self.weights(thread, agent).values())
            if estimate >= 1_000:  # below, what the wire adds weighs more
                self._ratio = min(2.0, max(0.5, reported / estimate))
        session, totals = thread.session, thread.session.totals
        at = session.header.created
        restoration = Restoration(
            at=at,
            parent_created=at,
            queries=totals.queries,
            tokens=totals.combined,
            block=block,
            verbatim_from=words[0].ref if words else "",
        )
        acknowledged = acknowledged and bool(block) and self._acknowledge
        replies = (Reply(number=0, at=at, text="-"),) if acknowledged else ()
        header = replace(session.header, parent=session.header.id, parent_path=str(path))
        child = Thread(Session(header=header, entries=(restoration, *replies)), tuple(words))
        specs: dict[str, ToolSpec] = {}
        if agent.provider.calls_tools:
            specs = {tool.spec.name: tool.spec for tool in agent.tools}
            specs |= {name: ToolSpec(name, *one) for name, one in archive_tools.TOOLS.items()}
        whole = sum(self.weights(child, agent, tuple(specs.values())).values())
        return round((whole + 80 * acknowledged) * self._ratio)  # a reply of a few sentences

    def left_out(self, thread: Thread, agent: Agent) -> int:
        """Return how many exchanges the limits leave out of the next request while nothing is
        compacted automatically.
        """
        short = self._within_limits(thread, agent)
        return 0 if short is thread else len(thread.exchanges) - len(short.exchanges)

    def _reported(self, thread: Thread, agent: Agent) -> int | None:
        """Return the next request's tokens by the last report; None when all is to be estimated."""
        if self.left_out(thread, agent):
            return None
        longest = budget.room(agent.provider.window.tokens) // 2
        used = budget.reported(thread.session, self._count, longest)
        return None if used is None else used + self._fixed_size(agent) - self._reported_fixed

    def _fixed_size(self, agent: Agent) -> int:
        return self._count(agent.system) + self._tools_size(agent)

    def _tools_size(self, agent: Agent, specs: Sequence[ToolSpec] | None = None) -> int:
        if specs is None and agent.calls_tools:
            specs = (
                *(tool.spec for tool in agent.tools),
                *([READ_RESULT] if agent.cut_results else []),
            )
        specs = tuple(specs or ())
        if self._tools[0] != specs:
            self._tools = (specs, budget.tools_size(specs, self._count))
        return self._tools[1]

    # The request

    def messages(self, thread: Thread, agent: Agent) -> tuple[Message, ...]:
        """Return the messages that the model would be sent now."""
        return messages.messages_of(self._fit(thread, agent)[0], tools=agent.provider.calls_tools)

    def request(self, thread: Thread, agent: Agent) -> tuple[Message, ...]:
        """Return the messages of the next request; warn about what of them the model does not get.
        Raises ContextFull when they do not fit.
        """
        limits, window = self._limits, agent.provider.window.tokens
        if not self._limits_announced and (left_out := self.left_out(thread, agent)):
            self._limits_announced = True
            setting = "max_history_messages" if limits.max_messages else "max_history_tokens"
            self._show(
                Warned(
                    f"The model no longer gets the oldest {counted(left_out, 'exchange')}: "
                    f"automatic compaction is off, and {setting} is "
                    f"{limits.max_messages or limits.max_tokens:,}.",
                    "They are saved; compact keeps what matters in them.",
                )
            )
        if self.budget(thread, agent).used > budget.room(window):
            self._shorten_block_or_refuse(thread, agent)
        fitted, shortened = self._fit(thread, agent)
        if shortened > self._shortened:
            self._show(
                Warned(
                    f"A message is longer than half of the window ({window:,} tokens): "
                    "the model gets its beginning and its end.",
                    "It is saved whole.",
                )
            )
        self._shortened = shortened
        return messages.messages_of(fitted, tools=agent.provider.calls_tools)

    def _shorten_block_or_refuse(self, thread: Thread, agent: Agent) -> None:
        """Send the restored block shorter from now on where that is enough; the file keeps it
        whole. Raises ContextFull where it is not. A server may count too much: what is sent is
        counted as well.
        """
        window = agent.provider.window.tokens
        most = budget.room(window)
        weights, restoration = self.weights(thread, agent), thread.session.restoration
        over = sum(weights.values()) - most
        if over > 0 and restoration is not None and restoration.block:
            key, now = thread.session.header.id, messages.block_room(window)
            now = min(self._count(restoration.block), self._block_limits.get(key, now), now)
            self._block_limits[key] = max(100, now - over - MARGIN)  # headings and newest lines
            weights = self.weights(thread, agent)
        used = min(self.budget(thread, agent).used, sum(weights.values()))
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
            f"{window_text(window, False)} takes {most:,} beside a reply. Nothing is lost.",
            hint,
        )

    def _fit(self, thread: Thread, agent: Agent) -> tuple[Thread, int]:
        """Return a thread as it is sent, and how many of its texts are shortened for it."""
        window, count = agent.provider.window.tokens, self._count
        most = messages.block_room(window)
        most = min(most, self._block_limits.get(thread.session.header.id, most))
        short = self._within_limits(thread, agent)
        return messages.fitted(short, window, count, most)

    def _within_limits(self, thread: Thread, agent: Agent) -> Thread:
        """Return the newest of a thread, within the limits that hold when nothing is compacted."""
        limits = self._limits
        if limits.enabled or not (limits.max_messages or limits.max_tokens):
            return thread
        kept = budget.truncated(
            thread.exchanges, window=agent.provider.window.tokens, limits=limits, count=self._count
        )
        own = {exchange.query.number for exchange in kept if exchange.depth == thread.session.depth}
        entries = tuple(
            entry
            for entry in thread.session.entries
            if not isinstance(entry, QueryEntry) or entry.number in own or not entry.number
        )
        carried = tuple(exchange for exchange in thread.carried if exchange in kept)
        return replace(thread, carried=carried, session=replace(thread.session, entries=entries))
