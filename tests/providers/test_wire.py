"""Rules for both wires, such as broken streams, odd counts and sizes without bounds."""

from __future__ import annotations

import gzip
import json
from functools import partial

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.errors import (
    ConnectionFailed,
    Overloaded,
    ProviderError,
    RequestRejected,
    StreamBroken,
)
from chat_loop.events import Finished, TextDelta
from chat_loop.providers.stream import LARGEST_EVENT
from chat_loop.values import Usage
from tests.support.providers import (
    MakeProvider,
    events_of,
    failure_of,
    host,
    openai_at,
    outcome_of,
)

reply = partial(Reply, usage=Usage(input=3, output=2))
DONE = Finished(stop="end", usage=Usage(input=3, output=2))


@pytest.mark.parametrize(
    ("chunks", "kind"), [((), ConnectionFailed), (("Hi",), StreamBroken)], ids=["nothing", "text"]
)
def test_a_stream_that_ends_without_saying_why(
    server: Loopback, provider_at: MakeProvider, chunks: tuple[str, ...], kind: type[ProviderError]
) -> None:
    server.enqueue(reply(chunks=chunks, stop=None, done=False))

    events, error = outcome_of(provider_at(server.url))

    assert events == [TextDelta(chunk) for chunk in chunks]
    assert type(error) is kind
    assert error.message == f"{host(server)} ended the stream before the reply was complete."


def test_a_connection_cut_after_the_stop_reason_is_no_failure(
    server: Loopback, provider_at: MakeProvider
) -> None:
    server.enqueue(reply(chunks=("Hi",), done=False, cut_at_end=True))

    assert events_of(provider_at(server.url)) == [TextDelta("Hi"), DONE]


@pytest.mark.parametrize("garbage", ["[1]", "nonsense"])
@pytest.mark.parametrize(("after", "kind"), [(0, ConnectionFailed), (1, StreamBroken)])
def test_events_that_are_no_json_objects(
    server: Loopback, provider_at: MakeProvider, garbage: str, after: int, kind: type[ProviderError]
) -> None:
    server.enqueue(reply(chunks=("Hi", "!"), garbage_after=after, garbage=garbage))

    events, error = outcome_of(provider_at(server.url))

    assert events == [TextDelta("Hi")][:after]
    assert type(error) is kind
    assert error.message == f"{host(server)} sent something that is not the expected stream."


@pytest.mark.parametrize(
    ("head", "named"),
    [(b"", ""), (b"<html><head><title>Hotel\nWi-Fi</title></head>", " (“Hotel Wi-Fi”)")],
)
def test_a_page_instead_of_a_stream(
    server: Loopback, provider_at: MakeProvider, head: bytes, named: str
) -> None:
    headers = {"content-type": "text/html; charset=utf-8"}
    server.enqueue(Reply(body=head + b"x" * 100_000, headers=headers))

    error = failure_of(provider_at(server.url))

    assert type(error) is RequestRejected
    what = f"{host(server)} answered with text/html{named} instead of a stream."
    assert error.message.startswith(f"{what} The address was {server.url}/v1/")
    assert error.hint == "Check the provider's address; a login page or a proxy may answer for it."


@pytest.mark.parametrize("indent", [None, 1])
def test_an_error_that_counts_as_a_success(
    server: Loopback, provider_at: MakeProvider, indent: int | None
) -> None:
    body = json.dumps({"error": {"message": "The model is not loaded."}}, indent=indent).encode()
    server.enqueue(Reply(body=body, headers={"content-type": "application/json"}))

    error = failure_of(provider_at(server.url))

    assert type(error) is Overloaded
    assert error.message == f"{host(server)} failed (error): The model is not loaded."


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_is_not_followed(
    server: Loopback, provider_at: MakeProvider, status: int
) -> None:
    with Loopback() as other:
        target = f"{other.url}/v1/messages"
        server.enqueue(Reply(status=status, headers={"location": target}, body=b""))

        error = failure_of(provider_at(server.url))

        assert type(error) is RequestRejected
        assert (
            error.message
            == f"{host(server)} redirects to {target}, which is not followed ({status})."
        )
        assert other.requests == []


NINES = "9" * 4000


COUNTS = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
)


def counting(number: str) -> Reply:
    """Return a reply whose usage contains `number` literally, on either wire."""
    return reporting("{" + ", ".join(f'"{name}": {number}' for name in COUNTS) + "}")


def reporting(usage: str) -> Reply:
    """Return a reply with the JSON text `usage`, on either wire."""
    choice = '{"index": 0, "delta": {}, "finish_reason": "stop"}'
    end = '{"stop_reason": "end_turn"}'
    raw = (
        f'{{"choices": [{choice}], "usage": {usage}}}',
        f'{{"type": "message_delta", "delta": {end}, "usage": {usage}}}',
    )
    return Reply(chunks=("Hi.",), usage=None, raw=raw)


@pytest.mark.parametrize(
    "number", [NINES, "-5", "true", "1e999", "1000000001", '"7"', "[1]", "7.5"]
)
def test_a_number_that_is_no_count_counts_as_nothing(
    server: Loopback, provider_at: MakeProvider, number: str
) -> None:
    server.enqueue(counting(number))

    *text, last = events_of(provider_at(server.url))

    assert text == [TextDelta("Hi.")]
    assert last == Finished(stop="end", usage=Usage())


def test_a_line_that_never_ends_is_given_up(server: Loopback, provider_at: MakeProvider) -> None:
    server.enqueue(Reply(chunks=(), raw=("x" * (9 << 20),), split=1 << 16))

    error = failure_of(provider_at(server.url))

    assert isinstance(error, RequestRejected), "asking again would bring it again"
    assert error.message == f"{host(server)} sent more than 8 MB in one event."
    assert error.hint


def test_a_line_within_the_limit_is_read(server: Loopback) -> None:
    text = "y" * (LARGEST_EVENT - 4096)
    server.enqueue(Reply(chunks=(text,), split=4096))

    assert events_of(openai_at(server.url))[0] == TextDelta(text)


@pytest.mark.parametrize("filling", [b"x" * 4096, b"\n" * 4096])
def test_a_bomb_is_given_up(
    server: Loopback, filling: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat_loop.providers.stream.LARGEST_BODY", 1 << 20)
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    server.enqueue(Reply(body=gzip.compress(b"data: " + filling * 512, 1), headers=headers))

    error = failure_of(openai_at(server.url))

    assert isinstance(error, RequestRejected)
    assert error.message == f"{host(server)} sent more than 1 MB in one reply."


@pytest.mark.parametrize("coding", ["br", "gzip, gzip"])
def test_a_coding_that_was_not_requested_is_not_unpacked(
    server: Loopback, provider_at: MakeProvider, coding: str
) -> None:
    server.enqueue(Reply(body=b"\x00" * 9, headers={"content-encoding": coding}))

    error = failure_of(provider_at(server.url))

    told = f"{host(server)} sent an answer packed as {coding}, which was not requested."
    assert (type(error), error.message) == (RequestRejected, told)


@pytest.mark.parametrize("status", [400, 500])
def test_a_refusal_of_any_size_is_a_sentence(
    server: Loopback, provider_at: MakeProvider, status: int
) -> None:
    body = gzip.compress(b"x " * (2 << 20), 1)
    server.enqueue(Reply(status=status, body=body, headers={"content-encoding": "gzip"}))

    error = failure_of(provider_at(server.url))

    assert isinstance(error, ProviderError)
    assert len(error.message) < 400
