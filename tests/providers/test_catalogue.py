"""Every provider through its own SDK, against a server that speaks its protocol."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Failure, Loopback, Reply, failing
from benchmarks.support.loopback_wires import unmarked
from chat_loop.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    ContextTooLong,
    ModelNotFound,
    ProviderError,
    RateLimited,
    RequestRejected,
    StreamBroken,
)
from chat_loop.events import Event, Finished, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.values import Message, Request, ToolCall, ToolResult, ToolSpec, Usage
from tests.support.catalogue import ALL, SECRET, Service
from tests.support.ports import answering, closed_port
from tests.support.providers import closing, events_of, failure_of, host, outcome_of, told

TALK = Request(
    system="Be brief.",
    messages=(Message("user", "Grüße 🎉"), Message("assistant", "Hi."), Message("user", "Bye")),
    max_tokens=100,
)
TOOL = ToolSpec(
    "look", "Look it up.", {"type": "object", "properties": {"what": {"type": "string"}}}
)


@pytest.fixture(params=ALL, ids=str)
def service(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Service:
    made: Service = request.param
    made.set_up(monkeypatch, tmp_path)
    return made


def test_chat(server: Loopback, service: Service, tmp_path: Path) -> None:
    provider = service.at(server.url, tmp_path)
    events = events_of(provider, TALK)

    assert (
        "".join(event.text for event in events if isinstance(event, TextDelta)) == "You said: Bye"
    )
    [request] = server.requests
    assert (provider.name, provider.model) == (service.name, service.model)
    assert request.path.replace("%3A", ":") == service.path
    assert service.authorised(request)
    assert request.system == "Be brief."
    assert request.texts == ("Grüße 🎉", "Hi.", "Bye")
    if service.wire == "openai":
        system, *said = request.body.pop("messages")
        assert [system, *said] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Grüße 🎉"},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "Bye"},
        ]
        told = {
            "model": service.model,
            service.limit: 100,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        assert request.body == told


@pytest.mark.parametrize("split", [0, 1, 7])
def test_streaming(server: Loopback, service: Service, tmp_path: Path, split: int) -> None:
    server.enqueue(
        Reply(thinking=("Hm", "m."), chunks=("Hel", "lo", " wörld 🎉\u2028x"), split=split)
    )

    assert events_of(service.at(server.url, tmp_path), TALK)[:-1] == [
        ThinkingDelta("Hmm."),
        TextDelta("Hello wörld 🎉\u2028x"),
    ]


def test_streaming_shows_what_has_come_while_the_rest_is_waited_for(
    server: Loopback, service: Service, tmp_path: Path
) -> None:
    server.enqueue(Reply(chunks=("Hel", "lo"), stall_after=1))

    async def run() -> list[Event]:
        provider = service.at(server.url, tmp_path)
        async with closing(provider) as stream:
            events = [await anext(stream)]
            await asyncio.to_thread(server.stalled)
            server.release()
            events += [event async for event in stream]
        await provider.close()
        return events

    assert asyncio.run(run())[:2] == [TextDelta("Hel"), TextDelta("lo")]


def test_tools(server: Loopback, service: Service, tmp_path: Path) -> None:
    """Two calls come, their results go back, and the answer follows."""
    calls = (
        ToolCall("call_1", "look", '{"what": "böats"}'),
        ToolCall("call_2", "look", '{"what": "bread"}'),
    )
    server.enqueue(Reply(chunks=("I look.",), calls=calls), Reply(chunks=("Boats and bread.",)))
    provider = service.at(server.url, tmp_path)
    assert provider.calls_tools
    asked = replace(TALK, tools=(TOOL,))

    events = events_of(provider, asked)
    mine = tuple(
        ToolCall(f"c{number}", call.name, call.arguments) for number, call in enumerate(calls, 1)
    )
    results = (ToolResult("c1", "Found böats."), ToolResult("c2", "No.", failed=True))
    answered = (
        *TALK.messages,
        Message("assistant", "I look.", mine),
        Message("user", "", results=results),
    )
    final = events_of(provider, replace(asked, messages=answered))

    assert [event.call for event in events if isinstance(event, ToolCalled)] == [*calls]
    assert isinstance(events[-1], Finished)
    assert events[-1].stop == "tool"
    assert TextDelta("Boats and bread.") in final
    first, second = server.requests
    described = {"name": "look", "description": "Look it up."}
    if service.wire == "openai":
        assert first.body["tools"] == [
            {"type": "function", "function": {**described, "parameters": {**TOOL.parameters}}}
        ]
        assistant, *given = second.body["messages"][-3:]
        assert [call["function"] for call in assistant["tool_calls"]] == [
            {"name": call.name, "arguments": call.arguments} for call in calls
        ]
        assert given == [
            {"role": "tool", "tool_call_id": "0000000c1", "content": "Found böats."},
            {"role": "tool", "tool_call_id": "0000000c2", "content": "No."},
        ]
    else:
        assert first.body["tools"] == [{**described, "input_schema": {**TOOL.parameters}}]
        assert unmarked(second.body["messages"])[-1]["content"] == [
            {"type": "tool_result", "tool_use_id": "c1", "content": "Found böats."},
            {"type": "tool_result", "tool_use_id": "c2", "content": "No.", "is_error": True},
        ]


def test_usage(server: Loopback, service: Service, tmp_path: Path) -> None:
    server.enqueue(
        Reply(chunks=("Hi",), usage=Usage(input=1000, output=50, cached=700, reasoning=20))
    )

    *_, last = events_of(service.at(server.url, tmp_path), TALK)

    assert last == Finished(
        stop="end", usage=Usage(input=1000, output=50, cached=700, reasoning=20)
    )


def test_caching(server: Loopback, service: Service, tmp_path: Path) -> None:
    """The usage has the tokens read from the cache, and those written to it if the service counts
    them.

    On Anthropic's wire, marks end the parts to cache. Other services cache the beginning of a
    request without marks, so it must stay the same.
    """
    server.enqueue(
        Reply(chunks=("Hi",), usage=Usage(input=1000, output=50, cached=700), cache_written=250)
    )
    server.enqueue(
        Reply(chunks=("Hi",), usage=Usage(input=1100, output=50, cached=950), cache_written=100)
    )
    provider = service.at(server.url, tmp_path)
    longer = (*TALK.messages, Message("assistant", "Hi"), Message("user", "Still there?"))

    usages = [
        events_of(provider, request)[-1]
        for request in (replace(TALK, tools=(TOOL,)), replace(TALK, messages=longer))
    ]

    first, second = (request.body for request in server.requests)
    beginning = [unmarked(body["messages"]) for body in (first, second)]
    assert beginning[1][: len(beginning[0])] == beginning[0], (
        "what was sent once is sent again as it was"
    )
    assert [
        usage.usage.cached for usage in usages if isinstance(usage, Finished) and usage.usage
    ] == [700, 950]
    assert [
        usage.usage.written for usage in usages if isinstance(usage, Finished) and usage.usage
    ] == [250, 100]
    if service.wire == "openai":
        assert "cache_control" not in str(first)
        return
    kept = {"cache_control": {"type": "ephemeral"}}
    assert first["system"] == second["system"] == [{"type": "text", "text": "Be brief.", **kept}]
    marked = [
        number
        for number, message in enumerate(second["messages"])
        if "cache_control" in str(message)
    ]
    assert marked == [2, 4], "the end of the last request, and of this one"
    assert str(second).count("cache_control") == 3


def test_summary(server: Loopback, service: Service, tmp_path: Path) -> None:
    """The request that a compaction makes."""
    task = Request(
        system="Task: session summary\nShort.",
        messages=(
            Message("user", "Conversation:\nUser: how do I bake a rye bread at home\nUser: x"),
        ),
        max_tokens=2048,
        grammar="root ::= [a-z]",
    )

    events = events_of(service.at(server.url, tmp_path), task)

    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text.startswith(
        "**Background Context:** Initial session.\n\n**Current Session Summary:**"
    )
    assert "- how do I bake a rye" in text
    assert "grammar" not in str(server.requests[0].body)
    assert "cache_control" not in str(server.requests[0].body)


ERRORS: list[tuple[str, Reply, type[ProviderError], str]] = [
    (
        "wrong key",
        failing(401, "authentication_error", "no"),
        AuthenticationFailed,
        "HOST refused the key (401): no",
    ),
    (
        "model",
        failing(404, "not_found_error", "no x"),
        ModelNotFound,
        "HOST does not know the model or the path (404): no x",
    ),
    (
        "limit",
        failing(429, "rate_limit_error", "slow"),
        RateLimited,
        "HOST limits requests or tokens (429): slow",
    ),
    (
        "quota",
        failing(402, "billing_error", "pay"),
        RequestRejected,
        "HOST requires payment (402): pay",
    ),
    (
        "overflow",
        failing(400, "invalid_request_error", "prompt is too long: 9 > 8"),
        ContextTooLong,
        "The conversation is too long for the model (400): prompt is too long: 9 > 8",
    ),
    (
        "other",
        failing(400, "invalid_request_error", "messages: none"),
        RequestRejected,
        "HOST rejected the request (400): messages: none",
    ),
]


@pytest.mark.parametrize(
    ("answer", "kind", "message"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS]
)
def test_errors(
    server: Loopback,
    service: Service,
    tmp_path: Path,
    answer: Reply,
    kind: type[ProviderError],
    message: str,
) -> None:
    server.enqueue(answer)

    error = failure_of(service.at(server.url, tmp_path), TALK)

    assert type(error) is kind
    assert error.message == told(message, server)
    assert error.hint
    assert SECRET not in f"{error.message} {error.hint}"
    assert len(server.requests) == 1, "the provider must not retry"


def test_errors_in_the_middle_of_a_reply(
    server: Loopback, service: Service, tmp_path: Path
) -> None:
    import anthropic

    kind = "throttlingException" if service.wire == "bedrock" else "rate_limit_error"
    server.enqueue(Reply(chunks=("Hel", "lo"), error_after=1, error=Failure(kind, "slow down")))

    events, error = outcome_of(service.at(server.url, tmp_path), TALK)

    assert events == [TextDelta("Hel")]
    if service.wire == "bedrock" and anthropic.__version__.startswith("0."):
        assert type(error) is StreamBroken  # the decoder of old SDKs gives no reason
        return
    assert type(error) is RateLimited
    assert error.message == f"{host(server)} limits requests or tokens ({kind.lower()}): slow down."


def test_errors_of_the_stream_itself(server: Loopback, service: Service, tmp_path: Path) -> None:
    server.enqueue(
        Reply(chunks=("Hi", "!"), garbage_after=1, garbage="nonsense"),
        Reply(chunks=("Hi",), cut_after=1),
    )
    provider = service.at(server.url, tmp_path)

    nonsense, cut = (outcome_of(provider, TALK) for _ in range(2))

    assert [events for events, _ in (nonsense, cut)] == [[TextDelta("Hi")]] * 2
    assert [type(error) for _, error in (nonsense, cut)] == [StreamBroken] * 2


def test_errors_when_nobody_listens(service: Service, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}"

    error = failure_of(service.at(url, tmp_path), TALK)

    assert type(error) is ConnectionFailed
    assert error.message == f"Cannot reach {url.removeprefix('http://')}: connection refused."
    assert not error.retryable, "on this machine nobody will be there in a few seconds either"
    started = {
        "ollama": "Ollama",
        "lmstudio": "LM Studio",
        "llama-server": "llama-server",
        "vllm": "vLLM",
    }
    if service.name in started:
        assert (
            error.hint
            == f"Start {started[service.name]}, or set providers.{service.name}.base_url."
        )


def test_errors_of_a_server_that_speaks_no_tls(service: Service, tmp_path: Path) -> None:
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        error = failure_of(service.at(f"https://127.0.0.1:{port}", tmp_path), TALK)

    assert type(error) is ConnectionFailed
    assert error.message == (
        f"Cannot reach 127.0.0.1:{port}: it does not speak TLS; perhaps the address begins "
        "with http, not https."
    )
    assert error.hint


def test_calls_share_a_connection_and_cancelling_closes_it(
    server: Loopback, service: Service, tmp_path: Path
) -> None:
    async def run() -> None:
        provider = service.at(server.url, tmp_path)
        for _ in range(3):
            async with closing(provider, TALK) as stream:
                assert [event async for event in stream]
        assert server.connections <= 2, (
            "one for the calls, at most one for the question about the model"
        )
        server.enqueue(Reply(chunks=("Hel", "lo"), stall_after=1))
        async with closing(provider, TALK) as stream:
            assert await anext(stream) == TextDelta("Hel")
        await asyncio.to_thread(server.left, 3)
        await provider.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "service", [service for service in ALL if service.keyed], ids=str, indirect=True
)
def test_errors_without_a_key(
    server: Loopback, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in service.variables:
        if name != "AWS_REGION":
            monkeypatch.delenv(name)

    error = failure_of(service.at(server.url, tmp_path), TALK)

    assert type(error) is AuthenticationFailed
    first = (
        "AWS_BEARER_TOKEN_BEDROCK" if service.name == "bedrock" else next(iter(service.variables))
    )
    assert first in error.hint
    assert server.requests == []


def test_nothing_of_one_provider_goes_to_another(
    server: Loopback, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ALL:
        for name in other.variables:
            if name not in service.variables and name != "AWS_REGION":
                monkeypatch.setenv(name, "sk-of-another")
    if service.name not in ("anthropic", "openai"):
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: sk-of-another")
        monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Gateway: sk-of-another")
        monkeypatch.setenv("OPENAI_ORG_ID", "sk-of-another")

    events_of(service.at(server.url, tmp_path), TALK)

    assert service.authorised(server.requests[0])
    assert "sk-of-another" not in str(server.requests[0].headers)


def test_headers_of_the_config_are_sent_with_the_values_of_their_variables(
    server: Loopback, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_PASS", "sesame")
    said = {"X-Team": "blue", "X-Pass": "open ${TEAM_PASS}"}
    with_headers = replace(service, setting=replace(service.setting, headers=said))

    events_of(with_headers.at(server.url, tmp_path), TALK)

    headers = server.requests[0].headers
    assert (headers["x-team"], headers["x-pass"]) == ("blue", "open sesame")
    assert service.authorised(server.requests[0])

    monkeypatch.delenv("TEAM_PASS")
    error = failure_of(with_headers.at(server.url, tmp_path), TALK)
    assert error.message == "The environment variable TEAM_PASS is not set."
    assert len(server.requests) == 1, "without the header that was wanted nothing is sent"
