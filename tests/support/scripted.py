"""A provider that gives the replies of a script."""

from __future__ import annotations

from collections.abc import Sequence

from chat_loop.errors import ProviderError
from chat_loop.providers.scripted import EchoProvider
from chat_loop.values import Message, Request, Window

Step = str | Message | ProviderError
"""The text of a reply, a reply with its calls, or an error that is raised instead."""


class ScriptedProvider(EchoProvider):
    """A provider that gives the steps in order and remembers every request. After the last step, it
    repeats the query.
    """

    def __init__(
        self,
        steps: Sequence[Step] = (),
        *,
        window: Window | None = None,
        calls_tools: bool = False,
    ) -> None:
        super().__init__(window)
        self.calls_tools = calls_tools
        self.requests: list[Request] = []
        self._steps = list(steps)

    def reply(self, request: Request) -> Message:
        self.requests.append(request)
        step = self._steps.pop(0) if self._steps and request.grammar is None else None
        if isinstance(step, ProviderError):
            raise step
        return (
            Message("assistant", step) if isinstance(step, str) else step or super().reply(request)
        )
