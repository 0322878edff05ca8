"""Where a request of the Messages API may be cached: up to which places its beginning is worth
keeping.

A breakpoint says "keep everything up to here". One stands after the tools and the system prompt,
which all requests of a conversation begin with, and one after each of the two newest messages of
the user: the older of them is where the last request ended, so that a growing conversation is read
from the cache however much was said in between. The wire takes four
(https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching). What is too short is not
kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from anthropic.types import CacheControlEphemeralParam, MessageParam, TextBlockParam, ToolParam

NEWEST = 2
"""Messages of the user that end with a breakpoint."""


def _here() -> CacheControlEphemeralParam:
    return {"type": "ephemeral"}


def of_system(system: str) -> list[TextBlockParam]:
    """The system prompt with a breakpoint at its end."""
    return [{"type": "text", "text": system, "cache_control": _here()}]


def of_tools(tools: Sequence[ToolParam]) -> list[ToolParam]:
    """The tools with a breakpoint after the last, for a request without a system prompt."""
    return [*tools[:-1], {**tools[-1], "cache_control": _here()}] if tools else []


def of_messages(messages: Sequence[MessageParam]) -> list[MessageParam]:
    """The messages with a breakpoint at the end of the newest ones of the user."""
    users = [number for number, message in enumerate(messages) if message["role"] == "user"][
        -NEWEST:
    ]
    return [
        _ended(message) if number in users else message for number, message in enumerate(messages)
    ]


def of_completion(messages: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """The same for Chat Completions, where some services hand the marks on to Anthropic's
    models.
    """
    users = [number for number, message in enumerate(messages) if message["role"] == "user"][
        -NEWEST:
    ]
    marked = {
        number for number, message in enumerate(messages) if message["role"] == "system"
    }.union(users)
    return [
        _closed(message) if number in marked else message for number, message in enumerate(messages)
    ]


def _closed(message: dict[str, object]) -> dict[str, object]:
    ended = _with_end(message["content"])
    return message if ended is None else {**message, "content": ended}


def _ended(message: MessageParam) -> MessageParam:
    ended = _with_end(message["content"])
    return message if ended is None else cast("MessageParam", {**message, "content": ended})


def _with_end(content: Any) -> list[Any] | None:
    """A content with a breakpoint at its end; None for one that ends with nothing, where a
    breakpoint is refused.
    """
    blocks: list[Any] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    )
    if not blocks or (blocks[-1]["type"] == "text" and not blocks[-1]["text"].strip()):
        return None
    return [*blocks[:-1], {**blocks[-1], "cache_control": _here()}]
