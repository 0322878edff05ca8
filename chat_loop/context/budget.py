"""The budget (pure): how full the model's window is. The number shown is the number that compaction
is judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from chat_loop.sessions.records import (
    ArchiveContext,
    Attachment,
    Entry,
    ModelChange,
    Query,
    Reply,
    Result,
    Session,
)
from chat_loop.tokens import image_tokens
from chat_loop.values import Message, ToolSpec, Window

SYSTEM, MEMORY, TOOLS = "System prompt", "Memory", "Tools"
MESSAGE_TOKENS = 4
"""What the wire adds to a message: role and separators."""
TOOL_TOKENS = 8
"""What the wire adds to a tool: the names of its fields."""
FRAME_TOKENS = 80
"""What stands around a text file: its size, and three lines with a digest."""
IMAGE_LINE_TOKENS = 12
"""What stands before an image."""
LARGEST_RESERVE = 8192
"""Tokens kept free for a reply on a large window; a small one keeps a fifth."""
WARNINGS = (0.95, 0.9, 0.8)
"""Shares of the window at which the user is warned when nothing is compacted by itself."""

Count = Callable[[str], int]


class Budget(Struct, frozen=True):
    """Tokens the next request will hold, of how many. `estimated`: nothing has been reported
    yet.
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


def reserve(window: int) -> int:
    """Tokens of a window that are kept free for the reply."""
    return min(LARGEST_RESERVE, window // 5)


def room(window: int) -> int:
    """The most tokens that a request may hold."""
    return window - reserve(window)


def size(text: str, count: Count) -> int:
    """Tokens of a text as a message of its own."""
    return count(text) + MESSAGE_TOKENS


def message_size(message: Message, count: Count) -> int:
    """Tokens of a message with its images."""
    return size(message.whole, count) + sum(
        image_tokens(image.width, image.height) for image in message.images
    )


def attached_size(attached: Sequence[Attachment], count: Count) -> int:
    """Tokens of a query's files, with the lines around them."""
    return sum(
        image_tokens(one.width, one.height) + count(one.name) + IMAGE_LINE_TOKENS
        if one.is_image
        else size(f"{one.name}\n{one.text}", count) + FRAME_TOKENS
        for one in attached
    )


def entry_size(entry: Entry, count: Count, most: int) -> int:
    """Tokens of an entry as it is sent: no text of it takes more than `most`."""
    if isinstance(entry, Attachment):
        return min(attached_size((entry,), count), most)
    return (
        min(size(entry.text, count), most)
        if isinstance(entry, Reply | Query | ArchiveContext | Result)
        else 0
    )


def tools_size(specs: Iterable[ToolSpec], count: Count) -> int:
    """About how many tokens a model is told of its tools in: names, descriptions and schemas as
    JSON.
    """
    import json  # not before there are tools

    return sum(
        count(f"{one.name} {one.description} {json.dumps(one.parameters, default=str)}")
        + TOOL_TOKENS
        for one in specs
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
        found[part] = found.get(part, 0) + message_size(message, count)
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
