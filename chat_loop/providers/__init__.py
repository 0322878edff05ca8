"""Providers: each one adapts a wire protocol to the common stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from chat_loop.events import Event
from chat_loop.values import Request, Window


class Provider(Protocol):
    """A model that can be asked, and its defaults. Raises only `ProviderError`s."""

    name: str  # with the model, a reference such as `anthropic:claude-opus-4-6`
    model: str
    window: Window
    first_event_seconds: float = 120.0  # the timeout for the first content
    calls_tools: bool = False  # false for a while after a server has refused tools
    takes_images: bool = False
    efforts: tuple[str, ...] = ()  # those that it may take, as far as is known, the least first

    @property
    def endpoint(self) -> str:
        """The address at which it is asked. Of a model without one, no opaque parts are kept."""
        return ""

    @property
    def returns_opaque(self) -> bool:
        """True if requests contain what the service sent with the steps of its replies."""
        return False

    def warm(self) -> None:
        """Load what the first request needs, in a thread. Raises `ProviderError`."""
        return

    def begin_session(self) -> None:
        """Try again what was left out of requests because the server refused it."""
        return

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """Yield deltas, a ToolCalled for each call of a complete reply, then one Finished."""

    async def close(self) -> None:
        """Release connections and memory."""
        return
