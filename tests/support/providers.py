"""Calls of a provider in a test: one event loop per call, everything closed afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback
from chat_loop.agent.ask import CallLimits, ask
from chat_loop.config import ProviderConfig
from chat_loop.errors import ProviderError
from chat_loop.events import Arriving, Event, TextDelta, ThinkingDelta
from chat_loop.providers import Provider
from chat_loop.providers.anthropic import AnthropicProvider
from chat_loop.providers.catalogue import CATALOGUE, LOCAL_SERVERS, ProviderSpec, entry_of
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.providers.wire import WireProvider
from chat_loop.values import Message, Request, Window

REQUEST = Request(system="Be brief.", messages=(Message("user", "Hello"),))

FOREIGN_ENVIRONMENT = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE",
    "ANTHROPIC_CONFIG_DIR",
    "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "OPENAI_CUSTOM_HEADERS", "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID", "OPENAI_API_VERSION", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_ENDPOINT",
    "AZURE_OPENAI_API_VERSION", "GEMINI_API_KEY", "GOOGLE_API_KEY", "XAI_API_KEY", "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY", "GROQ_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_API_KEY", "VLLM_API_KEY", "COMPATIBLE_API_KEY",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE",
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "ANTHROPIC_BEDROCK_BASE_URL",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
    "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""Variables that may be set on the machine that runs the tests and would reach the SDKs."""


def clear_environment(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Remove the SDKs' variables; let credentials on disk be looked up under `home`."""
    for name in FOREIGN_ENVIRONMENT:
        patch.delenv(name, raising=False)
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    patch.setenv("HOME", str(home))
    patch.setenv("USERPROFILE", str(home))
    patch.setenv("APPDATA", str(home))
    for name in LOCAL_SERVERS:
        patch.setitem(CATALOGUE, name, CATALOGUE[name])


def listening(ports: Mapping[str, int]) -> list[str]:
    """Let the local servers use these ports by default, until the end of the test."""
    for name, port in ports.items():
        CATALOGUE[name] = replace(CATALOGUE[name], base_url=f"http://127.0.0.1:{port}/v1")
    return [*ports]


MakeProvider = Callable[..., WireProvider]
"""A function of the address of a server, a key and the name of a model."""


def entry(name: str, url: str = "", *, tools: bool | None = None) -> ProviderSpec:
    """Return a provider of the catalogue, or another one, with a given address."""
    return entry_of(name, {name: ProviderConfig(base_url=url, tools=tools)})


def anthropic_at(
    url: str, key: str | None = "sk-test", model: str = "claude-test"
) -> AnthropicProvider:
    return AnthropicProvider(model, entry("anthropic", url), window=Window(200_000), api_key=key)


def openai_at(url: str, key: str | None = "sk-test", model: str = "gpt-4o") -> OpenAIProvider:
    at = entry("openai", url and f"{url}/v1")
    return OpenAIProvider(model, at, window=Window(128_000), api_key=key)


def compatible_at(url: str, key: str | None = None, model: str = "qwen3") -> OpenAIProvider:
    at = entry("compatible", url and f"{url}/v1")
    return OpenAIProvider(model, at, window=Window(8_192), api_key=key)


def host(server: Loopback) -> str:
    """Return the server's name in error messages."""
    return server.url.removeprefix("http://")


def told(message: str, server: Loopback) -> str:
    """Return the whole message of an error. HOST stands for the server, and a message without a
    final period gets one.
    """
    return message.replace("HOST", host(server)) + ("" if message[-1] in ".!?" else ".")


def events_of(provider: Provider, request: Request = REQUEST) -> list[Event]:
    """Return all events of one call."""
    events, error = outcome_of(provider, request)
    if error is not None:
        raise error
    return events


def failure_of(provider: Provider, request: Request = REQUEST) -> ProviderError:
    """Return the error of a call that yields nothing before the error."""
    events, error = outcome_of(provider, request)
    assert events == []
    assert error is not None, "the call did not fail"
    return error


def outcome_of(
    provider: Provider, request: Request = REQUEST
) -> tuple[list[Event], ProviderError | None]:
    """Return the events of one call and the error that ended it. `joined` merges the deltas."""
    with calling(provider) as call:
        return call(request)


Call = Callable[[Request], tuple[list[Event], ProviderError | None]]


@contextmanager
def calling(provider: Provider) -> Iterator[Call]:
    """Yield a function that makes a call and returns what `outcome_of` does. The calls share the
    provider's client, which is closed at the end of the block.
    """
    with asyncio.Runner() as runner:

        def call(request: Request) -> tuple[list[Event], ProviderError | None]:
            events, error = runner.run(_outcome(provider, request))
            return joined(events), error

        try:
            yield call
        finally:
            runner.run(provider.close())


def ask_through(provider: WireProvider, request: Request) -> list[Event]:
    """Return the events of a call that is tried again once, with a Retrying before it."""

    async def collect() -> list[Event]:
        events = [event async for event in ask(provider, request, CallLimits(attempts=2))]
        await provider.close()
        return events

    return asyncio.run(collect())


def joined(events: Iterable[Event]) -> list[Event]:
    """Merge neighboring deltas of one kind, and leave out signs of life: how the text is split, and
    whether a sign of life comes in between, depends on timing.
    """
    told: list[Event] = []
    for event in events:
        if isinstance(event, Arriving):
            continue
        last = told[-1] if told else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            told[-1] = TextDelta(last.text + event.text)
        elif isinstance(event, ThinkingDelta) and isinstance(last, ThinkingDelta):
            told[-1] = ThinkingDelta(last.text + event.text)
        else:
            told.append(event)
    return told


async def _outcome(
    provider: Provider, request: Request
) -> tuple[list[Event], ProviderError | None]:
    events: list[Event] = []
    try:
        async with closing(provider, request) as stream:
            async for event in stream:
                events.append(event)
    except ProviderError as error:
        return events, error
    return events, None


async def words(stream: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
    """Yield the events of a call without signs of life, whose number depends on timing."""
    async for event in stream:
        if not isinstance(event, Arriving):
            yield event


def closing(provider: Provider, request: Request = REQUEST) -> aclosing[AsyncGenerator[Event]]:
    """Return a call that is canceled when the block ends."""
    return aclosing(cast(AsyncGenerator[Event], provider.stream(request)))
