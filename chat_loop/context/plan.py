"""The plan (pure): whether the context must shrink, what is compacted, what stays in its own words,
and why.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.context.budget import Count, attached_size, room, size
from chat_loop.sessions.records import Exchange
from chat_loop.tokens import estimate
from chat_loop.wording import window_text

EARLY = 0.75
"""The share of the trigger at which the summary begins to be made in the background."""
LARGEST_LEDGER = 12_000
LEDGER_SHARE = 0.345
"""Tokens of the window that decisions, open points and key facts may take together."""
ASKED_SHARE = 64
"""A compaction that was asked for keeps words of at most this part of the trigger: it is asked for
to make room.
"""
COMFORTABLE = 0.75
"""The share of the trigger that a compaction aims to stay below."""
NARRATIVE = 1_000
"""Tokens that a narrative is expected to take."""


class Limits(Struct, frozen=True, kw_only=True):
    """When to compact and how much, as `auto_compact` in the config has it. A limit of 0 is
    none.
    """

    enabled: bool = True
    trigger_threshold: float = 0.8
    compact_ratio: float = 0.4
    preserve_recent: int = 10
    max_messages: int = 0
    max_tokens: int = 0


class Plan(Struct, frozen=True, kw_only=True):
    """What a compaction would do. `compact` and `keep` are the context's exchanges, cut in two.

    `due` says whether a limit is reached; `reason` says which, or why nothing can be compacted;
    `savings` is in tokens.
    """

    due: bool
    reason: str
    compact: tuple[Exchange, ...] = ()
    keep: tuple[Exchange, ...] = ()
    savings: int = 0


def ledger_room(window: int, limits: Limits) -> int:
    """Tokens that the ledger may take in a window, or in what the limits leave of it."""
    return min(LARGEST_LEDGER, int(min(window, limits.max_tokens or window) * LEDGER_SHARE))


def trigger(window: int, limits: Limits) -> int:
    """The tokens at which a window counts as full: the threshold's share of it, or where the
    reply's room begins.
    """
    return min(int(window * limits.trigger_threshold), room(window))


def fullness(used: int, messages: int, window: int, limits: Limits) -> tuple[float, str]:
    """How near the nearest limit is, 1 being reached, and the sentence that says so."""
    measures = [
        (used / max(1, trigger(window, limits)), used / max(1, window), _tokens(used, window))
    ]
    if limits.max_tokens:
        share = used / limits.max_tokens
        measures.append((share / limits.trigger_threshold, share, _tokens(used, limits.max_tokens)))
    if limits.max_messages:
        share = messages / limits.max_messages
        measures.append(
            (share / limits.trigger_threshold, share, f"{messages}/{limits.max_messages} messages")
        )
    near, share, text = max(measures)
    return near, f"Reached {share:.0%} capacity ({text})"


def _tokens(used: int, limit: int) -> str:
    return f"{window_text(used, False)}/{window_text(limit, False)} tokens"


def messages_in(exchanges: Sequence[Exchange]) -> int:
    """How many messages exchanges are: a query, and a reply when there is one."""
    return sum(
        2 if exchange.reply is not None and exchange.reply.text.strip() else 1
        for exchange in exchanges
    )


def plan(
    exchanges: Sequence[Exchange],
    *,
    used: int,
    window: int,
    limits: Limits,
    count: Count,
    carried: int = 0,
    restored: int = 0,
    ahead: int = 0,
) -> Plan:
    """Decide about the context `exchanges`, of which the first `carried` are an ancestor's words.

    `used` are the tokens of the next request, `restored` those of the block in it. `ahead` are
    tokens that will have been added by the time the plan is carried out. At least `compact_ratio`
    of the messages are compacted and all that was carried, so that what stays is the session's own;
    more when the context would be nearly full again.
    """
    near, reason = fullness(used, messages_in(exchanges), window, limits)
    if near < 1 and not ahead:
        return Plan(due=False, reason=reason)
    least = _exchanges(exchanges, int(messages_in(exchanges) * limits.compact_ratio))
    recent = _kept(exchanges, limits.preserve_recent)
    sizes = [exchange_size(exchange, count, window) for exchange in exchanges]
    full = trigger(window, limits)
    if limits.max_tokens:
        full = min(full, int(limits.max_tokens * limits.trigger_threshold))
    fixed = max(0, used - sum(sizes) - restored)
    block = min(
        ledger_room(window, limits) + NARRATIVE, sum(sizes) + restored
    )  # what is restored is carried on
    comfortable = max(int(full * COMFORTABLE) - fixed - block, full // 8) - ahead
    cut = min(max(least, carried), recent)
    while cut < recent and sum(sizes[cut:]) > comfortable:
        cut += 1
    while cut < len(exchanges) and fixed + block + sum(sizes[cut:]) + ahead > full:
        cut += 1
    cut = max(cut, min(carried, len(exchanges))) if cut else 0
    if not cut:
        return Plan(
            due=near >= 1, reason=f"{reason}, and everything is recent", keep=tuple(exchanges)
        )
    savings = max(0, sum(sizes[:cut]) - block)
    return Plan(
        due=near >= 1,
        reason=reason,
        compact=tuple(exchanges[:cut]),
        keep=tuple(exchanges[cut:]),
        savings=savings,
    )


def asked(
    exchanges: Sequence[Exchange], *, window: int, limits: Limits, count: Count, carried: int = 0
) -> Plan:
    """The plan of a compaction that the user asks for: of the newest quarter, what
    `preserve_recent` allows stays.
    """
    newest = max(
        0, min(limits.preserve_recent // 2, len(exchanges) // 4, len(exchanges) - carried - 1)
    )
    cut = len(exchanges) - newest
    while (
        cut < len(exchanges)
        and _sizes(exchanges[cut:], count, window) > trigger(window, limits) // ASKED_SHARE
    ):
        cut += 1
    return Plan(
        due=True,
        reason="Asked for",
        compact=tuple(exchanges[:cut]),
        keep=tuple(exchanges[cut:]),
        savings=max(0, _sizes(exchanges[:cut], estimate, window) - NARRATIVE),
    )


def truncated(
    exchanges: Sequence[Exchange], *, window: int, limits: Limits, count: Count
) -> tuple[Exchange, ...]:
    """Return what stands of a context when nothing is compacted: the newest exchanges within the
    limits, at least one.

    Where the last one is answered, another query comes, which takes the place of a message.
    """
    kept: list[Exchange] = []
    messages, used = int(bool(exchanges) and exchanges[-1].reply is not None), 0
    for exchange in reversed(exchanges):
        messages += messages_in([exchange])
        used += exchange_size(exchange, count, window)
        over = (limits.max_messages and messages > limits.max_messages) or (
            limits.max_tokens and used > limits.max_tokens
        )
        if kept and over:
            break
        kept.append(exchange)
    return tuple(reversed(kept))


def _exchanges(exchanges: Sequence[Exchange], messages: int) -> int:
    """How many of the first exchanges make at most so many messages."""
    total = 0
    for number, exchange in enumerate(exchanges):
        total += messages_in([exchange])
        if total > messages:
            return number
    return len(exchanges)


def _kept(exchanges: Sequence[Exchange], messages: int) -> int:
    """Where the last `messages` messages begin, never within an exchange."""
    total = 0
    for number in range(len(exchanges), 0, -1):
        if total >= messages:
            return number
        total += messages_in(exchanges[number - 1 : number])
    return 0


def _sizes(exchanges: Sequence[Exchange], count: Count, window: int) -> int:
    return sum(exchange_size(exchange, count, window) for exchange in exchanges)


def exchange_size(exchange: Exchange, count: Count, window: int, *, tools: bool = True) -> int:
    """Tokens of an exchange as it is sent: no message takes more than half of the room.

    Without `tools` its calls are left out, as where it is carried into a child.
    """
    texts = [exchange.query.text, exchange.reply.text if exchange.reply else ""]
    results = [use.result.text for use in exchange.uses if use.result is not None and tools]
    most = room(window) // 2
    files = sum(min(attached_size((file,), count), most) for file in exchange.attached)
    return files + sum(min(size(text, count), most) for text in [*texts, *results] if text)
