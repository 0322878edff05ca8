"""Agents from other libraries as a provider: pydantic-ai, Strands, and any callable. They run in
their own thread, and every request replaces their memory if that is possible.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from chat_loop.agent import functions
from chat_loop.agent.agent_files import Definition
from chat_loop.agent.isolation import CapturedError, describe, in_thread, on_loop
from chat_loop.agent.tools import NOTHING
from chat_loop.errors import RequestRejected
from chat_loop.events import Event, Finished, TextDelta, ToolCalled, ToolReturned
from chat_loop.providers import Provider
from chat_loop.providers.capabilities import window_of
from chat_loop.providers.prices import listed_window
from chat_loop.providers.replies import MAX_ARGUMENTS, replace_surrogates
from chat_loop.values import Request, StopReason, ToolCall, Usage, Window

SHOWN = 50_000  # characters of a result, which the agent itself has read in full
PREVIOUS_SECONDS = 10.0  # how long an agent may take to finish a canceled run
_STOP_REASONS: Mapping[object, StopReason] = {
    **dict.fromkeys(("length", "max_tokens"), "length"),
    **dict.fromkeys(("content_filter", "guardrail_intervened", "content_filtered"), "refusal"),
}


class ExternalProvider(Provider):
    """A provider that asks an agent from another library, which runs its own tools."""

    name = "python"
    first_event_seconds = 600.0  # an agent may work a long time before its first text

    def __init__(self, definition: Definition, windows: Mapping[str, int]) -> None:
        """Use the `windows` that the user set, by the name of the agent or its model."""
        self.model = definition.name
        self._agent = definition.foreign
        self._model_name = self.model
        if self.model not in windows:
            self._model_name = ""
            with CapturedError():  # its model's name is foreign code, too
                model = getattr(self._agent, "model", None)
                config: Mapping[object, object] = getattr(model, "get_config", dict)()
                name = config.get("model_id") or getattr(model, "model_name", model)
                self._model_name = name.rpartition(":")[2] if isinstance(name, str) else ""
        self.window = window_of(self._model_name, windows)
        self._last_task: asyncio.Task[object] | None = None

    def warm(self) -> None:
        """Look up the window of its model. The agent was loaded with its file."""

        if self.window.guessed and (tokens := listed_window(self._model_name, "")):
            self.window = Window(tokens)

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        events = asyncio.Queue[Event | None]()
        loop = asyncio.get_running_loop()

        def send(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # nobody is listening anymore
                loop.call_soon_threadsafe(events.put_nowait, event)

        async def work() -> None:
            previous = self._last_task
            self._last_task = asyncio.current_task()
            if previous is not None:  # the agent may keep state
                await asyncio.wait({previous}, timeout=PREVIOUS_SECONDS)
            reply = ReplyEvents(send, tools=request.grammar is None)
            is_pydantic = hasattr(self._agent, "run_stream_events")
            await (_ask_pydantic_ai if is_pydantic else _ask_any)(self._agent, request, reply)
            reply.end()

        task = asyncio.ensure_future(on_loop(work))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            if task.cancelled():
                raise RequestRejected(f"The agent {self.model} stopped by itself.")
            if (error := task.result().error) is not None:
                failed = f"The agent {self.model} failed: {describe(error)}."
                raise RequestRejected(failed) from error
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class ReplyEvents:
    """Sends a reply's events in the order of a transcript: text, calls, the step's end, results."""

    def __init__(self, send: Callable[[Event], None], *, tools: bool) -> None:
        self._send = send
        self._tools = tools  # false for a summary, which consists only of text
        self._started: dict[str, tuple[str, float]] = {}  # name and time of calls without result
        self._step_open = False  # true from a call until the end of its step is sent
        self.usage = Usage()  # the tokens of this step so far
        self.has_text = False
        self.stop: StopReason = "end"

    def text(self, text: object) -> None:
        """Send a piece of text; anything else is skipped."""
        if isinstance(text, str) and text:
            self._end_step()
            self.has_text = self.has_text or bool(text.strip())
            self._send(TextDelta(replace_surrogates(text)))

    def call(self, key: object, name: object, arguments: object) -> None:
        """Send a tool call. `arguments` is JSON text, or a value to be encoded as JSON."""
        if self._tools:
            if not isinstance(arguments, str):
                arguments = json.dumps(arguments, default=str, ensure_ascii=False)
            self._started[str(key)] = str(name), time.monotonic()
            self._step_open = True
            json_text = replace_surrogates(arguments)[:MAX_ARGUMENTS]
            self._send(ToolCalled(ToolCall(str(key), str(name), json_text)))

    def result(self, key: object, text: str, *, failed: bool) -> None:
        """Send the result of a call."""
        if str(key) in self._started:
            self._end_step()
            name, started = self._started.pop(str(key))
            text = replace_surrogates(text[:SHOWN]) or NOTHING
            seconds = round(time.monotonic() - started, 2)
            self._send(
                ToolReturned(id=str(key), name=name, text=text, failed=failed, seconds=seconds)
            )

    def end(self) -> None:
        """Send the end of the reply."""
        self._end_step()
        self._send(Finished(stop=self.stop, usage=self.usage if self.usage.total else None))

    def _end_step(self) -> None:
        if self._step_open:
            self._step_open = False
            self._send(Finished(stop="tool", usage=self.usage if self.usage.total else None))
            self.usage = Usage()


async def _ask_pydantic_ai(agent: Any, request: Request, reply: ReplyEvents) -> None:
    library = importlib.import_module("pydantic_ai.messages")
    capabilities = importlib.import_module("pydantic_ai.capabilities")
    history = []
    for message in request.messages[:-1]:
        history.append(
            library.ModelRequest(parts=[library.UserPromptPart(content=message.text)])
            if message.role == "user"
            else library.ModelResponse(parts=[library.TextPart(content=message.text)])
        )
    options: dict[str, object] = {
        "message_history": history,
        "instructions": request.system or None,
    }
    if request.max_tokens is not None:
        options["model_settings"] = {"max_tokens": request.max_tokens}
    if history:  # it is ours, and contains no system prompt
        options["capabilities"] = [capabilities.ReinjectSystemPrompt()]
    counted = (0, 0, 0)
    async with agent.run_stream_events(request.messages[-1].text, **options) as events:
        async for event in events:
            usage = events.usage  # of all steps so far
            total = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
            new = [now - before for now, before in zip(total, counted, strict=True)]
            reply.usage += Usage(input=new[0], output=new[1], cached=new[2])
            counted = total
            _send_pydantic_ai(event, reply)


def _send_pydantic_ai(event: Any, reply: ReplyEvents) -> None:
    match event.event_kind:
        case "part_start" if event.part.part_kind == "text":
            reply.text(event.part.content)
        case "part_delta" if event.delta.part_delta_kind == "text":
            reply.text(event.delta.content_delta)
        case "function_tool_call":
            part = event.part
            reply.call(part.tool_call_id, part.tool_name, part.args_as_json_str())
        case "function_tool_result":
            part = event.part
            retry = part.part_kind == "retry-prompt"
            text = part.model_response() if retry else part.model_response_str()
            failed = retry or part.outcome != "success"
            reply.result(part.tool_call_id, str(text), failed=failed)
        case "agent_run_result":
            output = event.result.output
            if not isinstance(output, str):
                reply.text("\n\n" + answer_text(output) if reply.has_text else answer_text(output))
            elif not reply.has_text:
                reply.text(output)
            last = event.result.all_messages()[-1]
            reply.stop = _STOP_REASONS.get(getattr(last, "finish_reason", None), "end")


async def _ask_any(agent: Any, request: Request, reply: ReplyEvents) -> None:
    """Call an agent or its `stream_async`. It returns a text, a coroutine, or an iterator."""
    prompt = _prompt_for(agent, request)

    def call() -> object:
        result = getattr(agent, "stream_async", agent)(prompt)
        if isinstance(result, Iterator):
            return "".join(map(answer_text, result))
        return result

    outcome = await in_thread(call)
    if outcome.error is not None:
        raise outcome.error
    result = outcome.result
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, AsyncIterator):
        async for piece in result:
            _send_piece(piece, reply)
    elif result is not None:
        reply.text(answer_text(result))


def _prompt_for(agent: Any, request: Request) -> str:
    """Return the query for an agent whose history can be set, else the whole conversation."""
    *before, last = request.messages
    prompt = last.text
    if isinstance(getattr(agent, "messages", None), list):  # as Strands does
        agent.messages = []
        for message in before:
            content = [{"text": message.text or "-"}]
            agent.messages.append({"role": message.role, "content": content})
    elif before:
        who = {"user": "User", "assistant": "You"}
        history = "\n\n".join(f"{who[message.role]}: {message.text}" for message in before)
        now = f"Answer what the user says now:\n\n{prompt}"
        prompt = f"The conversation so far:\n\n{history}\n\n{now}"
    return "\n\n".join(filter(None, (request.system, prompt)))


def _send_piece(piece: object, reply: ReplyEvents) -> None:
    """Send a piece of a stream: a text, an object with a `text`, or a dict from Strands."""
    if not isinstance(piece, Mapping):
        reply.text(piece if isinstance(piece, str) else getattr(piece, "text", None))
        return
    reply.text(piece.get("data"))
    raw = piece.get("event")
    message = piece.get("message")
    metadata = {}
    if isinstance(raw, Mapping):
        metadata = raw.get("metadata", {})
    if usage := metadata.get("usage"):
        cached = usage.get("cacheReadInputTokens", 0)
        read = usage.get("inputTokens", 0) + usage.get("cacheWriteInputTokens", 0) + cached
        reply.usage += Usage(input=read, output=usage.get("outputTokens", 0), cached=cached)
    for block in message.get("content", ()) if isinstance(message, Mapping) else ():
        if use := block.get("toolUse"):
            reply.call(use.get("toolUseId"), use.get("name"), use.get("input"))
        elif result := block.get("toolResult"):
            parts = result.get("content", ())
            text = "\n".join(answer_text(part.get("text", part.get("json", ""))) for part in parts)
            reply.result(result.get("toolUseId"), text, failed=result.get("status") == "error")
    if "result" in piece:
        reply.stop = _STOP_REASONS.get(getattr(piece["result"], "stop_reason", None), "end")
        if not reply.has_text:
            reply.text(answer_text(piece["result"]).strip())


def answer_text(value: object) -> str:
    """Return the text of an answer of any type."""
    for name in ("output", "text", "content"):
        if isinstance(inner := getattr(value, name, None), str):
            return inner
    return functions.text_of(value)
