"""Turn statuses, bodies and network errors of a call over HTTP into `ProviderError`s with hints."""

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
from msgspec.structs import asdict

from chat_loop import errors
from chat_loop.errors import ProviderError
from chat_loop.providers.capabilities import window_from_error
from chat_loop.providers.servers import is_near
from chat_loop.redact import redacted

SAID_CHARACTERS = 300  # the most of a server's own message that is shown
LONGEST_WAIT = 86_400.0  # seconds; a server that asks for more is taken to ask for this

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

_AGAIN = "Wait a little, then send the query again."
_NETWORK = "Check the network, or the server at {host}."
_KEY = (errors.AuthenticationFailed, "{host} refused the key", "{key_hint}")
_TIME = (errors.TimedOut, "{host} ran out of time", _AGAIN)
_LOAD = (errors.Overloaded, "{host} is overloaded", _AGAIN)
_FAILED = (errors.Overloaded, "{host} failed", _AGAIN)
_REJECTED = (
    errors.RequestRejected,
    "{host} rejected the request",
    "Check the model and the settings.",
)
REFUSALS: Mapping[int, tuple[type[ProviderError], str, str]] = {
    401: _KEY,
    402: (
        errors.RequestRejected,
        "{host} wants to be paid",
        "Check the plan and billing of the account.",
    ),
    403: _KEY,
    404: (errors.ModelNotFound, "{host} does not know the model or the path", "{model_hint}"),
    408: _TIME,
    409: _FAILED,
    TOO_LONG: (
        errors.ContextTooLong,
        "The conversation is too long for the model",
        "Type compact to shorten the conversation.",
    ),
    429: (errors.RateLimited, "{host} limits requests or tokens", _AGAIN),
    FILTERED: (
        errors.RequestRejected,
        "A content filter of {host} refused the conversation",
        "Say it in other words, or take another model.",
    ),
    503: _LOAD,
    504: _TIME,
    529: _LOAD,
}
"""Status -> the error, how its sentence begins, and its hint."""
NETWORK_FAILURES: Mapping[str, tuple[type[ProviderError], str, str]] = {
    # the library's own text quotes the header, and so the key
    "LocalProtocolError": (
        errors.AuthenticationFailed,
        "The key holds characters that no header can carry.",
        "{key_hint}",
    ),
    "ConnectTimeout": (
        errors.ConnectionFailed,
        "{host} did not accept the connection in time.",
        _NETWORK,
    ),
    "TimeoutException": (errors.TimedOut, "{host} sent nothing for too long.", _AGAIN),
    "ProxyError": (
        errors.ConnectionFailed,
        "The proxy on the way to {host} refused: {text}",
        "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.",
    ),
    "ConnectError": (errors.ConnectionFailed, "Cannot reach {host}{reason}.", _NETWORK),
}
"""Name of an error of httpx or httpx2, which have the same -> the error, its sentence, its hint."""

NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
"""What TLS calls the answer of a server whose address should begin with http."""


class Oversized(ValueError):
    """A body larger than any reply; the text says by how much, as `more than 8 MB in one event`."""


class Service(Struct, frozen=True, kw_only=True):
    """A service as its errors describe it."""

    host: str  # with the port if the address has one
    key_hint: str
    model_hint: str
    absent_hint: str = ""
    """What to do when nobody listens there; empty for what goes for any server."""
    stream: str = "text/event-stream"  # the media type of a stream

    def refused(
        self, status: int | None, body: object, headers: Mapping[str, str] | None = None
    ) -> ProviderError:
        """Return the error for a refusal: by its status, inside a stream (None) by its `body`."""
        headers = headers or {}
        kinds, said = _parts(body)
        what = f" ({status or next(iter(kinds), 'error')})"
        if said:
            ended = said.rstrip("\"'”’»)]}").endswith((".", "!", "?", "…", "。", "！", "？"))
            what += f": {said}{'' if ended else '.'}"
        else:
            what += "."
        if status is None:
            by_kind = {kind: meant for meant, names in KINDS.items() for kind in names.split()}
            meanings = (int(kind) if kind.isdecimal() else by_kind.get(kind, 0) for kind in kinds)
            status = next((meant for meant in meanings if 400 <= meant < 600), 500)
        texts = (*kinds, said.lower())
        for meant, phrases in PHRASES.items():
            if any(phrase in text for phrase in phrases for text in texts):
                status = meant if meant != TOO_LONG or status not in (401, 403, 429) else status
                break
        if 300 <= status < 400:
            return errors.RequestRejected(
                f"{self.host} redirects to {short(headers.get('location', '')) or 'nowhere'} "
                f"({status}), which is not followed.",
                "If that address is right, set it as the provider's address.",
            )
        wait = retry_after(headers.get("retry-after"), datetime.now(UTC))
        kind, beginning, hint = REFUSALS.get(status, _FAILED if status >= 500 else _REJECTED)
        if status == 429 and wait is not None:
            hint = f"Wait {wait:.0f} s, then send the query again."
        error = kind(
            beginning.format(**asdict(self)) + what,
            hint.format(**asdict(self)),
            retry_after=wait if kind.retryable else None,
        )
        if isinstance(error, errors.ContextTooLong):
            error.window = window_from_error(what)
        return error

    def failed(self, cause: BaseException, *, started: bool) -> ProviderError:
        """Return the error for a call that broke: httpx's error, or a ValueError for nonsense."""
        chain = [*_chain(cause)]
        reason = next(filter(None, map(_reason, reversed(chain))), "")
        for base in type(cause).__mro__:
            if base.__name__ not in NETWORK_FAILURES:
                continue
            kind, message, hint = NETWORK_FAILURES[base.__name__]
            if base.__name__ == "ConnectError":
                hint = self.absent_hint or hint
            words = {**asdict(self), "reason": reason, "text": short(str(cause))}
            error = kind(message.format(**words), hint.format(**words))
            numbers = [link.errno for link in chain if isinstance(link, OSError) and link.errno]
            if is_near(f"http://{self.host}") and {*numbers} == {errno.ECONNREFUSED}:
                error.retryable = False  # nobody will listen on this machine in a few seconds
            return error
        if isinstance(cause, Oversized) and not started:  # asking again would bring it again
            hint = "Check the provider's address and its server."
            return errors.RequestRejected(f"{self.host} sent {cause}.", hint)
        if isinstance(cause, Oversized):
            what = f"{self.host} sent {cause}."
        elif isinstance(cause, ValueError):
            what = f"{self.host} sent something that is not the expected stream."
        elif started:
            what = f"The connection to {self.host} ended in the middle of the reply{reason}."
        else:
            what = f"{self.host} closed the connection before it answered{reason}."
        return self._broken(what, started=started)

    def unfinished(self, content_type: str, *, started: bool) -> ProviderError:
        """Return the error for a body that ended without saying why the model stopped."""
        kind = content_type.partition(";")[0].strip().lower()
        if not started and kind != self.stream:
            return errors.RequestRejected(
                f"{self.host} answered with {short(kind) or 'an untyped body'} instead of a "
                "stream.",
                "Check the provider's address; a login page or a proxy may answer for it.",
            )
        what = f"{self.host} ended the stream before the reply was complete."
        return self._broken(what, started=started)

    def _broken(self, what: str, *, started: bool) -> ProviderError:
        if started:
            return errors.StreamBroken(what, "Send the query again.")
        return errors.ConnectionFailed(what, _NETWORK.format(host=self.host))


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


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what caused it, down to the roots; groups have several."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from _chain(inner)
            return
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    """Return `: ` and the words of the operating system or TLS, or ""."""
    reason = ""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.lower()
    elif isinstance(error, ssl.SSLError):  # its errno is none of the system's
        reason = "TLS: " + (error.reason or "it failed").replace("_", " ").lower()
        if error.reason in NO_TLS:
            return ": it does not speak TLS; perhaps the address begins with http, not https"
    elif isinstance(error, OSError) and error.strerror:
        # asyncio puts the address where the system's words should be; names that do not resolve
        # have no errno
        number = error.errno if error.errno in errno.errorcode else 0
        reason = (os.strerror(number) if number else error.strerror).lower()
    return short(f": {reason}") if reason else ""


def _parts(body: object) -> tuple[tuple[str, ...], str]:
    """Return the `code` and `type` of an error, in lower case, and its message."""
    if isinstance(body, list) and body and isinstance(body[0], Mapping):
        body = body[0]  # Gemini
    for _ in range(4):  # it may stand that deep
        if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str):
            body = body["error"]
    if isinstance(body, Mapping):
        codes = (body[key] for key in ("code", "type") if isinstance(body.get(key), str | int))
        kinds = tuple(short(str(code))[:80].rstrip().lower() for code in codes)
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
    if title := re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL):
        return (), short(title[1])
    return (), "" if text.lstrip().startswith("<") else short(text)
