"""Request (pure): fits a conversation into its model's window, counts it, and builds the messages
of the next request. All sizes are in tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent
from chat_loop.context import budget, messages
from chat_loop.context.budget import Budget, Limits
from chat_loop.context.exchanges import Lengths, exchange_tokens, shorten_results, squeeze
from chat_loop.context.messages import Context
from chat_loop.errors import ContextFull
from chat_loop.library import archive_tools
from chat_loop.sessions import records
from chat_loop.sessions.opaque import Origin, origin_of
from chat_loop.sessions.records import Exchange, ExchangePart, Header, Restoration
from chat_loop.tokens import Count
from chat_loop.values import Message, ToolSpec, Window, plural, window_text

COMPARABLE = 1_000
"""The smallest request whose count is compared: below, what a wire adds distorts the ratio. In a
small window, a quarter of it is enough, since no request may reach more.
"""
LOWEST = 0.5
HIGHEST = 2.0
"""The bounds of a believable count, as a share of ours. Encodings differ less than that."""
COMFORTABLE = 0.6  # of the trigger, the size after results were shortened
ACKNOWLEDGMENT = 45  # two or three sentences
SAMPLE = "0123456789"
"""A text whose count tells whether the encoding has been loaded since."""


class Calibration(Struct, frozen=True, kw_only=True):
    """What the server's last report says about our own counts. `ratio` is its count divided by
    ours, within bounds. `fixed` is our count of the prompt, the memory and the tools at that time.
    If its count was outside of the bounds, `doubt` says so, and reports are not believed.
    `encoding` tells with which encoding we counted.
    """

    ratio: float = 1.0
    fixed: int = 0
    doubt: str = ""
    encoding: int = 0


class Frame(Struct, frozen=True, kw_only=True, dict=True):
    """All that a request needs beside the context. `calls_tools` is true if the model can call
    tools, and has some or the room for those of the archive. `count(text)` estimates tokens.
    `origin` is what the model's opaque parts are bound to.
    """

    system_prompt: str
    memory: str
    tools: tuple[ToolSpec, ...]
    calls_tools: bool
    window: Window
    limits: Limits
    count: Count
    calibration: Calibration = Calibration()
    origin: Origin | None = None
    returns_opaque: bool = False

    @property
    def counted_origin(self) -> Origin | None:
        """The origin whose opaque parts go back. Others are sent only if the service asks."""
        return self.origin if self.returns_opaque else None

    @cached_property
    def tools_tokens(self) -> int:
        tools = self.tools if self.calls_tools else ()
        return budget.tools_size(tools, self.count)

    @cached_property
    def fixed_tokens(self) -> int:
        """The tokens of the prompt, the memory and the tools."""
        system = "\n\n".join(filter(None, (self.system_prompt, self.memory)))
        return self.count(system) + self.tools_tokens

    @property
    def room(self) -> int:
        """The maximum tokens of a request."""
        return budget.room(self.window.tokens)

    @property
    def comparable(self) -> int:
        """Our count of the smallest request that is compared with the server's count."""
        return min(COMPARABLE, self.window.tokens // 4)

    @property
    def trigger(self) -> int:
        """The tokens at which the context is compacted."""
        return budget.trigger(self.window.tokens, self.limits)

    @cached_property
    def for_child(self) -> Frame:
        """The frame of a child session, which also has the tools of the archive."""
        if not self.calls_tools:
            return self
        tools = {spec.name: spec for spec in self.tools} | archive_tools.TOOLS
        return replace(self, tools=tuple(tools.values()))


def frame_of(
    agent: ModelAgent, limits: Limits, count: Count, calibration: Calibration | None = None
) -> Frame:
    """Return the frame of an agent's requests."""
    provider = agent.provider
    has_room = provider.window.tokens >= budget.LEAST_FOR_TOOLS
    frame = Frame(
        system_prompt=agent.system_prompt,
        memory=agent.memory,
        tools=tuple(tool.spec for tool in agent.tools),
        calls_tools=provider.calls_tools and (has_room or bool(agent.tools)),
        window=provider.window,
        limits=limits,
        count=count,
        calibration=calibration or Calibration(),
        origin=origin_of(provider.model, provider.endpoint),
        returns_opaque=provider.returns_opaque,
    )
    if frame.calibration.encoding == count(SAMPLE):
        return frame
    # counts by the estimate say nothing about those by the exact encoding
    present = replace(frame.calibration, ratio=1.0, fixed=frame.fixed_tokens)
    return replace(frame, calibration=present)


def short_block(block: str, frame: Frame) -> str:
    """Return a summary block as the window has room for it."""
    limit = messages.block_room(frame.window.tokens)
    return _shortened(block, limit, frame.count, frame.count(SAMPLE))


@lru_cache(maxsize=4)
def _shortened(block: str, limit: int, count: Count, encoding: int) -> str:
    return messages.shorten_block(block, limit, count)


def sent(frame: Frame, context: Context) -> Context:
    """Return a context as it is sent: its block fits, and older exchanges are left out if automatic
    compaction is off and there is a limit.
    """
    limits = frame.limits
    if not limits.enabled and (limits.max_messages or limits.max_tokens):
        newest = budget.newest_within(context.exchanges, limits, frame.count, frame.counted_origin)
        context = _only(context, newest)
    session = context.session
    restoration = session.restoration
    if restoration is None:
        return context
    block = short_block(restoration.block, frame)
    if block == restoration.block:
        return context
    fitting = replace(restoration, block=block)
    entries = tuple(fitting if entry is restoration else entry for entry in session.entries)
    return replace(context, session=replace(session, entries=entries))


def _only(context: Context, exchanges: Sequence[Exchange]) -> Context:
    """Return a context with these exchanges, and with all records that belong to no query."""
    session = context.session
    own = {0}
    own.update(each.number for each in exchanges if each.depth == session.depth)
    entries = tuple(
        entry
        for entry in session.entries
        if not isinstance(entry, records.QueryEntry) or entry.number in own
    )
    carried = tuple(exchange for exchange in context.carried if exchange in exchanges)
    return replace(context, carried=carried, session=replace(session, entries=entries))


def left_out(frame: Frame, context: Context) -> int:
    """Return the number of exchanges that the limits leave out of the next request."""
    if frame.limits.enabled:
        return 0
    return len(context.exchanges) - len(sent(frame, context).exchanges)


def left_out_text(frame: Frame, context: Context) -> str:
    """Return the sentence about exchanges that the limits leave out; empty if there are none."""
    limits = frame.limits
    number = left_out(frame, context)
    if not number:
        return ""
    setting = "max_history_tokens"
    if limits.max_messages:
        setting = "max_history_messages"
    text = f"The model no longer gets the oldest {plural(number, 'message')}: automatic"
    return (
        f"{text} compaction is off, and {setting} is {limits.max_messages or limits.max_tokens:,}."
    )


def token_estimates(frame: Frame, context: Context) -> dict[str, int]:
    """Return our count of each part of the next request."""
    pieces = messages.pieces(
        sent(frame, context), tools=frame.calls_tools, origin=frame.counted_origin
    )
    return budget.weigh(pieces, frame.system_prompt, frame.memory, frame.tools_tokens, frame.count)


def measure(frame: Frame, context: Context) -> Budget:
    """Return the tokens of the next request without a query, the number shown everywhere."""
    used = _reported(frame, context)
    if used is not None:
        return Budget(used, frame.window, estimated=False)
    estimate = sum(token_estimates(frame, context).values())
    return Budget(_scaled(estimate, frame), frame.window, estimated=True)


def _scaled(estimate: int, frame: Frame) -> int:
    """Return our count as the server would count, but for a part that is too small to compare."""
    rest = max(0, estimate - frame.comparable // 2)
    return round(estimate + rest * (frame.calibration.ratio - 1))


def _reported(frame: Frame, context: Context) -> int | None:
    """Return the tokens by the last report, or None if none applies."""
    calibration = frame.calibration
    if calibration.doubt or left_out(frame, context):
        return None
    report = budget.last_report(context.session, frame.count, frame.counted_origin)
    return None if report is None else report.next + frame.fixed_tokens - calibration.fixed


def calibrated(frame: Frame, context: Context) -> Calibration:
    """Return the calibration by the report that is the newest of the context."""
    encoding = frame.count(SAMPLE)
    calibration = replace(frame.calibration, fixed=frame.fixed_tokens, encoding=encoding)
    report = budget.last_report(context.session, frame.count, frame.counted_origin)
    if report is None:
        return calibration
    ours = sum(token_estimates(frame, context).values()) - report.reply - report.later
    if ours < frame.comparable:
        return calibration
    theirs = report.usage.input
    ratio = theirs / ours
    doubt = ""
    if not LOWEST <= ratio <= HIGHEST:
        doubt = f"The server reports {theirs:,} tokens for a request of about {ours:,}: "
        doubt += "our own count is used instead."
    # a server that counts too little must not fill the window
    bounded = 1.0 if ratio < LOWEST else min(HIGHEST, ratio)
    return replace(calibration, ratio=bounded, doubt=doubt)


def with_acknowledgment(frame: Frame, context: Context, used: int) -> int:
    """Return the tokens of a child's context after its model has confirmed what it got."""
    count = frame.count
    task = messages.prompt("acknowledge.txt")
    # after a block alone, the task is a part of its message
    size = budget.size(task, count) if context.carried else count(f"\n\n{task}")
    size += budget.size("-", count) + ACKNOWLEDGMENT
    return used + round(size * frame.calibration.ratio)


def child_tokens(
    frame: Frame,
    header: Header,
    restoration: Restoration,
    exchanges: Iterable[Exchange],
    lengths: Lengths,
    *,
    acknowledged: bool = False,
) -> int:
    """Return the tokens of the first request of a child that begins with a restoration and carries
    exchanges, without a query. `acknowledged` is true if its model is asked to confirm them.
    """
    child = frame.for_child if restoration.block else frame
    count = frame.count
    size = count(child.system_prompt) + count(child.memory) + child.tools_tokens
    verbatim = sum(
        exchange_tokens(exchange, count, lengths, origin=frame.counted_origin)
        for exchange in exchanges
    )
    texts = []
    if restoration.block:
        short = replace(restoration, block=short_block(restoration.block, frame))
        texts.append(messages.restoration_text(header, short))
    if acknowledged:
        texts.append(messages.prompt("acknowledge.txt"))
        size += budget.size("-", count) + ACKNOWLEDGMENT
    if not verbatim:  # both are one message
        texts = ["\n\n".join(texts)] if texts else []
    size += verbatim + sum(budget.size(text, count) for text in texts)
    return _scaled(size, frame)


def fit(frame: Frame, context: Context, used: int) -> dict[ExchangePart, int]:
    """Return the lengths of the results that are shortened in a context of `used` tokens, down to a
    share of the trigger at once, since each cut costs the provider's cache. The results of the
    newest step stay.
    """
    excess = used - int(frame.trigger * COMFORTABLE)
    return shorten_results(context.exchanges, context.session.shortened, excess, frame.count)


def excess(frame: Frame, context: Context, used: int) -> int:
    """Return by how many tokens a request that was measured as `used` is too large, or 0."""
    room = frame.room
    newest = context.exchanges[-1:]
    if newest and newest[0].recalled and newest[0].reply is None:
        room += budget.recall_room(frame.window.tokens)
    if used > room:  # a server may count too much
        estimate = sum(token_estimates(frame, context).values())
        if frame.limits.enabled and not frame.calibration.doubt:
            estimate = _scaled(estimate, frame)
        used = min(used, estimate)
    return max(0, used - room)


def squeezed(frame: Frame, context: Context, used: int) -> dict[ExchangePart, int]:
    """Return the lengths with which the newest exchange leaves a context of `used` tokens as free
    as after a cut of results, or at least fits. Older exchanges are not its matter.
    """
    newest = context.exchanges[-1]
    lengths = context.session.shortened
    ratio = frame.calibration.ratio
    origin = frame.counted_origin
    size = exchange_tokens(newest, frame.count, lengths, origin=origin)
    others = used - round(size * ratio)
    comfortable = int(frame.trigger * COMFORTABLE) - others
    limit = max(comfortable, (frame.room - others) * 3 // 4, 0)
    return squeeze(newest, lengths, int(limit / ratio), frame.count, origin)


def build(frame: Frame, context: Context, used: int) -> tuple[Message, ...]:
    """Return the messages of the next request, which was measured as `used` tokens. Raises
    ContextFull if they do not fit.
    """
    if more := excess(frame, context, used):
        room = frame.room
        text = f"Not sent: the request would hold {room + more:,} tokens, and the window of "
        text += f"{window_text(frame.window.tokens, False)} takes {room:,} beside a reply. "
        hint = "/context shows what fills it; compact makes the conversation smaller."
        pinned = sum(map(frame.count, context.pins))
        if pinned > room // 2:  # a compaction keeps them
            hint = f"Its pins take {pinned:,} tokens: /pins lists them, and /unpin N removes one."
        raise ContextFull(f"{text}Nothing is lost.", hint)
    return message_list(frame, context)


def beside(
    frame: Frame, context: Context, used: int, so_far: str, question: str
) -> tuple[Message, ...]:
    """Return the messages of a question beside the conversation, with the reply `so_far` before it.
    With the question, they were measured as `used` tokens. Raises ContextFull.
    """
    build(frame, context, used)
    after = [Message("user", f"{messages.prompt('aside.txt')}\n\n{question}")]
    if so_far.strip():
        after.insert(0, Message("assistant", so_far))
    return message_list(frame, context, after)


def message_list(
    frame: Frame, context: Context, after: Sequence[Message] = ()
) -> tuple[Message, ...]:
    """Return the messages of a context as it is sent, with others `after` them."""
    return messages.messages_of(
        sent(frame, context), tools=frame.calls_tools, origin=frame.origin, after=after
    )
