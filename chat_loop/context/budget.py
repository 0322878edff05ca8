"""The budget (pure): how full the model's window is, and what a compaction takes out of it.

The number that is shown is the number that compaction is judged by.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from chat_loop.sessions.records import (
    ArchiveContext,
    Attachment,
    Entry,
    Exchange,
    ModelChange,
    Query,
    Reply,
    Result,
    Session,
)
from chat_loop.tokens import image_tokens
from chat_loop.values import Message, ToolSpec, Window
from chat_loop.wording import window_text

SYSTEM, MEMORY, TOOLS = "System prompt", "Memory", "Tools"
BLOCK, CARRIED, RECALLED, USED = (
    *("Restored block", "Carried words"),
    *("From the archive", "Tool results"),
)
FILES, OWN = "Attached files", "This session"
PARTS = (SYSTEM, MEMORY, TOOLS, BLOCK, CARRIED, RECALLED, USED, FILES, OWN)
"""The parts of a request, in the order in which they are sent."""

MESSAGE_TOKENS = 4
"""Tokens that the wire adds to a message: role and separators."""
TOOL_TOKENS = 8
"""Tokens that the wire adds to a tool: the names of its fields."""
FRAME_TOKENS = 80
"""Tokens around a text file: its size, and three lines with a digest."""
IMAGE_LINE_TOKENS = 12
"""Tokens of the line before an image."""
LARGEST_RESERVE = 8192
"""Tokens kept free for a reply on a large window; a small one keeps a fifth."""
WARNINGS = (0.95, 0.9, 0.8)
"""Shares of the window at which the user is warned when nothing is compacted automatically."""

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

Count = Callable[[str], int]


class Budget(Struct, frozen=True):
    """The tokens that the next request will hold, and the window. `estimated`: nothing has been
    reported yet.
    """

    used: int
    window: Window
    estimated: bool

    @property
    def share(self) -> float:
        return self.used / self.window.tokens if self.window.tokens else 1.0

    @property
    def warning(self) -> float:
        """The highest of the warning shares that is reached; 0 below them."""
        return next((share for share in WARNINGS if self.share >= share), 0.0)


class Limits(Struct, frozen=True, kw_only=True):
    """When to compact and how much, by `auto_compact` in the config. A limit of 0 is none."""

    enabled: bool = True
    trigger_threshold: float = 0.8
    compact_ratio: float = 0.4
    preserve_recent: int = 10
    max_messages: int = 0
    max_tokens: int = 0


class Plan(Struct, frozen=True, kw_only=True):
    """A context's exchanges cut in two. `reason` says which limit is reached, or why there is
    nothing to compact.
    """

    reason: str
    compact: tuple[Exchange, ...] = ()
    keep: tuple[Exchange, ...] = ()


# Shares of a window


def reserve(window: int) -> int:
    """Return the tokens of a window that are kept free for the reply."""
    return min(LARGEST_RESERVE, window // 5)


def room(window: int) -> int:
    """Return the most tokens that a request may hold."""
    return window - reserve(window)


def ledger_room(window: int, limits: Limits) -> int:
    """Return the tokens that the ledger may take in a window, or in what the limits leave of it."""
    return min(LARGEST_LEDGER, int(min(window, limits.max_tokens or window) * LEDGER_SHARE))


def trigger(window: int, limits: Limits) -> int:
    """Return the tokens at which a window counts as full: the threshold's share of it, or where the
    reply's room begins.
    """
    return min(int(window * limits.trigger_threshold), room(window))


def nearness(used: int, messages: int, window: int, limits: Limits) -> float:
    """Return how near the nearest limit is, 1 being reached."""
    return max(near for near, *_ in _measures(used, messages, window, limits))


def fullness(used: int, messages: int, window: int, limits: Limits) -> str:
    """Return the sentence that says how full the context is, by the nearest limit."""
    _, share, amount, limit, unit = max(_measures(used, messages, window, limits))
    texts = [str(one) if unit == "messages" else window_text(one, False) for one in (amount, limit)]
    return f"Reached {share:.0%} capacity ({'/'.join(texts)} {unit})"


def _measures(
    used: int, messages: int, window: int, limits: Limits
) -> list[tuple[float, float, int, int, str]]:
    """Return for each limit how near it is, its share, the amount, the limit and their unit."""
    near = used / max(1, trigger(window, limits))
    found = [(near, used / max(1, window), used, window, "tokens")]
    if limits.max_tokens:
        share = used / limits.max_tokens
        near = share / limits.trigger_threshold
        found.append((near, share, used, limits.max_tokens, "tokens"))
    if limits.max_messages:
        share = messages / limits.max_messages
        near = share / limits.trigger_threshold
        found.append((near, share, messages, limits.max_messages, "messages"))
    return found


# Sizes


def size(text: str, count: Count) -> int:
    """Return the tokens of a text as a message of its own."""
    return count(text) + MESSAGE_TOKENS


def attached_size(file: Attachment, count: Count) -> int:
    """Return the tokens of a query's file, with the lines around it."""
    if file.is_image:
        return image_tokens(file.width, file.height) + count(file.name) + IMAGE_LINE_TOKENS
    return size(f"{file.name}\n{file.text}", count) + FRAME_TOKENS


def entry_size(entry: Entry, count: Count, most: int) -> int:
    """Return the tokens of an entry as it is sent: no text of it takes more than `most`."""
    if isinstance(entry, Attachment):
        return min(attached_size(entry, count), most)
    if isinstance(entry, Reply | Query | ArchiveContext | Result):
        return min(size(entry.text, count), most)
    return 0


def exchange_size(exchange: Exchange, count: Count, window: int, *, tools: bool = True) -> int:
    """Return the tokens of an exchange as it is sent: no message takes more than half of the room.

    Without `tools` its calls are left out, as where it is carried into a child.
    """
    results = (use.result for use in exchange.uses if tools)
    said = [one for one in (exchange.query, exchange.reply, *results) if one and one.text]
    most = room(window) // 2
    return sum(entry_size(entry, count, most) for entry in (*exchange.attached, *said))


def tools_size(specs: Iterable[ToolSpec], count: Count) -> int:
    """Return about how many tokens the tools take: names, descriptions and schemas as JSON."""
    return sum(
        count(f"{one.name} {one.description} {json.dumps(one.parameters, default=str)}")
        + TOOL_TOKENS
        for one in specs
    )


def messages_in(exchanges: Sequence[Exchange]) -> int:
    """Return how many messages exchanges are: a query, and a reply when there is one."""
    return sum(
        2 if exchange.reply is not None and exchange.reply.text.strip() else 1
        for exchange in exchanges
    )


def reported(session: Session, count: Count, most: int) -> int | None:
    """Return the tokens of the next request by the last report of a turn, and an estimate of what
    came after it.

    None when no turn was reported, or another model has taken over since. The acknowledgment is no
    turn: its request holds neither tools nor the carried words. What was undone or failed is not
    sent again.
    """
    after = 0
    for entry in reversed(session.sent):
        if isinstance(entry, Reply) and entry.number and entry.usage and entry.usage.input:
            if not entry.usage.estimated:
                return entry.usage.input + entry.usage.output - entry.usage.reasoning + after
        elif isinstance(entry, ModelChange):
            return None
        after += entry_size(entry, count, most)
    return None


def weigh(
    pieces: Iterable[tuple[str, Message]], system_prompt: str, memory: str, tools: int, count: Count
) -> dict[str, int]:
    """Estimate the tokens of a request, part by part, in the order in which the parts are sent."""
    found = {SYSTEM: count(system_prompt), MEMORY: count(memory), TOOLS: tools}
    for part, message in pieces:
        images = sum(image_tokens(image.width, image.height) for image in message.images)
        found[part] = found.get(part, 0) + size(message.whole, count) + images
    return found


def shared(weights: Mapping[str, int], total: int, rest: str) -> dict[str, int]:
    """Scale parts so that they add up to `total`. More than twice the estimate is no other way of
    counting: what is beyond it goes to the part `rest`.
    """
    whole = sum(weights.values())
    if total > 2 * whole:
        return {**weights, rest: weights.get(rest, 0) + total - whole}
    made = {part: tokens * total // max(1, whole) for part, tokens in weights.items()}
    if made:
        made[max(made, key=made.__getitem__)] += total - sum(made.values())
    return made


def parts(weights: Mapping[str, int], budget: Budget, queries: int) -> list[tuple[str, int]]:
    """Return (part, tokens) of a window in the order in which they are sent; those that are used
    add up to what the budget says.

    `weights` are the parts' estimates, `queries` those of this session.
    """
    used = shared(weights, budget.used, OWN)
    kept = reserve(budget.window.tokens)
    return [
        *(
            (f"{OWN} ({queries})" if part == OWN else part, used[part])
            for part in PARTS
            if used.get(part)
        ),
        ("Kept for the reply", kept),
        ("Free", max(0, budget.window.tokens - budget.used - kept)),
    ]


# The plan


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
    messages = messages_in(exchanges)
    reason = fullness(used, messages, window, limits)
    if nearness(used, messages, window, limits) < 1 and not ahead:
        return Plan(reason=reason)
    sizes = [exchange_size(exchange, count, window) for exchange in exchanges]
    full = trigger(window, limits)
    if limits.max_tokens:
        full = min(full, int(limits.max_tokens * limits.trigger_threshold))
    fixed = max(0, used - sum(sizes) - restored)
    # what is restored is carried on
    block = min(ledger_room(window, limits) + NARRATIVE, sum(sizes) + restored)
    comfortable = max(int(full * COMFORTABLE) - fixed - block, full // 8) - ahead
    recent = _recent_from(exchanges, limits.preserve_recent)
    cut = min(max(_within(exchanges, int(messages * limits.compact_ratio)), carried), recent)
    while cut < recent and sum(sizes[cut:]) > comfortable:
        cut += 1
    while cut < len(exchanges) and fixed + block + sum(sizes[cut:]) + ahead > full:
        cut += 1
    if not cut:
        return Plan(reason=f"{reason}, and everything is recent", keep=tuple(exchanges))
    cut = max(cut, min(carried, len(exchanges)))
    return Plan(reason=reason, compact=tuple(exchanges[:cut]), keep=tuple(exchanges[cut:]))


def asked(
    exchanges: Sequence[Exchange], *, window: int, limits: Limits, count: Count, carried: int = 0
) -> Plan:
    """Return the plan of a compaction that the user asks for: of the newest quarter, what
    `preserve_recent` allows stays.
    """
    newest = min(limits.preserve_recent // 2, len(exchanges) // 4, len(exchanges) - carried - 1)
    cut = len(exchanges) - max(0, newest)
    most = trigger(window, limits) // ASKED_SHARE
    while sum(exchange_size(exchange, count, window) for exchange in exchanges[cut:]) > most:
        cut += 1
    return Plan(reason="Asked for", compact=tuple(exchanges[:cut]), keep=tuple(exchanges[cut:]))


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


def _within(exchanges: Sequence[Exchange], messages: int) -> int:
    """Return how many of the first exchanges make at most so many messages."""
    total = 0
    for number, exchange in enumerate(exchanges):
        total += messages_in([exchange])
        if total > messages:
            return number
    return len(exchanges)


def _recent_from(exchanges: Sequence[Exchange], messages: int) -> int:
    """Return where the last `messages` messages begin, never within an exchange."""
    total = 0
    for number in range(len(exchanges), 0, -1):
        if total >= messages:
            return number
        total += messages_in(exchanges[number - 1 : number])
    return 0
