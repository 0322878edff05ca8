"""The window and the wait that a refusal states, in whatever way."""

from __future__ import annotations

import pytest

from chat_loop.errors import ProviderError, RateLimited
from chat_loop.providers.refusal_numbers import MAX_WAIT, duration_text, wait_of, window_of
from chat_loop.providers.refusals import Service
from chat_loop.providers.upstream import ErrorDetails, read

SERVICE = Service(host="api.test", key_hint="key", model_hint="model")
NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("message", "window"),
    [
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease",
            200_000,
        ),
        ("the request exceeds the available context size. try increasing the context size", None),
        ("maximum context length is 1,048,576 tokens", 1_048_576),
        ("maximum context length is 12 tokens", None),
        ("maximum context length is 999999999999 tokens", None),
        ("", None),
    ],
)
def test_the_window_in_a_refusal(message: str, window: int | None) -> None:
    assert window_of(ErrorDetails(message=message)) == window


@pytest.mark.parametrize(
    "message",
    [
        "invalid params, context window exceeds limit (2013)",
        "the prompt exceeds the maximum context length by 540451 tokens",
        "Your prompt is too long: it has at least 200001 tokens",
    ],
)
def test_a_number_that_is_no_window_is_not_learned(message: str) -> None:
    assert window_of(ErrorDetails(message=message)) is None


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Please try again in 1m26.4s.", 86.4),
        ("Please retry after 60 seconds.", 60.0),
        ("Your quota will reset after 8h44m7s.", 31_447.0),
        ("Your limit resets in 3 days and 2 hours", 266_400.0),
        ("Limit: 10000 / min.", None),
    ],
)
def test_a_wait_in_words(words: str, seconds: float | None) -> None:
    assert wait_of(ErrorDetails(message=words), {}) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"resets_in_seconds": 529_498, "resets_at": NOW + 1}}, 529_498.0),
        ({"error": {"retry_after_ms": 1500}}, 1.5),
        ({"error": {"details": [{"@type": "x.RetryInfo", "retryDelay": "53s"}]}}, 53.0),
        ({"error": {"metadata": {"headers": {"X-RateLimit-Reset": f"{NOW + 7:.0f}000"}}}}, 7.0),
        ({"error": {"retry_after": True}}, None),
        ({"error": {"retry_after": -5}}, 0.0),
        ({"error": {"retry_after": 1e300}}, MAX_WAIT),
    ],
)
def test_a_wait_in_a_field(body: object, seconds: float | None) -> None:
    assert wait_of(read(body), {}, NOW) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:09 GMT"}, 9.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-reset-requests": "2s"}, 2.0),
        (
            {
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-requests": "9",
            },
            360.0,
        ),
        (
            {
                "date": "Fri, 15 Jan 2027 09:00:00 GMT",
                "anthropic-ratelimit-tokens-reset": "2027-01-15T09:00:30Z",
            },
            30.0,
        ),
        ({"retry-after": "5", "x-ratelimit-reset-tokens": "6m0s"}, 5.0),
        ({"x-ratelimit-reset": "never"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1e99"}, MAX_WAIT),
    ],
)
def test_a_wait_in_a_header(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_of(ErrorDetails(), headers, NOW) == pytest.approx(seconds)


def limited(**headers: str) -> ProviderError:
    return SERVICE.refusal_error(429, {"message": "Too many requests"}, headers)


def test_a_wait_of_a_year_is_said_in_days_and_is_no_reason_to_hang() -> None:
    error = limited(**{"retry-after": "31536000"})
    assert type(error) is RateLimited
    assert error.hint == "Wait 365 days, then send the message again."
    assert limited(**{"retry-after": "9" * 400}).retry_after is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (119, "119 s"), (120, "2 minutes"), (7200, "2 hours"), (172_801, "3 days")],
)
def test_a_duration_is_rounded_up(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
