"""How agents of other libraries are asked: pydantic-ai, Strands, and whatever streams or can be
called.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from chat_loop.agent.isolation import Caught, in_thread
from chat_loop.values import Request, StopReason, Usage

if TYPE_CHECKING:
    from chat_loop.agent.adapter import Steps

_STOPS: Mapping[object, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}


class Style(Struct, frozen=True):
    """How an agent is asked. `alone`: it keeps a state, so that one request must end before the
    next begins.
    """

    ask: Callable[[Any, Request, Steps], Awaitable[StopReason]]
    alone: bool


def style_of(agent: Any) -> Style:
    """The way to ask this agent."""
    libraries = {kind.__module__.partition(".")[0] for kind in type(agent).__mro__}
    if "pydantic_ai" in libraries and hasattr(agent, "run_stream_events"):
        return Style(_pydantic_ai, alone=False)
    if callable(getattr(agent, "stream_async", None)):
        strands = isinstance(getattr(agent, "messages", None), list)
        return Style(_strands if strands else _streaming, alone=True)
    return Style(_called, alone=True)


def model_of(agent: Any) -> str:
    """The name of the model behind an agent, as far as it tells; empty otherwise."""
    with Caught():
        model: Any = getattr(agent, "model", None)
        config = model.get_config() if hasattr(model, "get_config") else {}
        told = (
            model
            if isinstance(model, str)
            else config.get("model_id") or getattr(model, "model_name", "")
        )
        return told.rpartition(":")[2] if isinstance(told, str) else ""
    return ""


async def _pydantic_ai(agent: Any, request: Request, steps: Steps) -> StopReason:
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
    reinject = getattr(
        importlib.import_module("pydantic_ai.capabilities"), "ReinjectSystemPrompt", None
    )
    if history and reinject is not None:
        options["capabilities"] = [reinject()]  # the history is ours, and holds no system prompt
    async with AsyncExitStack() as stack:
        events = agent.run_stream_events(request.messages[-1].text, **options)
        events = await stack.enter_async_context(
            events if hasattr(events, "__aenter__") else aclosing(events)
        )
        spent = Usage()

        def usage() -> Usage | None:
            nonlocal spent
            told = getattr(events, "usage", None)
            if told is None:
                return None
            now = Usage(
                input=told.input_tokens, output=told.output_tokens, cached=told.cache_read_tokens
            )
            since = Usage(
                input=now.input - spent.input,
                output=now.output - spent.output,
                cached=now.cached - spent.cached,
            )
            spent = now
            return since if since.total else None

        steps.usage = usage
        stop: StopReason = "end"
        async for event in events:
            stop = _pydantic_ai_event(event, steps) or stop
        return stop


def _pydantic_ai_event(event: Any, steps: Steps) -> StopReason | None:
    """Tell an event; why the reply ended, when it has."""
    match getattr(event, "event_kind", ""):
        case "part_start" | "part_delta" as kind:
            part = event.part if kind == "part_start" else event.delta
            text = part.content if kind == "part_start" and hasattr(part, "content") else None
            text = getattr(part, "content_delta", text)
            sort = getattr(part, "part_kind", "") or getattr(part, "part_delta_kind", "")
            if sort in ("text", "thinking"):
                (steps.text if sort == "text" else steps.thinking)(text)
        case "function_tool_call":
            steps.called(
                event.part.tool_call_id, event.part.tool_name, event.part.args_as_json_str()
            )
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


async def _strands(agent: Any, request: Request, steps: Steps) -> StopReason:
    agent.messages = [
        {"role": message.role, "content": [{"text": message.text or "-"}]}
        for message in request.messages[:-1]
    ]
    spent: list[Usage] = []

    def usage() -> Usage | None:
        told = sum(spent, Usage()) if spent else None
        spent.clear()
        return told

    steps.usage = usage
    stop: StopReason = "end"
    async with aclosing(
        agent.stream_async(_with_system(request.system, request.messages[-1].text))
    ) as events:
        async for event in events:
            steps.text(event.get("data"))
            steps.thinking(event.get("reasoningText"))
            spent += _strands_usage(event.get("event"))
            _strands_message(event.get("message"), steps)
            if "result" in event:
                stop = _STOPS.get(getattr(event["result"], "stop_reason", None), "end")
                if not steps.said:
                    steps.text(str(event["result"]).strip())
    return stop


def _strands_usage(event: Any) -> list[Usage]:
    told = event.get("metadata", {}).get("usage") if isinstance(event, Mapping) else None
    if not told:
        return []
    cached = told.get("cacheReadInputTokens", 0)
    taken = told.get("inputTokens", 0) + cached + told.get("cacheWriteInputTokens", 0)
    return [Usage(input=taken, output=told.get("outputTokens", 0), cached=cached)]


def _strands_message(message: Any, steps: Steps) -> None:
    """The calls of a complete message, or their results."""
    for block in message.get("content", ()) if isinstance(message, Mapping) else ():
        if use := block.get("toolUse"):
            steps.called(use.get("toolUseId"), use.get("name"), use.get("input"))
        elif result := block.get("toolResult"):
            texts = [
                text_of(part.get("text", part.get("json", "")))
                for part in result.get("content", ())
            ]
            steps.returned(
                result.get("toolUseId"), "\n".join(texts), failed=result.get("status") == "error"
            )


async def _streaming(agent: Any, request: Request, steps: Steps) -> StopReason:
    """Anything with `stream_async(prompt)` that yields texts, or dicts with `data` and at the end
    `result`.
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


async def _called(agent: Any, request: Request, steps: Steps) -> StopReason:
    """Anything that can be called with a prompt: it returns a text, yields some, or is a
    coroutine.
    """

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
    """What an answer says, whatever it is."""
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


def _with_system(system: str, text: str) -> str:
    return f"{system}\n\n{text}" if system else text


def _prompt(request: Request) -> str:
    """The whole conversation as one text, for an agent that takes nothing else."""
    last = request.messages[-1].text
    if len(request.messages) > 1:
        who = {"user": "User", "assistant": "You"}
        said = "\n\n".join(
            f"{who[message.role]}: {message.text}" for message in request.messages[:-1]
        )
        last = f"The conversation so far:\n\n{said}\n\nAnswer what the user says now:\n\n{last}"
    return _with_system(request.system, last)
