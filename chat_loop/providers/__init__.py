"""Providers: adapters from one wire protocol each to the one stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from chat_loop.events import Event
from chat_loop.values import Request, Window


class Provider(Protocol):
    """A model that can be asked. Raises `ProviderError`s only; the agent retries."""

    takes_images: bool  # as far as is known; a server that refuses images changes it

    @property
    def name(self) -> str:
        """The provider's part of a model reference, such as `anthropic`."""

    @property
    def model(self) -> str:
        """The model's part of a model reference, as the wire wants it."""

    @property
    def window(self) -> Window: ...

    @property
    def first_event_seconds(self) -> float:
        """Return the timeout for the first content."""

    @property
    def calls_tools(self) -> bool:
        """The model can be offered tools, as far as is known; a server may change it."""

    def warm(self) -> None:
        """Load what the first request needs, in a thread. Raises `ProviderError`."""

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """Yield deltas, a ToolCalled for each call of a complete reply, then one Finished."""

    async def close(self) -> None:
        """Release connections and memory."""
