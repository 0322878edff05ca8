"""Agent: what the user talks to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from chat_loop.agent.ask import Patience, ask
from chat_loop.events import Event
from chat_loop.providers import Provider
from chat_loop.values import Message, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A provider with a name and a system prompt. `path` is the file it came from, empty for the built-in one."""

    name: str
    system_prompt: str
    provider: Provider
    path: str = ""
    patience: Patience = field(default_factory=Patience)

    @property
    def model(self) -> str:
        """The model reference, `provider:model`."""
        return f"{self.provider.name}:{self.provider.model}"

    def run(self, messages: tuple[Message, ...], max_tokens: int | None = None) -> AsyncIterator[Event]:
        """Ask for the next reply, of at most `max_tokens`. Yields events, Finished last. Raises ProviderError."""
        request = Request(system=self.system_prompt, messages=messages, max_tokens=max_tokens)
        return ask(self.provider, request, self.patience)
