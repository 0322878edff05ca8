"""The OpenAI and Anthropic SDKs against a server on this machine."""

from __future__ import annotations

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.errors import AuthenticationFailed
from chat_loop.events import Finished, TextDelta
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.values import Message, Request, Window
from tests.support.providers import compatible_at, entry, events_of, failure_of, openai_at

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


def test_the_whole_request_for_a_summary(server: Loopback) -> None:
    events_of(openai_at(server.url), FULL)

    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-test"
    assert request.body == {
        "model": "gpt-4o",
        "messages": FULL_MESSAGES,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 100,
    }


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
