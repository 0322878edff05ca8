"""Azure OpenAI: OpenAI's models as deployments of the user's own
(https://learn.microsoft.com/azure/ai-services/openai/reference).

The model of a reference is the name of the deployment. Endpoint and version of the API come from
the config, else from AZURE_OPENAI_ENDPOINT and OPENAI_API_VERSION; the key from
AZURE_OPENAI_API_KEY, or a token from AZURE_OPENAI_AD_TOKEN. An endpoint that ends in /openai/v1 is
that of the API without versions, where the deployment stands in the body.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chat_loop.errors import NoProvider
from chat_loop.providers.capabilities import NOTHING, Capabilities
from chat_loop.providers.catalogue import Entry
from chat_loop.providers.openai import CUSTOM_HEADERS, OpenAIProvider
from chat_loop.providers.wire import withheld
from chat_loop.values import Window

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from openai import AsyncOpenAI, Omit

ENDPOINT = "AZURE_OPENAI_ENDPOINT"
VERSIONS = ("OPENAI_API_VERSION", "AZURE_OPENAI_API_VERSION")
TOKEN = "AZURE_OPENAI_AD_TOKEN"
VERSIONLESS = "/openai/v1"


def endpoint_of(entry: Entry, environment: Mapping[str, str]) -> str:
    """The resource's address. Raises `NoProvider`."""
    endpoint = entry.base_url or environment.get(ENDPOINT, "")
    if not endpoint:
        raise NoProvider(
            f"Azure OpenAI has no endpoint: {ENDPOINT} is not set.",
            f"Set {ENDPOINT} or providers.azure.base_url, as https://NAME.openai.azure.com.",
        )
    return endpoint


def version_of(entry: Entry, environment: Mapping[str, str]) -> str:
    """The version of the API, "" for an endpoint that has none. Raises `NoProvider`."""
    if endpoint_of(entry, environment).rstrip("/").endswith(VERSIONLESS):
        return ""
    version = entry.api_version or next(
        (value for name in VERSIONS if (value := environment.get(name, ""))), ""
    )
    if not version:
        raise NoProvider(
            f"Azure OpenAI has no API version: {VERSIONS[0]} is not set.",
            f"Set {VERSIONS[0]} or providers.azure.api_version, such as 2024-10-21.",
        )
    return version


class AzureProvider(OpenAIProvider):
    """A deployment of an Azure OpenAI resource."""

    def __init__(
        self,
        model: str,
        *,
        window: Window,
        entry: Entry,
        calls_tools: bool = True,
        images: bool | None = None,
    ) -> None:
        super().__init__(
            model,
            name=entry.name,
            window=window,
            calls_tools=calls_tools,
            entry=entry,
            images=images,
        )

    @property
    def _model_hint(self) -> str:
        return "The model is the name of a deployment of yours; --model azure:DEPLOYMENT."

    def _client(self, http: AsyncClient) -> AsyncOpenAI:
        import openai

        endpoint, version = endpoint_of(self.entry, os.environ), version_of(self.entry, os.environ)
        token = os.environ.get(TOKEN, "") if TOKEN in self.entry.keys else ""
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

    async def _ask_about(self, client: AsyncOpenAI) -> Capabilities | None:
        return NOTHING  # it lists models, not deployments

    def _headers(self, client: AsyncOpenAI, omit: Omit) -> Mapping[str, str | Omit]:
        return {**withheld(CUSTOM_HEADERS, omit), **self.entry.sent_headers(os.environ)}
