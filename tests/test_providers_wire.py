"""What holds for every provider over HTTP: how streams break, what may be asked again.

Each test runs against the Messages API and against Chat Completions, as OpenAI's and as a
compatible server's.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply, failing
from chat_loop.errors import (
    ConnectionFailed,
    Overloaded,
    ProviderError,
    RequestRejected,
    StreamBroken,
)
from chat_loop.events import Finished, TextDelta, ThinkingDelta
from chat_loop.values import Message, Request, Usage
from tests.support.providers import (
    MakeProvider,
    anthropic_at,
    clear_environment,
    compatible_at,
    events_of,
    failure_of,
    host,
    openai_at,
    outcome_of,
    told,
)

AGAIN = "Wait a little, then send the query again."

reply = partial(Reply, usage=Usage(input=3, output=2))
DONE = Finished(stop="end", usage=Usage(input=3, output=2))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clear_environment(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


@pytest.fixture(params=[anthropic_at, openai_at, compatible_at])
def provider_at(request: pytest.FixtureRequest) -> MakeProvider:
    make: MakeProvider = request.param
    return make


def test_a_failing_server_may_be_asked_again(server: Loopback, provider_at: MakeProvider) -> None:
    server.enqueue(failing(503))

    error = failure_of(provider_at(server.url))

    assert type(error) is Overloaded
    assert error.message == told("HOST is overloaded (503): It did not work.", server)
    assert error.retryable
    assert len(server.requests) == 1, "the provider must not retry"


def test_surrogates_are_sent_as_what_they_mean(server: Loopback, provider_at: MakeProvider) -> None:
    events_of(
        provider_at(server.url),
        Request(system="", messages=(Message("user", "a\ud83c\udf89b\udc80c"),)),
    )

    assert server.requests[0].query == "a🎉b\ufffdc"


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_characters_may_be_split_between_writes(
    server: Loopback, provider_at: MakeProvider, size: int
) -> None:
    server.enqueue(reply(chunks=("é🎉\u2028x", "日本"), split=size))

    assert events_of(provider_at(server.url)) == [
        TextDelta("é🎉\u2028x"),
        TextDelta("日本"),
        DONE,
    ]


def test_retry_after_as_a_date(server: Loopback, provider_at: MakeProvider) -> None:
    then = datetime.now(UTC) + timedelta(minutes=10)
    past = datetime.now(UTC) - timedelta(minutes=10)
    server.enqueue(
        *(failing(429, retry_after=format_datetime(date, usegmt=True)) for date in (then, past))
    )

    later, now = failure_of(provider_at(server.url)), failure_of(provider_at(server.url))

    assert later.retry_after is not None
    assert 500 < later.retry_after <= 600
    assert now.retry_after == 0.0


def test_a_connection_cut_in_the_middle(server: Loopback, provider_at: MakeProvider) -> None:
    server.enqueue(reply(chunks=("Hel", "lo", "!"), cut_after=2))

    events, error = outcome_of(provider_at(server.url))

    assert events == [TextDelta("Hel"), TextDelta("lo")]
    assert type(error) is StreamBroken
    assert error.message == f"The connection to {host(server)} ended in the middle of the reply."
    assert error.hint == "Send the query again."


def test_a_connection_cut_after_thinking_has_started_the_reply(
    server: Loopback, provider_at: MakeProvider
) -> None:
    server.enqueue(reply(thinking=("Hm",), chunks=("Hi",), cut_after=1))

    events, error = outcome_of(provider_at(server.url))

    assert events == [ThinkingDelta("Hm")]
    assert type(error) is StreamBroken


def test_a_connection_cut_before_any_content(server: Loopback, provider_at: MakeProvider) -> None:
    server.enqueue(reply(chunks=("Hi",), cut_after=0))

    error = failure_of(provider_at(server.url))

    assert type(error) is ConnectionFailed
    assert error.message == f"{host(server)} closed the connection before it answered."
    assert error.hint == f"Check the network, or the server at {host(server)}."


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


def test_a_missing_end_mark_after_the_stop_reason_is_no_failure(
    server: Loopback, provider_at: MakeProvider
) -> None:
    server.enqueue(reply(chunks=("Hi",), done=False, stop="length"))

    assert events_of(provider_at(server.url))[-1] == Finished(
        stop="length", usage=Usage(input=3, output=2)
    )


def test_a_connection_cut_after_the_stop_reason_is_no_failure(
    server: Loopback, provider_at: MakeProvider
) -> None:
    server.enqueue(reply(chunks=("Hi",), done=False, cut_at_end=True))

    assert events_of(provider_at(server.url)) == [TextDelta("Hi"), DONE]


@pytest.mark.parametrize("garbage", ['{"type": ', "[1]", "null", "nonsense"])
@pytest.mark.parametrize(("after", "kind"), [(0, ConnectionFailed), (1, StreamBroken)])
def test_events_that_are_no_json_objects(
    server: Loopback, provider_at: MakeProvider, garbage: str, after: int, kind: type[ProviderError]
) -> None:
    server.enqueue(reply(chunks=("Hi", "!"), garbage_after=after, garbage=garbage))

    events, error = outcome_of(provider_at(server.url))

    assert events == [TextDelta("Hi")][:after]
    assert type(error) is kind
    assert error.message == f"{host(server)} sent something that is not the expected stream."


def test_a_page_instead_of_a_stream(server: Loopback, provider_at: MakeProvider) -> None:
    page = Reply(body=b"<html>Sign in</html>", headers={"content-type": "text/html; charset=utf-8"})
    server.enqueue(page)

    error = failure_of(provider_at(server.url))

    assert type(error) is RequestRejected
    assert error.message == f"{host(server)} answered with text/html instead of a stream."
    assert error.hint == "Check the provider's address; a login page or a proxy may answer for it."


def test_the_server_holds_a_conversation_without_a_script(
    server: Loopback, provider_at: MakeProvider
) -> None:
    task = Request(
        system="Task: session summary\nShort.",
        messages=(
            Message("user", "Conversation:\nUser: how do I bake a rye bread at home\nUser: x"),
        ),
    )

    echo = events_of(
        provider_at(server.url),
        Request(system="Be brief.", messages=(Message("user", "a b" * 40),)),
    )
    summary = events_of(provider_at(server.url), task)

    assert (
        "".join(event.text for event in echo if isinstance(event, TextDelta))
        == "You said: " + ("a b" * 40)[:60]
    )
    assert echo[-1] == Finished(stop="end", usage=Usage(input=43, output=23))
    assert "".join(event.text for event in summary if isinstance(event, TextDelta)) == (
        "**Background Context:** Initial session.\n\n**Current Session Summary:**\n**Topics "
        "Discussed:**\n"
        "- how do I bake a rye\n\n**Decisions Made:**\n- none\n\n**Pending:**\n- none\n"
    )
