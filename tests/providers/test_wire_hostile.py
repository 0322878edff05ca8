"""Any JSON from a server becomes events, or an error of the program's own in one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.errors import ProviderError
from chat_loop.events import TextDelta, ThinkingDelta
from chat_loop.providers.anthropic import AnthropicProvider
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.providers.refusals import MAX_MESSAGE, Service
from chat_loop.providers.replies import Reply
from chat_loop.providers.wire import WireProvider
from chat_loop.values import Usage, Window
from tests.support.providers import entry

SERVICE = Service(host="api.test", key_hint="key", model_hint="model")

MEMBERS = """
    choices delta content reasoning reasoning_content thinking tool_calls function name
    arguments id index extra_content finish_reason refusal usage prompt_tokens
    completion_tokens total_tokens prompt_tokens_details cached_tokens
    completion_tokens_details reasoning_tokens prompt_cache_hit_tokens cache_write_tokens
    error code type message detail loc msg text input content_block partial_json stop_reason
    input_tokens cache_read_input_tokens cache_creation_input_tokens output_tokens_details
    thinking_tokens Message
"""
KEYS = st.sampled_from(MEMBERS.split())
WORDS = """
    <think> </think> stop length content_filter: tool_use message_start message_delta
    content_block_start error content_block_delta message_stop insufficient_quota 429
    overloaded_error
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
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5)
)
EVENTS = st.dictionaries(KEYS, VALUES, max_size=6)
CHUNKS = st.builds(lambda delta, more: {"choices": [{"delta": delta, **more}]}, EVENTS, EVENTS)


def providers() -> list[WireProvider]:
    window = Window(1000)
    made = [
        OpenAIProvider("m", entry(name, "http://x/v1"), window=window)
        for name in ("deepseek", "ollama")
    ]
    return [*made, AnthropicProvider("m", entry("anthropic"), window=window)]


@pytest.mark.parametrize("provider", providers(), ids=lambda provider: f"{provider.name}")
@given(data=st.lists(EVENTS | CHUNKS, max_size=5))
def test_whatever_chunks_come(provider: WireProvider, data: list[dict[str, object]]) -> None:
    reply = Reply()
    provider._service = SERVICE
    try:
        for event in data:
            provider._read(json.loads(json.dumps(event)), reply)
        for told in reply.take_deltas():
            assert isinstance(told, TextDelta | ThinkingDelta)
            assert told.text
    except (ProviderError, ValueError):
        return
    assert reply.usage is None or isinstance(reply.usage, Usage)
    for told in reply.final_events(with_calls=True):
        assert told


@given(
    st.none() | st.sampled_from([400, 401, 403, 404, 413, 422, 429, 500, 503, 529]),
    VALUES | st.lists(VALUES),
)
def test_whatever_a_refusal_holds(status: int | None, body: object) -> None:
    error = SERVICE.refusal_error(status, body, {})

    assert isinstance(error, ProviderError)
    assert "\n" not in error.message
    assert len(error.message) < MAX_MESSAGE + 200
    assert error.hint
