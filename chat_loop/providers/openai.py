"""OpenAI and every server that speaks its Chat Completions
(https://platform.openai.com/docs/api-reference/chat), Azure among them.

The servers differ in what they leave out (usage, the finish reason, `[DONE]`), in what they call
reasoning, in the parameters that they know, and in sending an error inside a stream. `catalogue`
says what differs for whom.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from chat_loop.errors import ContextTooLong, NoProvider, ProviderError
from chat_loop.events import Event, TextDelta, ThinkingDelta
from chat_loop.providers import wire
from chat_loop.providers.answers import at, count_at, list_at, text_at
from chat_loop.providers.anthropic import with_breakpoints
from chat_loop.providers.calls import (
    INVALID,
    arguments_of,
    as_text,
    refused_tool,
    tool_name,
)
from chat_loop.providers.capabilities import NOTHING, Capabilities, listed, refuses_images, running
from chat_loop.providers.catalogue import AZURE_TOKEN, azure_address
from chat_loop.providers.refusals import Service
from chat_loop.providers.servers import root_of
from chat_loop.tokens import estimate
from chat_loop.values import Message, Request, StopReason, ToolCall, ToolSpec, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

STOPS: Mapping[str, StopReason] = {"length": "length", "content_filter": "refusal"}
"""`finish_reason` -> why the reply ended, where it is not `end`. Gemini adds a colon and what it
filtered.
"""
UNKNOWN = (
    *("unsupported", "not supported", "unrecognized", "unknown", "unexpected"),
    *("extra inputs", "not permitted"),
)
"""What a server says of a parameter that it does not know."""
LIMITS = ("max_completion_tokens", "max_tokens")
"""The two names of the ceiling of a reply."""
ID_LENGTH = 9
"""Of a call's id as it is sent: Mistral's models take no shorter one."""
OLLAMA_TOKENS = 4096
"""The window that Ollama gives a model on small machines, whatever the model takes."""
NO_KEY = "none"
"""Sent to a server that needs no key, as the SDK insists on one."""


class OpenAIProvider(wire.WireProvider):
    """Models behind Chat Completions.

    Named `openai`, key and address come from the arguments, else from OPENAI_API_KEY and
    OPENAI_BASE_URL. Under any other name it is another server: its address and key are arguments,
    and nothing of OpenAI's environment goes to it. Who refuses tools once, or a parameter that it
    does not know, is not sent them again.
    """

    name = "openai"
    path = "/chat/completions"

    @property
    def _own(self) -> bool:
        """The server is OpenAI's."""
        return self.name == "openai"

    async def _prepare(self, line: wire.Line, request: Request) -> None:
        """Have Ollama load the model and say its window: it discards in silence what does not fit.

        It has to load the model for the request as well.
        """
        if self.name != "ollama" or self._window_is_known:
            return
        root = root_of(str(line.client.base_url))
        with suppress(line.http.HTTPError, wire.Refusal, ProviderError, ValueError):
            await self._answer(line, "post", f"{root}/api/generate", {"model": self.model})
            told = running(await self._answer(line, "get", f"{root}/api/ps"), self.model)
            self.learn(told)
            if not told.window:  # one that is too old to say it
                self.learn(Capabilities(window=OLLAMA_TOKENS), "guess")
        texts = (request.system, *(message.whole for message in request.messages))
        size = sum(map(estimate, texts))
        if size > self.window.tokens:
            error = ContextTooLong(
                f"The conversation is too long for {self.model} as Ollama runs it: about {size:,} "
                f"tokens, and the window has {self.window.tokens:,}.",
                "Type compact to shorten the conversation, or set OLLAMA_CONTEXT_LENGTH where "
                "Ollama runs.",
            )
            error.window = self.window.tokens
            raise error

    async def _ask(self, line: wire.Line) -> Capabilities | None:
        try:
            told = await self._answer(line, "get", "/models")
        except wire.Refusal:
            return NOTHING
        entries = told if isinstance(told, list) else list_at(told, "data")  # Together: a list
        by_name = {text_at(entry, "id"): entry for entry in entries}
        bare = self.model.partition(":")[0]
        # as Gemini, Ollama and OpenRouter write it
        names = (self.model, f"models/{self.model}", f"{self.model}:latest", bare)
        found = next((by_name[name] for name in names if name in by_name), None)
        if found is None:
            return None if by_name else NOTHING
        return listed(found)

    def _connect(self) -> Any:
        import openai

        return openai, self._client(wire.http_client(openai)), openai.OpenAIError, ()

    def _client(self, http: Any) -> AsyncOpenAI:
        """Make the SDK's client. Raises `ProviderError` without a key or an address."""
        import openai

        if not self._own and not self._base_url:
            raise NoProvider(
                f"The provider {self.name} has no address.",
                "Set its base URL, as http://HOST:PORT/v1.",
            )
        key = self._api_key if self._own or self.entry.needs_key else self._api_key or NO_KEY
        if not self._own and not key:
            raise self._keyless()
        try:
            client = openai.AsyncOpenAI(
                api_key=key, base_url=self._base_url, max_retries=0, http_client=http
            )
        except openai.OpenAIError as error:
            raise self._keyless() from error
        if not client.api_key:
            raise self._keyless()
        return client

    def _headers(self, line: wire.Line) -> Mapping[str, object]:
        own = self.entry.sent_headers(os.environ)
        if self._own:
            return own
        import openai

        withheld = ["OpenAI-Organization", "OpenAI-Project"]
        withheld += wire.headers_named_in("OPENAI_CUSTOM_HEADERS")
        key = {"Authorization": f"Bearer {line.client.api_key}"}
        key = {} if self.entry.kind == "azure" else key  # whose client knows several ways
        return {**dict.fromkeys(withheld, openai.omit), **key, **own}

    def _body(self, request: Request) -> dict[str, object]:
        quirks = self.entry.quirks
        messages: list[Mapping[str, object]] = []
        if request.system:
            messages.append({"role": "system", "content": wire.sendable(request.system)})
        for message in request.messages:
            messages += self._messages_of(message)
        summary = request.grammar is not None
        if self.model.startswith(quirks.marked) and not summary:
            messages = with_breakpoints(messages)
        body: dict[str, object] = {"model": self.model, "messages": messages, "stream": True}
        body |= dict(quirks.briefly) if summary else {}
        if request.tools and self.calls_tools:
            body["tools"] = [tool_of(tool) for tool in request.tools]
        body["stream_options"] = {"include_usage": True}
        limit = next((name for name in (quirks.limit, *LIMITS) if name not in self._unknown), "")
        tokens = request.max_tokens or self.entry.max_tokens
        if limit and tokens:
            body[limit] = tokens
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return {name: value for name, value in body.items() if name not in self._unknown}

    def _messages_of(self, message: Message) -> Iterator[dict[str, object]]:
        """Yield a message in the form of the wire, where each result is a message of its own."""
        for result in message.results:
            identity = result.id.rjust(ID_LENGTH, "0")
            yield {"role": "tool", "tool_call_id": identity, "content": wire.sendable(result.text)}
        text = wire.sendable(message.text)
        if message.role == "assistant":
            made: dict[str, object] = {"role": "assistant", "content": text}
            if message.calls:
                made["content"] = text or None
                made["tool_calls"] = [*map(self._call_of, message.calls)]
                if self.entry.quirks.wants_reasoning:
                    reasoning = self._replayed.of(message.calls[0])[1]
                    made["reasoning_content"] = wire.sendable(reasoning)
            yield made
            return
        shown: list[object] = [
            {"type": "image_url", "image_url": {"url": f"data:{image.media};base64,{image.data}"}}
            for image in message.images
            if image.data
        ]
        if shown:
            yield {"role": "user", "content": [*shown, {"type": "text", "text": text}]}
        elif text or not message.results:
            yield {"role": "user", "content": text}

    def _call_of(self, call: ToolCall) -> dict[str, object]:
        """Return a call in the form of the wire; what is no JSON object is sent inside of one."""
        given = call.arguments
        if arguments_of(given) is None:
            given = json.dumps({INVALID: given})
        function = {"name": tool_name(call.name), "arguments": given.strip() or "{}"}
        identity = call.id.rjust(ID_LENGTH, "0")
        form = {"id": identity, "type": "function", "function": function}
        return {**form, **self._replayed.of(call)[0]}

    def _refused(self, status: int, error: ProviderError, request: Request) -> None:
        """Leave out from now on what the server does not know: tools, or a parameter."""
        said = error.message.lower()
        if isinstance(error, ContextTooLong):
            return
        if (
            request.tools
            and self.calls_tools
            and "tool" in said
            and (status in (400, 404, 422, 500, 501))
        ):
            names = [tool.name for tool in request.tools]
            if not refused_tool(error.message, names) and "schema" not in said:
                self.calls_tools = False
                wire.adapt(error, f"{self.model} is offered no tools from now on.")
            return  # the fault of one of them must not cost the others
        if status in (400, 422) and any(word in said for word in UNKNOWN):
            sent = self._body(request)
            for name in ("stream_options", "temperature", *LIMITS):
                if name in sent and name in said:
                    self._unknown.add(name)
                    wire.adapt(error)
                    return
        if refuses_images(request, status, error, known=self._own) and not self._own:
            self.learn(Capabilities(images=False), "set")

    def _read(
        self, event: Mapping[str, object], reply: wire.Reply, service: Service
    ) -> Iterator[Event]:
        if event.get("error"):
            raise service.refused(None, event)
        if isinstance(counts := event.get("usage"), Mapping):
            reply.usage = usage_of(counts)
        for choice in list_at(event, "choices"):
            delta = at(choice, "delta")
            for part in self._deltas(delta, reply):
                if isinstance(part, ThinkingDelta) and self.entry.quirks.wants_reasoning:
                    reply.reasoning.append(part.text)
                yield part
            for piece in list_at(delta, "tool_calls"):
                name, given = text_at(piece, "function", "name"), at(piece, "function", "arguments")
                reply.calls.add(at(piece, "index"), text_at(piece, "id"), name, as_text(given))
                if isinstance(extra := at(piece, "extra_content"), Mapping):
                    reply.calls.note({"extra_content": extra})
            if refusal := text_at(delta, "refusal"):
                reply.stop = "refusal"
                yield TextDelta(refusal)
            if (reason := text_at(choice, "finish_reason")) and reply.stop != "refusal":
                reply.stop = STOPS.get(reason.partition(":")[0], "end")

    def _deltas(self, delta: object, reply: wire.Reply) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield the reasoning and the text of a delta."""
        for name in ("reasoning_content", "reasoning", "thinking"):
            if thinking := text_at(delta, name):
                yield ThinkingDelta(thinking)
                break
        content = at(delta, "content")
        if isinstance(content, list):  # Mistral's reasoning models
            for part in content:
                inner = (text_at(piece, "text") for piece in list_at(part, "thinking"))
                yield from map(ThinkingDelta, filter(None, inner))
                if text := text_at(part, "text"):
                    yield TextDelta(text)
        elif isinstance(content, str) and content:
            if self.entry.quirks.tagged:
                yield from reply.tagged.split(content)
            else:
                yield TextDelta(content)


class AzureProvider(OpenAIProvider):
    """A deployment of an Azure OpenAI resource; the model is the deployment's name
    (https://learn.microsoft.com/azure/ai-services/openai/reference).
    """

    name = "azure"
    model_hint = "The model is the name of a deployment of yours; --model azure:DEPLOYMENT."

    def _client(self, http: Any) -> AsyncOpenAI:
        import openai

        endpoint, version = azure_address(self.entry, os.environ)
        token = os.environ.get(AZURE_TOKEN, "") if AZURE_TOKEN in self.entry.keys else ""
        key = "" if token else self.entry.key(os.environ)
        if not (token or key):
            raise self._keyless()
        if not version:
            return openai.AsyncOpenAI(
                api_key=token or key, base_url=endpoint, max_retries=0, http_client=http
            )
        return openai.AsyncAzureOpenAI(
            azure_endpoint=endpoint,
            api_version=version,
            api_key=key or None,
            azure_ad_token=token or None,
            max_retries=0,
            http_client=http,
        )

    async def _ask(self, line: wire.Line) -> Capabilities | None:
        return NOTHING  # it lists models, not deployments


def tool_of(tool: ToolSpec) -> dict[str, object]:
    """Return a tool in the form of the wire."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def usage_of(counts: object) -> Usage:
    """Return a `usage` object as `Usage`; details that a server leaves out count as 0.

    Gemini and xAI leave reasoning out of the completion, but not out of the total.
    """
    asked, answered = count_at(counts, "prompt_tokens"), count_at(counts, "completion_tokens")
    more = max(0, count_at(counts, "total_tokens") - asked - answered)
    return Usage(
        input=asked,
        output=answered + more,
        cached=count_at(counts, "prompt_tokens_details", "cached_tokens")
        or count_at(counts, "prompt_cache_hit_tokens")  # DeepSeek
        or count_at(counts, "cached_tokens"),  # Moonshot
        written=count_at(counts, "prompt_tokens_details", "cache_write_tokens"),
        reasoning=count_at(counts, "completion_tokens_details", "reasoning_tokens") or more,
    )
