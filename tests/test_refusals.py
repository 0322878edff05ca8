"""Sentences for failures that no server on this machine can bring about, and the parts they are
made of.
"""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime

import httpx2
import pytest

from chat_loop.errors import (
    ConnectionFailed,
    ProviderError,
    RequestRejected,
    StreamBroken,
    TimedOut,
)
from chat_loop.providers.refusals import SAID_CHARACTERS, Service, retry_after, short

SERVICE = Service(host="api.test", key_hint="key", model_hint="model")
NETWORK = "Check the network, or the server at api.test."


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def broken_tls(reason: str | None) -> ssl.SSLError:
    error = ssl.SSLError(1, "[SSL: X] something (_ssl.c:1000)")
    error.reason = reason  # type: ignore[assignment]
    return error


def refused_certificate() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(
        1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed (_ssl.c:1000)"
    )
    error.verify_message = "self-signed certificate"
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
            caused(httpx2.ConnectError("x"), broken_tls(None)),
            False,
            ConnectionFailed,
            "Cannot reach api.test: TLS: it failed.",
            NETWORK,
        ),
        (
            caused(httpx2.ConnectError("x"), refused_certificate()),
            False,
            ConnectionFailed,
            "Cannot reach api.test: self-signed certificate.",
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
            "Cannot reach api.test.",
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
            "Wait a little, then send the query again.",
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
            "Send the query again.",
        ),
    ],
)
def test_a_broken_call(
    error: Exception, started: bool, kind: type[ProviderError], message: str, hint: str
) -> None:
    told = SERVICE.failed(error, started=started)

    assert (type(told), told.message, told.hint) == (kind, message, hint)


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        ("7", 7.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 12:00:30 -0000", 30.0),
        ("Sun, 01 Mar 2026 13:00:30 +0100", 30.0),
        ("Sun, 01 Mar 2026 11:59:00 GMT", 0.0),
        ("Sun, 99 Mar 2026 11:59:00 GMT", None),
        ("1e999", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


def test_short() -> None:
    assert short(" a\n\tb  c ") == "a b c"
    assert short("x" * SAID_CHARACTERS) == "x" * SAID_CHARACTERS
    assert short("x" * (SAID_CHARACTERS + 1)) == "x" * (SAID_CHARACTERS - 1) + "…"


def test_an_error_that_is_nested_without_end_is_told_all_the_same() -> None:
    body: object = {"message": "deep"}
    for _ in range(5000):
        body = {"error": body}
    error = SERVICE.refused(400, body)
    assert (type(error), error.message) == (RequestRejected, "api.test rejected the request (400).")
    assert SERVICE.refused(400, {"error": {"error": {"message": "no"}}}).message.endswith(
        "(400): no."
    )


def test_a_kind_of_error_is_shown_in_one_short_line() -> None:
    error = SERVICE.refused(None, {"error": {"code": "odd\n" * 1000, "message": "no"}})
    assert error.message == f"api.test failed ({('odd ' * 20).rstrip()}): no."


@pytest.mark.parametrize(
    "said",
    [
        "No.",
        "No!",
        "Really?",
        "Wait…",
        "いいえ。",
        "だめ！",
        "本当？",
        "it was 'x.'",
        "x (y.)",
        '{"e": "No."}',
    ],
)
def test_words_that_end_in_punctuation_get_no_full_stop(said: str) -> None:
    assert (
        SERVICE.refused(400, {"error": {"message": said}}).message
        == f"api.test rejected the request (400): {said}"
    )


@pytest.mark.parametrize("said", ["No", "no: x", "see [1, 2", "x (y)", "'x'", "いいえ"])
def test_words_that_end_without_punctuation_get_one_full_stop(said: str) -> None:
    assert (
        SERVICE.refused(400, {"error": {"message": said}}).message
        == f"api.test rejected the request (400): {said}."
    )
