"""The OpenAI and Anthropic SDKs against a server on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.errors import (
    AuthenticationFailed,
)
from chat_loop.events import Finished, TextDelta, ThinkingDelta
from chat_loop.providers.anthropic import AnthropicProvider
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.values import Message, Request, Usage, Window
from tests.support.catalogue import bearer_of
from tests.support.providers import (
    REQUEST,
    anthropic_at,
    compatible_at,
    entry,
    events_of,
    failure_of,
    openai_at,
)

FULL = Request(
    system="Be brief.",
    messages=(Message("user", "Grüße 🎉\n"), Message("assistant", "Hi."), Message("user", "Bye")),
    max_tokens=100,
    grammar="root ::= [a-z]",
)
FULL_MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Grüße 🎉\n"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": "Bye"},
]


def test_the_whole_request_to_openai(server: Loopback) -> None:
    events_of(openai_at(server.url), FULL)
    events_of(openai_at(server.url), Request(system="", messages=REQUEST.messages))

    full, least = server.requests
    assert full.path == least.path == "/v1/chat/completions"
    assert full.headers["authorization"] == "Bearer sk-test"
    assert full.body == {
        "model": "gpt-4o",
        "messages": FULL_MESSAGES,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 100,
    }
    assert least.body == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_whole_request_to_a_compatible_server(server: Loopback) -> None:
    events_of(compatible_at(server.url), FULL)

    assert server.requests[0].body == {
        "model": "qwen3",
        "messages": FULL_MESSAGES,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
    }


def test_key_and_address_from_the_environment(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")

    events_of(OpenAIProvider("gpt-4o", entry("openai"), window=Window(1)))

    assert server.requests[0].headers["authorization"] == "Bearer sk-env"


@pytest.mark.parametrize(
    ("key", "sent"), [(None, "Bearer none"), ("", "Bearer none"), ("local", "Bearer local")]
)
def test_nothing_of_openai_s_environment_goes_to_a_compatible_server(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, key: str | None, sent: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Gateway-Key: secret\nAuthorization: Bearer secret"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")

    events_of(compatible_at(server.url, key))

    headers = server.requests[0].headers
    assert headers["authorization"] == sent
    assert "secret" not in str(headers)


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "OPENAI_ADMIN_KEY"])
def test_no_key(server: Loopback, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """An admin key alone satisfies the SDK's constructor, but no model call."""
    monkeypatch.setenv(variable, "" if variable == "OPENAI_API_KEY" else "admin")

    error = failure_of(openai_at(server.url, key=None))

    assert type(error) is AuthenticationFailed
    assert (error.message, error.hint) == (
        "No key for OpenAI.",
        "Set OPENAI_API_KEY to a valid key.",
    )
    assert server.requests == []


@pytest.mark.parametrize(
    ("wire", "stop"),
    [
        ("stop", "end"),
        ("eos", "end"),
        ("length", "length"),
        ("content_filter", "refusal"),
    ],
)
def test_why_a_reply_ended(server: Loopback, wire: str, stop: str) -> None:
    server.enqueue(Reply(chunks=("Hi",), stop=wire))

    *_, last = events_of(openai_at(server.url))

    assert isinstance(last, Finished)
    assert last.stop == stop


def test_a_refusal_is_text_and_the_reason_of_the_end(server: Loopback) -> None:
    refusal = '{"choices": [{"index": 0, "delta": {"refusal": "I must not."}}]}'
    server.enqueue(Reply(garbage_after=0, garbage=refusal, usage=None))

    assert events_of(openai_at(server.url)) == [TextDelta("I must not."), Finished(stop="refusal")]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(chunks=("Hi",), stop=None, usage=None),
        Reply(chunks=("Hi",), done=False, usage=None),
        Reply(chunks=("Hi",), garbage_after=1, garbage='{"choices": null}', usage=None),
        Reply(
            chunks=("Hi",),
            garbage_after=1,
            garbage='{"choices": [{"delta": {"content": null}}]}',
            usage=None,
        ),
        Reply(
            chunks=("Hi",),
            garbage_after=1,
            garbage='{"choices": [3, {"delta": null}], "usage": null}',
            usage=None,
        ),
    ],
    ids=["no reason", "no mark", "no choices", "null content", "odd choices"],
)
def test_what_servers_leave_out_is_no_failure(server: Loopback, reply: Reply) -> None:
    server.enqueue(reply)

    assert events_of(compatible_at(server.url)) == [TextDelta("Hi"), Finished(stop="end")]


def test_a_server_of_this_machine_may_load_its_model_first() -> None:
    local = OpenAIProvider("m", entry("ollama", "http://127.0.0.1/v1"), window=Window(1))

    assert (local.name, local.model, local.window, local.first_event_seconds) == (
        "ollama",
        "m",
        Window(1),
        600.0,
    )
    assert OpenAIProvider("m", entry("openai"), window=Window(1)).first_event_seconds == 120.0


KEPT = {"cache_control": {"type": "ephemeral"}}


"""What marks the end of what the service is to keep."""


def test_the_whole_request(server: Loopback) -> None:
    request = Request(
        system="Be brief.",
        messages=(
            Message("user", "Grüße 🎉\n"),
            Message("assistant", "Hi."),
            Message("user", "Bye"),
        ),
        max_tokens=100,
    )
    server.enqueue(Reply(chunks=("x",)), Reply(chunks=("x",)))

    events_of(anthropic_at(server.url, model="claude-3-haiku"), request)
    events_of(anthropic_at(server.url), REQUEST)

    full, least = server.requests
    assert full.path == least.path == "/v1/messages"
    assert full.body == {
        "model": "claude-3-haiku",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief.", **KEPT}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Grüße 🎉\n", **KEPT}]},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": [{"type": "text", "text": "Bye", **KEPT}]},
        ],
        "stream": True,
    }
    assert least.body == {
        "model": "claude-test",
        "max_tokens": 32_000,
        "system": [{"type": "text", "text": "Be brief.", **KEPT}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello", **KEPT}]}],
        "stream": True,
    }


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


def test_the_key_of_the_argument_counts_before_the_environment(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-env")

    events_of(anthropic_at(server.url))

    assert bearer_of(server.requests[0].headers) == "Bearer sk-test"
    assert "sk-env" not in str(server.requests[0].headers)
    assert "token-env" not in str(server.requests[0].headers)


def test_events_of_a_reply_with_thinking(server: Loopback) -> None:
    server.enqueue(
        Reply(
            thinking=("Hm", "m."),
            chunks=("Hel", "lo", " wörld 🎉"),
            usage=Usage(input=1000, output=50, cached=700, reasoning=20),
            cache_written=250,
        )
    )

    assert events_of(anthropic_at(server.url)) == [
        ThinkingDelta("Hmm."),
        TextDelta("Hello wörld 🎉"),
        Finished(
            stop="end", usage=Usage(input=1000, output=50, cached=700, written=250, reasoning=20)
        ),
    ]


def test_a_server_that_tells_no_usage(server: Loopback) -> None:
    server.enqueue(Reply(chunks=("Hi",), usage=None))

    assert events_of(anthropic_at(server.url)) == [TextDelta("Hi"), Finished(stop="end")]


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


@pytest.mark.parametrize(
    ("wire", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("pause_turn", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
    ],
)
def test_why_a_reply_of_anthropic_ended(server: Loopback, wire: str, stop: str) -> None:
    server.enqueue(Reply(chunks=("Hi",), stop=wire))

    *_, last = events_of(anthropic_at(server.url))

    assert isinstance(last, Finished)
    assert last.stop == stop
