"""OpenAI and every server that speaks its Chat Completions
(https://platform.openai.com/docs/api-reference/chat).

Among the servers are Gemini, Grok, Ollama, LM Studio, llama-server and vLLM. They differ in what
they leave out: usage, the finish reason, `[DONE]`; in what they call reasoning; and in sending an
error inside a stream that began with status
200. `catalogue` says what differs for whom.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from chat_loop.errors import AuthenticationFailed, ContextTooLong, NoProvider
from chat_loop.events import Event, TextDelta, ThinkingDelta
from chat_loop.providers import breakpoints
from chat_loop.providers.asides import Asides
from chat_loop.providers.calls import INVALID, arguments_of, as_text, tool_name
from chat_loop.providers.capabilities import NOTHING, Capabilities, listed, refuses_images, running
from chat_loop.providers.catalogue import CATALOGUE, Entry
from chat_loop.providers.completions import Manner, deltas, stop_of, usage_of
from chat_loop.providers.refusals import Service
from chat_loop.providers.servers import capabilities_at, is_near, root_of
from chat_loop.providers.wire import (
    DONE,
    NOWHERE,
    Refusal,
    Reply,
    Response,
    WireProvider,
    answer_of,
    at,
    host_of,
    http_client,
    parse,
    rehearse,
    sendable,
    text_at,
    withheld,
)
from chat_loop.tokens import estimate
from chat_loop.values import Image, Message, Request, ToolCall, ToolSpec, Window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httpx2 import AsyncClient
    from openai import AsyncOpenAI, Omit
    from openai.types.chat import (
        ChatCompletionContentPartImageParam,
        ChatCompletionFunctionToolParam,
        ChatCompletionMessageFunctionToolCallParam,
        ChatCompletionMessageParam,
    )

ID_LENGTH = 9
"""Of a call's id as it is sent: Mistral's models take no other length."""

CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"

OLLAMA_TOKENS = 4096
"""The window that Ollama gives a model on small machines, whatever the model takes."""

NO_KEY = "none"
"""Sent to a server that needs no key, as the SDK insists on one."""


class OpenAIProvider(WireProvider["AsyncOpenAI"]):
    """Models behind Chat Completions.

    Named `openai`, key and address come from the arguments, else from OPENAI_API_KEY and
    OPENAI_BASE_URL. Under any other name it is another server: its address and key are arguments,
    and nothing of OpenAI's environment goes to it. `entry` says how it differs, by default that of
    the catalogue. `calls_tools` is said for such a server only: many refuse a request with tools,
    or have models that cannot use them. Who refuses tools once, or a parameter that it does not
    know, is not sent them again.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str = "openai",
        window: Window,
        base_url: str | None = None,
        api_key: str | None = None,
        first_event_seconds: float = 120.0,
        calls_tools: bool = False,
        entry: Entry | None = None,
        images: bool | None = None,
    ) -> None:
        super().__init__(model, window, images)
        self.name = name
        self.first_event_seconds = first_event_seconds
        self.entry = entry or CATALOGUE.get(name) or Entry(name=name, title=name)
        self._base_url = base_url
        self._api_key = api_key
        self._own = name == "openai"
        """Whether the server is OpenAI's."""
        self.calls_tools = (
            not model.startswith(self.entry.quirks.no_tools) if self._own else calls_tools
        )
        self._manner = Manner(self.entry.quirks, model)
        self._asides = Asides()
        self._tells = not self.entry.silent
        self._http: AsyncClient | None = None

    def _here(self) -> Capabilities:
        if not (self._base_url and is_near(self._base_url) and self.entry.kind == "openai"):
            return NOTHING
        return capabilities_at(self._base_url, self.model, self.name, self._api_key or "")

    async def _prepare(self, client: AsyncOpenAI, request: Request) -> None:
        """Ollama discards without a word what its window does not take: have it load the model and
        say what it takes.

        It has to load it for the request as well.
        """
        http = self._http
        if self.name != "ollama" or http is None or self._set.window or self._told.window:
            return
        import httpx2

        root, headers = root_of(str(client.base_url)), {"Authorization": f"Bearer {client.api_key}"}
        with suppress(httpx2.HTTPError, Refusal, ValueError):
            load = {"model": self.model}
            async with http.stream(
                "POST", f"{root}/api/generate", json=load, headers=headers
            ) as response:
                await answer_of(response.aiter_bytes())
            async with http.stream("GET", f"{root}/api/ps", headers=headers) as response:
                told = running(await answer_of(response.aiter_bytes()), self.model)
            self.learn(told)
            if not told.window:  # one that is too old to say it
                self._guessed = Capabilities(window=OLLAMA_TOKENS).over(self._guessed)
                self.learn(NOTHING)
        size = sum(
            map(estimate, (request.system, *(message.whole for message in request.messages)))
        )
        if size > self.window.tokens:
            error = ContextTooLong(
                f"The conversation is too long for {self.model} as Ollama runs it: about {size:,} "
                f"tokens, and the window has {self.window.tokens:,}.",
                "Type compact to shorten the conversation, or set OLLAMA_CONTEXT_LENGTH where "
                "Ollama runs.",
            )
            error.window = self.window.tokens
            raise error

    async def _ask_about(self, client: AsyncOpenAI) -> Capabilities | None:
        import openai

        try:
            answer = client.models.with_streaming_response.list(
                extra_headers=self._headers(client, openai.omit)
            )
            async with answer as response:
                told = await answer_of(response.iter_bytes())
        except (openai.OpenAIError, Refusal):
            return NOTHING
        entries = (
            told.get("data") if isinstance(told, dict) else told
        )  # Together sends the list alone
        by_name = {
            text_at(entry, "id"): entry for entry in (entries if isinstance(entries, list) else ())
        }
        names = (
            self.model,
            f"models/{self.model}",
            f"{self.model}:latest",
            self.model.partition(":")[0],
        )
        found = next(
            (by_name[name] for name in names if name in by_name), None
        )  # as Gemini, Ollama, OpenRouter say it
        return NOTHING if not by_name else None if found is None else listed(found)

    def _client(self, http: AsyncClient) -> AsyncOpenAI:
        """The SDK's client. Raises `ProviderError` without a key."""
        import openai

        needed = self._own or self.entry.needs_key
        try:
            client = openai.AsyncOpenAI(
                api_key=self._api_key if needed else self._api_key or NO_KEY,
                base_url=self._base_url,
                max_retries=0,
                http_client=http,
            )
        except openai.OpenAIError as error:
            raise self._keyless() from error
        if not client.api_key or (needed and not self._own and not self._api_key):
            raise self._keyless()
        return client

    def _keyless(self) -> AuthenticationFailed:
        return AuthenticationFailed(f"There is no key for {self.entry.title}.", self._key_hint)

    @property
    def _key_hint(self) -> str:
        return f"Set {' or '.join(self.entry.keys)} to a valid key." if self.entry.keys else ""

    @property
    def _model_hint(self) -> str:
        hint = f"Check the model's name; --model {self.name}:NAME."
        return hint if self.entry.needs_key else f"{hint} The server's address usually ends in /v1."

    def _build(self) -> tuple[AsyncOpenAI, Service]:
        import openai

        if self.entry.kind == "openai" and not self._own and not self._base_url:
            raise NoProvider(
                f"The provider {self.name} has no address.",
                "Set its base URL, as http://HOST:PORT/v1.",
            )
        self._http = http_client(openai.DefaultAsyncHttpxClient)
        client = self._client(self._http)
        if not self._own:
            client.organization = client.project = None
        service = Service(
            host=host_of(client.base_url),
            key_hint=self._key_hint
            or f"Set a valid key for {self.name}: providers.{self.name}.api_key_env names it.",
            model_hint=self._model_hint,
            absent_hint=f"Start {self.entry.title}, or set providers.{self.name}.base_url."
            if self.entry.here
            else "",
        )

        async def call(http: AsyncClient) -> None:
            nobody = openai.AsyncOpenAI(
                api_key=NO_KEY, base_url=NOWHERE, max_retries=0, http_client=http
            )
            with suppress(openai.APIConnectionError):
                await nobody.chat.completions.create(
                    model="-", messages=[{"role": "user", "content": "-"}], stream=True
                )

        rehearse(call)
        _ = client.chat.completions.with_streaming_response.create
        return client, service

    @asynccontextmanager
    async def _open(
        self, client: AsyncOpenAI, service: Service, request: Request
    ) -> AsyncIterator[Response]:
        import openai

        body = self._body(request)
        try:
            async with client.chat.completions.with_streaming_response.create(
                model=self.model,
                messages=[],
                extra_body=body,  # as it is: the SDK looks into every message, 0.2 ms each
                stream=True,
                extra_headers=self._headers(client, openai.omit),
            ) as response:
                yield response
        except (openai.OpenAIError, Refusal) as error:
            cause = error if isinstance(error, Refusal) else error.__cause__
            if not isinstance(cause, Refusal):
                raise service.failed(cause or error, started=False) from error
            refusal = service.refused(cause.status, cause.body, cause.headers)
            left_out = self._manner.learn(cause.status, refusal, body)
            if left_out:
                if left_out == "tools":
                    self.calls_tools = False
                    refusal.message += f" {self.model} is offered no tools from now on."
                refusal.retryable, refusal.adapted, refusal.retry_after = True, True, 0.0
            elif refuses_images(request, cause.status, refusal, known=self._own) and not self._own:
                self._limit(Capabilities(images=False))
            raise refusal from error

    def _headers(self, client: AsyncOpenAI, omit: Omit) -> Mapping[str, str | Omit]:
        """What goes into the request's headers besides what the SDK puts there."""
        own = self.entry.sent_headers(os.environ)
        if self._own:
            return own
        return {
            **withheld(CUSTOM_HEADERS, omit),
            "Authorization": f"Bearer {client.api_key}",
            **own,
        }

    def _body(self, request: Request) -> dict[str, object]:
        """What the request holds besides the model and `stream`."""
        messages: list[dict[str, object]] = []
        if request.system:
            messages.append({"role": "system", "content": sendable(request.system)})
        for message in request.messages:
            made = [{**part} for part in messages_of(message)]
            if message.calls:
                self._return(message.calls, made[-1])
            messages += made
        summary = request.grammar is not None
        if self.model.startswith(self.entry.quirks.marked) and not summary:
            messages = breakpoints.of_completion(messages)
        body: dict[str, object] = {
            "messages": messages,
            **dict(self.entry.quirks.briefly if summary else ()),
        }
        if request.tools and self.calls_tools:
            body["tools"] = [tool_of(tool) for tool in request.tools]
        if self._manner.takes("stream_options"):
            body["stream_options"] = {"include_usage": True}
        limit = request.max_tokens or self.entry.max_tokens
        if limit and self._manner.limit:
            body[self._manner.limit] = limit
        if request.temperature is not None and self._manner.takes("temperature"):
            body["temperature"] = request.temperature
        return body

    def _return(self, calls: Sequence[ToolCall], made: dict[str, object]) -> None:
        """Put what the service wants back with its calls into their message."""
        if self.entry.quirks.wants_reasoning:
            made["reasoning_content"] = sendable(self._asides.reasoning(calls))
        sent = made.get("tool_calls")
        for call, form in zip(calls, sent if isinstance(sent, list) else (), strict=False):
            form.update(self._asides.extra(call))

    def _called(self, reply: Reply, calls: tuple[ToolCall, ...]) -> None:
        self._asides.keep(calls, reply.calls.extras, "".join(reply.reasoning))

    def _read(self, data: str, reply: Reply, service: Service) -> Iterator[Event]:
        if data == DONE:
            reply.done = True
            return
        chunk = parse(data)
        if chunk.get("error"):
            raise service.refused(None, chunk)
        if isinstance(counts := chunk.get("usage"), dict):
            reply.usage = usage_of(counts)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            for delta in deltas(choice, reply, self.entry.quirks):
                if isinstance(delta, ThinkingDelta) and self.entry.quirks.wants_reasoning:
                    reply.reasoning.append(delta.text)
                yield delta
            note_calls(choice, reply)
            if refusal := text_at(choice, "delta", "refusal"):
                reply.stop = "refusal"
                yield TextDelta(refusal)
            if reason := text_at(choice, "finish_reason"):
                reply.stop = "refusal" if reply.stop == "refusal" else stop_of(reason)


def note_calls(choice: object, reply: Reply) -> None:
    """Put the pieces of calls that a choice of a chunk holds into `reply`."""
    pieces = at(choice, "delta", "tool_calls")
    for piece in pieces if isinstance(pieces, list) else ():
        given = as_text(at(piece, "function", "arguments"))
        reply.calls.add(
            at(piece, "index"), text_at(piece, "id"), text_at(piece, "function", "name"), given
        )
        if isinstance(beside := at(piece, "extra_content"), dict):
            reply.calls.note({"extra_content": beside})


def tool_of(tool: ToolSpec) -> ChatCompletionFunctionToolParam:
    """A tool in the form of the wire."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": {**tool.parameters},
        },
    }


def messages_of(message: Message) -> Iterator[ChatCompletionMessageParam]:
    """A message in the form of the wire, where each result is a message of its own."""
    for result in message.results:
        yield {
            "role": "tool",
            "tool_call_id": result.id.rjust(ID_LENGTH, "0"),
            "content": sendable(result.text),
        }
    text = sendable(message.text)
    if message.role == "user":
        shown = [image_of(image) for image in message.images if image.data]
        if shown:
            yield {"role": "user", "content": [*shown, {"type": "text", "text": text}]}
        elif text or not message.results:
            yield {"role": "user", "content": text}
    elif message.calls:
        calls = [call_of(call) for call in message.calls]
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    else:
        yield {"role": "assistant", "content": text}


def image_of(image: Image) -> ChatCompletionContentPartImageParam:
    """An image in the form of the wire: a data URL
    (https://platform.openai.com/docs/guides/images-vision).
    """
    return {"type": "image_url", "image_url": {"url": f"data:{image.media};base64,{image.data}"}}


def call_of(call: ToolCall) -> ChatCompletionMessageFunctionToolCallParam:
    """A call in the form of the wire. Servers read the arguments: what is no JSON object is sent
    inside of one.
    """
    given = call.arguments
    if arguments_of(given) is None:
        given = json.dumps({INVALID: given})
    return {
        "id": call.id.rjust(ID_LENGTH, "0"),
        "type": "function",
        "function": {"name": tool_name(call.name), "arguments": given.strip() or "{}"},
    }
