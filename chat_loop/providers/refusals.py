"""Turn statuses, bodies and network errors of HTTP calls into `ProviderError`s with hints."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from chat_loop import errors
from chat_loop.errors import ProviderError
from chat_loop.providers.capabilities import list_at, text_at, tokens_in
from chat_loop.providers.servers import is_local_address
from chat_loop.redact import redact_text
from chat_loop.values import one_line

MAX_MESSAGE = 300  # characters of a server's own message that are shown
MAX_WAIT = 86_400.0  # seconds; the most that a Retry-After can ask for
CONTEXT_TOO_LONG = 413  # the row for a full window, which servers report with many statuses
NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
"""TLS errors that occur if the server's address should begin with http."""


class ErrorRow(msgspec.Struct, frozen=True):
    """The error for a status or a network failure, with its message and hint."""

    error: str
    message: str
    hint: str
    kinds: frozenset[str] = frozenset()  # `type` or `code` of errors in streams, without a status
    phrases: tuple[str, ...] = ()  # the words of a refusal that mean this, whatever its status

    def make(self, ending: str = "", **words: object) -> ProviderError:
        """Return the error, with `words` filled into its message and hint."""
        message = self.message.format(**words) + ending
        error: ProviderError = getattr(errors, self.error)(message, self.hint.format(**words))
        return error


class Table(msgspec.Struct, frozen=True):
    """The rows of `refusals.json`, by status, and by the name of the error or failure."""

    before_window: tuple[str, ...]  # the words before its size in "too long for the window"
    statuses: dict[int, ErrorRow]
    network: dict[str, ErrorRow]


TABLE = msgspec.json.decode(Path(__file__).with_name("refusals.json").read_bytes(), type=Table)


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """A service as its errors describe it."""

    host: str  # with the port if the address has one
    key_hint: str
    model_hint: str
    absent_hint: str = ""  # replaces the usual hint if no server listens there

    def refusal_error(
        self, status: int | None, body: object, headers: Mapping[str, str] | None = None
    ) -> ProviderError:
        """Return the error for a refusal, by its status, or by its `body` in a stream (None)."""
        headers = headers or {}
        kinds, message = _parts(body)
        ending = f" ({status or next(iter(kinds), 'error')})"
        ending += f": {message}" if message else ""
        if not message.rstrip("\"'”’»)]}").endswith((".", "!", "?", "…", "。", "！", "？")):
            ending += "."
        if status is None:
            by_kind = {kind: code for code, row in TABLE.statuses.items() for kind in row.kinds}
            codes = (int(kind) if kind.isdecimal() else by_kind.get(kind, 0) for kind in kinds)
            status = next((code for code in codes if 400 <= code < 600), 500)
        texts = (*kinds, message.lower())
        for code, row in TABLE.statuses.items():
            if any(phrase in text for phrase in row.phrases for text in texts):
                if code != CONTEXT_TOO_LONG or status not in (401, 403, 429):
                    status = code
                break
        general = 300 if status < 400 else 400 if status < 500 else 500
        row = TABLE.statuses.get(status) or TABLE.statuses[general]
        is_page = isinstance(body, str) and re.match(r"\s*<(!doctype )?html", body, re.IGNORECASE)
        if is_page and status in (401, 403):  # from a proxy, which saw no key
            row = TABLE.network["page"]
        location = short(headers.get("location", "")) or "nowhere"
        error = row.make(ending, location=location, **asdict(self))
        if error.retryable:
            error.retry_after = retry_after(headers.get("retry-after"))
        if status == 429 and (wait := round(error.retry_after or 0)):
            time = f"{wait} s" if wait < 120 else f"{-(-wait // 60):,} minutes"
            error.hint = f"Wait {time}, then send the query again."
        if isinstance(error, errors.ContextTooLong):
            error.window = window_from_error(ending)
        return error

    def failure_error(self, cause: BaseException, *, started: bool) -> ProviderError:
        """Return the error for a broken call. `cause` is httpx's, or ValueError for a bad body."""
        reason, text = root_reason(cause), short(str(cause))
        names = [base.__name__ for base in type(cause).__mro__]
        if "RemoteProtocolError" in names and re.search("disconnected|closed", text):
            names = []  # the end of a connection, for which httpx has no other class
        names.append("broken" if started else "closed")
        name = next(filter(TABLE.network.get, names))
        error = self._network_error(name, started=started, reason=reason, text=text)
        refused = f": {os.strerror(errno.ECONNREFUSED).lower()}"
        if is_local_address(f"http://{self.host}") and reason == refused:
            error.retryable = False  # trying again in a few seconds will not help
        return error

    def incomplete_error(self, content_type: str, *, started: bool) -> ProviderError:
        """Return the error for a body that ended without saying why the model stopped."""
        kind = content_type.partition(";")[0].strip().lower()
        name = "incomplete" if started or "event" in kind else "untyped"  # a stream of events
        return self._network_error(name, started=started, text=short(kind) or "an untyped body")

    def _network_error(self, name: str, *, started: bool, **words: str) -> ProviderError:
        """Return the error of a row, or a broken stream if part of the reply was shown."""
        network = f"Check the network, or the server at {self.host}."
        words |= asdict(self) | {"network": network, "absent_hint": self.absent_hint or network}
        error = TABLE.network[name].make(**words)
        if started and not isinstance(error, errors.TimedOut):
            return errors.StreamBroken(error.message, "Send the query again.")
        return error


def window_from_error(message: str) -> int | None:
    """Return the window in tokens that a refusal names, or None if it names no plausible one."""
    pattern = rf"(?:{'|'.join(TABLE.before_window)})[ (:]{{0,3}}(\d[\d,]{{2,12}})"
    match = re.search(pattern, message, re.IGNORECASE)
    return tokens_in(int(match[1].replace(",", ""))) or None if match else None


def short(text: str) -> str:
    """Return `text` in one short line without secrets, since servers echo keys."""
    return one_line(redact_text(" ".join(text.split())), MAX_MESSAGE)


def retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, or None for a date, which no service sends."""
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return min(max(0.0, seconds), MAX_WAIT) if math.isfinite(seconds) else None


def root_reason(error: BaseException | None) -> str:
    """Return `: ` and the reason of the operating system or TLS at an error's root, or ""."""
    reason = ""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = error.verify_message
        elif isinstance(error, ssl.SSLError) and error.reason in NO_TLS:
            reason = "it does not speak TLS; perhaps the address begins with http, not https"
        elif isinstance(error, ssl.SSLError):
            reason = "TLS: " + (error.reason or "it failed").replace("_", " ").lower()
        elif isinstance(error, OSError) and error.errno and error.errno in errno.errorcode:
            reason = os.strerror(error.errno).lower()  # asyncio replaces it with the address
        elif isinstance(error, OSError) and error.strerror:  # a name that does not resolve
            reason = error.strerror.lower()
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__
    return short(f": {reason}") if reason else ""


def _parts(body: object) -> tuple[tuple[str, ...], str]:
    """Return the `code` and `type` of an error, in lower case, and its message."""
    if isinstance(body, list) and body and isinstance(body[0], Mapping):
        body = body[0]  # Gemini
    for _ in range(4):  # it may be nested that deep
        if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str):
            body = body["error"]
    if isinstance(body, Mapping):
        codes = (body[key] for key in ("code", "type") if isinstance(body.get(key), str | int))
        kinds = tuple(short(str(code))[:80].rstrip().lower() for code in codes)
        texts = (text_at(body, key) for key in ("message", "Message", "detail"))
        message = next(filter(None, texts), "")
        with suppress(RecursionError):  # vLLM and Mistral list the wrong fields
            message = message or (json.dumps(body["detail"]) if list_at(body, "detail") else "")
        return kinds, short(message)
    text = body if isinstance(body, str) else ""
    if title := re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL):
        return (), short(title[1])
    return (), "" if text.lstrip().startswith("<") else short(text)
