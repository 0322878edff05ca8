"""Tools: what the model may call, and how its calls are run. Whatever goes wrong becomes a sentence
for the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from msgspec import Struct, field

from chat_loop.agent.arguments import fault
from chat_loop.agent.results import READ_RESULT, READS, cut, read_on
from chat_loop.errors import ChatLoopError, ToolDenied, os_reason
from chat_loop.events import ToolReturned
from chat_loop.providers.calls import arguments_of
from chat_loop.values import ToolCall, ToolSpec
from chat_loop.wording import ALLOWED

LONGEST_RESULT = 50_000
"""Characters of a result that the model is given."""
SHORTEST_RESULT = 1_000
"""What a result may take however much was given before it."""
NO_MORE = "Not run: no more tools can be called for this answer. Answer now, with what you have."
REFUSED = "Not run: the user did not allow it."
EMPTY = "(nothing)"
"""Instead of an empty result, which some wires refuse."""


class Tool(Struct, frozen=True):
    """A tool of the program. `run` is given the call's arguments, checked against the
    specification.

    It returns text for the model, or raises ChatLoopError with a sentence for it. It may be
    cancelled.

    `asks` is for one that changes something: it returns the whole of what a call would do, as the
    user is shown it before the call runs, or nothing for a call that need not be asked about. It is
    called in a thread, and raises as `run` does for a call that cannot work. None: it runs unasked.

    `allow` is given the text of the question when the user has allowed the call, before it runs.

    `asks_about` says which calls those are, when they are not all. `seconds` is the longest that a
    call may take, where that is not the agent's to say. `stops`: what a call does ends when it is
    cancelled.
    """

    spec: ToolSpec
    run: Callable[[Mapping[str, object]], Awaitable[str]]
    asks: Callable[[Mapping[str, object]], str] | None = None
    allow: Callable[[str], None] | None = None
    asks_about: str = ""
    seconds: float | None = None
    stops: bool = True


Approve = Callable[[str, str], Awaitable[bool]]
"""Asks the user about a call: the tool's name, and what it would do. Calls come one at a time.

It may raise ChatLoopError with a sentence that tells the model why the call is not run.
"""


async def never(name: str, text: str) -> bool:
    """Approve nothing: there is nobody who could be asked."""
    return False


class Toolbox(Struct, frozen=True, kw_only=True):
    """The tools of one reply, and their limits: `seconds` for a call, `characters` for its result.

    All results together take at most about `together` characters: each gets half of what is left.
    `kept` holds the whole texts of those that were cut, by the ids of their calls, from one reply
    to the next.
    """

    tools: Mapping[str, Tool]
    seconds: float
    characters: int
    together: int = 20 * LONGEST_RESULT
    clock: Callable[[], float]
    approve: Approve = never
    kept: dict[str, str] = field(default_factory=dict)
    given: list[int] = field(default_factory=list)
    """The characters of the results so far."""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def offered(self) -> Mapping[str, Tool]:
        """The tools as the model is told of them now: with one that reads on, as soon as a result
        was cut.
        """
        return (
            {**self.tools, READ_RESULT: Tool(READS, self._read_on)}
            if self.tools and self.kept
            else self.tools
        )

    async def use(self, calls: Sequence[ToolCall]) -> AsyncGenerator[ToolReturned]:
        """Run the calls together; yield each result when it comes. Closing it cancels those that
        still run.
        """
        tasks = [asyncio.ensure_future(self._use(call)) for call in calls]
        try:
            for task in asyncio.as_completed(tasks):
                returned = await task
                async with self.asking:
                    pass  # nothing is shown while a question stands on the screen
                yield returned
        finally:
            for unfinished in tasks:
                unfinished.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _use(self, call: ToolCall) -> ToolReturned:
        started = self.clock()
        failed, denied, asked = True, False, False
        try:
            tool, given = self._found(call)
            asked = await self._asked(tool, call.name, given)
            if asked:
                started = self.clock()
            text = await self._limited(tool, call.name, given)
            failed = False
        except ChatLoopError as error:
            denied = isinstance(error, ToolDenied)
            text = f"{error.message} {error.hint}".strip()
        except OSError as error:
            text = f"{call.name} failed: {os_reason(error)}."
        seconds = round(self.clock() - started, 2)
        room = self._room
        text = cut(call, text or EMPTY, room, self.kept)
        self.given.append(min(len(text), room))
        text = f"{ALLOWED}\n{text}" if asked else text
        return ToolReturned(
            id=call.id, name=call.name, text=text, failed=failed, denied=denied, seconds=seconds
        )

    async def _asked(self, tool: Tool, name: str, given: Mapping[str, object]) -> bool:
        """Whether the user was asked about a call, and allowed it. Raises ChatLoopError for one
        that is not allowed.
        """
        if tool.asks is None:
            return False
        async with self.asking:
            text = await asyncio.to_thread(tool.asks, given)
            if text and not await self.approve(name, text):
                raise ToolDenied(REFUSED)
            if text and tool.allow is not None:
                tool.allow(text)
        return bool(text)

    async def _limited(self, tool: Tool, name: str, given: Mapping[str, object]) -> str:
        seconds = self.seconds if tool.seconds is None else tool.seconds
        try:
            async with asyncio.timeout(seconds) as limit:
                return await tool.run(given)
        except TimeoutError as error:
            if not limit.expired():
                raise  # the tool's own
            ended = (
                "was stopped" if tool.stops else "is not waited for; it may go on in the background"
            )
            raise ChatLoopError(
                f"{name} took longer than {seconds:.0f} seconds and {ended}."
            ) from error

    async def _read_on(self, given: Mapping[str, object]) -> str:
        return read_on(given, self._room, self.kept)

    @property
    def _room(self) -> int:
        """The characters that the next result may take."""
        return min(self.characters, max(SHORTEST_RESULT, (self.together - sum(self.given)) // 2))

    def _found(self, call: ToolCall) -> tuple[Tool, dict[str, object]]:
        tool = self.offered.get(call.name)
        if tool is None:
            raise ChatLoopError(
                f"There is no tool {call.name}.", f"The tools are: {', '.join(self.offered)}."
            )
        given = arguments_of(call.arguments)
        if given is None:
            raise ChatLoopError(
                "The arguments are not a JSON object.", "Call the tool again with valid JSON."
            )
        wrong = fault(given, tool.spec.parameters)
        if wrong:
            raise ChatLoopError(wrong, "Call the tool again.")
        return tool, given


async def refuse(calls: Sequence[ToolCall]) -> AsyncGenerator[ToolReturned]:
    """Run none of the calls; tell the model that it has to answer."""
    for call in calls:
        yield ToolReturned(id=call.id, name=call.name, text=NO_MORE, failed=True, seconds=0.0)
