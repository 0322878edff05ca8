"""Tool calls on both wires: tools, calls and results in requests, and calls in replies."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.loopback import Failure, Loopback, Reply, failing
from chat_loop.agent.ask import CallLimits, ask
from chat_loop.errors import ConnectionFailed, Overloaded, ProviderError, StreamBroken
from chat_loop.events import (
    Event,
    Finished,
    OpaqueArrived,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    Warned,
)
from chat_loop.providers.local import LocalProvider
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.providers.scripted import EchoProvider
from chat_loop.providers.wire import WireProvider
from chat_loop.values import Message, Request, ToolCall, ToolResult, ToolSpec, Usage, Window
from tests.support.providers import (
    REQUEST,
    MakeProvider,
    anthropic_at,
    calling,
    entry,
    events_of,
    failure_of,
    openai_at,
    outcome_of,
)

SEARCH = ToolSpec(
    "archive_search",
    "Search what was said before.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
READ = ToolSpec(
    "session_archive_read",
    "Read it.",
    {"type": "object", "properties": {"ref": {"type": "string"}}},
)
USAGE = Usage(input=30, output=20)
ASK = Request(system="Be brief.", messages=(Message("user", "Hello"),), tools=(SEARCH, READ))
FIND = ToolCall("toolu_1", "archive_search", '{"query": "böats 🎉"}')
TELL = ToolCall("toolu_2", "session_archive_read", '{"ref": "2.14"}')


def compatible_with_tools(url: str) -> OpenAIProvider:
    return OpenAIProvider(
        "qwen3", entry("compatible", f"{url}/v1", tools=True), window=Window(8_192)
    )


def calls_of(events: list[Event]) -> list[ToolCall]:
    return [event.call for event in events if isinstance(event, ToolCalled)]


def test_who_calls_tools(tmp_path: Path) -> None:
    def compatible(*, calls_tools: bool) -> WireProvider:
        return OpenAIProvider(
            "m", entry("ollama", "http://x/v1", tools=calls_tools), window=Window(1)
        )

    assert anthropic_at("http://x").calls_tools
    assert openai_at("http://x").calls_tools
    assert [compatible(calls_tools=said).calls_tools for said in (True, False)] == [True, False]
    assert not OpenAIProvider("m", entry("compatible", "http://x/v1"), window=Window(1)).calls_tools
    assert not EchoProvider().calls_tools
    assert not LocalProvider(tmp_path / "m.gguf", "m", Window(1)).calls_tools


@pytest.mark.parametrize(
    "model", ["gpt-5.6-terra", "o1-mini", "o1-preview-2024-09-12", "chatgpt-4o-latest"]
)
def test_models_of_openai_without_tools(model: str) -> None:
    assert not openai_at("http://x", model=model).calls_tools


NO_TOOLS = (
    "Function tools with reasoning_effort are not supported for gpt-4o in /v1/chat/completions."
)


BAD_TOOLS = Request(
    system="",
    messages=(Message("user", "Hi"),),
    tools=tuple(ToolSpec(f"tool_{n}", "", {}) for n in range(8)),
)


@pytest.mark.parametrize(
    "refusal", ["Invalid schema for function 'tool_{}': no.", "tools.{}.custom.input_schema: bad"]
)
def test_a_refused_schema_costs_its_tool_and_no_other(
    server: Loopback, provider_at: MakeProvider, refusal: str
) -> None:
    bad, left = ["tool_1", "tool_2", "tool_3", "tool_4", "tool_5", "tool_6"], list(range(8))
    for name in bad:
        place = int(name[-1]) if "tool_" in refusal else left.index(int(name[-1]))
        left.remove(int(name[-1]))
        server.enqueue(failing(400, "invalid_request_error", refusal.format(place)))
    server.enqueue(Reply(chunks=("Hi",), usage=None))
    provider = provider_at(server.url)

    async def ask_all() -> list[Event]:
        events = [event async for event in ask(provider, BAD_TOOLS, CallLimits(attempts=2))]
        await provider.close()
        return events

    *again, text, _ = asyncio.run(ask_all())
    assert text == TextDelta("Hi")
    assert [
        name in one.message for one, name in zip(again, bad, strict=True) if isinstance(one, Warned)
    ] == [True] * 6
    sent = [
        tool.get("name") or tool["function"]["name"] for tool in server.requests[-1].body["tools"]
    ]
    assert sent == ["tool_0", "tool_7"]
    assert provider.calls_tools


def test_a_refused_schema_of_an_unnamed_tool_is_told_and_costs_no_tool(server: Loopback) -> None:
    server.enqueue(failing(400, "invalid_request_error", "A tool has an invalid schema."))
    provider = openai_at(server.url)
    assert "invalid schema" in failure_of(provider, BAD_TOOLS).message
    assert provider.calls_tools


@pytest.mark.parametrize(
    ("refusal", "request_"),
    [
        (failing(400, message="Unknown parameter."), ASK),
        (failing(400, message=NO_TOOLS), REQUEST),
        (failing(401, message="No key, no tools."), ASK),
        (
            failing(
                400, message="This model's maximum context length is 9; messages and tools took 10."
            ),
            ASK,
        ),
    ],
)
def test_other_refusals_change_nothing(server: Loopback, refusal: Reply, request_: Request) -> None:
    server.enqueue(refusal)
    provider = openai_at(server.url)

    assert not failure_of(provider, request_).retryable
    assert provider.calls_tools


def test_a_request_is_json_in_utf_8_which_carries_no_lone_surrogates(
    server: Loopback, provider_at: MakeProvider
) -> None:
    call = ToolCall("c1", "archive\ud800search", '{"query": "\ud83c"')
    messages = (
        Message("user", "é🎉\u2028 \ud83c"),
        Message("assistant", "", calls=(call,)),
        Message("user", "", results=(ToolResult("c1", "a\ud83c\udf89b\udc80c"),)),
    )

    events_of(provider_at(server.url), Request(system="", messages=messages, tools=(SEARCH,)))

    [request] = server.requests
    assert request.headers["content-type"] == "application/json"
    body = json.dumps(request.body, ensure_ascii=False)
    assert "é🎉\u2028 \N{REPLACEMENT CHARACTER}" in body
    assert "archive_search" in body
    assert "a🎉b\N{REPLACEMENT CHARACTER}c" in body


@pytest.mark.parametrize("split", [0, 1])
def test_calls_after_thinking_and_text(
    server: Loopback, provider_at: MakeProvider, split: int
) -> None:
    server.enqueue(
        Reply(
            thinking=("Hm",), chunks=("I ", "look."), calls=(FIND, TELL), usage=USAGE, split=split
        )
    )

    events = events_of(provider_at(server.url), ASK)
    shown = [event for event in events if not isinstance(event, OpaqueArrived)]
    assert shown == [
        ThinkingDelta("Hm"),
        TextDelta("I look."),
        ToolCalled(FIND),
        ToolCalled(TELL),
        Finished(stop="tool", usage=USAGE),
    ]


ODD_ARGUMENTS = ("", "{}", '{"query": "b', "words", "[1, 2]", '{"a": 1e999}', "\u2028\x00")
ODD_CALLS = [
    *(ToolCall("x", "f", text) for text in ODD_ARGUMENTS),
    ToolCall("", "f", "{}"),
    ToolCall("x", "", "{}"),
    ToolCall("x" * 10_000, "\x1b[2J" * 1_000, "{}"),
]


def test_a_call_is_passed_on_as_it_came(server: Loopback, provider_at: MakeProvider) -> None:
    with calling(provider_at(server.url)) as call:
        for odd in ODD_CALLS:
            server.enqueue(Reply(calls=(odd,), usage=None))
            assert call(ASK) == ([ToolCalled(odd), Finished(stop="tool")], None)


def test_calls_count_whatever_the_end_is_called(
    server: Loopback, provider_at: MakeProvider
) -> None:
    with calling(provider_at(server.url)) as call:
        for stop in ("stop", "end_turn", "tool_use", "tool_calls", "function_call"):
            server.enqueue(Reply(calls=(FIND,), stop=stop, usage=None))
            assert call(ASK) == ([ToolCalled(FIND), Finished(stop="tool")], None), stop


@pytest.mark.parametrize("stop", ["length", "refusal"])
def test_calls_of_a_reply_that_was_cut_off_are_dropped(
    server: Loopback, provider_at: MakeProvider, stop: str
) -> None:
    server.enqueue(Reply(chunks=("I look.",), calls=(FIND,), stop=stop, usage=None))

    events = events_of(provider_at(server.url), ASK)

    assert [type(event) for event in events] == [TextDelta, Finished]
    assert events[-1] == Finished(stop=stop)  # type: ignore[arg-type]


def test_calls_that_nobody_asked_for_are_dropped(
    server: Loopback, provider_at: MakeProvider
) -> None:
    server.enqueue(Reply(chunks=("Hi",), calls=(FIND,), usage=None))

    assert events_of(provider_at(server.url), REQUEST) == [TextDelta("Hi"), Finished(stop="end")]
    assert "tools" not in server.requests[0].body


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize(
    ("point", "silent", "begun"),
    [
        ("cut_after", ConnectionFailed, StreamBroken),
        ("error_after", Overloaded, Overloaded),
        ("garbage_after", ConnectionFailed, StreamBroken),
    ],
)
def test_a_stream_that_breaks_in_or_after_a_call_yields_none(
    server: Loopback,
    provider_at: MakeProvider,
    after: int,
    point: str,
    silent: type[ProviderError],
    begun: type[ProviderError],
) -> None:
    def broken(*chunks: str) -> Reply:
        where: dict[str, Any] = {point: len(chunks) + after}
        return Reply(chunks=chunks, calls=(FIND,), error=Failure("api_error", "oops"), **where)

    server.enqueue(broken(), broken("I look."))

    events, error = outcome_of(provider_at(server.url), ASK)
    assert (events, type(error)) == ([], silent)
    assert error is not None
    assert error.retryable, "nothing was shown, and nothing ran"
    events, error = outcome_of(provider_at(server.url), ASK)
    assert (events, type(error)) == ([TextDelta("I look.")], begun)


def pieces(*deltas: object) -> tuple[str, ...]:
    """Chunks on OpenAI's wire, each with one of `deltas` as its `tool_calls`."""
    return tuple(
        json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": delta}}]}) for delta in deltas
    )


def piece(
    name: str | None = None,
    arguments: object = None,
    *,
    index: object = None,
    identity: str | None = None,
) -> dict[str, object]:
    function = {
        key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None
    }
    more = {key: value for key, value in (("index", index), ("id", identity)) if value is not None}
    return {**more, "function": function}


@pytest.mark.parametrize(
    ("raw", "calls"),
    [
        (pieces([piece("f", '{"a"', index=0, identity="x")], [piece(None, ":1}", index=0)]), [("x", "f", '{"a":1}')]),
        (pieces([piece("f", '{"a":1}', identity="x"), piece("g", "{}", identity="y")]),
         [("x", "f", '{"a":1}'), ("y", "g", "{}")]),
        (pieces([piece("f", '{"a":1}', index=0, identity="x")], [piece("f", '{"b":2}', index=0, identity="y")]),
         [("x", "f", '{"a":1}'), ("y", "f", '{"b":2}')]),
        (pieces([piece("f", '{"a":1}', index=0)], [piece("f", '{"b":2}', index=0)]),
         [("", "f", '{"a":1}'), ("", "f", '{"b":2}')]),
        (pieces([piece("f", '{"a":1}'), piece("f", '{"b":2}')]), [("", "f", '{"a":1}'), ("", "f", '{"b":2}')]),
        (pieces([piece("f", "", index=0, identity="x")], [piece("f", '{"b":2}', index=0, identity="y")]),
         [("x", "f", ""), ("y", "f", '{"b":2}')]),
        (pieces([piece("f"), piece("g")]), [("", "f", ""), ("", "g", "")]),
        (pieces([piece("f", '{"a"', index=0)], [piece("f", ":1}", index=0)]), [("", "f", '{"a":1}')]),
        (pieces([piece("f", '{"a"', identity="x")], [piece("f", ":1}", identity="x")]), [("x", "f", '{"a":1}')]),
        (pieces([piece("f", '{"a"')], [piece(None, ":1}", index=0)]), [("", "f", '{"a":1}')]),
        (pieces([piece("f", '{"a"', index=3)], [piece(None, ":1}")]), [("", "f", '{"a":1}')]),
        (pieces([piece("f", "{}", index=7)], [piece("g", "{}", index=-2)]), [("", "f", "{}"), ("", "g", "{}")]),
        (pieces([piece("f", index=0)], [piece(None, "{}", index=0, identity="late")]), [("late", "f", "{}")]),
        (pieces([piece(None, "{", index=0)], [piece("f", "}", index=0)]), [("", "f", "{}")]),
        (pieces([piece("f", {"a": "é"}, index=0)]), [("", "f", '{"a": "é"}')]),
        (pieces([piece(None, '{"a":1}', index=0, identity="x")]), [("x", "", '{"a":1}')]),
        (pieces([piece("", "", index=0, identity=""), piece()], "x", None, [3, None, {}], [{"function": []}]), []),
        (pieces([piece("f", 3, index="0", identity="x")], [piece(None, "{}", index=[0])]), [("x", "f", "{}")]),
    ],
    ids=["by the book", "no index", "index 0 for all", "index 0 and no id", "neither", "index 0 and no arguments",
         "neither, nor arguments", "name repeated", "name and id repeated", "late index", "lost index", "odd indexes",
         "late id", "late name", "an object", "no name", "nothing", "odd types"],
)  # fmt: skip
def test_what_servers_make_of_calls(
    server: Loopback, raw: tuple[str, ...], calls: list[tuple[str, str, str]]
) -> None:
    server.enqueue(Reply(raw=raw, stop="stop", usage=None))

    events = events_of(compatible_with_tools(server.url), ASK)

    assert calls_of(events) == [ToolCall(*call) for call in calls]
    assert events[-1] == Finished(stop="tool" if calls else "end")


def block(index: object, **content: object) -> str:
    return json.dumps({"type": "content_block_start", "index": index, "content_block": content})


def delta(index: object, text: object) -> str:
    given = {"type": "input_json_delta", "partial_json": text}
    return json.dumps({"type": "content_block_delta", "index": index, "delta": given})


@pytest.mark.parametrize(
    ("raw", "calls"),
    [
        ((block(0, type="tool_use", id="x", name="f", input={"a": 1}),), [("x", "f", '{"a": 1}')]),
        (
            (block(0, type="tool_use", id="x", name="f", input=None), delta(0, "{}")),
            [("x", "f", "{}")],
        ),
        (
            (
                block(0, type="tool_use", id="x", name="f"),
                block(0, type="tool_use", id="y", name="g"),
                delta(0, "{}"),
            ),
            [("x", "f", ""), ("y", "g", "{}")],
        ),
        (
            (
                block(0, type="server_tool_use", id="x", name="f"),
                block(1, type=["tool_use"]),
                block(2),
            ),
            [],
        ),
    ],
    ids=[
        "whole",
        "null input",
        "an index twice",
        "other blocks",
    ],
)
def test_what_can_be_odd_on_the_wire_of_anthropic(
    server: Loopback, raw: tuple[str, ...], calls: list[tuple[str, str, str]]
) -> None:
    server.enqueue(Reply(raw=raw, stop="end", usage=None))

    events = events_of(anthropic_at(server.url), ASK)

    assert calls_of(events) == [ToolCall(*call) for call in calls]
    assert events[-1] == Finished(stop="tool" if calls else "end")


def test_an_event_that_is_nested_without_end_breaks_the_stream(
    server: Loopback, provider_at: MakeProvider
) -> None:
    server.enqueue(Reply(raw=('{"a":' + "[" * 200_000,)))

    events, error = outcome_of(provider_at(server.url), ASK)

    assert (events, type(error)) == ([], ConnectionFailed)


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ('{"a": [1, 2.5, null, true, "é🎉"]}', {"a": [1, 2.5, None, True, "é🎉"]}),
        ('{"a": "\\ud83c\\udf89"}', {"a": "🎉"}),
        ('{"a": "\\ud83c"}', None),
        ('{"a": NaN}', None),
        ('{"a": ' + "9" * 5000 + "}", None),
        ('{"a": 1', None),
        ("[]", None),
        (nested(32), json.loads(nested(32))),
        (nested(33), None),
        ("[" * 200_000, None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_arguments_that_are_no_object_are_sent_back_in_one(
    server: Loopback, text: str, value: dict[str, object] | None
) -> None:
    call = ToolCall("c1", "f", text)
    messages = (
        Message("user", "Hello"),
        Message("assistant", "", calls=(call,)),
        Message("user", "", results=(ToolResult("c1", "Yes."),)),
    )
    request = Request(system="", messages=messages, tools=(SEARCH,))

    events_of(anthropic_at(server.url), request)
    events_of(openai_at(server.url), request)

    anthropic, openai = (request.body["messages"][1] for request in server.requests)
    [block] = anthropic["content"]
    assert block["input"] == ({"INVALID_JSON": text} if value is None else value)
    sent = openai["tool_calls"][0]["function"]["arguments"]
    assert sent == json.dumps({"INVALID_JSON": text}) if value is None else sent.strip()


def test_every_wire_takes_the_name_of_a_tool(server: Loopback, provider_at: MakeProvider) -> None:
    @given(st.lists(st.text(), min_size=1))
    def check(names: list[str]) -> None:
        calls = tuple(ToolCall(f"c{number}", name, "{}") for number, name in enumerate(names))
        results = tuple(ToolResult(made.id, "Yes.") for made in calls)
        messages = (
            Message("user", "Hello"),
            Message("assistant", "", calls=calls),
            Message("user", "", results=results),
        )
        call(Request(system="", messages=messages, tools=(SEARCH,)))
        message = server.requests[-1].body["messages"][1]
        made = message.get("tool_calls") or message["content"]
        for sent in made:
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sent.get("function", sent)["name"])
        assert len(made) == len(names)

    with calling(provider_at(server.url)) as call:
        check()
