"""Any JSON from a server becomes events, or an error of the program's own in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.errors import ProviderError
from chat_loop.events import Finished, OpaqueArrived, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.values import Message, Request, ToolCall, ToolResult, ToolSpec
from tests.support.catalogue import ALL, ANTHROPIC, Service
from tests.support.providers import REQUEST, calling, openai_at

BY_NAME = {service.name: service for service in ALL}
ASK = Request(
    system="", messages=(Message("user", "Hi"),), tools=(ToolSpec("f", "", {"type": "object"}),)
)

MEMBERS = """
    choices delta content reasoning reasoning_content thinking tool_calls function name
    arguments id index extra_content finish_reason refusal usage prompt_tokens
    completion_tokens total_tokens prompt_tokens_details cached_tokens
    completion_tokens_details reasoning_tokens prompt_cache_hit_tokens cache_write_tokens
    error code type message detail loc msg text input content_block partial_json stop_reason
    input_tokens cache_read_input_tokens cache_creation_input_tokens output_tokens_details
    thinking_tokens Message reasoning_details summary data signature google thought_signature
"""
KEYS = st.sampled_from(MEMBERS.split())
WORDS = """
    <think> </think> stop length content_filter: tool_use message_start message_delta
    content_block_start error content_block_delta message_stop insufficient_quota 429
    overloaded_error redacted_thinking reasoning.text
"""
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**12),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(WORDS.split()),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=8,
)
EVENTS = st.dictionaries(KEYS, VALUES, max_size=6)
CHUNKS = st.builds(lambda delta, more: {"choices": [{"delta": delta, **more}]}, EVENTS, EVENTS)
HI = Reply(chunks=("Hi",), usage=None)


def returning(opaque: str) -> Request:
    """Return a request that sends an opaque part back with a call."""
    call = ToolCall("c1", "f", "{}")
    answered = (
        Message("assistant", "I look.", calls=(call,), opaque=opaque),
        Message("user", "", results=(ToolResult("c1", "Nothing."),)),
    )
    return replace(ASK, messages=(*ASK.messages, *answered))


HOSTILE = [ANTHROPIC, BY_NAME["deepseek"], BY_NAME["openrouter"], BY_NAME["gemini"]]


@pytest.mark.parametrize("service", HOSTILE, ids=str)
def test_whatever_is_in_an_edited_file_can_be_sent(
    server: Loopback, service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    service.set_up(monkeypatch, tmp_path)
    texts = st.text() | st.builds(json.dumps, VALUES | st.lists(EVENTS, max_size=3) | EVENTS)

    @given(texts | st.sampled_from(["[" * 5_000, '{"calls": [' + "9" * 400 + "]}"]))
    def check(text: str) -> None:
        server.enqueue(HI)
        assert call(returning(text))[1] is None

    with calling(service.at(server.url, tmp_path)) as call:
        check()


@pytest.mark.parametrize("service", [*HOSTILE, BY_NAME["ollama"]], ids=str)
def test_whatever_chunks_come(
    server: Loopback, service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They become words, thoughts and calls, or one error; the last event says why it ended."""
    service.set_up(monkeypatch, tmp_path)

    @given(st.lists(EVENTS | CHUNKS, max_size=5))
    def check(data: list[dict[str, object]]) -> None:
        server.enqueue(Reply(chunks=(), raw=tuple(map(json.dumps, data)), usage=None))

        events, error = call(ASK)

        for event in events:
            assert isinstance(
                event, TextDelta | ThinkingDelta | ToolCalled | OpaqueArrived | Finished
            )
            if isinstance(event, OpaqueArrived):
                server.enqueue(HI)
                assert call(returning(event.text))[1] is None
            assert not isinstance(event, TextDelta | ThinkingDelta) or event.text
        ends = [event for event in events if isinstance(event, Finished)]
        assert len(ends) == (error is None)
        assert error is None or is_told(error)

    with calling(service.at(server.url, tmp_path)) as call:
        check()


def test_whatever_a_refusal_holds(server: Loopback) -> None:
    @given(
        st.sampled_from([400, 401, 403, 404, 413, 422, 429, 500, 503, 529]),
        VALUES | st.lists(VALUES),
    )
    def check(status: int, body: object) -> None:
        server.enqueue(Reply(status=status, body=json.dumps(body).encode()))

        events, error = call(REQUEST)

        assert events == []
        assert error is not None
        assert is_told(error)
        assert error.hint

    with calling(openai_at(server.url)) as call:
        check()


def is_told(error: ProviderError) -> bool:
    """Return True if the message of an error is one line that can be read."""
    return "\n" not in error.message and 0 < len(error.message) < 500
