"""The providers of the catalogue: where each sends what, and the rules that hold on three wires."""

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
    ProviderError,
    RateLimited,
    StreamBroken,
)
from chat_loop.events import Finished, TextDelta
from chat_loop.values import Message, Request, Usage
from tests.support.catalogue import ALL, ANTHROPIC, BEDROCK, OPENAI, SECRET, Service
from tests.support.ports import answering, closed_port
from tests.support.providers import closing, events_of, failure_of, host, outcome_of, told, words

TALK = Request(
    system="Be brief.",
    messages=(Message("user", "Grüße 🎉"), Message("assistant", "Hi."), Message("user", "Bye")),
    max_tokens=100,
)


@pytest.fixture(params=ALL, ids=str)
def service(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Service:
    made: Service = request.param
    made.set_up(monkeypatch, tmp_path)
    return made


each_wire = pytest.mark.parametrize("service", [ANTHROPIC, OPENAI, BEDROCK], ids=str, indirect=True)


def test_where_a_request_goes_and_what_it_carries(
    server: Loopback, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its path, key and model; and nothing that the environment has for other providers."""
    for other in ALL:
        for name in other.variables:
            if name not in service.variables and name != "AWS_REGION":
                monkeypatch.setenv(name, "sk-of-another")
    if service.name not in ("anthropic", "openai"):
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: sk-of-another")
        monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Gateway: sk-of-another")
        monkeypatch.setenv("OPENAI_ORG_ID", "sk-of-another")
    provider = service.at(server.url, tmp_path)

    text, *_ = events_of(provider, TALK)

    assert text == TextDelta("You said: Bye")
    assert (provider.name, provider.model) == (service.name, service.model)
    assert provider.calls_tools
    [request] = server.requests
    assert request.path.replace("%3A", ":") == service.path
    assert service.authorised(request)
    assert "sk-of-another" not in str(request.headers)
    said = [
        {"role": "user", "content": "Grüße 🎉"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Bye"},
    ]
    body = request.body | {"messages": unmarked(request.body["messages"])}
    if service.wire == "openai":
        assert body == {
            "model": service.model,
            "messages": [{"role": "system", "content": "Be brief."}, *said],
            service.limit: 100,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    else:
        assert (request.system, body["messages"]) == ("Be brief.", said)
        assert body["max_tokens"] == 100


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
    variable, *_ = service.variables
    assert ("AWS_BEARER_TOKEN_BEDROCK" if service is BEDROCK else variable) in error.hint
    assert server.requests == []


STARTED = {
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
    "llama-server": "llama-server",
    "vllm": "vLLM",
}


@pytest.mark.parametrize(
    "service",
    [service for service in ALL if service.name in ("anthropic", "bedrock", *STARTED)],
    ids=str,
    indirect=True,
)
def test_errors_when_nobody_listens(service: Service, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}"

    error = failure_of(service.at(url, tmp_path), TALK)

    assert type(error) is ConnectionFailed
    assert error.message == f"Cannot reach {url.removeprefix('http://')}: connection refused."
    assert not error.retryable, "on this machine nobody will be there in a few seconds either"
    if service.name in STARTED:
        title = STARTED[service.name]
        assert error.hint == f"Start {title}, or set providers.{service.name}.base_url."


# Rules that hold on each wire; Bedrock has its own frames, and its SDK changes the requests


ERRORS: list[tuple[Reply, type[ProviderError], str]] = [
    (
        failing(401, "authentication_error", "no"),
        AuthenticationFailed,
        "HOST refused the key (401): no",
    ),
    (
        failing(400, "invalid_request_error", "prompt is too long: 9 > 8"),
        ContextTooLong,
        "The conversation is too long for the model (400): prompt is too long: 9 > 8",
    ),
]


@each_wire
def test_errors(server: Loopback, service: Service, tmp_path: Path) -> None:
    provider = service.at(server.url, tmp_path)
    for number, (answer, kind, message) in enumerate(ERRORS, 1):
        server.enqueue(answer)

        error = failure_of(provider, TALK)

        assert (type(error), error.message) == (kind, told(message, server))
        assert error.hint
        assert SECRET not in f"{error.message} {error.hint}"
        assert len(server.requests) == number, "the provider must not retry"


@each_wire
def test_errors_in_the_middle_of_a_reply(
    server: Loopback, service: Service, tmp_path: Path
) -> None:
    import anthropic

    kind = "throttlingException" if service is BEDROCK else "rate_limit_error"
    server.enqueue(
        Reply(chunks=("Hel", "lo"), error_after=1, error=Failure(kind, "slow down")),
        Reply(chunks=("Hi", "!"), garbage_after=1, garbage="nonsense"),
        Reply(chunks=("Hi",), cut_after=1),
    )
    provider = service.at(server.url, tmp_path)

    refused, nonsense, cut = (outcome_of(provider, TALK) for _ in range(3))

    assert [nonsense[0], cut[0]] == [[TextDelta("Hi")]] * 2
    assert [type(error) for _, error in (nonsense, cut)] == [StreamBroken] * 2
    events, error = refused
    assert events == [TextDelta("Hel")]
    if service is BEDROCK and anthropic.__version__.startswith("0."):
        assert type(error) is StreamBroken  # the decoder of old SDKs gives no reason
        return
    assert type(error) is RateLimited
    assert error.message == f"{host(server)} limits requests or tokens ({kind.lower()}): slow down."


@each_wire
def test_errors_of_a_server_that_speaks_no_tls(service: Service, tmp_path: Path) -> None:
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        error = failure_of(service.at(f"https://127.0.0.1:{port}", tmp_path), TALK)

    assert type(error) is ConnectionFailed
    assert error.message == (
        f"Cannot reach 127.0.0.1:{port}: it does not speak TLS; perhaps the address begins "
        "with http, not https."
    )
    assert error.hint


@each_wire
async def test_calls_share_a_connection_and_cancelling_closes_it(
    server: Loopback, service: Service, tmp_path: Path
) -> None:
    provider = service.at(server.url, tmp_path)
    for _ in range(3):
        async with closing(provider, TALK) as stream:
            assert [event async for event in stream]
    assert server.connections <= 2, (
        "one for the calls, at most one for the question about the model"
    )
    server.enqueue(Reply(chunks=("Hel", "lo"), stall_after=1))
    async with closing(provider, TALK) as stream:
        assert await anext(words(stream)) == TextDelta("Hel")
    await asyncio.to_thread(server.left, 3)
    await provider.close()


@each_wire
def test_usage_with_what_the_cache_gave_and_took(
    server: Loopback, service: Service, tmp_path: Path
) -> None:
    usage = Usage(input=1000, output=50, cached=700, reasoning=20)
    server.enqueue(Reply(chunks=("Hi",), usage=usage, cache_written=250))

    *_, last = events_of(service.at(server.url, tmp_path), TALK)

    assert last == Finished(stop="end", usage=replace(usage, written=250))


@each_wire
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
