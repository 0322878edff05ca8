"""A sentence and a hint for every way a call over HTTP can fail. Statuses and bodies in,
`ProviderError`s out.
"""

from __future__ import annotations

import errno
import math
import os
import re
import ssl
from collections.abc import Iterable, Mapping
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
from chat_loop.providers.refusal_words import FILTER, MEANT, OVERFLOW, STATUS_OF_KIND
from chat_loop.providers.servers import is_near
from chat_loop.redact import redacted

SAID_CHARACTERS = 300
"""How much of a server's own message is shown."""

KIND_CHARACTERS = 80
"""How much of an error's `code` or `type` is shown."""

MOST_NESTED = 4
"""How deep the error may stand in the body of a refusal."""

SPEAKS_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
"""What TLS calls an answer that is none of its own, as of a server whose address begins with
http.
"""
NO_TLS = "it does not speak TLS; perhaps the address begins with http, not https"

ENDS = (".", "!", "?", "…", "。", "！", "？")
"""What a sentence ends with."""
CLOSING = "\"'”’»)]}"
"""What may stand behind the end of a sentence, as in `(No.)`."""

AGAIN = "Wait a little, then send the query again."

LONGEST_WAIT = 86_400.0
"""Seconds; a server that asks for more is taken to ask for this."""


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
        """The error for a refusal: by its status, or with None, inside a stream, by what `body`
        says it is.
        """
        headers = headers or {}
        kinds, said = _told(body)
        label = f" ({status or next(iter(kinds), 'error')})"
        what = (
            f"{label}: {said}{'' if said.rstrip(CLOSING).endswith(ENDS) else '.'}"
            if said
            else f"{label}."
        )
        if status is None:
            status = next((status for kind in kinds if (status := _status(kind))), 500)
        texts = (*kinds, said.lower())
        status = next((meant for meant, marks in MEANT.items() if _says(texts, marks)), status)
        if status == FILTER:
            return RequestRejected(
                f"A content filter of {self.host} refused the conversation{what}",
                "Say it in other words, or take another model.",
            )
        overflow = _says(texts, OVERFLOW)
        wait = retry_after(headers.get("retry-after"), datetime.now(UTC))
        return self._error(status, what, wait, headers.get("location", ""), overflow=overflow)

    @property
    def _here(self) -> bool:
        """Whether it is on this machine."""
        return is_near(f"http://{self.host}")

    def _error(
        self, status: int, what: str, wait: float | None, location: str, *, overflow: bool
    ) -> ProviderError:
        match status:
            case 401 | 403:
                return AuthenticationFailed(f"{self.host} refused the key{what}", self.key_hint)
            case 429:
                hint = AGAIN if wait is None else f"Wait {wait:.0f} s, then send the query again."
                return RateLimited(
                    f"{self.host} limits requests or tokens{what}", hint, retry_after=wait
                )
            case _ if overflow or status == 413:
                hint = "Type compact to shorten the conversation."
                error = ContextTooLong(f"The conversation is too long for the model{what}", hint)
                error.window = window_from_error(what)
                return error
            case 404:
                return ModelNotFound(
                    f"{self.host} does not know the model or the path{what}", self.model_hint
                )
            case 402:
                return RequestRejected(
                    f"{self.host} wants to be paid{what}",
                    "Check the plan and billing of the account.",
                )
            case 408 | 504:
                return TimedOut(f"{self.host} ran out of time{what}", AGAIN, retry_after=wait)
            case 503 | 529:
                return Overloaded(f"{self.host} is overloaded{what}", AGAIN, retry_after=wait)
            case _ if status == 409 or status >= 500:
                return Overloaded(f"{self.host} failed{what}", AGAIN, retry_after=wait)
            case _ if 300 <= status < 400:
                message = (
                    f"{self.host} redirects to {short(location) or 'nowhere'} ({status}), "
                    "which is not followed."
                )
                return RequestRejected(
                    message, "If that address is right, set it as the provider's address."
                )
            case _:
                return RequestRejected(
                    f"{self.host} rejected the request{what}", "Check the model and the settings."
                )

    def failed(self, error: BaseException, *, started: bool) -> ProviderError:
        """The error for a call that broke: `error` is httpx's, or a ValueError for a stream that
        makes no sense.
        """
        import httpx2

        why = reason(error)
        network = f"Check the network, or the server at {self.host}."
        match error:
            case httpx2.LocalProtocolError():
                # Its text quotes the header, and so the key.
                return AuthenticationFailed(
                    "The key holds characters that no header can carry.", self.key_hint
                )
            case httpx2.ConnectTimeout():
                return ConnectionFailed(
                    f"{self.host} did not accept the connection in time.", network
                )
            case httpx2.TimeoutException():
                return TimedOut(f"{self.host} sent nothing for too long.", AGAIN)
            case httpx2.ProxyError():
                return ConnectionFailed(
                    f"The proxy on the way to {self.host} refused: {short(str(error))}",
                    "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.",
                )
            case httpx2.ConnectError():
                failed = ConnectionFailed(
                    f"Cannot reach {self.host}{why}.", self.absent_hint or network
                )
                failed.retryable = not (self._here and _nobody_listens(error))
                return failed
            case Oversized() if not started:  # it would come again
                return RequestRejected(
                    f"{self.host} sent {error}.", "Check the provider's address and its server."
                )
            case Oversized():
                return self._broken(f"{self.host} sent {error}", started=True)
            case ValueError():
                what = f"{self.host} sent something that is not the expected stream"
                return self._broken(what, started=started)
            case _ if started:
                return self._broken(
                    f"The connection to {self.host} ended in the middle of the reply{why}",
                    started=True,
                )
            case _:
                return ConnectionFailed(
                    f"{self.host} closed the connection before it answered{why}.", network
                )

    def unfinished(self, content_type: str, *, started: bool) -> ProviderError:
        """The error for a body that ended without saying why the model stopped."""
        kind = content_type.partition(";")[0].strip().lower()
        if not started and kind != self.stream:
            message = (
                f"{self.host} answered with {short(kind) or 'an untyped body'} instead of a stream."
            )
            return RequestRejected(
                message, "Check the provider's address; a login page or a proxy may answer for it."
            )
        return self._broken(
            f"{self.host} ended the stream before the reply was complete", started=started
        )

    def _broken(self, what: str, *, started: bool) -> ProviderError:
        if started:
            return StreamBroken(f"{what}.", "Send the query again.")
        return ConnectionFailed(f"{what}.", f"Check the network, or the server at {self.host}.")


def _nobody_listens(error: BaseException) -> bool:
    """Whether the connection was refused: nobody will be there in a few seconds either."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            return all(map(_nobody_listens, seen.exceptions))
        if isinstance(seen, ConnectionRefusedError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _says(texts: Iterable[str], marks: Iterable[str]) -> bool:
    return any(mark in text for mark in marks for text in texts)


def short(text: str) -> str:
    """`text` in one line of at most `SAID_CHARACTERS` characters, without secrets: servers echo
    keys.
    """
    line = redacted(" ".join(text.split()))
    return line if len(line) <= SAID_CHARACTERS else line[: SAID_CHARACTERS - 1] + "…"


def retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header (RFC 9110 §10.2.3: seconds or a date); None for none
    or nonsense.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
            seconds = (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), LONGEST_WAIT) if math.isfinite(seconds) else None


def reason(error: BaseException) -> str:
    """`: ` and what the operating system or TLS said at the root of `error`; empty when neither
    did.
    """
    found = ""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
            continue
        if isinstance(seen, ssl.SSLCertVerificationError):
            found = f": {seen.verify_message.lower()}"
        elif isinstance(seen, ssl.SSLError):  # its errno is none of the system's
            words = (seen.reason or "it failed").replace("_", " ").lower()
            found = f": {NO_TLS if seen.reason in SPEAKS_NO_TLS else f'TLS: {words}'}"
        elif isinstance(seen, OSError) and seen.strerror:
            # asyncio puts the address where the system's words should be; names that do not resolve
            # have no errno.
            words = (
                os.strerror(seen.errno)
                if seen.errno and seen.errno in errno.errorcode
                else seen.strerror
            )
            found = f": {words.lower()}"
        seen = seen.__cause__ or seen.__context__
    return short(found)


def _status(kind: str) -> int | None:
    """The status that an error's `type` or `code` stands for; some servers put the number itself
    there.
    """
    if kind.isdecimal() and 400 <= int(kind) < 600:
        return int(kind)
    return STATUS_OF_KIND.get(kind)


def _told(body: object) -> tuple[tuple[str, ...], str]:
    """The `code` and `type` of an error body, lower case, and its message; bodies differ between
    servers.
    """
    if isinstance(body, list) and body and isinstance(body[0], Mapping):
        body = body[0]  # Gemini
    for _ in range(MOST_NESTED):
        if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str):
            body = body["error"]
    if isinstance(body, Mapping):
        given = (body[key] for key in ("code", "type") if isinstance(body.get(key), str | int))
        kinds = tuple(short(str(kind))[:KIND_CHARACTERS].rstrip().lower() for kind in given)
        said = next(
            (
                body[key]
                for key in ("message", "Message", "detail")
                if isinstance(body.get(key), str)
            ),
            "",
        )
        return kinds, short(said or _faulty(body.get("detail")))
    text = body if isinstance(body, str) else ""
    title = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    if title:
        return (), short(title[1])
    return (), "" if text.lstrip().startswith("<") else short(text)


def _faulty(detail: object) -> str:
    """What servers that check a request field by field say of the first that is wrong, such as vLLM
    and Mistral.
    """
    first = detail[0] if isinstance(detail, list) and detail else None
    if not (isinstance(first, Mapping) and isinstance(first.get("msg"), str)):
        return ""
    place = first.get("loc")
    names = ".".join(str(name) for name in place[:8]) if isinstance(place, list) else ""
    return f"{names}: {first['msg']}" if names else str(first["msg"])
