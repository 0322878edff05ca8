"""Responses that real services sent; tests/golden/wire/ has them with their sources."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply
from chat_loop import errors
from chat_loop.events import Event, Finished, OpaqueArrived, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.values import ToolCall, ToolSpec, Usage
from tests.support.catalogue import ALL
from tests.support.providers import REQUEST, events_of, failure_of, host

FILE = Path(__file__).parents[1] / "golden" / "wire" / "responses.toml"
RESPONSES: dict[str, dict[str, Any]] = {
    response["name"]: response for response in tomllib.loads(FILE.read_text("utf-8"))["response"]
}
TOOL = ToolSpec("look", "Look it up.", {"type": "object", "properties": {}})
SERVICES = {service.name: service for service in ALL}

pytestmark = pytest.mark.usefixtures("services")

REPLIES: dict[str, list[Event]] = {
    "a tool call of Claude": [
        TextDelta("Let me look."),
        ToolCalled(ToolCall("toolu_01", "look", '{"place": "Turku"}')),
        Finished(stop="tool", usage=Usage(input=377, output=65)),
    ],
    "a reply of GPT that reaches its limit": [
        TextDelta("Once"),
        Finished(stop="length", usage=Usage(input=17, output=1)),
    ],
    "a tool call of Gemini, without an index": [
        OpaqueArrived('{"calls": [{"google": {"thought_signature": "AbCd=="}}]}'),
        ToolCalled(ToolCall("jm4owj31", "look", '{"place":"Turku"}')),
        Finished(stop="tool", usage=Usage(input=66, output=16)),
    ],
    "reasoning of a model in Ollama": [
        ThinkingDelta("Short."),
        TextDelta("Hello."),
        Finished(stop="end", usage=Usage(input=292, output=67)),
    ],
}

FAILURES: dict[str, tuple[type[errors.ProviderError], float | None, str]] = {
    "a wrong key for Anthropic": (errors.AuthenticationFailed, None, "Set ANTHROPIC_API_KEY"),
    "a rate limit of Anthropic": (
        errors.RateLimited,
        37,
        "Wait 37 s, then send the message again.",
    ),
    "an overloaded Anthropic": (errors.Overloaded, None, ""),
    "a wrong key for OpenAI": (errors.AuthenticationFailed, None, "Set OPENAI_API_KEY"),
    "a rate limit of OpenAI": (errors.RateLimited, 27, "Wait 27 s, then send the message again."),
    "an empty account at OpenAI": (errors.RequestRejected, None, "Check the plan and billing"),
    "a wrong key for Gemini": (errors.AuthenticationFailed, None, "Set GEMINI_API_KEY"),
    "a model that Ollama does not have": (errors.ModelNotFound, None, ""),
}
"""The results: the error, the pause that the service asks for, and the beginning of the hint."""

WINDOWS: dict[str, int | None] = {
    "a prompt that is too long for Claude": 200_000,
    "a conversation that is too long for GPT": 128_000,
    "a conversation that is too long for Gemini": 1_048_576,
    "a conversation that is too long for Grok": 500_000,
    "a conversation that is too long for Groq": None,
    "a conversation that is too long for llama-server": 8_192,
}


def recorded(name: str) -> Reply:
    response = RESPONSES[name]
    return Reply(
        status=response.get("status", 200),
        headers=response.get("headers", {}),
        body=response["body"].lstrip().encode(),
    )


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply(server: Loopback, tmp_path: Path, name: str) -> None:
    server.enqueue(recorded(name))
    provider = SERVICES[RESPONSES[name]["service"]].at(server.url, tmp_path)
    assert events_of(provider, replace(REQUEST, tools=(TOOL,))) == REPLIES[name]


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure(server: Loopback, tmp_path: Path, name: str) -> None:
    error, pause, hint = FAILURES[name]
    server.enqueue(recorded(name))
    failure = failure_of(SERVICES[RESPONSES[name]["service"]].at(server.url, tmp_path))
    assert type(failure) is error
    assert failure.retry_after == pause
    assert failure.hint.startswith(hint)
    assert host(server) in failure.message


@pytest.mark.parametrize("name", WINDOWS)
def test_a_conversation_that_is_too_long(server: Loopback, tmp_path: Path, name: str) -> None:
    server.enqueue(recorded(name))
    failure = failure_of(SERVICES[RESPONSES[name]["service"]].at(server.url, tmp_path))
    assert isinstance(failure, errors.ContextTooLong)
    assert failure.window == WINDOWS[name]
