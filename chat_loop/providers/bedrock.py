"""Claude on Amazon Bedrock
(https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-claude.html).

The messages are those of `anthropic`; they come in AWS's event stream, which the SDK decodes, and
requests are signed. The model of a reference is a model's or an inference profile's id. Region and
credentials come from where AWS's own tools take them: AWS_REGION, AWS_ACCESS_KEY_ID, AWS_PROFILE
and so on, or the key in AWS_BEARER_TOKEN_BEDROCK.
"""

from __future__ import annotations

import os
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from chat_loop.errors import AuthenticationFailed, NoProvider
from chat_loop.providers.anthropic import AnthropicProvider
from chat_loop.providers.capabilities import NOTHING, Capabilities, bare_name
from chat_loop.providers.catalogue import Entry
from chat_loop.providers.refusals import Service, short
from chat_loop.providers.wire import NOWHERE, Response, host_of, http_client, rehearse, withheld
from chat_loop.values import Request, Window
from chat_loop.wording import install_hint

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncAnthropicBedrock, Omit
    from httpx2 import AsyncClient

PACKAGE = "boto3"
BEARER = "AWS_BEARER_TOKEN_BEDROCK"
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
STREAM = "application/vnd.amazon.eventstream"

KEY_HINT = (
    f"Check {BEARER}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; sign "
    "in again if it has expired."
)
REGION_HINT = f"Set {REGIONS[0]} or providers.bedrock.region, such as us-east-1."

CACHES_NOTHING = (
    "claude-3-haiku",
    "claude-3-sonnet",
    "claude-3-opus",
    "claude-3-5-sonnet",
    "claude-2",
    "claude-instant",
)
"""Models that have no prompt cache here."""


def is_installed() -> bool:
    """Whether AWS's library is there."""
    return find_spec(PACKAGE) is not None


class BedrockProvider(AnthropicProvider):
    """Claude models on Bedrock."""

    name = "bedrock"
    key_hint = KEY_HINT
    model_hint = (
        "Check the id, and that the region has it for this account; many models are called by the "
        "id of an inference profile, such as us.anthropic.NAME."
    )

    def __init__(
        self, model: str, *, window: Window, entry: Entry, images: bool | None = None
    ) -> None:
        super().__init__(
            model, window=window, base_url=entry.base_url or None, entry=entry, images=images
        )

    def _build(self) -> tuple[AsyncAnthropic, Service]:
        import anthropic

        client = _signing(self.entry, http_client(anthropic.DefaultAsyncHttpxClient))

        async def call(http: AsyncClient) -> None:
            nobody = anthropic.AsyncAnthropicBedrock(
                api_key="-",
                aws_region="us-east-1",
                base_url=NOWHERE,
                max_retries=0,
                http_client=http,
            )
            try:
                await nobody.messages.create(
                    model="-",
                    max_tokens=1,
                    messages=[{"role": "user", "content": "-"}],
                    stream=True,
                )
            except anthropic.APIConnectionError:
                return

        rehearse(call)
        _ = client.messages.with_streaming_response.create
        service = Service(
            host=host_of(client.base_url),
            key_hint=self.key_hint,
            model_hint=self.model_hint,
            stream=STREAM,
        )
        # Both clients have the one resource that is used here.
        return cast("AsyncAnthropic", client), service

    @asynccontextmanager
    async def _open(
        self, client: AsyncAnthropic, service: Service, request: Request
    ) -> AsyncIterator[Response]:
        from botocore.exceptions import BotoCoreError

        opened = False
        try:
            async with super()._open(client, service, request) as response:
                opened = True
                yield response
        except (
            BotoCoreError,
            RuntimeError,
        ) as error:  # a session that has expired; credentials that have gone
            if opened:
                raise
            raise self._unreadable(error) from error

    async def _ask_about(self, client: AsyncAnthropic) -> Capabilities | None:
        return NOTHING  # it has no such path

    def _caches(self, request: Request) -> bool:
        return super()._caches(request) and not bare_name(self.model).startswith(CACHES_NOTHING)

    def _headers(self, omit: Omit) -> Mapping[str, str | Omit]:
        """Those of ANTHROPIC_CUSTOM_HEADERS, which may hold keys, are left out: they are not meant
        for AWS.
        """
        return {**withheld("ANTHROPIC_CUSTOM_HEADERS", omit), **self.entry.sent_headers(os.environ)}

    async def _data(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[str]:
        from anthropic.lib.bedrock._stream_decoder import AWSEventStreamDecoder
        from botocore.eventstream import ParserError
        from botocore.parsers import ResponseParserError

        decoded = cast("AsyncGenerator[object]", AWSEventStreamDecoder().aiter_bytes(pieces))
        try:
            async with aclosing(decoded) as events:
                async for event in events:
                    yield str(getattr(event, "data", ""))
        except (
            ParserError,
            ResponseParserError,
            LookupError,
            TypeError,
            AttributeError,
            struct.error,
        ) as error:
            raise ValueError(
                "not an event stream"
            ) from error  # frames that the decoder takes on trust


def _signing(entry: Entry, http: AsyncClient) -> AsyncAnthropicBedrock:
    """The SDK's client. Raises as `check` does."""
    import anthropic

    region = check(entry, os.environ, ask_machine=True)
    bearer = os.environ.get(BEARER, "")
    return anthropic.AsyncAnthropicBedrock(
        api_key=bearer or None,
        aws_profile=None if bearer else entry.profile or None,
        aws_region=region,
        base_url=entry.base_url or None,
        max_retries=0,
        http_client=http,
        open_telemetry=False,
    )


def check(entry: Entry, environment: Mapping[str, str], *, ask_machine: bool = False) -> str:
    """The region. Raises `NoProvider` without one or without AWS's library, `AuthenticationFailed`
    without credentials.

    `ask_machine`: ask the metadata service of a machine at AWS for a role as well, over the
    network.
    """
    if not is_installed():
        raise NoProvider(
            f"The package {PACKAGE} is missing, which signs requests to AWS.",
            install_hint("bedrock"),
        )
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    bearer = environment.get(BEARER, "")
    try:
        session = Session(
            profile=None if bearer else entry.profile or environment.get("AWS_PROFILE") or None
        )
        if not ask_machine:
            session.set_config_variable("metadata_service_num_attempts", 0)
        region = region_of(entry, environment) or session.get_config_variable("region")
        if not region:
            raise NoProvider(f"Amazon Bedrock has no region: {REGIONS[0]} is not set.", REGION_HINT)
        if not bearer and session.get_credentials() is None:
            raise AuthenticationFailed("There are no credentials for AWS.", KEY_HINT)
    except BotoCoreError as error:
        raise AuthenticationFailed(
            f"The credentials for AWS cannot be read: {short(str(error))}", KEY_HINT
        ) from error
    return str(region)


def region_of(entry: Entry, environment: Mapping[str, str]) -> str:
    """The region as config or environment say it; "" leaves it to the profile."""
    return entry.region or next(
        (value for name in REGIONS if (value := environment.get(name, ""))), ""
    )
