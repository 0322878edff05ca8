"""The refusals of real services are recognized, in both halves of `tests/providers/refusals/`."""

from __future__ import annotations

import pytest

from chat_loop.errors import ContextTooLong, ProviderError
from chat_loop.providers.refusals import Service
from tests.support.refusal_texts import HALVES, Half, Refusal, refusals

SERVICE = Service(host="api.test", key_hint="key", model_hint="model")
RECOGNIZED = 0.95  # of each half


def error_of(refusal: Refusal) -> ProviderError:
    return SERVICE.refusal_error(refusal.status, refusal.payload(), refusal.headers)


def kind_of(error: ProviderError) -> str:
    return {"timeout": "failure", "path": "model"}.get(error.kind, error.kind)


@pytest.mark.parametrize("half", HALVES)
def test_the_kind_is_recognized(half: Half) -> None:
    texts = refusals(half)
    wrong = [text.id for text in texts if kind_of(error_of(text)) != text.kind]
    assert len(wrong) <= (1 - RECOGNIZED) * len(texts), wrong


@pytest.mark.parametrize("half", HALVES)
def test_a_window_is_learned_and_no_other_number(half: Half) -> None:
    texts = [text for text in refusals(half) if text.kind == "too_long"]
    errors = [(text, error_of(text)) for text in texts]
    wrong = [
        text.id
        for text, error in errors
        if isinstance(error, ContextTooLong) and error.window != text.states.window
    ]
    assert len(wrong) <= (1 - RECOGNIZED) * len(texts), wrong
    assert any(isinstance(error, ContextTooLong) and error.window for _, error in errors)


@pytest.mark.parametrize("half", HALVES)
def test_the_wait_is_read_wherever_it_is_said(half: Half) -> None:
    waits = [(text, error_of(text)) for text in refusals(half) if text.kind in ("rate", "overload")]
    wrong = [
        text.id
        for text, error in waits
        if error.retry_after != pytest.approx(text.states.wait, abs=0.5)
    ]
    assert len(wrong) <= (1 - RECOGNIZED) * len(waits), wrong
    assert any(error.retry_after for _, error in waits)


@pytest.mark.parametrize(
    ("requested", "kind"), [(900, "rate"), (10_000, "rate"), (10_001, "too_large_for_rate")]
)
def test_a_request_larger_than_the_limit_does_not_wait(requested: int, kind: str) -> None:
    words = f"Rate limit reached on tokens per min: Limit 10,000, Used 9500, Requested {requested}"
    error = SERVICE.refusal_error(429, {"error": {"message": words}})
    assert error.kind == kind
    assert error.retryable == (kind == "rate")
