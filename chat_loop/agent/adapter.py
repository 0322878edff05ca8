"""Agents of other libraries as a provider: pydantic-ai, Strands, and whatever streams or can be
called.

Their code runs on a thread of its own: it can neither hold up the screen nor print on it. The
conversation is kept here, so every request carries all of it; what such an agent remembers by
itself is set aside where that is possible.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import Any

from chat_loop.agent.definition import Definition
from chat_loop.agent.isolation import CapturedError, described, in_thread, on_loop
from chat_loop.errors import ChatLoopError, RequestRejected
from chat_loop.events import Event, Finished, TextDelta, ThinkingDelta, ToolCalled, ToolReturned
from chat_loop.providers.capabilities import window_of
from chat_loop.providers.replies import MAX_ARGUMENTS, tool_name
from chat_loop.values import Request, StopReason, ToolCall, Usage, Window

LONGEST_RESULT = 50_000
"""Characters of a tool's result that are kept."""
PREVIOUS_SECONDS = 10.0
"""How long an agent with a state of its own may take to end what was cancelled."""
_STOPS: Mapping[object, StopReason] = {
    **dict.fromkeys(("length", "max_tokens"), "length"),
    **dict.fromkeys(("content_filter", "guardrail_intervened", "content_filtered"), "refusal"),
}


class ForeignProvider:
    """Asks an agent of another library. It tells its own tools' calls with their results."""

    name = "python"
    calls_tools = takes_images = False
    first_event_seconds = 600.0  # an agent may work for long before it says something

    def __init__(self, definition: Definition, windows: Mapping[str, int]) -> None:
        """`windows` are those that the user set, by the name of the agent or of its model."""
        self.model = definition.name
        self._agent = agent = definition.foreign
        libraries = {kind.__module__.partition(".")[0] for kind in type(agent).__mro__}
        self._ask: Callable[[Any, Request, Steps], Awaitable[StopReason]] = _ask_callable
        self._alone = True
        """It keeps a state: one request must end before the next begins."""
        if "pydantic_ai" in libraries and hasattr(agent, "run_stream_events"):
            self._ask, self._alone = _ask_pydantic_ai, False
        elif callable(getattr(agent, "stream_async", None)):
            strands = isinstance(getattr(agent, "messages", None), list)
            self._ask = _ask_strands if strands else _ask_streaming
        self._known_as = self.model
        if self.model not in windows:
            self._known_as = ""
            with CapturedError():  # what it tells of its model is its own code
                model: Any = getattr(agent, "model", None)
                config = model.get_config() if hasattr(model, "get_config") else {}
                told = config.get("model_id") or getattr(model, "model_name", "")
                told = model if isinstance(model, str) else told
                self._known_as = told.rpartition(":")[2] if isinstance(told, str) else ""
        self.window = window_of(self._known_as, windows)
        self._last: asyncio.Task[Any] | None = None

    def warm(self) -> None:
        """Look up the window of its model. The agent was loaded with its file."""
        from chat_loop.providers.prices import known_window  # loads the library

        if self.window.guessed and (tokens := known_window(self._known_as, "")):
            self.window = Window(tokens)

    async def close(self) -> None:
        """Close nothing: what the agent has opened is its own."""

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # nobody listens any more
                loop.call_soon_threadsafe(events.put_nowait, event)

        async def work() -> None:
            before, self._last = self._last, asyncio.current_task()
            if self._alone and before is not None and not before.done():
                await asyncio.wait({before}, timeout=PREVIOUS_SECONDS)
            steps = Steps(tell, tools=request.grammar is None)
            steps.end(await self._ask(self._agent, request, steps))

        task = asyncio.ensure_future(on_loop(work))
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
                failed = f"The agent {self.model} failed: {described(error)}."
                raise RequestRejected(failed) from error
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class Steps:
    """The replies of an agent as events in the order that a transcript needs: text, calls, the
    step's end, results. Without `tools` only text is told, as for a summary.
    """

    def __init__(self, tell: Callable[[Event], None], *, tools: bool) -> None:
        self._tell = tell
        self._tools = tools
        self._asked: dict[str, tuple[ToolCall, float]] = {}
        """The calls that wait for a result, by the agent's ids, and when they were made."""
        self._calls = 0
        self._open = False
        """Calls were told, and not yet that the step ended."""
        self.spent = self._before = Usage()
        """The tokens of all steps, and of those that have ended."""
        self.said = False

    def text(self, text: object, kind: type[TextDelta | ThinkingDelta] = TextDelta) -> None:
        if isinstance(text, str) and text:
            self._end_step()
            self.said = self.said or (kind is TextDelta and bool(text.strip()))
            self._tell(kind(_whole(text)))

    def called(self, key: object, name: object, arguments: object) -> None:
        """Tell a call of a tool; `arguments` are JSON, or can be written as such."""
        if not self._tools:
            return
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, default=str, ensure_ascii=False)
        self._calls += 1
        text = _whole(arguments)[:MAX_ARGUMENTS]
        call = ToolCall(f"own{self._calls}", tool_name(str(name)), text)
        self._asked[str(key)] = call, time.monotonic()
        self._open = True
        self._tell(ToolCalled(call))

    def returned(self, key: object, text: str, *, failed: bool) -> None:
        """Tell the result of a call."""
        if str(key) not in self._asked:
            return
        self._end_step()
        call, since = self._asked.pop(str(key))
        self._tell(
            ToolReturned(
                id=call.id,
                name=call.name,
                text=_whole(text[:LONGEST_RESULT]) or "(nothing)",
                failed=failed,
                seconds=round(time.monotonic() - since, 2),
            )
        )

    def end(self, stop: StopReason) -> None:
        """Tell that the reply, or a step of it, is complete."""
        self._end_step()
        self._open = True
        self._end_step(stop)

    def _end_step(self, stop: StopReason = "tool") -> None:
        if self._open:
            self._open = False
            usage = Usage(
                input=self.spent.input - self._before.input,
                output=self.spent.output - self._before.output,
                cached=self.spent.cached - self._before.cached,
            )
            self._before = self.spent
            self._tell(Finished(stop=stop, usage=usage if usage.total else None))


def _whole(text: str) -> str:
    """Return text as it can be encoded: halves of characters become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


async def _ask_pydantic_ai(agent: Any, request: Request, steps: Steps) -> StopReason:
    library: Any = importlib.import_module("pydantic_ai.messages")
    history = [
        library.ModelRequest(parts=[library.UserPromptPart(content=message.text)])
        if message.role == "user"
        else library.ModelResponse(parts=[library.TextPart(content=message.text)])
        for message in request.messages[:-1]
    ]
    options: dict[str, Any] = {
        "message_history": history or None,
        "instructions": request.system or None,
    }
    if request.max_tokens is not None:
        options["model_settings"] = {"max_tokens": request.max_tokens}
    capabilities: Any = importlib.import_module("pydantic_ai.capabilities")
    if history and hasattr(capabilities, "ReinjectSystemPrompt"):
        # the history is ours, and holds no system prompt
        options["capabilities"] = [capabilities.ReinjectSystemPrompt()]
    stop: StopReason = "end"
    async with AsyncExitStack() as stack:
        events = agent.run_stream_events(request.messages[-1].text, **options)
        events = await stack.enter_async_context(
            events if hasattr(events, "__aenter__") else aclosing(events)
        )
        async for event in events:
            told = getattr(events, "usage", None)
            if told is not None:
                steps.spent = Usage(
                    input=told.input_tokens,
                    output=told.output_tokens,
                    cached=told.cache_read_tokens,
                )
            stop = _tell_pydantic_ai(event, steps) or stop
    return stop


def _tell_pydantic_ai(event: Any, steps: Steps) -> StopReason | None:
    """Tell an event; return why the reply ended, when it has."""
    match getattr(event, "event_kind", ""):
        case "part_start" | "part_delta" as kind:
            part = event.part if kind == "part_start" else event.delta
            text = getattr(part, "content_delta", getattr(part, "content", None))
            sort = getattr(part, "part_kind", "") or getattr(part, "part_delta_kind", "")
            if sort in ("text", "thinking"):
                steps.text(text, TextDelta if sort == "text" else ThinkingDelta)
        case "function_tool_call":
            part = event.part
            steps.called(part.tool_call_id, part.tool_name, part.args_as_json_str())
        case "function_tool_result":
            part = event.part if hasattr(event, "part") else event.result
            retry = part.part_kind == "retry-prompt"
            text = part.model_response() if retry else part.model_response_str()
            failed = retry or getattr(part, "outcome", "success") != "success"
            steps.returned(part.tool_call_id, str(text), failed=failed)
        case "agent_run_result":
            output = event.result.output
            if not isinstance(output, str):
                steps.text("\n\n" + text_of(output) if steps.said else text_of(output))
            elif not steps.said:
                steps.text(output)
            last = event.result.all_messages()[-1:]
            return _STOPS.get(getattr(last[0], "finish_reason", None) if last else None, "end")
    return None


async def _ask_strands(agent: Any, request: Request, steps: Steps) -> StopReason:
    agent.messages = [
        {"role": message.role, "content": [{"text": message.text or "-"}]}
        for message in request.messages[:-1]
    ]
    stop: StopReason = "end"
    prompt = "\n\n".join(filter(None, (request.system, request.messages[-1].text)))
    async with aclosing(agent.stream_async(prompt)) as events:
        async for event in events:
            steps.text(event.get("data"))
            steps.text(event.get("reasoningText"), ThinkingDelta)
            raw, message = event.get("event"), event.get("message")
            metadata = raw.get("metadata", {}) if isinstance(raw, Mapping) else {}
            if told := metadata.get("usage"):
                cached = told.get("cacheReadInputTokens", 0)
                taken = told.get("inputTokens", 0) + told.get("cacheWriteInputTokens", 0)
                given = told.get("outputTokens", 0)
                steps.spent += Usage(input=taken + cached, output=given, cached=cached)
            for block in message.get("content", ()) if isinstance(message, Mapping) else ():
                if use := block.get("toolUse"):
                    steps.called(use.get("toolUseId"), use.get("name"), use.get("input"))
                elif result := block.get("toolResult"):
                    parts = result.get("content", ())
                    text = "\n".join(text_of(one.get("text", one.get("json", ""))) for one in parts)
                    failed = result.get("status") == "error"
                    steps.returned(result.get("toolUseId"), text, failed=failed)
            if "result" in event:
                stop = _STOPS.get(getattr(event["result"], "stop_reason", None), "end")
                if not steps.said:
                    steps.text(str(event["result"]).strip())
    return stop


async def _ask_streaming(agent: Any, request: Request, steps: Steps) -> StopReason:
    """Ask anything with `stream_async(prompt)` that yields texts, or dicts with `data` and at the
    end `result`.
    """
    events = agent.stream_async(_prompt(request))
    if inspect.isawaitable(events):
        events = await events
    async for event in events:
        if isinstance(event, Mapping):
            steps.text(event.get("data"))
            if "result" in event and not steps.said:
                steps.text(text_of(event["result"]))
        else:
            steps.text(event if isinstance(event, str) else getattr(event, "text", None))
    return "end"


async def _ask_callable(agent: Any, request: Request, steps: Steps) -> StopReason:
    """Ask anything that can be called: it returns a text, yields some, or is a coroutine."""

    def call() -> object:
        result = agent(_prompt(request))
        if isinstance(result, Iterator):
            for piece in result:
                steps.text(piece)
            return None
        return result

    outcome = await in_thread(call)
    if outcome.error is not None:
        raise outcome.error
    result: Any = outcome.result
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, AsyncIterator):
        async for piece in result:
            steps.text(piece)
    elif result is not None:
        steps.text(text_of(result))
    return "end"


def text_of(value: Any) -> str:
    """Return what an answer says, whatever it is."""
    if isinstance(value, str):
        return value
    for name in ("output", "text", "content"):
        if isinstance(inner := getattr(value, name, None), str):
            return inner
    if hasattr(value, "model_dump_json"):
        return str(value.model_dump_json(indent=1))
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, default=str, ensure_ascii=False, indent=1)
    return str(value)


def _prompt(request: Request) -> str:
    """Return the whole conversation as one text, for an agent that takes nothing else."""
    text = request.messages[-1].text
    if len(request.messages) > 1:
        who = {"user": "User", "assistant": "You"}
        said = "\n\n".join(f"{who[one.role]}: {one.text}" for one in request.messages[:-1])
        text = f"The conversation so far:\n\n{said}\n\nAnswer what the user says now:\n\n{text}"
    return "\n\n".join(filter(None, (request.system, text)))
