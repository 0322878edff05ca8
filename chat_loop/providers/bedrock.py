"""Claude on Amazon Bedrock: Anthropic's messages, signed and decoded by its SDK
(https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-claude.html).
"""

from __future__ import annotations

import os
import struct
from collections.abc import AsyncGenerator, Iterable, Mapping
from importlib.util import find_spec

import msgspec

from chat_loop.errors import AuthenticationFailed, NoProvider, ProviderError, install_hint
from chat_loop.providers.anthropic import AnthropicProvider, client_settings
from chat_loop.providers.catalogue import ProviderSpec
from chat_loop.providers.replies import ReplyStream
from chat_loop.providers.stream import batches_of
from chat_loop.providers.upstream import short
from chat_loop.providers.wire import AnswerStream, Connection, headers_named_in, key_in
from chat_loop.tasks import in_daemon_thread

EVENT_SIZE = 256  # bytes, about
LIST_SECONDS = 5.0  # for each of the two requests for a list
UNCHECKED = (struct.error, LookupError, TypeError, AttributeError)
"""What malformed frames raise, which the decoder does not check."""
BEARER = "AWS_BEARER_TOKEN_BEDROCK"


class BedrockProvider(AnthropicProvider):
    """Claude models on Bedrock. `model` is its id, or that of an inference profile."""

    address_variable = official = ""

    @property
    def endpoint(self) -> str:
        region = self.entry.region or os.environ.get("AWS_REGION", "")
        return super().endpoint or f"bedrock:{region}"

    def _connect(self) -> Connection:
        region = check_access(self.entry, os.environ, ask_machine=True)
        import anthropic
        from botocore import eventstream, exceptions, parsers

        bearer = key_in(BEARER)
        client = anthropic.AsyncAnthropicBedrock(
            api_key=bearer or None,
            aws_profile=None if bearer else self.entry.profile or None,
            aws_region=region,
            base_url=self.entry.base_url or None,
            **client_settings(anthropic, anthropic.AsyncAnthropicBedrock, self._address()),
        )
        self._sdk_headers = dict.fromkeys(
            headers_named_in("ANTHROPIC_CUSTOM_HEADERS"), anthropic.omit
        )
        # an expired session; credentials that are no longer there
        self._credentials_errors = (exceptions.BotoCoreError, RuntimeError)
        self._frame_errors = (eventstream.ParserError, parsers.ResponseParserError, *UNCHECKED)
        return anthropic, client, anthropic.AnthropicError

    async def models_answer(self) -> bytes:
        """Return Claude's models of the region, in the form of other services' lists. Raises
        ProviderError.
        """
        names = await in_daemon_thread(self._listed)
        return msgspec.json.encode({"data": [{"id": name} for name in names]})

    def _listed(self) -> list[str]:
        """Return the ids of the profiles and the models that can be asked, by two requests of
        https://docs.aws.amazon.com/bedrock/latest/APIReference. Raises ProviderError.
        """
        region = check_access(self.entry, os.environ, ask_machine=True)
        from botocore import config, exceptions, session

        profile = None if key_in(BEARER) else self.entry.profile or None
        settings = config.Config(
            connect_timeout=LIST_SECONDS,
            read_timeout=LIST_SECONDS,
            retries={"total_max_attempts": 1},
        )
        try:
            client = session.Session(profile=profile).create_client(
                "bedrock",
                region_name=region,
                endpoint_url=self.entry.base_url or None,
                config=settings,
            )
            models = client.list_foundation_models(byProvider="anthropic", byOutputModality="TEXT")
            profiles = client.list_inference_profiles(maxResults=1000)
        except (exceptions.BotoCoreError, exceptions.ClientError, ValueError) as error:
            raise ProviderError(short(str(error)), self.entry.key_refused) from error
        names = []
        for each in profiles["inferenceProfileSummaries"]:
            if each.get("status") == "ACTIVE" and "anthropic." in each["inferenceProfileId"]:
                names.append(each["inferenceProfileId"])
        for each in models["modelSummaries"]:
            is_old = each.get("modelLifecycle", {}).get("status") == "LEGACY"
            if "ON_DEMAND" in each.get("inferenceTypesSupported", ()) and not is_old:
                names.append(each["modelId"])
        return names

    def _encode(self, body: object) -> dict[str, object]:
        """Return the body unencoded, because the SDK moves parts of it elsewhere and signs it."""
        return {"body": body}

    def _reads(
        self, stream: AnswerStream, reply: ReplyStream
    ) -> AsyncGenerator[Iterable[Mapping[str, object]]]:
        return batches_of(self._events(stream), lambda: reply.started, lambda _: EVENT_SIZE)

    async def _events(self, stream: AnswerStream) -> AsyncGenerator[Mapping[str, object]]:
        try:
            async for event in stream:
                if not isinstance(event, dict):
                    raise ValueError("not a JSON object")
                yield event
        except self._sdk_error as error:  # an error inside the stream
            body = getattr(error, "body", None)
            yield {"error": body if body and isinstance(body, dict) else {"type": "error"}}
        except self._frame_errors as error:
            raise ValueError("not an event stream") from error


def check_access(
    entry: ProviderSpec, environment: Mapping[str, str], *, ask_machine: bool = False
) -> str:
    """Return the region, or raise if access is missing. With `ask_machine`, ask AWS for a role."""
    if find_spec("boto3") is None:
        what = "Amazon Bedrock needs the bedrock extra (boto3)."
        raise NoProvider(what, install_hint("bedrock"))
    from botocore import exceptions, session

    bearer = environment.get(BEARER, "")
    profile = entry.profile or environment.get("AWS_PROFILE") or None
    try:
        aws = session.Session(profile=None if bearer else profile)
        if not ask_machine:
            aws.set_config_variable("metadata_service_num_attempts", 0)
        region = entry.region or environment.get("AWS_REGION")
        region = region or aws.get_config_variable("region")
        if not region:
            hint = "Set AWS_REGION or providers.bedrock.region, such as us-east-1."
            raise NoProvider("Amazon Bedrock has no region: AWS_REGION is not set.", hint)
        if not bearer and aws.get_credentials() is None:
            raise AuthenticationFailed("No AWS credentials.", entry.key_refused)
    except exceptions.BotoCoreError as error:
        what = f"The credentials for AWS cannot be read: {short(str(error))}"
        raise AuthenticationFailed(what, entry.key_refused) from error
    return str(region)
