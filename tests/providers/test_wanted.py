"""What services want back: it is taken from their replies, and sent as they sent it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, failing
from chat_loop.config import ProviderConfig
from chat_loop.errors import ProviderError
from chat_loop.events import Event, OpaqueArrived, TextDelta, ToolCalled, Warned
from chat_loop.providers.catalogue import entry_of
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.providers.wire import WireProvider
from chat_loop.values import Message, Request, ToolResult, ToolSpec, Window
from tests.support.providers import anthropic_at, ask_through, events_of, failure_of

TOOL = ToolSpec("look", "Look it up.", {"type": "object", "properties": {}})
ASK = Request(system="", messages=(Message("user", "Where?"),), tools=(TOOL,))
HI = Reply(chunks=("Hi",), usage=None)


def service_at(url: str, *wants_back: str, name: str = "office") -> OpenAIProvider:
    """Return a server of the user's own; without `wants_back`, nothing is known about it."""
    fields: Any = wants_back or None
    setting = ProviderConfig(base_url=f"{url}/v1", tools=True, wants_back=fields)
    return OpenAIProvider("m", entry_of(name, {name: setting}), window=Window(9_000))


def answered(events: list[Event]) -> Request:
    """Return the request after a step: its text, its calls and their results."""
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    calls = tuple(event.call for event in events if isinstance(event, ToolCalled))
    opaque = "".join(event.text for event in events if isinstance(event, OpaqueArrived))
    results = tuple(ToolResult(call.id, "There.") for call in calls)
    step = (
        Message("assistant", text, calls=calls, opaque=opaque),
        Message("user", "", results=results),
    )
    return replace(ASK, messages=(*ASK.messages, *step))


def streamed(*events: dict[str, Any]) -> Reply:
    return Reply(raw=tuple(map(json.dumps, events)), stop="tool", usage=None)


def sent_after(server: Loopback, provider: WireProvider, reply: Reply) -> Any:
    """Return the assistant's message of the request after a step."""
    server.enqueue(reply, HI)
    events_of(provider, answered(events_of(provider, ASK)))
    return server.requests[1].body["messages"][1]


# --- Anthropic's Messages


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def thinking(index: int, text: str, signature: str) -> list[dict[str, Any]]:
    return block(
        index,
        {"type": "thinking", "thinking": "", "signature": ""},
        *({"type": "thinking_delta", "thinking": piece} for piece in (text[:3], text[3:])),
        {"type": "signature_delta", "signature": signature},
    )


def text(index: int, words: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": words})


def tool(index: int, identity: str) -> list[dict[str, Any]]:
    return block(index, {"type": "tool_use", "id": identity, "name": "look", "input": {}})


INTERLEAVED = (
    *thinking(0, "Hm, where?", "sig-1"),
    *block(1, {"type": "redacted_thinking", "data": "c2VjcmV0"}),
    *text(2, "I look. "),
    *thinking(3, "Or there?", "sig-2"),
    *text(4, "There, too."),
    *tool(5, "t1"),
    *thinking(6, "Both.", "sig-3"),
    *tool(7, "t2"),
)


def test_blocks_of_reasoning_go_back_in_their_places(server: Loopback) -> None:
    """The API refuses an answer whose blocks of reasoning are moved, joined or changed."""
    sent = sent_after(server, anthropic_at(server.url), streamed(*INTERLEAVED))

    use = {"type": "tool_use", "name": "look", "input": {}}
    assert sent["content"] == [
        {"type": "thinking", "thinking": "Hm, where?", "signature": "sig-1"},
        {"type": "redacted_thinking", "data": "c2VjcmV0"},
        {"type": "text", "text": "I look. "},
        {"type": "thinking", "thinking": "Or there?", "signature": "sig-2"},
        {"type": "text", "text": "There, too."},
        {**use, "id": "t1"},
        {"type": "thinking", "thinking": "Both.", "signature": "sig-3"},
        {**use, "id": "t2"},
    ]


def test_reasoning_is_kept_only_in_turns_that_use_tools(server: Loopback) -> None:
    signed = streamed(*thinking(0, "Hm.", "sig"), *text(1, "Hi."))
    server.enqueue(*(replace(signed, stop="end"),) * 2)
    provider = anthropic_at(server.url)
    results = Message("user", "", results=(ToolResult("t1", "There."),))

    plain = events_of(provider, ASK)
    last = events_of(provider, replace(ASK, messages=(results,)))

    assert not any(isinstance(event, OpaqueArrived) for event in plain)
    assert sum(isinstance(event, OpaqueArrived) for event in last) == 1


# --- Chat Completions


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields}]}


def call(number: int, **more: Any) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    return {"index": number, "id": f"call_{number}", "function": function, **more}


GOOGLE = {"google": {"thought_signature": "sig"}}
DETAILS = (
    {"type": "reasoning.text", "index": 0, "text": "Hm, ", "format": "f", "signature": None},
    {"type": "reasoning.text", "index": 0, "text": "where?", "format": "f", "signature": "s"},
    {"type": "reasoning.encrypted", "index": 1, "id": "rs_1", "data": "c2VjcmV0"},
    {"type": "reasoning.encrypted", "index": 1, "id": "rs_2", "data": "c2VhbGVk"},
)
EVERYTHING = (
    delta(reasoning_content="Hm, "),
    delta(reasoning_content="where?"),
    *(delta(reasoning="Hm.", reasoning_details=[item]) for item in DETAILS),
    delta(content="I look."),
    delta(tool_calls=[call(0, extra_content=GOOGLE)]),
    delta(tool_calls=[call(1)]),
    delta(extra_content={"google": {"thought": True}}),
)
JOINED = [
    {"type": "reasoning.text", "index": 0, "text": "Hm, where?", "format": "f", "signature": "s"},
    *DETAILS[2:],
]


@pytest.mark.parametrize(
    ("name", "returned"),
    [
        ("reasoning_content", "Hm, where?"),
        ("reasoning", "Hm.Hm.Hm.Hm."),
        ("reasoning_details", JOINED),
        ("extra_content", None),
    ],
)
def test_a_service_gets_back_the_field_that_it_wants(
    server: Loopback, name: str, returned: object
) -> None:
    sent = sent_after(server, service_at(server.url, name), streamed(*EVERYTHING))

    fields = {name: returned} if returned is not None else {}
    assert {field: value for field, value in sent.items() if field != "tool_calls"} == {
        "role": "assistant",
        "content": "I look.",
        **fields,
    }
    extras = [made.get("extra_content") for made in sent["tool_calls"]]
    assert extras == [GOOGLE if name == "extra_content" else None, None]


def test_a_server_may_want_reasoning_by_another_name(server: Loopback) -> None:
    reply = streamed(delta(reasoning="Hm."), delta(tool_calls=[call(0)]))
    sent = sent_after(server, service_at(server.url, "reasoning_content"), reply)
    assert sent["reasoning_content"] == "Hm."
    assert "reasoning" not in sent


def test_a_signed_answer_goes_back_signed(server: Loopback) -> None:
    """Gemini signs the answer after the results of its calls, too."""
    provider = service_at(server.url, "extra_content")
    server.enqueue(streamed(delta(content="Hi."), delta(extra_content=GOOGLE)), HI)
    results = Message("user", "", results=(ToolResult("t1", "There."),))
    answer = events_of(provider, replace(ASK, messages=(results,)))
    events_of(provider, answered(answer))
    assert server.requests[1].body["messages"][1] == {
        "role": "assistant",
        "content": "Hi.",
        "extra_content": GOOGLE,
    }


# --- Servers that ask for it, and servers that refuse it


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message 2",
            "reasoning_content",
        ),
        (
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            "reasoning_content",
        ),
        ("Function call is missing a thought_signature in functionCall parts.", "extra_content"),
        ("messages with tool_calls must include reasoning_details", "reasoning_details"),
    ],
)
def test_a_server_gets_what_it_says_is_missing(server: Loopback, message: str, name: str) -> None:
    provider = service_at(server.url)
    server.enqueue(streamed(*EVERYTHING), failing(400, message=message), HI, HI)
    asked = answered(events_of(provider, ASK))
    assert not provider.returns_opaque

    told, *_ = ask_through(provider, asked)
    assert isinstance(told, Warned)
    assert f"It gets {name} back from now on, as with providers.office.wants_back" in told.message
    ask_through(provider, asked)

    assert provider.returns_opaque
    assert [name in json.dumps(request.body) for request in server.requests[1:]] == [
        False,
        True,
        True,
    ]


def test_a_server_that_misses_reasoning_everywhere_gets_blanks(server: Loopback) -> None:
    """DeepSeek does, in a conversation that another model began."""
    provider = service_at(server.url, "reasoning_content")
    server.enqueue(failing(400, message="reasoning_content must be passed back"), HI)
    foreign = (Message("assistant", "It was there."), Message("user", "Where?"))
    told, *_ = ask_through(provider, replace(ASK, messages=(*ASK.messages, *foreign)))
    assert isinstance(told, Warned)
    first, second = (request.body["messages"][1] for request in server.requests)
    assert "reasoning_content" not in first
    assert second["reasoning_content"] == " "


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks cannot be modified.",
        "messages.1.content.1: Invalid `data` in `redacted_thinking` block",
        "messages.1.content.0.thinking.signature: Field required",
        "Corrupted thought signature.",
        "property 'reasoning_content' is unsupported, did you mean 'role'?",
        "Extra inputs are not permitted: messages.1.assistant.reasoning_content",
    ],
)
def test_what_a_server_refuses_is_left_out_once(server: Loopback, message: str) -> None:
    made: list[tuple[WireProvider, Reply, str]] = [
        (anthropic_at(server.url), streamed(*INTERLEAVED), "sig-1"),
        (
            service_at(server.url, "reasoning_content", "extra_content"),
            streamed(*EVERYTHING),
            "thought_signature",
        ),
    ]
    for provider, reply, word in made:
        server.requests.clear()
        refused = failing(400, message=message)
        server.enqueue(reply, refused, HI, HI)
        asked = answered(events_of(provider, ASK))

        told, *_ = ask_through(provider, asked)
        assert isinstance(told, Warned)
        assert "Reasoning and signatures are left out for ten minutes." in told.message
        ask_through(provider, asked)

        sent = [json.dumps(request.body) for request in server.requests[1:]]
        assert [word in body for body in sent] == [True, False, False]
        assert "There." in sent[-1], "the calls and their results stay"


def test_a_server_that_refuses_it_all_the_same_is_not_asked_for_ever(server: Loopback) -> None:
    refused = failing(400, message="Invalid `signature` in `thinking` block")
    provider = anthropic_at(server.url)
    server.enqueue(streamed(*INTERLEAVED), refused, refused)
    asked = answered(events_of(provider, ASK))

    assert failure_of(provider, asked).retryable
    error: ProviderError = failure_of(provider, asked)
    assert not error.retryable
    assert "refused the key" not in error.message


def test_nothing_is_left_out_for_a_refusal_about_something_else(server: Loopback) -> None:
    provider = anthropic_at(server.url)
    message = "`temperature` may only be set to 1 when thinking is enabled."
    server.enqueue(streamed(*INTERLEAVED), failing(400, message=message))
    asked = answered(events_of(provider, ASK))

    assert not failure_of(provider, asked).retryable
    assert provider.returns_opaque


# --- Where it goes


def test_the_endpoint_is_the_address_without_a_password(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service_at("http://kim:secret@llm.example").endpoint == "http://llm.example/v1"
    assert anthropic_at("").endpoint == "https://api.anthropic.com"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://proxy.example/v1/")
    assert anthropic_at("").endpoint == "https://proxy.example"
