"""Every provider of the catalogue at a server on this machine: its settings, and the form of its
requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import Struct, field

from benchmarks.support.loopback import Received
from chat_loop.config import Config, ProviderConfig
from chat_loop.providers import Provider
from chat_loop.providers.choose import Machine, create
from tests.support.providers import clear_environment

SECRET = "sk-the-secret-key"
ACCESS = "AKIAEXAMPLEEXAMPLE00"


def bearer_of(headers: Mapping[str, str]) -> str:
    """Return the key that was sent; anthropic below 1 sends it as `x-api-key`."""
    return headers.get("authorization") or f"Bearer {headers.get('x-api-key', '')}"


class Service(Struct, frozen=True, kw_only=True):
    """A provider, as the tests set it up."""

    name: str
    model: str
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables to set."""
    base: str = "/v1"
    """The path of its base URL."""
    path: str = "/v1/chat/completions"
    """The path that its requests go to."""
    setting: ProviderConfig = field(default_factory=ProviderConfig)
    header: str = f"Bearer {SECRET}"
    """The header that authorizes a request; "" if the request is signed instead."""
    limit: str = "max_tokens"
    wire: str = "openai"

    def __str__(self) -> str:
        return self.name

    @property
    def keyed(self) -> bool:
        return SECRET in self.variables.values() or ACCESS in self.variables.values()

    def set_up(self, patch: pytest.MonkeyPatch, home: Path) -> None:
        clear_environment(patch, home)
        for name, value in self.variables.items():
            patch.setenv(name, value)

    def at(self, url: str, home: Path) -> Provider:
        """Return the provider with its server at `url`, as the program makes it from a model
        reference and a config.
        """
        import os

        from msgspec.structs import replace

        config = Config(providers={self.name: replace(self.setting, base_url=f"{url}{self.base}")})
        around = Machine(environment=os.environ, models=home / "models", servers=())
        return create(f"{self.name}:{self.model}", config, around)

    def authorised(self, request: Received) -> bool:
        """Return True when a request carries the key where the service expects it."""
        sent = bearer_of(request.headers)
        if self.header:
            return sent == self.header
        signed = f"AWS4-HMAC-SHA256 Credential={ACCESS}/"
        return (
            sent.startswith(signed)
            and "/eu-central-1/bedrock/aws4_request" in sent
            and "x-amz-date" in request.headers
        )


KEYED = {
    "gemini": ("GEMINI_API_KEY", "gemini-flash-latest", "/v1beta/openai"),
    "grok": ("XAI_API_KEY", "grok-4.3", "/v1"),
    "mistral": ("MISTRAL_API_KEY", "mistral-medium-latest", "/v1"),
    "deepseek": ("DEEPSEEK_API_KEY", "deepseek-v4-flash", "/v1"),
    "groq": ("GROQ_API_KEY", "openai/gpt-oss-120b", "/openai/v1"),
    "openrouter": ("OPENROUTER_API_KEY", "openrouter/auto", "/api/v1"),
}
CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
COMPLETIONS = "max_completion_tokens"

ANTHROPIC = Service(
    name="anthropic",
    model="claude-sonnet-5-5",
    variables={"ANTHROPIC_API_KEY": SECRET},
    base="",
    path="/v1/messages",
    wire="anthropic",
)
BEDROCK = Service(
    name="bedrock",
    model=CLAUDE,
    variables={
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "eu-central-1",
    },
    base="",
    path=f"/model/{CLAUDE}/invoke-with-response-stream",
    header="",
    wire="bedrock",
)
AZURE = Service(
    name="azure",
    model="our-gpt",
    variables={"AZURE_OPENAI_API_KEY": SECRET},
    base="",
    path="/openai/v1/chat/completions",
    limit=COMPLETIONS,
)
OPENAI = Service(
    name="openai", model="gpt-4o", variables={"OPENAI_API_KEY": SECRET}, limit=COMPLETIONS
)
OTHERS = tuple(
    Service(
        name=name,
        model=model,
        variables={variable: SECRET},
        base=base,
        path=f"{base}/chat/completions",
        limit=COMPLETIONS if name == "groq" else "max_tokens",
    )
    for name, (variable, model, base) in KEYED.items()
)
KEYLESS = tuple(
    Service(name=name, model="qwen3:8b", header="Bearer none", setting=ProviderConfig(tools=True))
    for name in ("ollama", "lmstudio", "llama-server", "vllm", "compatible", "office")
)
"""`office` is a name that the user chose."""

ALL = (ANTHROPIC, OPENAI, *OTHERS, AZURE, BEDROCK, *KEYLESS)
