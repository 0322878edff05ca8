"""Agents of other libraries as a provider: the conversation gives them everything, they give back
events.

Their code runs on a thread of its own: it can neither hold up the screen nor print on it. The
conversation is kept here, so every request carries all of it; what such an agent remembers by
itself is set aside where that is possible.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from chat_loop.agent.definition import Definition
from chat_loop.agent.isolation import described, on_loop
from chat_loop.errors import ChatLoopError, RequestRejected
from chat_loop.events import Event, Finished, TextDelta, ThinkingDelta, ToolCalled, ToolReturned
from chat_loop.providers.calls import LONGEST_ARGUMENTS, tool_name
from chat_loop.providers.capabilities import window_of
from chat_loop.values import Request, StopReason, ToolCall, Usage, Window

SECONDS = 600.0
"""How long nothing may come: an agent may work for long before it says something."""
LONGEST_RESULT = 50_000
"""Characters of a tool's result that are kept."""
PREVIOUS_SECONDS = 10.0
"""How long an agent with a state of its own may take to end what was cancelled."""


class ForeignProvider:
    """Asks an agent of another library. It tells its own tools' calls with their results."""

    name = "python"
    calls_tools = takes_images = False
    first_event_seconds = SECONDS

    def __init__(self, definition: Definition, windows: Mapping[str, int]) -> None:
        """`windows` are those that the user set, by the name of the agent or of its model."""
        from chat_loop.agent import styles

        self.model = definition.name
        self._agent: Any = definition.foreign
        self._style = styles.style_of(self._agent)
        self._known_as = (
            definition.name if definition.name in windows else styles.model_of(self._agent)
        )
        self.window = window_of(self._known_as, windows)
        self._last: asyncio.Task[Any] | None = None

    def warm(self) -> None:
        """Look up the window of its model. The agent was loaded with its file."""
        from chat_loop.providers.prices import known_window  # loads the library

        if self.window.guessed and (tokens := known_window(self._known_as, "")):
            self.window = Window(tokens)

    async def close(self) -> None:
        """What it has opened is its own."""

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # nobody listens any more
                loop.call_soon_threadsafe(events.put_nowait, event)

        task = asyncio.ensure_future(
            on_loop(lambda: self._work(request, Steps(tell, tools=request.grammar is None)))
        )
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            if task.cancelled():
                raise RequestRejected(f"The agent {self.model} stopped by itself.")
            error = task.result().error
            if isinstance(error, ChatLoopError):
                raise RequestRejected(error.message, error.hint) from error
            if error is not None:
                raise RequestRejected(
                    f"The agent {self.model} failed: {described(error)}."
                ) from error
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _work(self, request: Request, steps: Steps) -> None:
        """Ask, on the loop of foreign code; one request after the other where the agent keeps a
        state.
        """
        before, self._last = self._last, asyncio.current_task()
        if self._style.alone and before is not None and not before.done():
            await asyncio.wait({before}, timeout=PREVIOUS_SECONDS)
        stop = await self._style.ask(self._agent, request, steps)
        steps.end(stop)


class Steps:
    """What an agent tells, as events in the order that a transcript needs: text, calls, the step's
    end, results.

    `usage` is what was used since it was last asked. Without `tools` only text is told, as for a
    summary.
    """

    def __init__(self, tell: Callable[[Event], None], *, tools: bool) -> None:
        self._tell = tell
        self._tools = tools
        self._asked: dict[str, tuple[str, str, float]] = {}
        """The calls that wait for a result, by the agent's ids: ours, the tool's name, when it was
        called.
        """
        self._calls = 0
        self._ending = False
        """Calls were told, and not yet that the step ended."""
        self.usage: Callable[[], Usage | None] = lambda: None
        self.said = False

    def text(self, text: object) -> None:
        """Of the reply."""
        if isinstance(text, str) and text:
            self._end_step()
            self.said = self.said or bool(text.strip())
            self._tell(TextDelta(sound(text)))

    def thinking(self, text: object) -> None:
        if isinstance(text, str) and text:
            self._end_step()
            self._tell(ThinkingDelta(sound(text)))

    def called(self, key: object, name: object, arguments: object) -> None:
        """The agent calls a tool of its own; `arguments` are JSON, or can be written as such."""
        if not self._tools:
            return
        self._calls += 1
        text = (
            arguments
            if isinstance(arguments, str)
            else json.dumps(arguments, default=str, ensure_ascii=False)
        )
        own = f"own{self._calls}"
        self._asked[str(key)] = (own, tool_name(str(name)), time.monotonic())
        self._ending = True
        self._tell(ToolCalled(ToolCall(own, tool_name(str(name)), sound(text)[:LONGEST_ARGUMENTS])))

    def returned(self, key: object, text: str, *, failed: bool) -> None:
        """A tool has its result."""
        found = self._asked.pop(str(key), None)
        if found is None:
            return
        self._end_step()
        own, name, since = found
        text = sound(text[:LONGEST_RESULT]) or "(nothing)"
        seconds = round(time.monotonic() - since, 2)
        self._tell(ToolReturned(id=own, name=name, text=text, failed=failed, seconds=seconds))

    def end(self, stop: StopReason) -> None:
        """The reply is complete."""
        self._end_step()
        self._tell(Finished(stop=stop, usage=self.usage()))

    def _end_step(self) -> None:
        if self._ending:
            self._ending = False
            self._tell(Finished(stop="tool", usage=self.usage()))


def sound(text: str) -> str:
    """Text as it can be encoded: halves of characters become U+FFFD."""
    with contextlib.suppress(UnicodeEncodeError):
        text.encode()
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
