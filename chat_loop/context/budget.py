"""The budget (pure): computes how full the window is, and which exchanges to compact."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from msgspec import Struct, field

from chat_loop.agent.ask import CallLimits
from chat_loop.context.exchanges import (
    CARRIED,
    FILES,
    MESSAGE_TOKENS,
    OWN,
    RECALLED,
    USED,
    Lengths,
    exchange_tokens,
    message_tokens,
    opaque_tokens,
)
from chat_loop.sessions import records
from chat_loop.sessions.opaque import Origin, returned
from chat_loop.sessions.records import Attachment, Entry, Exchange, Summary, SummarySource
from chat_loop.tokens import Count, image_tokens
from chat_loop.values import Message, ToolSpec, Usage, Window, window_text

SYSTEM = "System prompt"
MEMORY = "Memory"
TOOLS = "Tools"
BLOCK = "Restored block"
PARTS = (SYSTEM, MEMORY, TOOLS, BLOCK, CARRIED, RECALLED, USED, FILES, OWN)
"""The parts of a request, in the order they are sent."""
SMALL_WINDOW = 16_384  # tokens; in one of at most so many, the block misses much
LEAST_FOR_TOOLS = 2_048  # tokens; in a smaller window, the archive's tools leave too little room
EARLY = 0.75  # the share of the trigger at which the background summary begins


class Budget(Struct, frozen=True):
    """The next request's tokens and the window. `estimated` means no usage was reported yet."""

    used: int
    window: Window
    estimated: bool

    @property
    def share(self) -> float:
        return self.used / self.window.tokens if self.window.tokens else 1.0

    @property
    def warning(self) -> float:
        """The highest warning threshold reached, or 0 if none is."""
        return next((share for share in (0.95, 0.9, 0.8) if self.share >= share), 0.0)


class Limits(Struct, frozen=True, kw_only=True):
    """The config's rules for when and how much to compact. A maximum of 0 means no limit."""

    enabled: bool = True
    trigger_threshold: float = 0.8
    compact_ratio: float = 0.4
    target_compression: float = 0.75
    preserve_recent: int = 10
    max_messages: int = 0
    max_tokens: int = 0


class Plan(Struct, frozen=True, kw_only=True):
    """The exchanges to compact and those to keep. `reason` explains the decision to the user."""

    reason: str
    compact: tuple[Exchange, ...] = ()
    keep: tuple[Exchange, ...] = ()


Announce = Callable[[str, Usage], None]
"""Receives the model and the maximum usage of a summary before it is asked."""


class SummaryOptions(Struct, frozen=True, kw_only=True):
    """Settings of a summary call. `limit` is in seconds. Ctrl-C skips an `optional` summary."""

    max_tokens: int = 2048
    limit: float = 120.0
    instructions: str = ""
    announce: Announce | None = None
    limits: CallLimits = field(default_factory=CallLimits)
    optional: bool = False


class Narration(Struct, frozen=True, kw_only=True):
    """The result of a summary call: a narrative of the `covered` exchanges, or a `problem`."""

    narrative: Summary | None = None
    covered: tuple[Exchange, ...] = ()
    usage: Usage | None = None
    seconds: float | None = None
    model: str = ""
    problem: str = ""

    @property
    def source(self) -> SummarySource:
        return "extracted" if self.narrative is None else "model"

    def seal(self, at: datetime, reason: records.SealReason, summary: Summary) -> records.Seal:
        """Return a seal with `summary`, the block built from the narrative."""
        return records.Seal(
            at=at,
            reason=reason,
            source=self.source,
            summary=summary,
            usage=self.usage,
            seconds=self.seconds,
        )


def room(window: int) -> int:
    """Return the maximum tokens of a request, which leaves room for the reply."""
    return window - min(8_192, window // 5)


def recall_room(window: int) -> int:
    """Return the tokens that archive passages may add to a query. They may use the reply's room,
    because just before a compaction the rest of the window is full.
    """
    return min(400, window // 12)


def archive_room(window: int) -> int:
    """Return the maximum tokens of what a tool of the archive returns. Even when the window is
    nearly full, so much of a result is sent whole.
    """
    return window // 12


def ledger_room(window: int, limits: Limits) -> int:
    """Return the maximum tokens of the ledger in a window, or in a smaller `max_tokens`."""
    return min(12_000, int(min(window, limits.max_tokens or window) * 0.345))


def trigger(window: int, limits: Limits) -> int:
    """Return the tokens at which to compact: the threshold's share of a window, at most `room`."""
    return min(int(window * limits.trigger_threshold), room(window))


def nearest_limit(
    used: int, messages: int, window: int, limits: Limits
) -> tuple[float, int, int, str]:
    """Return the limit closest to being reached, as (share reached, amount, limit, unit)."""
    candidates = [(used / max(1, trigger(window, limits)), used, window, "tokens")]
    threshold = limits.trigger_threshold
    most = limits.max_messages
    tokens = limits.max_tokens
    if tokens:
        candidates.append((used / tokens / threshold, used, tokens, "tokens"))
    if most:
        candidates.append((messages / most / threshold, messages, most, "messages"))
    return max(candidates)


def size(text: str, count: Count) -> int:
    """Return the tokens of a text sent as one message, including its role and separators."""
    return count(text) + MESSAGE_TOKENS


def entry_size(entry: Entry, count: Count, origin: Origin | None = None) -> int:
    """Return the tokens of an entry as it is sent to `origin`."""
    if isinstance(entry, records.Opaque):
        return opaque_tokens(returned([entry], origin))
    if isinstance(entry, Attachment) and entry.is_image:
        return image_tokens(entry.width, entry.height) + count(entry.name) + 12
    if isinstance(entry, Attachment):  # with the lines around it
        return size(f"{entry.name}\n{entry.text}", count) + 80
    if isinstance(entry, records.Reply | records.Query | records.ArchiveContext | records.Result):
        tokens = size(entry.text, count)
        if isinstance(entry, records.Result) and entry.given is not None:
            tokens = min(tokens, entry.given + MESSAGE_TOKENS)
        return tokens
    return 0


def tools_size(specs: Iterable[ToolSpec], count: Count) -> int:
    """Estimate the tokens of the tools: their names, descriptions, and schemas as JSON."""
    return sum(
        count(f"{spec.name} {spec.description} {json.dumps(spec.parameters, default=str)}") + 8
        for spec in specs
    )


def messages_in(exchanges: Iterable[Exchange]) -> int:
    """Return the number of messages: one per query, and one per reply that is not blank."""
    return sum(1 + bool(exchange.reply and exchange.reply.text.strip()) for exchange in exchanges)


class Report(Struct, frozen=True):
    """The usage that a model reported, with our counts of its reply and of all `later` entries."""

    usage: Usage
    reply: int
    later: int

    @property
    def next(self) -> int:
        """The tokens of the next request by this report."""
        return self.usage.input + self.usage.output - self.usage.reasoning + self.later


def last_report(
    session: records.Session, count: Count, origin: Origin | None = None
) -> Report | None:
    """Return the last usage that the session's present model reported, or None if it has reported
    none, or something was shortened since. `origin` gets back what it sent. What was recalled for
    the answered query is not sent again, so that `later` is less by it.
    """
    later = 0
    for entry in reversed(session.sent_entries):
        if isinstance(entry, records.ModelChange | records.Shortened):
            return None
        if isinstance(entry, records.Reply) and entry.number:
            usage = entry.usage
            if usage is not None and usage.input and not usage.estimated:
                recalled = _recalled_size(session, entry.number, count)
                return Report(usage, entry_size(entry, count), later - recalled)
        later += entry_size(entry, count, origin)
    return None


def _recalled_size(session: records.Session, number: int, count: Count) -> int:
    """Return the tokens of the passages that were sent with a query."""
    tokens = 0
    for entry in reversed(session.sent_entries):
        if isinstance(entry, records.ArchiveContext) and entry.number == number:
            tokens += entry_size(entry, count)
        elif isinstance(entry, records.Query) and entry.number == number:
            break
    return tokens


def weigh(
    pieces: Iterable[tuple[str, Message]], system_prompt: str, memory: str, tools: int, count: Count
) -> dict[str, int]:
    """Estimate the tokens of each part of a request, in the order the parts are sent."""
    weights = {SYSTEM: count(system_prompt), MEMORY: count(memory), TOOLS: tools}
    for part, message in pieces:
        weights[part] = weights.get(part, 0) + message_tokens(message, count)
    return weights


def parts(weights: Mapping[str, int], budget: Budget, queries: int) -> list[tuple[str, int]]:
    """Return (part, tokens) rows: parts as sent, scaled to `budget.used`, then the unused rest."""
    whole = max(1, sum(weights.values()))
    used = {part: tokens * budget.used // whole for part, tokens in weights.items()}
    largest = max(used, key=used.__getitem__, default=OWN)
    used[largest] = used.get(largest, 0) + budget.used - sum(used.values())
    reserved = budget.window.tokens - room(budget.window.tokens)
    rows = [(part, used[part]) for part in PARTS if used.get(part)]
    rows = [(f"{OWN} ({queries})" if part == OWN else part, tokens) for part, tokens in rows]
    free = max(0, budget.window.tokens - budget.used - reserved)
    return [*rows, ("Kept for the reply", reserved), ("Free", free)]


def plan(
    exchanges: Sequence[Exchange],
    window: int,
    limits: Limits,
    count: Count,
    *,
    used: int,
    carried: int = 0,
    restored: int = 0,
    ahead: int = 0,
    lengths: Lengths | None = None,
    origin: Origin | None = None,
) -> Plan:
    """Plan a compaction of `exchanges`. The first `carried` of them come from an ancestor. The next
    request has `used` tokens, including `restored` for its block. When planning early, `ahead`
    is the number of tokens still to come before the compaction.
    """
    messages = [0, *accumulate(messages_in([exchange]) for exchange in exchanges)]
    near, amount, limit, unit = nearest_limit(used, messages[-1], window, limits)
    texts = [
        str(number) if unit == "messages" else window_text(number, False)
        for number in (amount, limit)
    ]
    reason = f"The context was {amount / max(1, limit):.0%} full ({'/'.join(texts)} {unit})"
    if near < 1 and not ahead:
        return Plan(reason=reason)
    sizes = [exchange_tokens(exchange, count, lengths, origin=origin) for exchange in exchanges]
    full = trigger(window, limits)
    if limits.max_tokens:
        full = min(full, int(limits.max_tokens * limits.trigger_threshold))
    fixed = max(0, used - sum(sizes) - restored)
    # the new block also carries the restored one, and a narrative takes about 1,000 tokens
    block = min(ledger_room(window, limits) + 1_000, sum(sizes) + restored)
    comfortable = max(int(full * limits.target_compression) - fixed - block, full // 8) - ahead
    recent = max(0, bisect_right(messages, messages[-1] - limits.preserve_recent) - 1)
    share = bisect_right(messages, int(messages[-1] * limits.compact_ratio)) - 1
    cut = min(max(share, carried), recent)
    rest = sum(sizes[cut:])
    while (cut < recent and rest > comfortable) or (
        cut < len(exchanges) and fixed + block + rest + ahead > full
    ):
        rest -= sizes[cut]
        cut += 1
    if not cut:
        return Plan(reason=f"{reason}, and everything is recent", keep=tuple(exchanges))
    cut = max(cut, min(carried, len(exchanges)))
    return Plan(reason=reason, compact=tuple(exchanges[:cut]), keep=tuple(exchanges[cut:]))


def plan_requested(
    exchanges: Sequence[Exchange], window: int, limits: Limits, count: Count, carried: int = 0
) -> Plan:
    """Plan a `/compact`: keep a few of the newest exchanges, at most a quarter, if short."""
    newest = min(limits.preserve_recent // 2, len(exchanges) // 4, len(exchanges) - carried - 1)
    cut = len(exchanges) - max(0, newest)
    limit = trigger(window, limits) // 64
    rest = sum(exchange_tokens(exchange, count) for exchange in exchanges[cut:])
    while rest > limit:
        rest -= exchange_tokens(exchanges[cut], count)
        cut += 1
    return Plan(reason="Asked for", compact=tuple(exchanges[:cut]), keep=tuple(exchanges[cut:]))


def newest_within(
    exchanges: Sequence[Exchange], limits: Limits, count: Count, origin: Origin | None = None
) -> tuple[Exchange, ...]:
    """Return the newest exchanges that fit the limits with the next query, but at least one."""
    newest: list[Exchange] = []
    messages = int(bool(exchanges) and exchanges[-1].reply is not None)
    used = 0
    message_limit = limits.max_messages or 10**9
    limit = limits.max_tokens or 10**12
    for exchange in reversed(exchanges):
        messages += messages_in([exchange])
        used += exchange_tokens(exchange, count, origin=origin)
        if newest and (messages > message_limit or used > limit):
            break
        newest.append(exchange)
    return tuple(reversed(newest))
