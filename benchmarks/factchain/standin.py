"""StandIn: a provider that answers from the generated conversation and leaves summaries to a
summarizer.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterable

import msgspec

from benchmarks.factchain.meter import Meter
from benchmarks.factchain.summarisers import Summariser, Task
from benchmarks.factchain.talk import Called, Turn
from chat_loop.events import Event, Finished, TextDelta, ToolCalled
from chat_loop.providers import Provider
from chat_loop.values import Request, ToolCall, ToolSpec, Usage, Window

WINDOW = 16_384
SCHEMA = {"type": "object", "properties": {"target": {"type": "string"}}, "required": ["target"]}
ACKNOWLEDGED = "Understood. I know what was said before and am ready to go on."
OWN_COUNT = 0.97
"""The token count of a server's own tokenizer, relative to the program's estimate."""
_PIECE = 400
"""The number of characters that arrive at once."""


def tool_texts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the descriptions of tools as a request has them."""
    return tuple(text_of(ToolSpec(name, "Returns a text.", SCHEMA)) for name in sorted(names))


def text_of(tool: ToolSpec) -> str:
    return msgspec.json.encode(tool).decode()


def is_summary(request: Request) -> bool:
    """Return True if the program asks for a summary."""
    return request.grammar is not None or request.system.startswith("Task: session summary")


def task_of(request: Request) -> Task:
    """Return the program's request for a summary as a task: the old block's bullets, and the text
    between the two lines of `====`.
    """
    text = request.messages[-1].text
    before, _, rest = text.partition("\n==== ")
    span = rest.partition("====\n")[2].rpartition("\n==== ")[0] or text
    old = "\n".join(line for line in before.split("\n") if line.startswith("- "))
    return Task(span=span, old=old, max_tokens=request.max_tokens or WINDOW // 5, request=request)


class StandIn(Provider):
    """The model of a conversation. `expect` sets the next exchange; any other request is answered
    with an acknowledgment.
    """

    name = "factchain"
    model = "stand-in"
    first_event_seconds = 120.0
    takes_images = False

    def __init__(
        self,
        summariser: Summariser,
        count: Callable[[str], int],
        window: int = WINDOW,
        *,
        calls_tools: bool = False,
    ) -> None:
        self.calls_tools = calls_tools
        self.window = Window(window)
        self.meter: Meter | None = None
        """Counts the requests, if it is set."""
        self.asked_at = 0.0
        """The time when the last query arrived, by `time.perf_counter()`."""
        self._summariser = summariser
        self._count = count
        self._turn: Turn | None = None
        self._left: list[Called] = []
        self.result = ""
        """The result of the call that it has made last."""

    def expect(self, turn: Turn) -> None:
        """Set the next query and its reply."""
        self._turn = turn

    def warm(self) -> None:
        """There is nothing to load."""

    def begin_session(self) -> None:
        """There is nothing to try again."""

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        started = time.perf_counter()
        if is_summary(request):
            answer = await self._summariser.write(task_of(request))
            yield TextDelta(answer.text)
            yield Finished(stop=answer.stop, usage=self._usage(request, answer.text))
            return
        turn = self._turn
        last = request.messages[-1]
        text = ACKNOWLEDGED
        if turn is not None and (last.results or turn.query in last.text):
            if not last.results:
                self.asked_at = started
                self._left = list(turn.calls)
            if self._left:
                call = self._left.pop(0)
                self.result = call.result
                arguments = json.dumps({"target": call.target})
                yield ToolCalled(ToolCall("call", call.name, arguments))
                yield Finished(stop="tool", usage=self._usage(request, arguments))
                return
            text, self._turn = turn.reply, None
        for start in range(0, len(text), _PIECE):
            yield TextDelta(text[start : start + _PIECE])
        yield Finished(stop="end", usage=self._usage(request, text))

    async def close(self) -> None:
        """There is nothing to release."""

    def _usage(self, request: Request, text: str) -> Usage:
        if self.meter is not None:
            said = (message.whole for message in request.messages)
            self.meter.record([request.system, *map(text_of, request.tools), *said], text)
        prompt = self._count(request.system) + sum(
            self._count(message.whole) for message in request.messages
        )
        return Usage(input=int(prompt * OWN_COUNT), output=int(self._count(text) * OWN_COUNT))
