"""The Anthropic SDK against a server on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.errors import AuthenticationFailed
from chat_loop.events import Finished, TextDelta
from chat_loop.providers.anthropic import AnthropicProvider
from chat_loop.values import Message, Request, Usage, Window
from tests.support.catalogue import bearer_of
from tests.support.providers import REQUEST, anthropic_at, entry, events_of, failure_of

KEPT = {"cache_control": {"type": "ephemeral"}}


"""The mark at the end of the part of a request that the service is to cache."""


def test_a_summary_is_asked_for_once_and_not_kept(server: Loopback) -> None:
    events_of(anthropic_at(server.url), replace(REQUEST, grammar="root ::= [a-z]"))

    assert server.requests[0].body == {
        "model": "claude-test",
        "max_tokens": 32_000,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
    }


def test_an_empty_system_prompt_is_left_out(server: Loopback) -> None:
    events_of(
        anthropic_at(server.url, model="claude-opus-4-7"),
        Request(system="", messages=(Message("user", "Hello"),)),
    )

    assert server.requests[0].body == {
        "model": "claude-opus-4-7",
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello", **KEPT}]}],
        "stream": True,
    }


@pytest.mark.parametrize(
    "garbage", ["{}", '{"type": 3}', '{"type": "content_block_delta", "delta": {"text": 5}}']
)
def test_events_of_unknown_form_are_passed_over(server: Loopback, garbage: str) -> None:
    server.enqueue(Reply(chunks=("Hi",), garbage_after=0, garbage=garbage))

    assert events_of(anthropic_at(server.url)) == [
        TextDelta("Hi"),
        Finished(stop="end", usage=Usage(output=1)),
    ]


def test_credentials_that_cannot_be_read(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path / "none"))

    error = failure_of(anthropic_at(server.url, key=None))

    assert type(error) is AuthenticationFailed
    assert error.message.startswith("The credentials cannot be read: Config file not found")


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({"ANTHROPIC_API_KEY": "sk-env"}, "Bearer sk-env"),
        ({"ANTHROPIC_AUTH_TOKEN": "token-env"}, "Bearer token-env"),
        ({"ANTHROPIC_API_KEY": "sk-env", "ANTHROPIC_AUTH_TOKEN": "token-env"}, "Bearer sk-env"),
        ({"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "token-env"}, "Bearer token-env"),
    ],
)
def test_the_key_of_anthropic_and_its_address_from_the_environment(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], sent: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)

    events_of(AnthropicProvider("claude-test", entry("anthropic"), window=Window(1)))

    assert bearer_of(server.requests[0].headers) == sent
