"""OpenAI and every server that speaks its Chat Completions (https://platform.openai.com/docs/api-reference/chat).

Among the servers are Ollama, LM Studio, llama-server and vLLM. They differ in what they leave out: usage, the finish
reason, `[DONE]`; in what they call reasoning; and in sending an error inside a stream that began with status 200.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from chat_loop.errors import AuthenticationFailed, NoProvider
from chat_loop.events import Event, TextDelta, ThinkingDelta
from chat_loop.providers.refusals import Service
from chat_loop.providers.wire import (
    NOWHERE,
    Reply,
    Response,
    WireProvider,
    count_at,
    host_of,
    http_client,
    parse,
    rehearse,
    sendable,
    text_at,
)
from chat_loop.values import Request, StopReason, Usage, Window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httpx2 import AsyncClient
    from openai import AsyncOpenAI, Omit
    from openai.types.chat import ChatCompletionMessageParam

STOPS: dict[str, StopReason] = {"length": "length", "content_filter": "refusal"}
"""`finish_reason` -> why the reply ended, where it is not `end`."""

REJECTS_TEMPERATURE = ("o1", "o3", "o4", "gpt-5")
"""OpenAI's reasoning models, which answer any `temperature` but their own with 400."""

NO_KEY = "none"
"""Sent to a server that needs no key, as the SDK insists on one."""


class OpenAIProvider(WireProvider["AsyncOpenAI"]):
    """Models behind Chat Completions.

    Named `openai`, key and address come from the arguments, else from OPENAI_API_KEY and OPENAI_BASE_URL. Under any
    other name it is a compatible server: its address is an argument, and nothing of OpenAI's environment goes to it.
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
        messages += [
            {"role": "user", "content": sendable(message.text)}
            if message.role == "user"
            else {"role": "assistant", "content": sendable(message.text)}
            for message in request.messages
        ]
        limit = openai.omit if request.max_tokens is None else request.max_tokens
        rejects = self._own and self.model.startswith(REJECTS_TEMPERATURE)
        try:
            async with client.chat.completions.with_streaming_response.create(
                model=self.model,
                messages=[],
                extra_body={"messages": messages},  # as they are: the SDK looks into every one of them, 0.2 ms each
                stream=True,
                stream_options={"include_usage": True},
                max_completion_tokens=limit if self._own else openai.omit,
                max_tokens=openai.omit if self._own else limit,
                temperature=openai.omit if rejects or request.temperature is None else request.temperature,
                extra_headers=None if self._own else foreign_headers(client.api_key, openai.omit),
            ) as response:
                yield response
        except openai.APIStatusError as error:
            raise service.refused(error.status_code, error.body, error.response.headers) from error
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
            if refusal := text_at(choice, "delta", "refusal"):
                reply.stop = "refusal"
                yield TextDelta(refusal)
            if reason := text_at(choice, "finish_reason"):
                reply.stop = "refusal" if reply.stop == "refusal" else STOPS.get(reason, "end")


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
