"""The budget (pure): how full the model's window is. The number shown is the number that compaction is judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from chat_loop.frozen import dataclass
from chat_loop.sessions.entries import OF_QUERY, Attachment, Query, Recall, Reply, Result, Switch, Undo
from chat_loop.sessions.records import Session
from chat_loop.tokens import image_tokens
from chat_loop.values import Message, Window

if TYPE_CHECKING:
    from chat_loop.agent.tools import Tool

MESSAGE_TOKENS = 4
"""What the wire adds to a message: role and separators."""
LARGEST_RESERVE = 8192
"""Tokens kept free for a reply on a large window; a small one keeps a fifth."""
WARNINGS = (0.95, 0.9, 0.8)
"""Shares of the window at which the user is warned when nothing is compacted by itself."""

Count = Callable[[str], int]


@dataclass(frozen=True)
class Budget:
    """Tokens the next request will hold, of how many. `estimated`: nothing has been reported yet."""

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
    return size(message.whole, count) + sum(image_tokens(image.width, image.height) for image in message.images)


def attached_size(attached: Sequence[Attachment], count: Count) -> int:
    """Tokens of a query's files."""
    return sum(
        image_tokens(one.width, one.height) if one.is_image else size(f"{one.name}\n{one.text}", count)
        for one in attached
    )


class ToolsWeight:
    """About how many tokens a model is told of its tools in: names, descriptions and schemas as JSON.

    The last answer is remembered: it is asked for with every key, and tools rarely change.
    """

    def __init__(self, count: Count) -> None:
        self._count = count
        self._last: tuple[tuple[Tool, ...], int] = ((), 0)

    def __call__(self, tools: tuple[Tool, ...]) -> int:
        known, tokens = self._last
        if known is not tools and tools:
            import json  # not before there are tools

            specs = (tool.spec for tool in tools)
            told = (f"{one.name} {one.description} {json.dumps(one.parameters, default=str)}" for one in specs)
            tokens = self._count("\n".join(told))
            self._last = (tools, tokens)
        return tokens if tools else 0


def budget(
    session: Session,
    messages: Callable[[], Sequence[Message]],
    system_prompt: str,
    window: Window,
    count: Count,
    *,
    tools: int = 0,
) -> Budget:
    """The last reported prompt and reply, plus an estimate of what came after; everything is estimated before that, and
    after another model has taken over.

    `messages` are what would be sent; they are only asked for when everything has to be estimated. `tools` are the
    tokens in which the model is told of its tools.
    """
    after = 0
    undone: set[int] = set()
    for entry in reversed(session.entries):  # not `standing`, which looks at every one of them
        if isinstance(entry, Undo):
            undone.add(entry.number)
        if isinstance(entry, OF_QUERY) and entry.number in undone:
            continue
        if isinstance(entry, Reply) and entry.usage is not None and not entry.usage.estimated:
            return Budget(entry.usage.input + entry.usage.output - entry.usage.reasoning + after, window, False)
        if isinstance(entry, Switch):
            break  # what was reported before are another model's tokens
        if isinstance(entry, Reply | Query | Recall | Result):
            after += size(entry.text, count)
        elif isinstance(entry, Attachment):
            after += attached_size((entry,), count)
    whole = count(system_prompt) + tools + sum(message_size(message, count) for message in messages())
    return Budget(whole, window, True)
