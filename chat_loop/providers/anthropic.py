"""Claude over the Messages API (https://docs.anthropic.com/en/api/messages-streaming).
Reasoning goes back as it came, where tools are used: the API refuses it if it is changed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import ModuleType
from typing import Any

from chat_loop.errors import ProviderError
from chat_loop.events import Event, Warned
from chat_loop.providers import wanted, wire
from chat_loop.providers.capabilities import count_at, list_at, text_at, value_at
from chat_loop.providers.effort import CLAUDE, has_budget, message_parameters
from chat_loop.providers.lengths import longest_reply
from chat_loop.providers.replies import (
    INVALID_KEY,
    ReplyStream,
    arguments_of,
    arguments_text,
    replace_surrogates,
    tool_name,
)
from chat_loop.values import Message, Request, ToolSpec, Usage

TOKEN = "ANTHROPIC_AUTH_TOKEN"
CHOICE = "tool_choice"
ADAPTIVE = "adaptive thinking"
BUDGET = "thinking budget"
_KIND = re.compile(r"\badaptive\b|budget_tokens|thinking\.type", re.IGNORECASE)
"""The words of a refusal of one of the two."""


def client_settings(sdk: ModuleType, client: type, address: str) -> dict[str, Any]:
    """Return the arguments of every client: no retries, and no reports to OpenTelemetry."""
    settings = {"max_retries": 0, "http_client": wire.http_client(sdk, address)}
    if "open_telemetry" in inspect.signature(client).parameters:
        settings["open_telemetry"] = False
    return settings


class AnthropicProvider(wire.WireProvider):
    """Claude models."""

    path = "/v1/messages"
    protocol = "Anthropic's Messages"
    list_path = "/v1/models?limit=1000"
    models_path = "/v1/models/{}"
    address_variable = "ANTHROPIC_BASE_URL"
    official = "https://api.anthropic.com"
    usual_efforts = CLAUDE
    _is_told_of_sampling = False

    def _connect(self) -> wire.Connection:
        import anthropic

        key = self._api_key
        token = None
        if key is None:  # otherwise the SDK would take them as they are
            key = wire.key_in("ANTHROPIC_API_KEY") or None
            token = None if key else wire.key_in(TOKEN) or None  # the SDK refuses both
        base_url = self._address()
        try:
            client = anthropic.AsyncAnthropic(
                api_key=key,
                auth_token=token,
                base_url=base_url or None,
                **client_settings(anthropic, anthropic.AsyncAnthropic, base_url),
            )
        except anthropic.AnthropicError as error:
            raise self.key_error(error) from error
        if not (client.api_key or client.auth_token or getattr(client, "credentials", None)):
            raise self.key_error()
        if hasattr(anthropic, "CredentialsError"):  # anthropic 0 has none
            self._credentials_errors = (anthropic.CredentialsError,)
        return anthropic, client, anthropic.AnthropicError

    def _body(self, request: Request) -> dict[str, object]:
        with_reasoning = self.returns_opaque
        messages: list[Mapping[str, object]] = []
        for message in request.messages:
            content = content_of(message, with_reasoning=with_reasoning)
            messages.append({"role": message.role, "content": content})
        tools = [*map(_tool, request.tools)]
        system: object = replace_surrogates(request.system)
        if request.grammar is None:  # a summary is requested only once
            messages = with_breakpoints(messages)
            if request.system.strip():
                system = ending_in_breakpoint(system)
            elif tools:
                tools[-1]["cache_control"] = {"type": "ephemeral"}
        asked = request.max_tokens or self.entry.max_tokens
        longest = longest_reply(request, self.window.tokens, asked=asked, most=self.reply_tokens)
        body: dict[str, object] = {
            "model": self.model,
            "max_tokens": longest,
            "messages": messages,
            "stream": True,
        }
        if system:
            body["system"] = system
        if tools:
            body["tools"] = tools
            if not (request.takes_calls or CHOICE in self._left_out):
                body[CHOICE] = {"type": "none"}
        effort = self._effort_of(request)
        thinking = message_parameters(effort, longest, budgeted=self._is_budgeted)
        body |= thinking
        body = self._with_parameters(body, request)
        if effort not in ("", "off") and thinking:  # it takes no other than the usual sampling
            for name in wire.SAMPLING:
                body.pop(name, None)
        return body

    def stream(self, request: Request) -> AsyncGenerator[Event]:
        """Stream as every service, but say once what is not sent while the model thinks."""
        sampling = request.parameters.temperature, request.parameters.top_p
        if sampling == (None, None) or self._is_told_of_sampling:
            return super().stream(request)
        return self._stream_and_tell(request)

    async def _stream_and_tell(self, request: Request) -> AsyncGenerator[Event]:
        asked = []
        for name in wire.SAMPLING:
            if getattr(request.parameters, name) is not None:
                asked.append(name)
        body = self._body(request)
        if "thinking" in body and body.keys().isdisjoint(asked):
            self._is_told_of_sampling = True
            text = f"{self.model} takes no {' and no '.join(asked)} while it thinks: none is sent."
            yield Warned(text, "/effort off turns thinking off.")
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                yield event

    @property
    def _is_budgeted(self) -> bool:
        """True if thinking takes a budget, by the model's name or after it has refused effort."""
        by_name = has_budget(self.model)
        if (BUDGET if by_name else ADAPTIVE) in self._left_out:
            return not by_name
        return by_name

    def _refused_part(self, error: ProviderError, request: Request) -> tuple[str, str]:
        if CHOICE in error.message and CHOICE in self._body(request):
            return CHOICE, f" {CHOICE} is left out for ten minutes."
        is_second = BUDGET in self._left_out or ADAPTIVE in self._left_out
        thinks = self._effort_of(request) not in ("", "off")
        if thinks and not is_second and _KIND.search(error.message):
            if self._is_budgeted:
                return BUDGET, " Thinking gets an effort instead of a budget for ten minutes."
            return ADAPTIVE, " Thinking gets a budget of tokens for ten minutes."
        return super()._refused_part(error, request)

    def _new_wanted(self) -> wanted.ReasoningBlocks:
        return wanted.ReasoningBlocks()

    def _read(self, event: Mapping[str, object], reply: ReplyStream) -> None:
        match event.get("type"):
            case "message_start" if reply.has_begun:
                reply.begin_again()
            case "message_start":
                reply.usage = usage_of(value_at(event, "message", "usage"), None)
            case "content_block_start":
                _read_block(event.get("content_block"), event.get("index"), reply)
            case "content_block_delta":
                delta = event.get("delta")
                reply.calls.add(event.get("index"), "", "", text_at(delta, "partial_json"))
                reply.add_text(text_at(delta, "text"))
                reply.add_thinking(text_at(delta, "thinking"))
                if isinstance(reply.wanted, wanted.ReasoningBlocks):
                    reply.wanted.extend(event.get("index"), delta)
            case "message_delta":
                _read_end(value_at(event, "delta"), event.get("usage"), reply)
            case "message_stop":
                reply.done = True
            case "message":  # from a server that does not stream
                for index, block in enumerate(list_at(event, "content")):
                    _read_block(block, index, reply)
                _read_end(event, event.get("usage"), reply)
                reply.done = True


def _read_block(block: object, index: object, reply: ReplyStream) -> None:
    """Add a block, which is empty unless a server does not stream it."""
    if isinstance(reply.wanted, wanted.ReasoningBlocks):
        reply.wanted.begin(index, block, text=reply.characters, calls=len(reply.calls))
    if text_at(block, "type") == "tool_use":
        arguments = arguments_text(value_at(block, "input"))
        reply.calls.add(index, text_at(block, "id"), text_at(block, "name"), arguments)
    reply.add_text(text_at(block, "text"))
    reply.add_thinking(text_at(block, "thinking"))


def _read_end(message: object, usage: object, reply: ReplyStream) -> None:
    """Read why a message ended, if it has, and its counts."""
    reply.end(value_at(message, "stop_reason"))
    reply.usage = usage_of(usage, reply.usage)


def content_of(message: Message, *, with_reasoning: bool = False) -> str | list[dict[str, object]]:
    """Return a message's content: results, images, text, calls, in the order of the wire, with the
    blocks of reasoning that it has to send back in their places.
    """
    placed = []
    if with_reasoning and message.opaque:
        placed = [*wanted.placed_blocks(message)]
    if not (message.calls or message.results or message.images or placed):
        return replace_surrogates(message.text)
    blocks: list[dict[str, object]] = []
    for result in message.results:
        text = replace_surrogates(result.text)
        block: dict[str, object] = {"tool_use_id": result.id, "content": text}
        block |= {"is_error": True} if result.failed else {}
        blocks.append({"type": "tool_result", **block})
    for image in message.images:
        if image.data:
            source = {"type": "base64", "media_type": image.media, "data": image.data}
            blocks.append({"type": "image", "source": source})
    start = 0
    for after_text, after_calls, block in placed:
        if not after_calls:
            blocks += _text_blocks(message.text[start:after_text])
            blocks.append(block)
            start = max(start, after_text)
    blocks += _text_blocks(message.text[start:])
    for number, call in enumerate(message.calls, start=1):
        arguments = arguments_of(call.arguments)
        if arguments is None:
            arguments = {INVALID_KEY: replace_surrogates(call.arguments)}
        name = tool_name(call.name)
        blocks.append({"type": "tool_use", "id": call.id, "name": name, "input": arguments})
        blocks += [block for _, after_calls, block in placed if after_calls == number]
    return blocks


def _text_blocks(text: str) -> list[dict[str, object]]:
    """Return a text as blocks: none if it is blank, since the service refuses those."""
    if text.strip():
        return [{"type": "text", "text": replace_surrogates(text)}]
    return []


def _tool(tool: ToolSpec) -> dict[str, object]:
    """Return the description of a tool in the form of the wire."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def with_breakpoints(messages: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return the messages with at most three of the four breakpoints that the wire allows: after
    the system prompt, and after the two newest messages of the user. The older one is where the
    previous request ended (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching).
    """
    numbers = [number for number, message in enumerate(messages) if message["role"] == "user"][-2:]
    marked = list(messages)
    for number, message in enumerate(messages):
        if number in numbers or message["role"] == "system":
            content = ending_in_breakpoint(message["content"])
            marked[number] = {**message, "content": content}
    return marked


def ending_in_breakpoint(content: object) -> object:
    """Return `content` with a breakpoint on its last block, unless that block is blank."""
    blocks = content
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
    if not isinstance(blocks, list) or not blocks:
        return content
    last = blocks[-1]
    if last["type"] == "text" and not last["text"].strip():
        return content
    return [*blocks[:-1], {**last, "cache_control": {"type": "ephemeral"}}]


def usage_of(counts: object, before: Usage | None) -> Usage | None:
    """Return cumulative counts as `Usage`. Their `input_tokens` exclude those of the cache."""
    if not isinstance(counts, Mapping):
        return before
    before = before or Usage()
    cached = count_at(counts, "cache_read_input_tokens")
    written = count_at(counts, "cache_creation_input_tokens")
    prompt = count_at(counts, "input_tokens") + written + cached
    return Usage(
        input=prompt or before.input,
        cached=cached if prompt else before.cached,
        written=written if prompt else before.written,
        output=count_at(counts, "output_tokens") or before.output,
        reasoning=count_at(counts, "output_tokens_details", "thinking_tokens") or before.reasoning,
    )
