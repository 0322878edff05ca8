"""A sentence and a hint for every way a call over HTTP can fail.

Statuses, bodies and errors of the network go in, `ProviderError`s come out.
"""

from __future__ import annotations

import errno
import math
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from msgspec import Struct

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
from chat_loop.providers.capabilities import window_from_error
from chat_loop.providers.servers import is_near
from chat_loop.redact import redacted

SAID_CHARACTERS = 300
"""The most of a server's own message that is shown."""
LONGEST_WAIT = 86_400.0
"""Seconds; a server that asks for more is taken to ask for this."""
AGAIN = "Wait a little, then send the query again."

TOO_LONG, FILTERED = 413, 451
"""Statuses that stand for a full window and for a content filter, which come with many others."""

KINDS: Mapping[int, str] = {
    400: "invalid_request_error validationexception",
    401: "authentication_error invalid_api_key",
    402: "billing_error insufficient_quota",
    403: "permission_error accessdeniedexception",
    404: "not_found_error model_not_found",
    413: "request_too_large",
    429: "rate_limit_error rate_limit_exceeded throttlingexception",
    500: "api_error server_error internalserverexception modelstreamerrorexception",
    503: "serviceunavailableexception",
    504: "timeout_error modeltimeoutexception",
    529: "overloaded_error",
}
"""Status -> the `type` or `code` of errors that have it, by the documentation of Anthropic, OpenAI
and AWS: an error inside a stream comes without a status.
"""
PHRASES: Mapping[int, tuple[str, ...]] = {
    401: ("api key not valid", "api key expired", "incorrect api key", "invalid_api_key"),
    402: (
        *("insufficient_quota", "credit balance is too low", "used all available credits"),
        "insufficient balance",
    ),
    404: (
        *("model_not_found", "deploymentnotfound", "is not a valid model id", "model not exist"),
        *("invalid_model", "model identifier is invalid", "access to the model"),
        "on-demand throughput",  # Bedrock: the id of an inference profile is wanted
    ),
    FILTERED: (
        *("content_filter", "content management policy", "responsibleaipolicyviolation"),
        *("prohibited_content", "content_policy_violation", "data_inspection_failed"),
    ),
    TOO_LONG: (
        *("prompt is too long", "exceed context limit", "context_length_exceeded"),
        *("maximum context length", "maximum prompt length", "exceed_context_size_error"),
        *("exceeds the available context size", "exceeds the context length"),
        *("context length of only", "exceeds the maximum number of tokens", "input is too long"),
    ),
}
"""Status -> what a refusal says, in lower case, when it means this status, whatever it has."""

_KEY = (AuthenticationFailed, "{host} refused the key", "{key_hint}")
_TIME = (TimedOut, "{host} ran out of time", AGAIN)
_LOAD = (Overloaded, "{host} is overloaded", AGAIN)
_FAILED = (Overloaded, "{host} failed", AGAIN)
_REJECTED = (RequestRejected, "{host} rejected the request", "Check the model and the settings.")
ERRORS: Mapping[int, tuple[type[ProviderError], str, str]] = {
    401: _KEY,
    402: (RequestRejected, "{host} wants to be paid", "Check the plan and billing of the account."),
    403: _KEY,
    404: (ModelNotFound, "{host} does not know the model or the path", "{model_hint}"),
    408: _TIME,
    409: _FAILED,
    TOO_LONG: (
        ContextTooLong,
        "The conversation is too long for the model",
        "Type compact to shorten the conversation.",
    ),
    429: (RateLimited, "{host} limits requests or tokens", AGAIN),
    FILTERED: (
        RequestRejected,
        "A content filter of {host} refused the conversation",
        "Say it in other words, or take another model.",
    ),
    503: _LOAD,
    504: _TIME,
    529: _LOAD,
}
"""Status -> the error, how its sentence begins, and its hint."""

_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
"""What TLS calls the answer of a server whose address should begin with http."""


class Oversized(ValueError):
    """A body larger than any reply; the text says by how much, as `more than 8 MB in one event`."""


class Service(Struct, frozen=True, kw_only=True):
    """Whom a provider talks to, in the words of its errors."""

    host: str
    """Host, with the port if the address has one."""
    key_hint: str
    """What to do when the key is refused or missing."""
    model_hint: str
    """What to do when the model is not known."""
    absent_hint: str = ""
    """What to do when nobody listens there; empty for what goes for any server."""
    stream: str = "text/event-stream"
    """The media type of a stream."""

    def refused(
        self, status: int | None, body: object, headers: Mapping[str, str] | None = None
    ) -> ProviderError:
        """Return the error for a refusal: by its status, inside a stream (None) by its `body`."""
        kinds, said = _parts(body)
        what = f" ({status or next(iter(kinds), 'error')})"
        if said:
            ended = said.rstrip("\"'”’»)]}").endswith((".", "!", "?", "…", "。", "！", "？"))
            what += f": {said}{'' if ended else '.'}"
        else:
            what += "."
        if status is None:
            known = {kind: meant for meant, all_of in KINDS.items() for kind in all_of.split()}
            of_kinds = (int(kind) if kind.isdecimal() else known.get(kind, 0) for kind in kinds)
            status = next((found for found in of_kinds if 400 <= found < 600), 500)
        texts = (*kinds, said.lower())
        for meant, phrases in PHRASES.items():
            if any(phrase in text for phrase in phrases for text in texts):
                status = meant if meant != TOO_LONG or status not in (401, 403, 429) else status
                break
        location = (headers or {}).get("location", "")
        if 300 <= status < 400:
            return RequestRejected(
                f"{self.host} redirects to {short(location) or 'nowhere'} ({status}), which is not "
                "followed.",
                "If that address is right, set it as the provider's address.",
            )
        wait = retry_after((headers or {}).get("retry-after"), datetime.now(UTC))
        kind, beginning, hint = ERRORS.get(status, _FAILED if status >= 500 else _REJECTED)
        if status == 429 and wait is not None:
            hint = f"Wait {wait:.0f} s, then send the query again."
        words = {"host": self.host, "key_hint": self.key_hint, "model_hint": self.model_hint}
        error = kind(
            beginning.format(**words) + what,
            hint.format(**words),
            retry_after=wait if kind.retryable else None,
        )
        if isinstance(error, ContextTooLong):
            error.window = window_from_error(what)
        return error

    def failed(self, error: BaseException, *, started: bool) -> ProviderError:
        """Return the error for a call that broke: `error` is httpx's, or a ValueError for a stream
        that makes no sense.
        """
        why, network = reason(error), f"Check the network, or the server at {self.host}."
        # by name: an SDK is built on httpx or on httpx2, whose errors are the same
        names = {kind.__name__ for kind in type(error).__mro__}
        match error:
            case _ if "LocalProtocolError" in names:  # its text quotes the header, and so the key
                what = "The key holds characters that no header can carry."
                return AuthenticationFailed(what, self.key_hint)
            case _ if "ConnectTimeout" in names:
                what = f"{self.host} did not accept the connection in time."
                return ConnectionFailed(what, network)
            case _ if "TimeoutException" in names:
                return TimedOut(f"{self.host} sent nothing for too long.", AGAIN)
            case _ if "ProxyError" in names:
                return ConnectionFailed(
                    f"The proxy on the way to {self.host} refused: {short(str(error))}",
                    "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.",
                )
            case _ if "ConnectError" in names:
                failed = ConnectionFailed(
                    f"Cannot reach {self.host}{why}.", self.absent_hint or network
                )
                refused = [isinstance(one, ConnectionRefusedError) for one in _roots(error)]
                # nobody will listen on this machine in a few seconds either
                failed.retryable = not (is_near(f"http://{self.host}") and all(refused))
                return failed
            case Oversized() if not started:  # it would come again
                return RequestRejected(
                    f"{self.host} sent {error}.", "Check the provider's address and its server."
                )
            case Oversized():
                what = f"{self.host} sent {error}."
            case ValueError():
                what = f"{self.host} sent something that is not the expected stream."
            case _ if started:
                what = f"The connection to {self.host} ended in the middle of the reply{why}."
            case _:
                what = f"{self.host} closed the connection before it answered{why}."
        return self._broken(what, started=started)

    def unfinished(self, content_type: str, *, started: bool) -> ProviderError:
        """Return the error for a body that ended without saying why the model stopped."""
        kind = content_type.partition(";")[0].strip().lower()
        if not started and kind != self.stream:
            return RequestRejected(
                f"{self.host} answered with {short(kind) or 'an untyped body'} instead of a "
                "stream.",
                "Check the provider's address; a login page or a proxy may answer for it.",
            )
        what = f"{self.host} ended the stream before the reply was complete."
        return self._broken(what, started=started)

    def _broken(self, what: str, *, started: bool) -> ProviderError:
        if started:
            return StreamBroken(what, "Send the query again.")
        return ConnectionFailed(what, f"Check the network, or the server at {self.host}.")


def short(text: str) -> str:
    """Return `text` in one short line without secrets: servers echo keys."""
    line = redacted(" ".join(text.split()))
    return line if len(line) <= SAID_CHARACTERS else line[: SAID_CHARACTERS - 1] + "…"


def retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110 §10.2.3: seconds or a date), or None."""
    try:
        seconds = float(value or "")
    except ValueError:
        try:
            date = parsedate_to_datetime(value or "")
            seconds = (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), LONGEST_WAIT) if math.isfinite(seconds) else None


def _roots(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors at the bottom of `error`; groups have several."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _roots(inner)
    elif (cause := error.__cause__ or error.__context__) is not None:
        yield from _roots(cause)
    else:
        yield error


def reason(error: BaseException) -> str:
    """Return `: ` and the words of the operating system or TLS at the root of `error`, or ""."""
    found = ""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            found = f": {seen.verify_message.lower()}"
        elif isinstance(seen, ssl.SSLError):  # its errno is none of the system's
            found = f": TLS: {(seen.reason or 'it failed').replace('_', ' ').lower()}"
            if seen.reason in _NO_TLS:
                found = ": it does not speak TLS; perhaps the address begins with http, not https"
        elif isinstance(seen, OSError) and seen.strerror:
            # asyncio puts the address where the system's words should be; names that do not resolve
            # have no errno
            number = seen.errno if seen.errno in errno.errorcode else 0
            found = f": {(os.strerror(number) if number else seen.strerror).lower()}"
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
        else:
            seen = seen.__cause__ or seen.__context__
    return short(found)


def _parts(body: object) -> tuple[tuple[str, ...], str]:
    """Return the `code` and `type` of an error, in lower case, and its message."""
    if isinstance(body, list) and body and isinstance(body[0], Mapping):
        body = body[0]  # Gemini
    for _ in range(4):  # it may stand that deep
        if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str):
            body = body["error"]
    if isinstance(body, Mapping):
        given = (body[key] for key in ("code", "type") if isinstance(body.get(key), str | int))
        kinds = tuple(short(str(kind))[:80].rstrip().lower() for kind in given)
        for key in ("message", "Message", "detail"):
            if isinstance(body.get(key), str) and body[key]:
                return kinds, short(body[key])
        detail = body.get("detail")  # vLLM and Mistral: a list of the fields that are wrong
        first = detail[0] if isinstance(detail, list) and detail else None
        if not isinstance(first, Mapping) or not isinstance(first.get("msg"), str):
            return kinds, ""
        names = first["loc"][:8] if isinstance(first.get("loc"), list) else []
        return kinds, short(f"{'.'.join(map(str, names))}: {first['msg']}".removeprefix(": "))
    text = body if isinstance(body, str) else ""
    title = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    if title:
        return (), short(title[1])
    return (), "" if text.lstrip().startswith("<") else short(text)
