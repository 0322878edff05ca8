"""OpenAI and every server that speaks Chat Completions, including Azure's
(https://platform.openai.com/docs/api-reference/chat).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import asdict, replace

from chat_loop.config import WantedField
from chat_loop.errors import ContextTooLong, ProviderError
from chat_loop.providers import replies, wanted, wire
from chat_loop.providers.anthropic import CHOICE, with_breakpoints
from chat_loop.providers.capabilities import Capabilities, count_at, list_at, text_at, value_at
from chat_loop.providers.catalogue import CATALOGUE, ProviderSpec
from chat_loop.providers.effort import chat_parameters
from chat_loop.providers.lengths import longest_reply, request_size
from chat_loop.providers.replies import ReplyStream
from chat_loop.providers.servers import capabilities_at, root_of
from chat_loop.values import Message, Request, ToolCall, Usage

REASONING = ("reasoning_content", "reasoning", "thinking")  # its names in a delta
MIN_ID = 9  # characters of a call's id, as Mistral's models require
OFFICIAL = "https://api.openai.com/v1"
SYSTEM_ROLE = "system role"
NULL_CONTENT = "null content"
_NULL = re.compile(r"\bcontent\b.*(?:\bnull\b|\bnone\b|\bstring\b)", re.IGNORECASE)
LIMITS = ("max_completion_tokens", "max_tokens")  # the two names for a reply's maximum tokens


class OpenAIProvider(wire.WireProvider):
    """Models behind Chat Completions. Other servers get nothing from OpenAI's variables."""

    path = "/chat/completions"
    protocol = "Chat Completions"
    official = OFFICIAL

    def __init__(self, model: str, entry: ProviderSpec, **settings: Any) -> None:
        """Accept the arguments of `WireProvider`."""
        super().__init__(model, entry, **settings)
        self._is_openai = self.name == "openai"
        self.address_variable = "OPENAI_BASE_URL" if self._is_openai else ""

    def _connect(self) -> wire.Connection:
        import openai

        key = self._api_key
        base_url = self._address()
        if not self._is_openai:
            key = key or ("" if self.entry.needs_key else "none")  # the SDK insists on one
        elif key is None:
            key = wire.key_in("OPENAI_API_KEY")
        client = None
        http = wire.http_client(openai, base_url)
        with suppress(openai.OpenAIError):
            client = openai.AsyncOpenAI(
                api_key=key,
                # for other servers, None would mean OpenAI's own
                base_url=base_url or (None if self._is_openai else ""),
                max_retries=0,
                http_client=http,
            )
        if client is None or not client.api_key:
            raise self.key_error()
        if not self._is_openai:
            names = ["OpenAI-Organization", "OpenAI-Project"]
            names += wire.headers_named_in("OPENAI_CUSTOM_HEADERS")
            self._sdk_headers = dict.fromkeys(names, openai.omit)
            self._sdk_headers["Authorization"] = f"Bearer {client.api_key}"
        return openai, client, openai.OpenAIError

    async def _prepare(self, request: Request) -> None:
        """Let Ollama load the model and report its window, since it silently drops any excess."""
        if self.name != "ollama" or self._window_is_known:
            return
        address = str(self._client.base_url)
        key = self._api_key or ""
        with suppress(self._sdk_error, *self._failures):
            await self._answer(f"{root_of(address)}/api/generate", {"model": self.model})
            reported = await asyncio.to_thread(capabilities_at, address, self.model, key)
            self.learn(reported)
            if not self._window_is_known:  # it is too old to report it
                self.learn(Capabilities(window=4096), "guess")  # its default on small machines
        size = request_size(request)
        if size > self.window.tokens:
            error = ContextTooLong(
                f"The conversation has about {size:,} tokens, and Ollama gave {self.model} a "
                f"window of {self.window.tokens:,}.",
                "Type compact, or set OLLAMA_CONTEXT_LENGTH where Ollama runs.",
            )
            error.window = self.window.tokens
            raise error

    def _body(self, request: Request) -> dict[str, object]:
        messages: list[Mapping[str, object]] = []
        turns = request.messages
        system = replies.replace_surrogates(request.system)
        if system and SYSTEM_ROLE in self._left_out:
            turns = _with_instructions(turns, request.system)
        elif system:
            messages.append({"role": "system", "content": system})
        wants_back = self.wants_back
        pads = wanted.EVERYWHERE in self._left_out
        for message in turns:
            messages += self._messages_of(message, wants_back, pads=pads)
        summary = request.grammar is not None
        if self.model.startswith(self.entry.cache_marks) and not summary:
            messages = with_breakpoints(messages)
        body: dict[str, object] = {"model": self.model, "messages": messages, "stream": True}
        if summary:
            body |= self.entry.summary_params
        if request.tools and self.calls_tools:
            functions = map(asdict, request.tools)
            body["tools"] = [{"type": "function", "function": each} for each in functions]
            if not request.takes_calls:
                body[CHOICE] = "none"
        body["stream_options"] = {"include_usage": True}
        limits = (name for name in (self.entry.limit, *LIMITS) if name not in self._left_out)
        limit = next(limits, "")
        asked = request.max_tokens or self.entry.max_tokens
        if limit and asked:
            body[limit] = longest_reply(request, self.window.tokens, asked=asked)
        body |= chat_parameters(self.entry.effort, self._effort_of(request))
        return self._with_parameters(body, request)

    def _messages_of(
        self, message: Message, wants_back: tuple[WantedField, ...], *, pads: bool
    ) -> Iterator[dict[str, object]]:
        """Yield a message in the form of the wire, where each result is a separate message. If it
        `pads`, a blank stands for missing reasoning in each answer.
        """
        for result in message.results:
            content = replies.replace_surrogates(result.text)
            yield {"role": "tool", "tool_call_id": result.id.rjust(MIN_ID, "0"), "content": content}
        text = replies.replace_surrogates(message.text)
        if message.role == "assistant":
            answer: dict[str, object] = {"role": "assistant", "content": text}
            if message.calls:
                answer["content"] = text or ("" if NULL_CONTENT in self._left_out else None)
                calls = []
                for number, call in enumerate(message.calls):
                    extra = wanted.extra_of_call(message, number, wants_back)
                    calls.append(self._call_of(call, extra))
                answer["tool_calls"] = calls
            fields = wanted.fields_of(message, wants_back, pads=pads or bool(message.calls))
            yield answer | fields
        elif images := [image for image in message.images if image.data]:
            urls = ({"url": f"data:{image.media};base64,{image.data}"} for image in images)
            parts: list[object] = [{"type": "image_url", "image_url": url} for url in urls]
            yield {"role": "user", "content": [*parts, {"type": "text", "text": text}]}
        elif text or not message.results:
            yield {"role": "user", "content": text}

    def _call_of(self, call: ToolCall, extra: object) -> dict[str, object]:
        """Return a call in the form of the wire. Arguments other than a JSON object go into one.
        `extra` is what the service wants back with it, or None.
        """
        arguments = call.arguments
        if replies.arguments_of(arguments) is None:
            arguments = json.dumps({replies.INVALID_KEY: arguments})
        wire_call: dict[str, object] = {
            "id": call.id.rjust(MIN_ID, "0"),
            "type": "function",
            "function": {
                "name": replies.tool_name(call.name),
                "arguments": arguments.strip() or "{}",
            },
        }
        if extra is not None:
            wire_call["extra_content"] = extra
        return wire_call

    def _refused_part(self, error: ProviderError, request: Request) -> tuple[str, str]:
        message = error.message
        asked = wanted.field_asked_for(message)
        if asked is not None and error.kind in wire.OPAQUE_KINDS:
            return self._return_from_now_on(asked)
        if CHOICE in message and CHOICE in self._body(request):
            return CHOICE, f" {CHOICE} is left out for ten minutes."
        if error.kind == "tool" and self._refuses_all_tools(message, request):
            return "tools", f" {self.model} is offered no tools for ten minutes."
        if error.kind == "path" and (other := self._other_path()):
            self.path = other
            return "path", f" {self._url} is asked from now on."
        sent = self._body(request)
        if error.kind == "parameter":
            for name in ("stream_options", *LIMITS):
                if name in sent and re.search(rf"\b{name}\b", message):
                    return name, f" {name} is left out for ten minutes."
        if error.kind == "role" and request.system and SYSTEM_ROLE not in self._left_out:
            return SYSTEM_ROLE, " The instructions go into the first message for ten minutes."
        calls = any(message.calls and not message.text for message in request.messages)
        if calls and NULL_CONTENT not in self._left_out and _NULL.search(message):
            return NULL_CONTENT, " An empty text is sent instead for ten minutes."
        return super()._refused_part(error, request)

    def _refuses_all_tools(self, message: str, request: Request) -> bool:
        """Return True if a refusal is about tools in general. One faulty tool must not cost the
        others, and an effort that some models take only without tools must not cost any.
        """
        if not self.calls_tools or (self._effort_of(request) and "effort" in message):
            return False
        names = [tool.name for tool in request.tools]
        return bool(names) and not replies.find_refused_tool(message, names)

    def _return_from_now_on(self, name: WantedField) -> tuple[str, str]:
        """Send a field back that the server wants, unless nothing may be sent. If it was sent, the
        server misses it in answers without calls, too.
        """
        if self.entry.wants_back == ():
            return "", ""
        if name in self.wants_back:
            return wanted.EVERYWHERE, " Every answer without reasoning gets a blank instead."
        self._asked_for = (*self._asked_for, name)
        setting = f"providers.{self.name}.wants_back: [{name}]"
        return name, f" It gets {name} back from now on, as with {setting} in the config."

    def _other_path(self) -> str:
        """Return the endpoint with /v1 if it was asked without it, or the reverse; "" if both were
        asked, or if the address is not the user's.
        """
        base = str(self._client.base_url).rstrip("/")
        known = ""
        if self.name in CATALOGUE:
            known = CATALOGUE[self.name].base_url
        if self.path != OpenAIProvider.path or base in (known, OFFICIAL):
            return ""
        other = f"{base}/v1"
        if base.endswith("/v1"):
            other = base.removesuffix("/v1")
        return f"{other}{self.path}"

    def _new_wanted(self) -> wanted.Fields:
        known = self.entry.wants_back
        return wanted.Fields(None if known is None else (*known, *self._asked_for))

    def _read(self, event: Mapping[str, object], reply: ReplyStream) -> None:
        read_chunk(event, reply)


def _with_instructions(messages: tuple[Message, ...], system: str) -> tuple[Message, ...]:
    """Return the messages with the system prompt in the first one, which is the user's."""
    if not messages or messages[0].role != "user" or messages[0].results:
        return Message("user", system), *messages
    first = replace(messages[0], text=f"{system}\n\n{messages[0].text}")
    return first, *messages[1:]


def read_chunk(event: object, reply: ReplyStream) -> None:
    """Add a chunk of a stream to `reply`."""
    if isinstance(counts := value_at(event, "usage"), dict):
        reply.usage = usage_of(counts)
    choices = list_at(event, "choices")
    identity = text_at(event, "id")
    if identity != reply.identity or not reply.is_stable:
        begins = any(value_at(choice, "delta", "role") for choice in choices)
        if reply.is_another(identity, begins=begins):
            return
    for choice in choices:
        number = value_at(choice, "index")
        if reply.choice is None:
            reply.choice = number
        if number in (None, reply.choice):  # nobody asked for a second answer
            _read_choice(choice, reply)


def _read_choice(choice: object, reply: ReplyStream) -> None:
    delta = value_at(choice, "delta")
    if delta is None:  # from a server that does not stream
        delta = value_at(choice, "message")
    thoughts = (text_at(delta, name) for name in REASONING)
    reply.add_thinking(next(filter(None, thoughts), ""))
    reply.add_text(text_at(delta, "content"))
    for part in list_at(delta, "content"):  # Mistral's reasoning models
        for piece in list_at(part, "thinking"):
            reply.add_thinking(text_at(piece, "text"))
        reply.add_text(text_at(part, "text"))
    fields = reply.wanted
    if isinstance(fields, wanted.Fields):
        fields.read(delta)
    for piece in list_at(delta, "tool_calls"):
        reply.calls.add(
            value_at(piece, "index"),
            text_at(piece, "id"),
            text_at(piece, "function", "name"),
            replies.arguments_text(value_at(piece, "function", "arguments")),
        )
        if isinstance(fields, wanted.Fields) and reply.calls.newest >= 0:
            fields.read_call(reply.calls.newest, piece)
    if refusal := text_at(delta, "refusal"):
        reply.stop = "refusal"
        reply.add_text(refusal)
    reply.end(value_at(choice, "finish_reason"))


def usage_of(counts: object) -> Usage:
    """Return a `usage` object as `Usage`. Gemini and xAI count reasoning only in the total."""
    prompt = count_at(counts, "prompt_tokens")
    completion = count_at(counts, "completion_tokens")
    more = max(0, count_at(counts, "total_tokens") - prompt - completion)
    return Usage(
        input=prompt,
        output=completion + more,
        cached=count_at(counts, "prompt_tokens_details", "cached_tokens")
        or count_at(counts, "prompt_cache_hit_tokens")  # DeepSeek
        or count_at(counts, "cached_tokens"),  # Moonshot
        written=count_at(counts, "prompt_tokens_details", "cache_write_tokens"),
        reasoning=count_at(counts, "completion_tokens_details", "reasoning_tokens") or more,
    )
