"""The number of tokens that a server counts with tiktoken in a request: the texts as sent, 3 tokens
for each message and for the beginning of the reply, each tool as its JSON, each image at the
service's price.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from benchmarks.support.loopback import Received
from chat_loop.tokens import TokenCounter

MESSAGE = 3


@cache
def counter() -> TokenCounter:
    """Return the token counter, with the encoding loaded once."""
    made = TokenCounter()
    assert made.load(), made.problem
    return made


def tokens(text: str) -> int:
    return counter().count(text)


def counted(request: Received) -> int:
    """Return the number of tokens in a request by this server's own count."""
    body = request.body
    system = body.get("system") or ""
    total = 3 + (
        tokens(system if isinstance(system, str) else "".join(block["text"] for block in system))
    )
    for message in body["messages"]:
        total += MESSAGE + _content(message["content"])
        total += sum(
            tokens(f"{call['function']['name']} {call['function']['arguments']}")
            for call in message.get("tool_calls") or ()
        )
    for tool in body.get("tools") or ():
        told = {
            key: value
            for key, value in tool.get("function", tool).items()
            if key != "cache_control"
        }
        total += tokens(json.dumps(told))
    return total


def _content(content: str | list[dict[str, Any]] | None) -> int:
    if not isinstance(content, list):
        return tokens(content or "")
    total = 0
    for block in content:
        match block["type"]:
            case "text":
                total += tokens(block["text"])
            case "tool_use":
                total += tokens(f"{block['name']} {json.dumps(block['input'])}")
            case "tool_result":
                total += _content(block["content"])
            case "image" | "image_url":
                total += IMAGE[1]
    return total


IMAGE = ((640, 480), 425)
"""The size of an image that both services price similarly: 410 tokens and 425."""
