"""The messages for failures that a server on this machine cannot cause."""

from __future__ import annotations

import socket
import ssl

import httpx2
import pytest

from chat_loop.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    ContextTooLong,
    ModelNotFound,
    Overloaded,
    ProviderError,
    RateLimited,
    RequestRejected,
    StreamBroken,
    TimedOut,
)
from chat_loop.providers.refusals import Service
from chat_loop.providers.upstream import MAX_MESSAGE, short

SERVICE = Service(host="api.test", key_hint="key", model_hint="model")
NETWORK = "Check the network, or the server at api.test."


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def broken_tls(reason: str | None) -> ssl.SSLError:
    error = ssl.SSLError(1, "[SSL: X] something (_ssl.c:1000)")
    error.reason = reason  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("error", "started", "kind", "message", "hint"),
    [
        (
            caused(
                httpx2.ConnectError("x"),
                socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
            ),
            False,
            ConnectionFailed,
            "Cannot reach api.test: name or service not known.",
            NETWORK,
        ),
        (
            caused(httpx2.ConnectError("x"), broken_tls("TLSV1_ALERT_INTERNAL_ERROR")),
            False,
            ConnectionFailed,
            "Cannot reach api.test: TLS: tlsv1 alert internal error.",
            NETWORK,
        ),
        (
            caused(
                httpx2.ConnectError("x"),
                caused(
                    OSError("All connection attempts failed"),
                    ExceptionGroup("", [ConnectionRefusedError(111, "")]),
                ),
            ),
            False,
            ConnectionFailed,
            "Cannot reach api.test: connection refused.",
            NETWORK,
        ),
        (
            httpx2.ConnectTimeout("x"),
            False,
            ConnectionFailed,
            "api.test did not accept the connection in time.",
            NETWORK,
        ),
        (
            httpx2.ReadTimeout("x"),
            False,
            TimedOut,
            "api.test sent nothing for too long.",
            "Wait a little, then send the message again.",
        ),
        (
            httpx2.ProxyError("407 Proxy\nAuthentication Required"),
            False,
            ConnectionFailed,
            "The proxy on the way to api.test refused: 407 Proxy Authentication Required",
            "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.",
        ),
        (
            caused(httpx2.ReadError("x"), ConnectionResetError(104, "Connection reset by peer")),
            True,
            StreamBroken,
            "The connection to api.test ended in the middle of the reply: connection reset by peer.",
            "Send the message again.",
        ),
        (
            httpx2.RemoteProtocolError("Server disconnected without sending a response."),
            False,
            ConnectionFailed,
            "api.test closed the connection before it answered.",
            NETWORK,
        ),
        (
            httpx2.RemoteProtocolError("illegal status line: b'SSH-2.0'"),
            False,
            ConnectionFailed,
            "api.test sent no valid HTTP: illegal status line: b'SSH-2.0'.",
            "Check the provider's address; another program may listen there.",
        ),
    ],
)
def test_a_broken_call(
    error: Exception, started: bool, kind: type[ProviderError], message: str, hint: str
) -> None:
    told = SERVICE.failure_error(error, started=started)

    assert (type(told), told.message, told.hint) == (kind, message, hint)


COMPACT = "Type compact to shorten the conversation."
PAY = "Check the plan and billing of the account."
LATER = "Wait a little, then send the message again."
CHECK = "Check the model and the settings."
OTHERWISE = "Rephrase it, or choose another model."

AZURE_FILTER = "The response was filtered due to Azure OpenAI's content management policy."
LLAMA_LONG = "request (25837 tokens) exceeds the available context size (25088 tokens)"

REJECTED = (RequestRejected, "api.test rejected the request", CHECK)
TOO_LONG = (ContextTooLong, "The conversation is too long for the model", COMPACT)
KEY = (AuthenticationFailed, "api.test refused the key", "key")
UNPAID = (RequestRejected, "api.test requires payment", PAY)
FORBIDDEN = (
    RequestRejected,
    "api.test does not serve this account or place",
    (
        "A rule about the country, the organization or the data forbids it: check the account's "
        "settings, or choose another model."
    ),
)
TOO_LARGE = (
    RequestRejected,
    "The request is too large for api.test",
    "Attach less. /undo takes the last message and its files out of the conversation.",
)
UNKNOWN = (ModelNotFound, "api.test does not know the model or the path", "model")
LIMITED = (RateLimited, "api.test limits requests or tokens", LATER)
FILTERED = (RequestRejected, "A content filter of api.test refused the conversation", OTHERWISE)
FAILED = (Overloaded, "api.test failed", LATER)
LOADED = (Overloaded, "api.test is overloaded", LATER)
LATE = (TimedOut, "api.test timed out", LATER)
ErrorRow = tuple[type[ProviderError], str, str]


def error_object(kind: str, said: str, code: str | int | None = None) -> object:
    return {"error": {"type": kind, "message": said, "code": code}}


@pytest.mark.parametrize(
    ("status", "kind", "code", "said", "meaning"),
    [
        # OpenAI and others
        (400, "invalid_request_error", "context_length_exceeded", "Too long.", TOO_LONG),
        (400, "exceed_context_size_error", 400, LLAMA_LONG, TOO_LONG),
        (403, "invalid_request_error", None, "Country not supported", FORBIDDEN),
        (404, "invalid_request_error", "model_not_found", "`x` does not exist", UNKNOWN),
        (429, "insufficient_quota", "insufficient_quota", "You exceeded your quota", UNPAID),
        (400, "", "content_filter", AZURE_FILTER, FILTERED),
        # Anthropic and Bedrock
        (400, "invalid_request_error", None, "prompt is too long: 210000 tokens", TOO_LONG),
        (413, "request_too_large", None, "Request exceeds the maximum size", TOO_LARGE),
        (401, "authentication_error", None, "invalid x-api-key", KEY),
        (403, "permission_error", None, "not for you", KEY),
        (402, "billing_error", None, "no credit", UNPAID),
        (404, "not_found_error", None, "model: claude-test", UNKNOWN),
        (429, "rate_limit_error", None, "slow down", LIMITED),
        # any service
        (408, "api_error", None, "It did not work.", LATE),
        (409, "api_error", None, "It did not work.", FAILED),
        (500, "api_error", None, "It did not work.", FAILED),
        (503, "api_error", None, "It did not work.", LOADED),
        (529, "api_error", None, "It did not work.", LOADED),
        (400, "api_error", None, "x" * 299 + "…", REJECTED),
        # in a stream, without a status
        (None, "overloaded_error", None, "Overloaded", LOADED),
        (None, "rate_limit_error", None, "slow down", LIMITED),
        (None, "api_error", None, "oops", FAILED),
        (None, "unheard_of", None, "oops", FAILED),
        (None, "authentication_error", None, "no", KEY),
        (None, "timeout_error", None, "late", LATE),
        (None, "invalid_request_error", None, "prompt is too long: 210000 tokens", TOO_LONG),
        (None, "overloaded_error", 529, "busy", LOADED),
        (None, "x", "rate_limit_exceeded", "slow", LIMITED),
        (None, "x", 429, "slow", LIMITED),
        (None, "exceed_context_size_error", 400, LLAMA_LONG, TOO_LONG),
    ],
)
def test_a_refusal_says_what_happened_and_what_to_do(
    status: int | None, kind: str, code: str | int | None, said: str, meaning: ErrorRow
) -> None:
    error = SERVICE.refusal_error(status, error_object(kind, said, code))

    ended = said if said.endswith((".", "…")) else f"{said}."
    message = f"{meaning[1]} ({status or code or kind}): {ended}"
    assert (type(error), error.message, error.hint) == (meaning[0], message, meaning[2])


@pytest.mark.parametrize("body", ["<html><body>x</body></html>", "", None])
def test_a_failure_without_words(body: object) -> None:
    assert SERVICE.refusal_error(500, body).message == "api.test failed (500)."


@pytest.mark.parametrize(
    ("header", "seconds", "hint"),
    [
        ("2", 2.0, "Wait 2 s, then send the message again."),
        ("601", 601.0, "Wait 11 minutes, then send the message again."),
        ("-5", 0.0, LATER),
        ("soon", None, LATER),
    ],
)
def test_a_limit_with_a_time_says_how_long_to_wait(
    header: str, seconds: float | None, hint: str
) -> None:
    error = SERVICE.refusal_error(429, None, {"retry-after": header})
    assert (error.retry_after, error.hint) == (seconds, hint)


@pytest.mark.parametrize("status", [401, 403])
def test_a_page_in_front_of_the_service_says_nothing_of_the_key(status: int) -> None:
    page = "<!DOCTYPE html><html><title>Just a moment...</title></html>"
    error = SERVICE.refusal_error(status, page)
    assert type(error) is RequestRejected
    refused = f"api.test refused the request with a web page ({status}): Just a moment..."
    assert error.message == refused
    assert error.hint == "Check the provider's address; a login page or a proxy may answer for it."


def test_short() -> None:
    assert short(" a\n\tb  c ") == "a b c"
    assert (
        short("Wrong key: Bearer zq9-Xy88Zw77Kp41Lm")
        == "Wrong key: Bearer [REDACTED:authorization:1]"
    )
    assert short("x" * MAX_MESSAGE) == "x" * MAX_MESSAGE
    assert short("x" * (MAX_MESSAGE + 1)) == "x" * (MAX_MESSAGE - 1) + "…"


def test_an_error_that_is_nested_without_end_is_told_all_the_same() -> None:
    body: object = {"message": "deep"}
    for _ in range(5000):
        body = {"error": body}
    error = SERVICE.refusal_error(400, body)
    assert (type(error), error.message) == (RequestRejected, "api.test rejected the request (400).")
    assert SERVICE.refusal_error(400, {"error": {"error": {"message": "no"}}}).message.endswith(
        "(400): no."
    )


def test_a_kind_of_error_is_shown_in_one_short_line() -> None:
    error = SERVICE.refusal_error(None, {"error": {"code": "odd\n" * 1000, "message": "no"}})
    assert error.message == f"api.test failed ({('odd ' * 20).rstrip()}): no."


ENDED = ("No.", "No!", "Really?", "Wait…", "いいえ。", "だめ！", "本当？", "it was 'x.'", "x (y.)")
OPEN = ("No", "no: x", "see [1, 2", "x (y)", "'x'", "いいえ")


@pytest.mark.parametrize("said", [*ENDED, '{"e": "No."}', *OPEN])
def test_a_message_ends_in_one_full_stop(said: str) -> None:
    error = SERVICE.refusal_error(400, {"error": {"message": said}})
    stop = "." if said in OPEN else ""
    assert error.message == f"api.test rejected the request (400): {said}{stop}"
