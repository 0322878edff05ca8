"""Tools: what the model may call, and how its calls are run. Whatever goes wrong becomes a sentence
for the model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from chat_loop.errors import ChatLoopError, ToolDenied, os_reason
from chat_loop.events import ToolReturned
from chat_loop.providers.calls import arguments_of
from chat_loop.values import ToolCall, ToolSpec
from chat_loop.wording import ALLOWED

LONGEST_RESULT = 50_000
"""Characters of a result that the model is given."""
SHORTEST_RESULT = 1_000
"""Characters that a result may take however much was given before it."""
MOST_KEPT = 20_000_000
"""Characters that are kept of all results that were cut; the oldest go first."""
LONGEST_KEPT = MOST_KEPT // 2
"""Characters that are kept of one."""
OUTSIDE = "Outside of the working directory"
POWERFUL = "This file can run code or steer later sessions"
"""How questions begin about such files; “always” is then for the same call only."""
MOST_ASKED = 5
"""How often an answer that means nothing is asked for again."""
NO_MORE = "Not run: no more tools can be called for this answer. Answer now, with what you have."
_TYPES: Mapping[object, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def spec_of(name: str, description: str, arguments: Mapping[str, tuple[Any, ...]]) -> ToolSpec:
    """Return the specification of a tool; its arguments are their type, what they are, and the
    default if there is one.
    """
    properties = {
        key: {"type": kind, "description": about, **({"default": default[0]} if default else {})}
        for key, (kind, about, *default) in arguments.items()
    }
    required = [key for key, argument in arguments.items() if len(argument) == 2]
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(name, description, {**schema, "additionalProperties": False})


READS = spec_of(
    "read_result",
    "Reads on in the result of an earlier tool call that was cut because it was too long.",
    {
        "id": ("string", "The id that the cut result names."),
        "offset": ("integer", "How many characters of the result are skipped."),
    },
)


class Tool(Struct, frozen=True):
    """A tool of the program. `run` takes the arguments of a call, checked against `spec`; it
    returns text for the model, or raises ChatLoopError with a sentence for it. It may be cancelled.

    `asks` is for one that changes something: called in a thread, it returns the whole of what a
    call would do, as the user is shown it before the call runs, or nothing where nobody need be
    asked; None: it runs unasked. `allow` is given that text once the user has allowed the call.
    `asks_about` names the calls that are asked about, when they are not all. `seconds` is the
    longest that a call may take, where that is not the agent's to say. `stops`: what a call does
    ends when it is cancelled.
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


async def anything(name: str, text: str) -> bool:
    """Approve everything: the user allowed all calls beforehand."""
    return True


def nobody(tell: Callable[[str, str], None]) -> Callable[[str, str], Awaitable[bool]]:
    """Return an approval that refuses, since there is nobody to ask; `tell(sentence, hint)` is for
    who reads later.
    """

    async def refuse(name: str, text: str) -> bool:
        tell(
            f"{name} was not run: it has to be allowed, and there is nobody to ask.",
            "--yes allows all such calls.",
        )
        raise ToolDenied(
            "Not run: the user has to allow it, and there is nobody to ask.", "Go on without it."
        )

    return refuse


def covered(name: str, text: str) -> tuple[str, str]:
    """Return what “always” covers, for a call of the tool `name` that is shown as `text`.

    All calls of the tool; of `run_command`, and where a file is touched that lies outside of the
    working directory, or that can run code or steer later sessions, only the call that does exactly
    the same.
    """
    exact = name == "run_command" or text.startswith((OUTSIDE, POWERFUL))
    return (name, text if exact else "")


class Approvals:
    """The answers of one run of the program. `ask(question)` gives an answer, `show(name, text)`
    shows a call.
    """

    def __init__(
        self, show: Callable[[str, str], None], ask: Callable[[str], Awaitable[str]]
    ) -> None:
        self._show = show
        self._ask = ask
        self._always: set[tuple[str, str]] = set()

    async def approve(self, name: str, text: str) -> bool:
        """Tell if a call may run. Nothing is asked about what is always allowed."""
        if covered(name, text) in self._always:
            return True
        self._show(name, text)
        always = "exactly this" if covered(name, text)[1] else name
        question = f"Run it? (y, n, a = always, until you leave: {always}) "
        for number in range(MOST_ASKED):
            again = "Please answer y, n or a. " if number else ""
            match (await self._ask(again + question)).strip().lower():
                case "y" | "yes":
                    return True
                case "a" | "always":
                    self._always.add(covered(name, text))
                    return True
                case "n" | "no":
                    return False
        return False


class Toolbox(Struct, frozen=True, kw_only=True):
    """The tools of one reply, and their limits: `seconds` for a call, `characters` for its result.

    All results together take at most about `together` characters: each gets half of what is left.
    `kept` holds the whole texts of those that were cut, by the ids of their calls.
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
        """The tools as the model is told of them now: with read_result once a result was cut."""
        if not self.tools or not self.kept:
            return self.tools

        async def run(given: Mapping[str, object]) -> str:
            return read_on(given, self._room, self.kept)

        return {**self.tools, READS.name: Tool(READS, run)}

    async def use(self, calls: Sequence[ToolCall]) -> AsyncGenerator[ToolReturned]:
        """Run the calls together; yield each result when it comes. Closing it cancels the rest."""
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
        failed, denied, shown = True, False, ""
        try:
            tool, given = self._found(call)
            if tool.asks is not None:
                async with self.asking:
                    shown = await asyncio.to_thread(tool.asks, given)
                    if shown and not await self.approve(call.name, shown):
                        shown = ""
                        raise ToolDenied("Not run: the user did not allow it.")
                    if shown and tool.allow is not None:
                        tool.allow(shown)
                started = self.clock() if shown else started
            text = await self._limited(tool, call.name, given)
            failed = False
        except ChatLoopError as error:
            denied = isinstance(error, ToolDenied)
            shown = "" if denied else shown
            text = f"{error.message} {error.hint}".strip()
        except OSError as error:
            text = f"{call.name} failed: {os_reason(error)}."
        seconds = round(self.clock() - started, 2)
        room = self._room
        text = cut(call, text or "(nothing)", room, self.kept)  # some wires refuse an empty one
        self.given.append(min(len(text), room))
        text = f"{ALLOWED}\n{text}" if shown else text
        return ToolReturned(
            id=call.id, name=call.name, text=text, failed=failed, denied=denied, seconds=seconds
        )

    async def _limited(self, tool: Tool, name: str, given: Mapping[str, object]) -> str:
        seconds = self.seconds if tool.seconds is None else tool.seconds
        try:
            async with asyncio.timeout(seconds) as limit:
                return await tool.run(given)
        except TimeoutError as error:
            if not limit.expired():
                raise  # the tool's own
            left = "is not waited for; it may go on in the background"
            ended = "was stopped" if tool.stops else left
            raise ChatLoopError(
                f"{name} took longer than {seconds:.0f} seconds and {ended}."
            ) from error

    @property
    def _room(self) -> int:
        """The characters that the next result may take."""
        return min(self.characters, max(SHORTEST_RESULT, (self.together - sum(self.given)) // 2))

    def _found(self, call: ToolCall) -> tuple[Tool, dict[str, object]]:
        tool = self.offered.get(call.name)
        if tool is None:
            known = f"The tools are: {', '.join(self.offered)}."
            raise ChatLoopError(f"There is no tool {call.name}.", known)
        given = arguments_of(call.arguments)
        if given is None:
            again = "Call the tool again with valid JSON."
            raise ChatLoopError("The arguments are not a JSON object.", again)
        if wrong := fault(given, tool.spec.parameters):
            raise ChatLoopError(wrong, "Call the tool again.")
        return tool, given


def call_text(title: str, given: Mapping[str, object]) -> str:
    """Return a call whole, as the user is shown it: a line for each argument, texts of several
    lines below their names.
    """
    lines = [f"{title}:"]
    for key, value in given.items():
        name = key if key.isidentifier() else json.dumps(key)  # it forges no line
        if isinstance(value, str) and "\n" in value:
            lines += [f"  {name}:", *(f"    {line}" for line in value.split("\n"))]
        else:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append(f"  {name}: {shown}")
    return "\n".join(lines)


async def refuse(calls: Sequence[ToolCall]) -> AsyncGenerator[ToolReturned]:
    """Run none of the calls; tell the model that it has to answer."""
    for call in calls:
        yield ToolReturned(id=call.id, name=call.name, text=NO_MORE, failed=True, seconds=0.0)


def fault(given: Mapping[str, object], schema: Mapping[str, object]) -> str:
    """Return what is wrong with a call's arguments by its JSON schema, as a sentence or nothing.

    Only the top level is looked at, and no pattern is run: schemas may come from strangers.
    """
    known, required = schema.get("properties"), schema.get("required")
    properties = known if isinstance(known, dict) else {}
    for name in required if isinstance(required, list | tuple) else ():
        if name not in given:
            return f"The argument “{name}” is missing."
    for name, value in given.items():
        if name not in properties and schema.get("additionalProperties") is False:
            return f"There is no argument “{name[:64]}”; there are: {', '.join(properties)}."
        argument = properties.get(name)
        argument = argument if isinstance(argument, dict) else {}
        wanted, choices = argument.get("type"), argument.get("enum")
        names = wanted if isinstance(wanted, list | tuple) else [wanted] if wanted else []
        if names and not any(_is(value, name) for name in names):
            return f"The argument “{name}” must be of type {' or '.join(map(str, names))}."
        if isinstance(choices, list | tuple) and value not in choices:
            return f"The argument “{name}” must be one of {', '.join(map(str, choices))}."
    return ""


def _is(value: object, name: object) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return not isinstance(name, str) or isinstance(value, _TYPES.get(name, (object,)))


def cut(call: ToolCall, text: str, most: int, kept: dict[str, str]) -> str:
    """Return at most `most` characters of a call's result, then a line that says how to read on;
    `kept` gets the whole. Halves of characters, which no request could carry, are replaced.
    """
    note = ""
    if call.name != READS.name or len(text) > most + 200:  # it says itself how to read on
        kept.pop(call.id, None)
        if len(text) > most:
            kept[call.id] = text[:LONGEST_KEPT]
            while sum(map(len, kept.values())) > MOST_KEPT:
                del kept[next(iter(kept))]
            text, note = text[:most], _note(call.id, most, len(text))
    return text.encode("utf-8", "replace").decode() + note


def read_on(given: Mapping[str, object], most: int, kept: Mapping[str, str]) -> str:
    """Return the text after `offset` in a result that was cut. Raises ChatLoopError."""
    identity, offset = str(given["id"]), given["offset"]
    text = kept.get(identity)
    if text is None:
        known = f"These can be read: {', '.join(kept)}." if kept else "Call the tool again."
        raise ChatLoopError(f"No result “{identity[:64]}” is kept.", known)
    if not isinstance(offset, int) or not 0 <= offset < len(text):
        raise ChatLoopError(f"The offset must be from 0 to {len(text) - 1}.")
    end = offset + most
    return text[offset:end] + (_note(identity, end, len(text)) if end < len(text) else "")


def _note(identity: str, end: int, length: int) -> str:
    lost = f" ({LONGEST_KEPT:,} are kept)" if length > LONGEST_KEPT else ""
    further = f'{READS.name} with id "{identity}" and offset {end} reads on'
    return f"\n[cut: up to character {end:,} of {length:,}{lost}; {further}]"
