"""What a service said is found, however deep it is wrapped."""

from __future__ import annotations

import json

import pytest

from chat_loop.errors import ContextTooLong
from chat_loop.providers.refusals import Service
from chat_loop.providers.upstream import read

SERVICE = Service(host="api.test", key_hint="key", model_hint="model")
WORDS = "This model's maximum context length is 6000 tokens, but you sent 9000."
INNER = {"error": {"message": WORDS, "code": "context_length_exceeded", "param": None}}


@pytest.mark.parametrize(
    "body",
    [
        INNER,
        json.dumps(INNER),
        {"error": json.dumps(INNER)},
        {"detail": {"error": "Bad Request", "msg": WORDS}},
        {"error": {"message": f"Error code: 400 - {INNER!r}", "type": "x", "code": "500"}},
        {
            "error": {
                "message": f"proxy.BadRequestError: Error code: 400 - {INNER!r}\nFallbacks=None"
            }
        },
        {"error": {"message": f"upstream: {json.dumps({'error': json.dumps(INNER)})}"}},
        {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(INNER)}}},
        {"error": {"message": "Provider returned error", "metadata": {"raw": WORDS}}},
    ],
)
def test_the_innermost_words_are_shown_and_decide(body: object) -> None:
    error = SERVICE.refusal_error(400, body)

    assert type(error) is ContextTooLong
    assert error.window == 6000
    assert error.message == f"The conversation is too long for the model (400): {WORDS}"


def test_the_service_behind_a_router_is_named() -> None:
    metadata = {"raw": "Slow down", "provider_name": "Azure"}
    error = SERVICE.refusal_error(429, {"error": {"message": "Error", "metadata": metadata}})
    assert error.message == "api.test limits requests or tokens (429): Azure: Slow down."


def test_the_field_that_is_wrong_is_named() -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Not permitted"}]
    assert read({"detail": detail}).message == "body.seed: Not permitted"


@pytest.mark.parametrize(
    "text",
    [
        "{" * 20_000,
        "{'a': " * 4_000,
        "{'\\d': 1}",
        json.dumps({"message": "x" * 100_000}),
    ],
)
def test_hostile_texts_end_in_a_short_message(text: str) -> None:
    error = SERVICE.refusal_error(400, {"error": {"message": text}})
    assert error.message.startswith("api.test rejected the request (400)")
    assert len(error.message) < 400
