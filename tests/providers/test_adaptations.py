"""What a server refuses is left out for a while: narrowly, told once, and tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Failure, Loopback, Reply, failing
from chat_loop.events import Finished, TextDelta, Warned
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.providers.wire import WireProvider
from chat_loop.values import Message, Request, ToolCall, ToolResult, ToolSpec, Window
from tests.support.providers import (
    anthropic_at,
    ask_through,
    entry,
    events_of,
    failure_of,
    openai_at,
    outcome_of,
)
from tests.support.scripted_chat import Talk

TOOL = ToolSpec("search", "Search.", {"type": "object"})
ASK = Request(system="Be brief.", messages=(Message("user", "Hello"),), tools=(TOOL,))
AFTER_A_CALL = Request(
    system="Be brief.",
    messages=(
        Message("user", "Hello"),
        Message("assistant", "", calls=(ToolCall("c1", "search", "{}"),)),
        Message("user", "", results=(ToolResult("c1", "Nothing."),)),
    ),
    tools=(TOOL,),
)
NO_TOOLS = failing(400, "invalid_request_error", "qwen3 does not support tools")
NO_SYSTEM = failing(400, "BadRequestError", "System role not supported")
NO_NULL = failing(400, "x", "Invalid value for 'content': expected a string, got null.")
HI = Reply(chunks=("Hi",), usage=None)
ANSWER = [TextDelta("Hi"), Finished(stop="end")]


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def provider_at(url: str, clock: Clock) -> OpenAIProvider:
    at = entry("compatible", f"{url}/v1", tools=True)
    return OpenAIProvider("qwen3", at, window=Window(8_192), clock=clock)


def bodies(server: Loopback) -> list[Any]:
    return [request.body for request in server.requests]


def test_tools_come_back_after_ten_minutes_and_the_user_is_told_once(server: Loopback) -> None:
    server.enqueue(NO_TOOLS, HI, HI, NO_TOOLS, HI)
    clock = Clock()
    provider = provider_at(server.url, clock)

    told, *answer = ask_through(provider, ASK)
    assert isinstance(told, Warned)
    assert "no tools for ten minutes" in told.message
    assert answer == ANSWER
    clock.seconds = 599.0
    assert not provider.calls_tools
    assert ask_through(provider, ASK) == ANSWER
    clock.seconds = 601.0
    assert provider.calls_tools
    assert ask_through(provider, ASK) == ANSWER, "nothing is told again"
    assert ["tools" in body for body in bodies(server)] == [True, False, False, True, False]


def test_a_reply_that_has_begun_is_not_begun_again(server: Loopback) -> None:
    refusal = Failure("invalid_request_error", "qwen3 does not support tools")
    broken = Reply(chunks=("Hi",), error_after=1, error=refusal)
    server.enqueue(NO_TOOLS, HI, broken, HI)
    clock = Clock()
    provider = provider_at(server.url, clock)
    ask_through(provider, ASK)
    clock.seconds = 601.0
    events, error = outcome_of(provider, ASK)
    assert events == [TextDelta("Hi")]
    assert error is not None
    assert "does not support tools" in error.message
    assert len(server.requests) == 3


def test_the_next_session_offers_tools_again(tmp_path: Path, server: Loopback) -> None:
    server.enqueue(failing(500, "invalid_request_error", "qwen3 does not support tools"))
    provider = provider_at(server.url, Clock())
    failure_of(provider, ASK)
    assert not provider.calls_tools

    talk = Talk(tmp_path)
    asyncio.run(talk.conversation.switch(provider))
    assert not provider.calls_tools, "the session goes on"
    asyncio.run(talk.conversation.leave("clear"))
    assert provider.calls_tools


@pytest.mark.parametrize(
    "said",
    [
        "Unexpected role 'user' after role 'tool'",
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        "Tool call validation failed: parameters for tool search did not match schema",
        "Invalid 'tools': array too long. Expected an array with maximum length 128.",
    ],
)
def test_a_refusal_about_something_else_costs_no_tools(server: Loopback, said: str) -> None:
    server.enqueue(failing(400, "invalid_request_error", said), HI)
    provider = provider_at(server.url, Clock())

    error = failure_of(provider, ASK)

    assert said in error.message
    assert not error.retryable
    assert provider.calls_tools
    assert events_of(provider, ASK) == ANSWER
    assert [len(body["tools"]) for body in bodies(server)] == [1, 1]


def test_instructions_go_into_the_first_message_of_a_server_without_a_system_role(
    server: Loopback,
) -> None:
    server.enqueue(NO_SYSTEM, HI)

    told, *answer = ask_through(provider_at(server.url, Clock()), ASK)

    assert isinstance(told, Warned)
    assert answer == ANSWER
    first, second = (body["messages"] for body in bodies(server))
    assert [message["role"] for message in first] == ["system", "user"]
    assert second == [{"role": "user", "content": "Be brief.\n\nHello"}]


def test_an_empty_text_stands_beside_calls_where_null_is_refused(server: Loopback) -> None:
    server.enqueue(NO_NULL, HI)

    told, *answer = ask_through(provider_at(server.url, Clock()), AFTER_A_CALL)

    assert isinstance(told, Warned)
    assert answer == ANSWER
    contents = [body["messages"][2]["content"] for body in bodies(server)]
    assert contents == [None, ""]


@pytest.mark.parametrize("make", [openai_at, anthropic_at])
def test_a_choice_that_a_server_does_not_know_is_left_out(
    server: Loopback, make: Callable[[str], WireProvider]
) -> None:
    unknown = failing(400, "invalid_request_error", "Unknown parameter: 'tool_choice'.")
    server.enqueue(unknown, HI, HI)
    provider = make(server.url)
    silent = replace(ASK, takes_calls=False)
    told = failure_of(provider, silent)
    assert "tool_choice is left out for ten minutes" in told.message
    for _ in range(2):
        assert ask_through(provider, silent)[0] == TextDelta("Hi")
    assert [("tools" in body, "tool_choice" in body) for body in bodies(server)] == [
        (True, True),
        (True, False),
        (True, False),
    ]


def test_a_server_without_a_system_role_gets_no_message_twice(server: Loopback) -> None:
    server.enqueue(NO_SYSTEM, HI)
    begins_with_a_reply = replace(
        ASK, messages=(Message("assistant", "Welcome."), Message("user", "Hello"))
    )

    ask_through(provider_at(server.url, Clock()), begins_with_a_reply)

    contents = [message["content"] for message in bodies(server)[1]["messages"]]
    assert contents == ["Be brief.", "Welcome.", "Hello"]
