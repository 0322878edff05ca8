"""The budget (pure): how full the model's window is. The number shown is the number that is judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chat_loop.context.messages import messages_of
from chat_loop.sessions.records import Query, Reply, Session
from chat_loop.values import Window

MESSAGE_TOKENS = 4
"""What the wire adds to a message: role and separators."""
WARN_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens the next request will hold, of how many. `estimated`: nothing has been reported yet."""

    used: int
    window: Window
    estimated: bool

    @property
    def share(self) -> float:
        return self.used / self.window.tokens if self.window.tokens else 1.0

    @property
    def warn(self) -> bool:
        return self.share >= WARN_SHARE


def budget(session: Session, system_prompt: str, window: Window, count: Callable[[str], int]) -> Budget:
    """The last reported prompt and reply, plus an estimate of what came after; everything is estimated before that."""
    after = 0
    for entry in reversed(session.entries):
        if isinstance(entry, Reply) and entry.usage is not None and not entry.usage.estimated:
            return Budget(entry.usage.input + entry.usage.output - entry.usage.reasoning + after, window, False)
        if isinstance(entry, Reply | Query):
            after += count(entry.text) + MESSAGE_TOKENS
    whole = count(system_prompt) + sum(count(message.text) + MESSAGE_TOKENS for message in messages_of(session))
    return Budget(whole, window, True)
