"""The lengths of requests and replies in tokens, which share a window."""

from __future__ import annotations

from chat_loop.tokens import estimate, image_tokens
from chat_loop.values import Request

MIN_REPLY = 8192  # tokens that a large window leaves for a reply; a fifth of small windows
AROUND = 64  # tokens that a service adds to a request


def request_size(request: Request) -> int:
    """Return the tokens of a request by its sender's count, or else an estimate."""
    if request.tokens:
        return request.tokens
    tools = (f"{tool.name} {tool.description} {tool.parameters}" for tool in request.tools)
    tokens = sum(map(estimate, (*request.texts, *tools)))
    for message in request.messages:
        tokens += sum(image_tokens(image.width, image.height) for image in message.images)
    return tokens


def longest_reply(request: Request, window: int, *, asked: int = 0, most: int = 0) -> int:
    """Return the maximum tokens of the reply, at least 1, so that it fits into `window` with its
    request. `asked` is what somebody wants. Without it, the reply may have `most`, which is what
    the model can write (0: unknown), or less if the size of the request is uncertain.
    """
    usual = min(MIN_REPLY, window // 5)
    size = request_size(request)
    left = window - size
    # a service may count what is new as more than we do, and adds some of its own
    left -= min(size // 8 + AROUND, left // 2)
    is_counted = 0 < request.tokens < window  # a larger request is only sent if its count is wrong
    if not is_counted:
        left = max(left, usual)
    if not asked:
        careful = max(usual, window - 2 * size)
        asked = min(most or MIN_REPLY, careful)
    return max(1, min(asked, left))
