"""Each documented ending of a reply has its meaning, on both wires and through the real SDKs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

import msgspec
import pytest
from msgspec import Struct

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.errors import ProviderError, StreamBroken
from chat_loop.events import Finished, TextDelta
from chat_loop.values import StopReason, Usage
from tests.support.providers import (
    REQUEST,
    MakeProvider,
    anthropic_at,
    calling,
    compatible_at,
    host,
    outcome_of,
)
from tests.support.refusal_texts import Link, Name

FILE = Path(__file__).with_name("endings.toml")

Meaning = Literal["complete", "length", "tools", "refusal", "failure", "pause", "unfinished"]


class Endings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Values that one service gives one field, by what they mean."""

    service: Name
    wire: Name
    field: str
    complete: tuple[str, ...] = ()
    length: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()
    pause: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    note: str = ""
    source: Link

    def meanings(self) -> Iterator[tuple[str, Meaning]]:
        """Yield each value with its meaning."""
        for meaning in get_args(Meaning):
            for value in getattr(self, meaning):
                yield value, meaning


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    ending: list[Endings]


def endings() -> list[Endings]:
    """Return the endings. Raise msgspec.ValidationError for an entry that is wrong."""
    return msgspec.toml.decode(FILE.read_bytes(), type=_File).ending


ENDINGS = sorted({ending for entry in endings() for ending in entry.meanings() if ending[0]})
"""An empty value never reaches the two wires: there it means that the reply goes on."""
STOPS: dict[Meaning, StopReason] = {
    "complete": "end",
    "tools": "end",
    "length": "length",
    "refusal": "refusal",
    "unfinished": "end",
}
MAKERS = pytest.mark.parametrize("make", [anthropic_at, compatible_at])


@MAKERS
def test_a_reply_ends_as_its_value_says(server: Loopback, make: MakeProvider) -> None:
    outcomes = []
    with calling(make(server.url)) as call:
        for value, _ in ENDINGS:
            server.enqueue(Reply(chunks=("Hi",), stop=value, usage=None))
            outcomes.append(call(REQUEST))

    for (value, meaning), (events, error) in zip(ENDINGS, outcomes, strict=True):
        if meaning in STOPS:
            assert error is None, value
            assert events == [TextDelta("Hi"), Finished(stop=STOPS[meaning])], value
        else:
            assert events == [TextDelta("Hi")], value
            assert isinstance(error, ProviderError), value
            assert value in error.message
            assert isinstance(error, StreamBroken) == (meaning == "failure"), value


@MAKERS
@pytest.mark.parametrize("value", ["shrug", "STOPPED", '{"why": 1}'])
def test_an_unknown_value_is_no_success(server: Loopback, make: MakeProvider, value: str) -> None:
    server.enqueue(Reply(chunks=("Hi",), stop=value))

    events, error = outcome_of(make(server.url))

    assert events == [TextDelta("Hi")]
    assert type(error) is ProviderError
    assert error.message == (
        f"{host(server)} ended the reply for an unknown reason ({value}). It may be incomplete."
    )


ERRORS = [
    ('{"object": "error", "message": "Engine core died.", "code": 500}', "Engine core died."),
    ('{"detail": "Slot is taken"}', "Slot is taken"),
    ('{"message": "Internal failure"}', "Internal failure"),
    ('{"error": "Runner died"}', "Runner died"),
    ('{"choices": [{"index": 0, "error": {"message": "Upstream died", "code": 502}}]}', "Upstream"),
]


@MAKERS
@pytest.mark.parametrize(("event", "message"), ERRORS)
def test_an_error_of_any_shape_ends_the_reply_with_its_message(
    server: Loopback, make: MakeProvider, event: str, message: str
) -> None:
    server.enqueue(Reply(chunks=("Half",), raw=(event,), done=True))

    events, error = outcome_of(make(server.url))

    assert events == [TextDelta("Half")]
    assert error is not None
    assert message in error.message


@MAKERS
@pytest.mark.parametrize(
    "lines",
    [
        'error: {"code": 500, "message": "Slot is unavailable"}\n\n',
        'event: error\ndata: {"code": 500, "message": "Slot is unavailable"}\n\n',
        "event: error\ndata: Slot is unavailable\n\n",
    ],
)
def test_an_error_that_is_named_by_its_line(
    server: Loopback, make: MakeProvider, lines: str
) -> None:
    server.enqueue(Reply(body=lines.encode(), headers={"content-type": "text/event-stream"}))

    events, error = outcome_of(make(server.url))

    assert events == []
    assert error is not None
    assert "Slot is unavailable" in error.message


OPENAI_REPLY = json.dumps(
    {
        "id": "1",
        "choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
)
ANTHROPIC_REPLY = json.dumps(
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
)


@pytest.mark.parametrize(
    ("make", "body"), [(compatible_at, OPENAI_REPLY), (anthropic_at, ANTHROPIC_REPLY)]
)
@pytest.mark.parametrize("before", ["", "\n \n", "\ufeff"])
def test_a_whole_reply_in_json_is_taken(
    server: Loopback, make: MakeProvider, body: str, before: str
) -> None:
    body = before + body
    server.enqueue(Reply(body=body.encode(), headers={"content-type": "application/json"}))

    end = Finished(stop="end", usage=Usage(input=3, output=2))
    assert outcome_of(make(server.url)) == ([TextDelta("Hi."), end], None)


FOREIGN = [
    (compatible_at, 'data: {"type": "message_stop"}', "Anthropic's Messages"),
    (compatible_at, 'data: {"type": "response.completed"}', "OpenAI's Responses"),
    (compatible_at, 'data: {"candidates": []}', "Gemini's own protocol"),
    (
        compatible_at,
        '{"message": {"content": "Hi"}, "done": false}\n{"message": {}, "done": true}',
        "Ollama's own protocol",
    ),
    (anthropic_at, 'data: {"choices": []}\n\ndata: [DONE]', "Chat Completions"),
]


@pytest.mark.parametrize(("make", "body", "protocol"), FOREIGN)
def test_the_events_of_another_wire_are_named(
    server: Loopback, make: MakeProvider, body: str, protocol: str
) -> None:
    headers = {"content-type": "text/event-stream"}
    server.enqueue(Reply(body=f"{body}\n\n".encode(), headers=headers))

    events, error = outcome_of(make(server.url))

    assert events == []
    assert error is not None
    assert not error.retryable
    assert error.message.startswith(f"{host(server)} answers in {protocol}, not in ")


def chunk(identity: str, text: str, stop: str | None = None) -> str:
    delta = {"role": "assistant", "content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    return json.dumps({"id": identity, "choices": [choice]})


def answer_with(server: Loopback, *events: str) -> None:
    body = "".join(f"data: {event}\n\n" for event in events)
    server.enqueue(Reply(body=body.encode(), headers={"content-type": "text/event-stream"}))


def test_a_stream_that_begins_again_keeps_the_first_words(server: Loopback) -> None:
    answer_with(server, chunk("1", "Hel"), chunk("1", "lo"), chunk("2", "Hello", "stop"), "[DONE]")
    start = '{"type": "message_start", "message": {}}'
    delta = '{"type": "content_block_delta", "index": 0, "delta": {"text": "Hello"}}'
    answer_with(server, start, delta, start, delta)

    for make in (compatible_at, anthropic_at):
        events, error = outcome_of(make(server.url))

        assert events == [TextDelta("Hello")]
        assert isinstance(error, StreamBroken)
        assert error.message == f"{host(server)} began the reply a second time."


def test_of_two_replies_in_a_stream_the_first_counts(server: Loopback) -> None:
    one = (chunk("1", "One"), chunk("1", ".", "stop"))
    two = (chunk("2", "Two"), chunk("2", ".", "stop"), "[DONE]")
    choices = [{"index": n, "delta": {"content": f"{n}"}} for n in (0, 1)]
    answer_with(server, *one, *two)
    answer_with(server, *one, "[DONE]", *two)
    answer_with(server, json.dumps({"choices": choices}), "[DONE]")

    assert [outcome_of(compatible_at(server.url))[0][0] for _ in range(3)] == [
        TextDelta("One."),
        TextDelta("One."),
        TextDelta("0"),
    ]


def test_an_id_in_each_event_is_no_second_reply(server: Loopback) -> None:
    answer_with(server, chunk("1", "a"), chunk("2", "b"), chunk("3", "c", "stop"), "[DONE]")

    assert outcome_of(compatible_at(server.url))[0][0] == TextDelta("abc")
