"""Tool calls that a small model writes as text, and text that only looks like one."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.events import Event, Finished, TextDelta, ToolCalled
from chat_loop.providers.local import LocalProvider, message_text, written_calls
from chat_loop.values import Message, Request, ToolCall, ToolResult, ToolSpec, Usage, Window

NAMES = ("search", "read")
SEARCH = '{"name": "search", "arguments": {"query": "ä port"}}'
READ = '{\n  "name": "read",\n  "arguments": {\n    "queries": "2.14"\n  }\n}'


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (SEARCH, [("search", '{"query": "ä port"}')]),
        (f"\n```json\n{READ}\n```\n\n\n", [("read", '{"queries": "2.14"}')]),
        (f"```\n{READ}\n```", [("read", '{"queries": "2.14"}')]),
        (
            f"<tool_call>\n{SEARCH}\n</tool_call>\n<tool_call>\n{READ}\n</tool_call>",
            [("search", ""), ("read", "")],
        ),
        (f"{SEARCH}\n{SEARCH}", [("search", ""), ("search", "")]),
        ('{"name": "search"}', [("search", "{}")]),
    ],
)
def test_texts_that_are_calls(text: str, calls: list[tuple[str, str]]) -> None:
    found = [(call.name, call.arguments) for call in written_calls(text, NAMES)]
    assert [name for name, _ in found] == [name for name, _ in calls]
    assert all(
        wanted in ("", arguments) for (_, arguments), (_, wanted) in zip(found, calls, strict=True)
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello.",
        "{",
        "{}",
        "{{" + SEARCH + "}}",
        '{"name": "unknown", "arguments": {}}',
        '{"name": "search", "arguments": "port"}',
        '{"name": ["search"], "arguments": {}}',
        f"{SEARCH} is what I would call.",
        f"I would call {SEARCH}",
        "```json\n[1, 2]\n```",
        "```python\nprint(1)\n```",
        '```json\n{"port": 8443}\n```',
        "<tool_call>\n" + "[" * 50_000,
        "{" * 200_000,
    ],
)
def test_texts_that_are_none(text: str) -> None:
    assert written_calls(text, NAMES) == []


def test_calls_and_results_as_text() -> None:
    called = Message("assistant", "I look.", calls=(ToolCall("c1", "search", '{"query": "x"}'),))
    assert message_text(called) == 'I look.\n{"name": "search", "arguments": {"query": "x"}}'
    found = Message(
        "user",
        "",
        results=(ToolResult("c1", "Found."), ToolResult("c2", "Not found.", failed=True)),
    )
    responses = (
        "<tool_response>\nFound.\n</tool_response>\n<tool_response>\nNot found.\n</tool_response>"
    )
    assert (
        message_text(found) == f"{responses}\nAnswer now, in your own words, with what was found."
    )
    assert (
        message_text(Message("user", "And now?", results=found.results)) == f"{responses}\nAnd now?"
    )
    assert message_text(Message("user", "Hello")) == "Hello"


class Scripted(LocalProvider):
    """Without the runtime: sends a text, and keeps what it was asked."""

    text = ""

    def _chunks(self, body: dict[str, Any], stopped: threading.Event) -> Iterator[object]:
        self.body = json.loads(json.dumps(body))
        for sign in self.text:
            yield {"choices": [{"delta": {"content": sign}}]}
        yield {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}


def asked(
    text: str, request: Request, *, calls_tools: bool = True
) -> tuple[list[Event], dict[str, Any]]:
    provider = Scripted(Path("none"), "m", Window(1000), calls_tools=calls_tools)
    provider.text = text

    async def collect() -> list[Event]:
        return [event async for event in provider.stream(request)]

    return asyncio.run(collect()), provider.body


SPEC = ToolSpec("search", "It searches.", {"type": "object", "properties": {}})
ASK = Request(system="", messages=(Message("user", "Where?"),), tools=(SPEC,))
USAGE = Usage(input=3)


def test_the_provider_calls_tools_when_the_config_says_so() -> None:
    events, body = asked(SEARCH, ASK)
    assert events == [
        ToolCalled(ToolCall("call_1", "search", '{"query": "ä port"}')),
        Finished(stop="tool", usage=USAGE),
    ]
    function = {"name": "search", "description": "It searches.", "parameters": SPEC.parameters}
    assert body["tools"] == [{"type": "function", "function": function}]
    events, _ = asked("Hi.", ASK)
    assert events == [*map(TextDelta, "Hi."), Finished(stop="end", usage=USAGE)]


TEXTS = st.text(alphabet='`{}<tool_cal>jsn" :1\n', max_size=60) | st.sampled_from(
    [SEARCH, READ, f"```json\n{SEARCH}"]
)


@given(TEXTS)
def test_a_reply_is_calls_or_shown_whole(text: str) -> None:
    events, _ = asked(text, ASK)
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    calls = [event for event in events if isinstance(event, ToolCalled)]
    assert shown == ("" if calls else text)
    assert len(calls) == len(written_calls(text, ["search"]))


def test_the_provider_offers_no_tools_otherwise() -> None:
    results = (Message("user", "", results=(ToolResult("c1", "Found."),)),)
    for request, calls_tools in (
        (ASK, False),
        (Request(system="", messages=ASK.messages), True),
        (Request(system="", messages=ASK.messages, tools=(SPEC,), grammar="root ::= .*"), True),
        (Request(system="", messages=results, tools=(SPEC,)), True),
    ):
        events, body = asked(SEARCH, request, calls_tools=calls_tools)
        assert "tools" not in body
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == SEARCH
