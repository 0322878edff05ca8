"""OpenAI and every server that speaks its Chat Completions (https://platform.openai.com/docs/api-reference/chat).

Among the servers are Ollama, LM Studio, llama-server and vLLM. They differ in what they leave out: usage, the finish
reason, `[DONE]`; in what they call reasoning; and in sending an error inside a stream that began with status 200.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from chat_loop.errors import AuthenticationFailed, ContextTooLong, NoProvider, ProviderError
from chat_loop.events import Event, TextDelta, ThinkingDelta
from chat_loop.providers import images
from chat_loop.providers.calls import INVALID, arguments_of, as_text, tool_name
from chat_loop.providers.refusals import Service
from chat_loop.providers.wire import (
    NOWHERE,
    Reply,
    Response,
    WireProvider,
    at,
    count_at,
    host_of,
    http_client,
    parse,
    rehearse,
    sendable,
    text_at,
)
from chat_loop.values import Image, Message, Request, StopReason, ToolCall, Usage, Window

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

STOPS: dict[str, StopReason] = {"length": "length", "content_filter": "refusal"}
"""`finish_reason` -> why the reply ended, where it is not `end`."""

REJECTS_TEMPERATURE = ("o1", "o3", "o4", "gpt-5")
"""OpenAI's reasoning models, which answer any `temperature` but their own with 400."""

TAKES_NO_TOOLS = ("gpt-5.6", "o1-mini", "o1-preview", "chatgpt-4o")
"""OpenAI's models that have no tools here: some never have, others have them only while they do not reason."""

REFUSALS = (400, 404, 422, 500, 501)
"""Statuses with which servers refuse a request for its tools; the message then speaks of tools."""

ID_LENGTH = 9
"""Of a call's id as it is sent: Mistral's models take no other length."""

NO_KEY = "none"
"""Sent to a server that needs no key, as the SDK insists on one."""


class OpenAIProvider(WireProvider["AsyncOpenAI"]):
    """Models behind Chat Completions.

    Named `openai`, key and address come from the arguments, else from OPENAI_API_KEY and OPENAI_BASE_URL. Under any
    other name it is a compatible server: its address is an argument, and nothing of OpenAI's environment goes to it.
    `calls_tools` is said for such a server only: many refuse a request with tools, or have models that cannot use them.
    Who refuses tools once is not offered them again.
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
    ) -> None:
        super().__init__()
        self.name = name
        self.model = model
        self.window = window
        self.first_event_seconds = first_event_seconds
        self._base_url = base_url
        self._api_key = api_key
        self._own = name == "openai"
        """Whether the server is OpenAI's."""
        self.calls_tools = not model.startswith(TAKES_NO_TOOLS) if self._own else calls_tools

    def _build(self) -> tuple[AsyncOpenAI, Service]:
        import openai

        if not self._own and not self._base_url:
            raise NoProvider(f"The provider {self.name} has no address.", "Set its base URL, as http://HOST:PORT/v1.")
        key_hint = "Set OPENAI_API_KEY to a valid key." if self._own else f"Set a valid key for {self.name}."
        try:
            client = openai.AsyncOpenAI(
                api_key=self._api_key if self._own else self._api_key or NO_KEY,
                base_url=self._base_url,
                max_retries=0,
                http_client=http_client(openai.DefaultAsyncHttpxClient),
            )
        except openai.OpenAIError as error:
            raise AuthenticationFailed("There is no key for OpenAI.", key_hint) from error
        if not client.api_key:
            raise AuthenticationFailed("There is no key for OpenAI.", key_hint)
        if not self._own:
            client.organization = client.project = None
        service = Service(
            host=host_of(client.base_url),
            key_hint=key_hint,
            model_hint=f"Check the model's name; --model {self.name}:NAME."
            + ("" if self._own else " The server's address usually ends in /v1."),
        )

        async def call(http: AsyncClient) -> None:
            nobody = openai.AsyncOpenAI(api_key=NO_KEY, base_url=NOWHERE, max_retries=0, http_client=http)
            with suppress(openai.APIConnectionError):
                await nobody.chat.completions.create(
                    model="-", messages=[{"role": "user", "content": "-"}], stream=True
                )

        rehearse(call)
        _ = client.chat.completions.with_streaming_response.create
        return client, service

    @asynccontextmanager
    async def _open(self, client: AsyncOpenAI, service: Service, request: Request) -> AsyncIterator[Response]:
        import openai

        messages: list[ChatCompletionMessageParam] = []
        if request.system:
            messages.append({"role": "system", "content": sendable(request.system)})
        for message in request.messages:
            messages += messages_of(message)
        tools: list[ChatCompletionFunctionToolParam] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": {**tool.parameters}},
            }
            for tool in (request.tools if self.calls_tools else ())
        ]
        limit = openai.omit if request.max_tokens is None else request.max_tokens
        rejects = self._own and self.model.startswith(REJECTS_TEMPERATURE)
        try:
            async with client.chat.completions.with_streaming_response.create(
                model=self.model,
                messages=[],
                extra_body={"messages": messages},  # as they are: the SDK looks into every one of them, 0.2 ms each
                tools=tools or openai.omit,
                stream=True,
                stream_options={"include_usage": True},
                max_completion_tokens=limit if self._own else openai.omit,
                max_tokens=openai.omit if self._own else limit,
                temperature=openai.omit if rejects or request.temperature is None else request.temperature,
                extra_headers=None if self._own else foreign_headers(client.api_key, openai.omit),
            ) as response:
                yield response
        except openai.APIStatusError as error:
            refusal = service.refused(error.status_code, error.body, error.response.headers)
            if tools and _refuses_tools(error.status_code, refusal):
                self.calls_tools = False
                refusal.retryable, refusal.retry_after = True, 0.0
            elif images.refuses(request, error.status_code, refusal, known=self._own):
                self.takes_images = self._own
            raise refusal from error
        except openai.OpenAIError as error:
            raise service.failed(error.__cause__ or error, started=False) from error

    def _read(self, data: str, reply: Reply, service: Service) -> Iterator[Event]:
        if data == "[DONE]":
            reply.done = True
            return
        chunk = parse(data)
        if chunk.get("error"):
            raise service.refused(None, chunk)
        if isinstance(counts := chunk.get("usage"), dict):
            reply.usage = usage_of(counts)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if thinking := text_at(choice, "delta", "reasoning_content") or text_at(choice, "delta", "reasoning"):
                yield ThinkingDelta(thinking)
            if text := text_at(choice, "delta", "content"):
                yield TextDelta(text)
            pieces = at(choice, "delta", "tool_calls")
            for piece in pieces if isinstance(pieces, list) else ():
                given = as_text(at(piece, "function", "arguments"))
                reply.calls.add(at(piece, "index"), text_at(piece, "id"), text_at(piece, "function", "name"), given)
            if refusal := text_at(choice, "delta", "refusal"):
                reply.stop = "refusal"
                yield TextDelta(refusal)
            if reason := text_at(choice, "finish_reason"):
                reply.stop = "refusal" if reply.stop == "refusal" else STOPS.get(reason, "end")


def _refuses_tools(status: int, refusal: ProviderError) -> bool:
    return status in REFUSALS and "tool" in refusal.message.lower() and not isinstance(refusal, ContextTooLong)


def messages_of(message: Message) -> Iterator[ChatCompletionMessageParam]:
    """A message in the form of the wire, where each result is a message of its own."""
    for result in message.results:
        yield {"role": "tool", "tool_call_id": result.id.rjust(ID_LENGTH, "0"), "content": sendable(result.text)}
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
    """An image in the form of the wire: a data URL (https://platform.openai.com/docs/guides/images-vision)."""
    return {"type": "image_url", "image_url": {"url": f"data:{image.media};base64,{image.data}"}}


def call_of(call: ToolCall) -> ChatCompletionMessageFunctionToolCallParam:
    """A call in the form of the wire. Servers read the arguments: what is no JSON object is sent inside of one."""
    given = call.arguments
    if arguments_of(given) is None:
        given = json.dumps({INVALID: given})
    return {
        "id": call.id.rjust(ID_LENGTH, "0"),
        "type": "function",
        "function": {"name": tool_name(call.name), "arguments": given.strip() or "{}"},
    }


def usage_of(counts: object) -> Usage:
    """A `usage` object as `Usage`; details that a server leaves out count as 0."""
    return Usage(
        input=count_at(counts, "prompt_tokens"),
        output=count_at(counts, "completion_tokens"),
        cached=count_at(counts, "prompt_tokens_details", "cached_tokens"),
        reasoning=count_at(counts, "completion_tokens_details", "reasoning_tokens"),
    )


def foreign_headers(key: str, omit: Omit) -> Mapping[str, str | Omit]:
    """Headers for a server that is not OpenAI's: those of OPENAI_CUSTOM_HEADERS, which may hold keys, are left out."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    own = {name.strip(): omit for name, colon, _ in (line.partition(":") for line in lines) if colon}
    return {**own, "Authorization": f"Bearer {key}"}
