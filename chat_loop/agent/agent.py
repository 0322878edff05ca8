"""The agent that the user talks to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from itertools import count

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.agent.ask import CallLimits, ask
from chat_loop.agent.secret_gate import SecretGate
from chat_loop.agent.tools import CALL_LIMIT_RESULT, STEP_LIMIT_RESULT, Approve, Tool, Toolbox
from chat_loop.errors import ContextTooLong, EmptyReply
from chat_loop.events import Event, Finished, TextDelta, ToolCalled, ToolReturned, Warned
from chat_loop.providers import Provider
from chat_loop.providers.replies import MAX_CALLS, tool_name
from chat_loop.sessions.records import Answering
from chat_loop.values import Message, Parameters, Request, ToolCall

MAX_STEPS = 12


class Prompt(Struct, frozen=True):
    """The messages of a request, its tokens with prompt and tools, and the tokens that the results
    of its calls may take. `tools` are those of the agent unless there are others by now.
    """

    messages: tuple[Message, ...]
    tokens: int = 0
    room: int = 0
    tools: tuple[Tool, ...] | None = None


Prompts = Callable[[int, ContextTooLong | None], Awaitable[Prompt]]
"""Returns the prompt of a step of a reply; the first is 1. After a refusal as too long, it gets the
error, and returns a shorter prompt or raises that error.
"""


def only(prompt: Prompt) -> Prompts:
    """Return what gives the same prompt to each step, and cannot make it shorter."""

    async def prompts(step: int, refusal: ContextTooLong | None) -> Prompt:
        if refusal is not None:
            raise refusal
        return prompt

    return prompts


class ModelAgent(Struct, frozen=True, kw_only=True):
    """A provider with a name, a system prompt, and tools."""

    name: str
    system_prompt: str
    provider: Provider
    path: str = ""  # the file that defines it, if any
    tools: tuple[Tool, ...] = ()
    limits: CallLimits = field(default_factory=CallLimits)
    memory: str = ""  # the project's block
    approve: Approve | None = None  # without it, calls that change something do not run
    secrets: SecretGate = field(default_factory=SecretGate)  # asks before secrets are sent
    steps: int = MAX_STEPS  # the number of requests in a reply that offer tools
    description: str = ""
    own_tools: bool = False  # the provider runs its tools, and streams their results
    max_tokens: int | None = None
    parameters: Parameters = Parameters()

    @property
    def system(self) -> str:
        """Return the system message of every request: the system prompt, then the memory."""
        return "\n\n".join(filter(None, (self.system_prompt, self.memory)))

    @property
    def model(self) -> str:
        """Return the model reference, `provider:model`."""
        return f"{self.provider.name}:{self.provider.model}"

    @property
    def answering(self) -> Answering:
        """Return the model and its endpoint as a session records them."""
        return Answering(self.model, self.provider.endpoint)

    @property
    def calls_tools(self) -> bool:
        """Return True if there are tools and the model can call them."""
        return bool(self.tools) and self.provider.calls_tools

    @property
    def tools_problem(self) -> tuple[str, str]:
        """Return a sentence and a hint when the model gets none of its tools, else empty texts."""
        if not self.tools or self.provider.calls_tools or self.own_tools:
            return "", ""
        name = self.provider.name
        hint = f"If it can, set providers.{name}.tools: true in the config."
        if name == "local":
            hint = "Try another model: /model."
        return f"{self.model} cannot call tools.", hint

    async def run(
        self,
        prompts: Prompts,
        max_tokens: int | None = None,  # of each request
        *,
        offer_tools: bool = True,
        first_call: int = 1,  # the number of the first call, for the ids `c1`, `c2` …
    ) -> AsyncGenerator[Event]:
        """Yield the events of the next reply, from all its requests. Each has the tools, so that it
        begins with the bytes of the one before; without `offer_tools`, and in the last request,
        calls are not taken. Raises ProviderError.
        """
        window = self.provider.window.tokens
        toolbox = Toolbox({}, window, self.approve, self.limits, self.secrets)
        for step in count(1):
            takes_calls = offer_tools and (self.own_tools or step <= self.steps)
            calls: list[ToolCall] = []
            asked = self._ask(
                partial(prompts, step), toolbox, max_tokens, first_call, takes_calls=takes_calls
            )
            async with aclosing(asked) as events:
                async for event in events:
                    if isinstance(event, ToolCalled):
                        calls.append(event.call)
                    yield event
            if not calls or self.own_tools:
                return
            first_call += len(calls)
            running = self._results(toolbox, calls, is_last=step >= self.steps)
            async with aclosing(running) as returned:
                async for event in returned:
                    yield event

    async def _ask(
        self,
        prompt_after: Callable[[ContextTooLong | None], Awaitable[Prompt]],
        toolbox: Toolbox,
        max_tokens: int | None,
        first_call: int,
        *,
        takes_calls: bool,
    ) -> AsyncGenerator[Event]:
        """Yield the events of a step's request or, if it is refused as too long, of a shorter
        one.
        """
        refusal: ContextTooLong | None = None
        while True:
            prompt = await prompt_after(refusal)
            tools = self.tools if prompt.tools is None else prompt.tools
            toolbox.tools = {tool.spec.name: tool for tool in tools if self.provider.calls_tools}
            toolbox.room = prompt.room
            specs = tuple(tool.spec for tool in toolbox.tools.values())
            takes = takes_calls and bool(self.own_tools or specs)
            request = Request(
                system=self.system,
                messages=prompt.messages,
                max_tokens=max_tokens or self.max_tokens or self.parameters.max_tokens,
                tools=specs,
                tokens=prompt.tokens,
                takes_calls=takes_calls,
                parameters=self.parameters,
            )
            try:
                async with aclosing(self._step(request, first_call, takes)) as events:
                    async for event in events:
                        yield event
            except ContextTooLong as error:
                refusal = error
            else:
                return

    async def _results(
        self, toolbox: Toolbox, calls: Sequence[ToolCall], *, is_last: bool
    ) -> AsyncGenerator[Event]:
        """Run the calls within the limits, none in the last step. Yield a result for each call."""
        most = MAX_CALLS
        refusal = CALL_LIMIT_RESULT
        if is_last:
            most = 0
            refusal = STEP_LIMIT_RESULT
            yield Warned(
                f"The model reached the limit of tool calls for one reply ({self.steps}).",
                "tools.max_steps in the config raises it.",
            )
        elif len(calls) > most:
            yield Warned(f"The model called more than {most} tools at once. The others do not run.")
        async with aclosing(toolbox.run(calls[:most])) as returned:
            async for result in returned:
                yield result
        for call in calls[most:]:
            yield ToolReturned(id=call.id, name=call.name, text=refusal, failed=True, seconds=0.0)

    async def _step(
        self, request: Request, number: int, takes_calls: bool
    ) -> AsyncGenerator[Event]:
        """Yield the events of one request. Its calls get our ids, and names valid on every wire."""
        ids: dict[str, str] = {}
        has_text = False
        dropped = ""
        async with aclosing(ask(self.provider, request, self.limits)) as events:
            async for event in events:
                match event:
                    case TextDelta(text):
                        has_text = has_text or bool(text.strip())
                        yield event
                    case ToolCalled(call) if takes_calls:
                        our_id = f"c{number}"
                        ids[call.id] = our_id
                        number += 1
                        yield ToolCalled(ToolCall(our_id, tool_name(call.name), call.arguments))
                    case ToolReturned() if takes_calls:
                        yield replace(event, id=ids[event.id], name=tool_name(event.name))
                    case ToolCalled(call):
                        dropped = tool_name(call.name)
                    case ToolReturned():
                        pass
                    case Finished() if dropped and not has_text and not self.own_tools:
                        raise EmptyReply(event.usage, called=dropped)
                    case Finished(stop="tool") if self.own_tools and not takes_calls:
                        pass
                    case Finished(stop="tool") if not ids:
                        yield replace(event, stop="end")
                    case _:
                        yield event
