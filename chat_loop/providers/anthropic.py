"""Claude over the Messages API (https://docs.anthropic.com/en/api/messages-streaming).

The models' reasoning is never sent back, not even between a call and its result: without the
`thinking` setting none is demanded, and what is sent back in part, or changed, is refused
(https://platform.claude.com/docs/en/build-with-claude/thinking).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal

from chat_loop.errors import AuthenticationFailed
from chat_loop.events import Event, TextDelta, ThinkingDelta
from chat_loop.providers import breakpoints
from chat_loop.providers.calls import INVALID, arguments_of, as_text, tool_name
from chat_loop.providers.capabilities import (
    NOTHING,
    Capabilities,
    bare_name,
    listed,
    refuses_images,
)
from chat_loop.providers.catalogue import CATALOGUE, Entry
from chat_loop.providers.refusals import Service, short
from chat_loop.providers.wire import (
    NOWHERE,
    Refusal,
    Reply,
    Response,
    WireProvider,
    answer_of,
    at,
    count_at,
    host_of,
    http_client,
    parse,
    rehearse,
    sendable,
    text_at,
)
from chat_loop.tokens import estimate
from chat_loop.values import Image, Message, Request, StopReason, Usage, Window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anthropic import AsyncAnthropic, Omit
    from anthropic.types import (
        ImageBlockParam,
        MessageParam,
        TextBlockParam,
        ToolParam,
        ToolResultBlockParam,
        ToolUseBlockParam,
    )
    from httpx2 import AsyncClient

STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""`stop_reason` -> why the reply ended, where it is not `end`."""

LEAST_REPLY = 8192
"""Tokens that are asked for in any case, on small windows a fifth: what the context keeps free for
a reply.
"""
REPLY_MARGIN = 2
"""Tokens that a request may have for each that is estimated."""

TAKES_TEMPERATURE = (
    "claude-3",
    "claude-haiku-4",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2025",
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-0",
    "claude-opus-4-2025",
    "claude-opus-4-1",
    "claude-opus-4-5",
)
"""The models that accept `temperature`; later ones answer it with 400, and the SDK has dropped the
argument.
"""


class AnthropicProvider(WireProvider["AsyncAnthropic"]):
    """Claude models. Key and address come from the arguments, else from the environment as the SDK
    reads it: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL.

    The beginning of a conversation is kept in the service's cache. `entry` says what the user set
    of the provider.
    """

    name = "anthropic"
    key_hint = "Set ANTHROPIC_API_KEY to a valid key."
    model_hint = "Check the model's name; --model anthropic:NAME."
    first_event_seconds = 120.0
    calls_tools = True

    def __init__(
        self,
        model: str,
        *,
        window: Window,
        base_url: str | None = None,
        api_key: str | None = None,
        entry: Entry | None = None,
        images: bool | None = None,
    ) -> None:
        super().__init__(model, window, images)
        self.entry = entry or CATALOGUE[self.name]
        self._base_url = base_url
        self._api_key = api_key

    def _client(self, http: AsyncClient) -> AsyncAnthropic:
        """The SDK's client. Raises `AuthenticationFailed` without a key."""
        import anthropic

        try:
            client = anthropic.AsyncAnthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                max_retries=0,
                http_client=http,
                open_telemetry=False,
            )
        except anthropic.AnthropicError as error:
            raise self._unreadable(error) from error
        if not (client.api_key or client.auth_token or client.credentials):
            raise AuthenticationFailed("There is no key for Anthropic.", self.key_hint)
        return client

    def _unreadable(self, error: BaseException) -> AuthenticationFailed:
        return AuthenticationFailed(
            f"The credentials cannot be read: {short(str(error))}", self.key_hint
        )

    def _build(self) -> tuple[AsyncAnthropic, Service]:
        import anthropic

        client = self._client(http_client(anthropic.DefaultAsyncHttpxClient))
        service = Service(
            host=host_of(client.base_url), key_hint=self.key_hint, model_hint=self.model_hint
        )

        async def call(http: AsyncClient) -> None:
            nobody = anthropic.AsyncAnthropic(
                api_key="-", base_url=NOWHERE, max_retries=0, http_client=http, open_telemetry=False
            )
            with suppress(anthropic.APIConnectionError):
                await nobody.messages.create(
                    model="-",
                    max_tokens=1,
                    messages=[{"role": "user", "content": "-"}],
                    stream=True,
                )

        rehearse(call)
        _ = client.messages.with_streaming_response.create
        return client, service

    @asynccontextmanager
    async def _open(
        self, client: AsyncAnthropic, service: Service, request: Request
    ) -> AsyncIterator[Response]:
        import anthropic

        messages: list[MessageParam] = [
            {"role": "user", "content": content_of(message)}
            if message.role == "user"
            else {"role": "assistant", "content": content_of(message)}
            for message in request.messages
        ]
        tools: list[ToolParam] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": {**tool.parameters},
            }
            for tool in request.tools
        ]
        system: str | list[TextBlockParam] = sendable(request.system)
        if self._caches(request):
            messages = breakpoints.of_messages(messages)
            if request.system.strip():
                system = breakpoints.of_system(sendable(request.system))
            else:
                tools = breakpoints.of_tools(tools)
        temperature = (
            request.temperature if bare_name(self.model).startswith(TAKES_TEMPERATURE) else None
        )
        try:
            async with client.messages.with_streaming_response.create(
                model=self.model,
                max_tokens=request.max_tokens or self.entry.max_tokens or self._ceiling(request),
                system=system or anthropic.omit,
                messages=messages,
                tools=tools or anthropic.omit,
                stream=True,
                extra_body=None if temperature is None else {"temperature": temperature},
                extra_headers=self._headers(anthropic.omit),
            ) as response:
                yield response
        except anthropic.CredentialsError as error:
            raise self._unreadable(error) from error
        except (anthropic.AnthropicError, Refusal) as error:
            cause = error if isinstance(error, Refusal) else error.__cause__
            if not isinstance(cause, Refusal):
                raise service.failed(cause or error, started=False) from error
            refusal = service.refused(cause.status, cause.body, cause.headers)
            refuses_images(request, cause.status, refusal, known=True)
            raise refusal from error

    def _ceiling(self, request: Request) -> int:
        """The most tokens of a reply, which this wire demands: as many as the model can, and the
        window has left.
        """
        window = self.window.tokens
        reply = self.reply_tokens or LEAST_REPLY
        left = window - REPLY_MARGIN * sum(
            map(estimate, (request.system, *(one.whole for one in request.messages)))
        )
        return min(reply, max(min(LEAST_REPLY, window // 5), left))

    async def _ask_about(self, client: AsyncAnthropic) -> Capabilities | None:
        import anthropic

        headers = self._headers(anthropic.omit)
        try:
            answer = client.models.with_streaming_response.retrieve(
                self.model, extra_headers=headers
            )
            async with answer as response:
                return listed(await answer_of(response.iter_bytes()))
        except (anthropic.AnthropicError, Refusal) as error:
            cause = error if isinstance(error, Refusal) else error.__cause__
            said = (
                text_at(cause.body, "error", "message").lower()
                if isinstance(cause, Refusal)
                else ""
            )
            return None if said.startswith("model") else NOTHING

    def _caches(self, request: Request) -> bool:
        """Whether the beginning of a request is worth keeping: that of a summary is read once."""
        return request.grammar is None

    def _headers(self, omit: Omit) -> Mapping[str, str | Omit]:
        """What goes into the request's headers besides what the SDK puts there."""
        return self.entry.sent_headers(os.environ)

    def _read(self, data: str, reply: Reply, service: Service) -> Iterator[Event]:
        event = parse(data)
        match event.get("type"):
            case "message_start":
                reply.usage = usage_of(at(event, "message", "usage"), None)
            case "content_block_start":
                block = event.get("content_block")
                if text_at(block, "type") == "tool_use":
                    given = as_text(at(block, "input"))  # {} unless a server does not stream it
                    reply.calls.add(
                        event.get("index"), text_at(block, "id"), text_at(block, "name"), given
                    )
                yield from deltas(block)
            case "content_block_delta":
                reply.calls.add(event.get("index"), "", "", text_at(event, "delta", "partial_json"))
                yield from deltas(event.get("delta"))
            case "message_delta":
                if reason := text_at(event, "delta", "stop_reason"):
                    reply.stop = STOPS.get(reason, "end")
                reply.usage = usage_of(event.get("usage"), reply.usage)
            case "message_stop":
                reply.done = True
            case "error":
                raise service.refused(None, event)


def content_of(
    message: Message,
) -> str | list[TextBlockParam | ImageBlockParam | ToolUseBlockParam | ToolResultBlockParam]:
    """A message's content: results, images, text, calls, in the order that the wire wants."""
    if not (message.calls or message.results or message.images):
        return sendable(message.text)
    blocks: list[TextBlockParam | ImageBlockParam | ToolUseBlockParam | ToolResultBlockParam] = []
    for result in message.results:
        text = sendable(result.text)
        block: ToolResultBlockParam = {
            "type": "tool_result",
            "tool_use_id": result.id,
            "content": text,
        }
        blocks.append({**block, "is_error": True} if result.failed else block)
    blocks += [image_of(image) for image in message.images if image.data]
    if message.text.strip():
        blocks.append({"type": "text", "text": sendable(message.text)})
    for call in message.calls:
        given = arguments_of(call.arguments)
        given = {INVALID: sendable(call.arguments)} if given is None else given
        blocks.append(
            {"type": "tool_use", "id": call.id, "name": tool_name(call.name), "input": given}
        )
    return blocks


def image_of(image: Image) -> ImageBlockParam:
    """An image in the form of the wire
    (https://docs.anthropic.com/en/docs/build-with-claude/vision).
    """
    media: Literal["image/jpeg", "image/png", "image/gif", "image/webp"] = image.media  # type: ignore[assignment]
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": image.data}}


def deltas(part: object) -> Iterator[Event]:
    """What a content block starts with or is continued by; tool input and signatures are not
    shown.
    """
    if text := text_at(part, "text"):
        yield TextDelta(text)
    if thinking := text_at(part, "thinking"):
        yield ThinkingDelta(thinking)


def usage_of(counts: object, before: Usage | None) -> Usage | None:
    """A `usage` object in the sense of `Usage`. Counts are cumulative; what it leaves out stays as
    `before`.

    `input_tokens` of this wire leaves out what was read from the cache and what was written to it.
    """
    if not isinstance(counts, dict):
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
