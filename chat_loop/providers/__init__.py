"""Providers: adapters from one wire protocol each to the one stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from chat_loop.events import Event
from chat_loop.values import Request, Window


class Provider(Protocol):
    """A model that can be asked. Raises `ProviderError`s only, and never retries: the one visible
    retry loop is the agent's.
    """

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
        """How long the first content may take before the call counts as timed out."""

    @property
    def calls_tools(self) -> bool:
        """The model can be offered tools, as far as is known; a server may change it."""

    def warm(self) -> None:
        """Load what the first request needs, in a thread; calling it twice is free. Raises
        `ProviderError` when it cannot work.
        """

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """Yield TextDelta and ThinkingDelta as they arrive, then one Finished. Closing it cancels
        the call.

        When the model waits for tools, a ToolCalled for each call comes before Finished, whose
        `stop` is tool. Calls of a reply that ended otherwise are dropped: none is surely complete.
        """

    async def close(self) -> None:
        """Give back connections and memory."""
