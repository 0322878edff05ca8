"""Turn statuses, bodies and network errors of HTTP calls into `ProviderError`s with hints."""

from __future__ import annotations

import errno
import os
import re
import ssl
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from chat_loop import errors
from chat_loop.errors import ProviderError
from chat_loop.providers import upstream
from chat_loop.providers.refusal_kinds import kind_of
from chat_loop.providers.refusal_numbers import duration_text, wait_of, window_of
from chat_loop.providers.servers import is_local_address
from chat_loop.providers.upstream import short

NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
"""TLS errors that occur if the server's address should begin with http."""

_NO_PATH = re.compile(
    r"\A\W*\Z|(?:file|page|path|url)? ?not found\W*\Z|cannot (?:post|get)|invalid url|"
    r"unrecognized request url|method not allowed|no (?:such )?route",
    re.IGNORECASE,
)
"""What a server says of an address that it does not have, which is nothing about a model."""


class ErrorRow(msgspec.Struct, frozen=True):
    """The error for a refusal or a network failure, with its message and hint."""

    error: str
    message: str
    hint: str

    def make(self, ending: str = "", **values: object) -> ProviderError:
        """Return the error, with `values` filled into its message and hint."""
        message = self.message.format(**values) + ending
        error: ProviderError = getattr(errors, self.error)(message, self.hint.format(**values))
        return error


class Table(msgspec.Struct, frozen=True):
    """The rows of `refusals.json`, by the kind of a refusal, and by the name of a failure."""

    refusals: dict[str, ErrorRow]
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
        """Return the error for a refusal. Inside a stream there is no `status`: the body tells."""
        headers = headers or {}
        details = upstream.read(body)
        wait = wait_of(details, headers)
        kind: str = kind_of(status, details, states_wait=wait is not None)
        if status is not None and status < 400:
            kind = "redirect"
        elif details.is_page and status in (401, 403):  # from a proxy, which saw no key
            kind = "page"
        elif status in (404, 405) and _NO_PATH.search(details.message):
            kind = "path"
        location = short(headers.get("location", "")) or "nowhere"
        ending = f" ({status or details.name or 'error'}){details.ending}"
        error = TABLE.refusals[kind].make(ending, location=location, **asdict(self))
        error.kind = kind
        if error.retryable:
            error.retry_after = wait
        if kind == "rate" and wait:
            error.hint = f"Wait {duration_text(wait)}, then send the message again."
        if isinstance(error, errors.ContextTooLong):
            error.window = window_of(details)
        return error

    def failure_error(self, cause: BaseException, *, started: bool) -> ProviderError:
        """Return the error for a broken call. `cause` is httpx's, or ValueError for a bad body."""
        reason = root_reason(cause)
        text = short(str(cause))
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
        error = self._network_error(name, started=started, text=short(kind) or "an untyped body")
        error.kind = "page" if name == "untyped" else ""
        return error

    def _network_error(self, name: str, *, started: bool, **values: str) -> ProviderError:
        """Return the error of a row, or a broken stream if part of the reply was shown."""
        network = f"Check the network, or the server at {self.host}."
        values |= asdict(self) | {"network": network, "absent_hint": self.absent_hint or network}
        error = TABLE.network[name].make(**values)
        if started and not isinstance(error, errors.TimedOut):
            return errors.StreamBroken(error.message, "Send the message again.")
        return error


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
    if reason:
        return short(f": {reason}")
    return ""
