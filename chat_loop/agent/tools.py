"""Tools: what the model may call, and how its calls are run. Whatever goes wrong becomes a sentence for the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import field

from chat_loop.agent.arguments import fault
from chat_loop.errors import ChatLoopError
from chat_loop.events import ToolReturned
from chat_loop.frozen import dataclass
from chat_loop.providers.calls import arguments_of
from chat_loop.values import ToolCall, ToolSpec

LONGEST_RESULT = 50_000
"""Characters of a result that the model is given."""
NO_MORE = "Not run: no more tools can be called for this answer. Answer now, with what you have."
REFUSED = "Not run: the user did not allow it."
EMPTY = "(nothing)"
"""Instead of an empty result, which some wires refuse."""


@dataclass(frozen=True)
class Tool:
    """A tool of the program. `run` is given the call's arguments, checked against the specification.

    It returns text for the model, or raises ChatLoopError with a sentence for it. It may be cancelled.

    `asks` is for one that changes something: it returns the whole of what a call would do, as the user is shown it
    before the call runs. It raises as `run` does for a call that cannot work. None: it runs unasked.
    """

    spec: ToolSpec
    run: Callable[[Mapping[str, object]], Awaitable[str]]
    asks: Callable[[Mapping[str, object]], str] | None = None


Approve = Callable[[str, str], Awaitable[bool]]
"""Asks the user about a call: the tool's name, and what it would do. Calls come one at a time."""


async def never(name: str, text: str) -> bool:
    """Approve nothing: there is nobody who could be asked."""
    return False


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    """The tools of one request, and their limits: `seconds` for a call, `characters` for its result."""

    tools: Mapping[str, Tool]
    seconds: float
    characters: int
    clock: Callable[[], float]
    approve: Approve = never
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def use(self, calls: Sequence[ToolCall]) -> AsyncGenerator[ToolReturned]:
        """Run the calls together; yield each result when it comes. Closing it cancels those that still run."""
        tasks = [asyncio.ensure_future(self._use(call)) for call in calls]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
        finally:
            for unfinished in tasks:
                unfinished.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _use(self, call: ToolCall) -> ToolReturned:
        started = self.clock()
        failed = True
        try:
            tool, given = self._found(call)
            if tool.asks is not None:
                async with self.asking:
                    if not await self.approve(call.name, tool.asks(given)):
                        raise ChatLoopError(REFUSED)
                started = self.clock()
            async with asyncio.timeout(self.seconds):
                text = await tool.run(given)
            failed = False
        except ChatLoopError as error:
            text = f"{error.message} {error.hint}".strip()
        except TimeoutError:
            text = f"{call.name} took longer than {self.seconds:.0f} seconds and was stopped."
        except OSError as error:
            text = f"{call.name} failed: {error.strerror or error}."
        seconds = round(self.clock() - started, 2)
        text = _shortened(text, self.characters) or EMPTY
        return ToolReturned(id=call.id, name=call.name, text=text, failed=failed, seconds=seconds)

    def _found(self, call: ToolCall) -> tuple[Tool, dict[str, object]]:
        tool = self.tools.get(call.name)
        if tool is None:
            raise ChatLoopError(f"There is no tool {call.name}.", f"The tools are: {', '.join(self.tools)}.")
        given = arguments_of(call.arguments)
        if given is None:
            raise ChatLoopError("The arguments are not a JSON object.", "Call the tool again with valid JSON.")
        wrong = fault(given, tool.spec.parameters)
        if wrong:
            raise ChatLoopError(wrong, "Call the tool again.")
        return tool, given


async def refuse(calls: Sequence[ToolCall]) -> AsyncGenerator[ToolReturned]:
    """Run none of the calls; tell the model that it has to answer."""
    for call in calls:
        yield ToolReturned(id=call.id, name=call.name, text=NO_MORE, failed=True, seconds=0.0)


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut: the first {most:,} of {len(text):,} characters]"
