"""HTTP downloads and package indexes, on the standard library.

urllib, since the installation needs neither retries nor HTTP/2 of a client library, has to work
without any SDK, and honours `HTTPS_PROXY`, `NO_PROXY` and `SSL_CERT_FILE` by itself.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from email.message import Message
from html.parser import HTMLParser
from http.client import HTTPException
from typing import IO, Protocol
from urllib.parse import SplitResult, unquote, urldefrag, urljoin, urlsplit, urlunsplit

from msgspec import Struct

TIMEOUT = 30.0
"""Seconds to connect, and seconds without a byte."""

DEFAULT_INDEX = "https://pypi.org/simple"
_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_INDEX_TYPES = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
    "text/html;q=0.1"
)
_LONGEST_PAGE = 16 << 20


class SourceFailed(Exception):
    """A source did not give what it should; the text says why, and the next source may be tried."""


class Response(Protocol):
    """What the installation uses of an HTTP answer."""

    @property
    def status(self) -> int | None: ...

    headers: Message

    def read(self, amount: int, /) -> bytes: ...


OpenUrl = Callable[[str, Mapping[str, str]], AbstractContextManager[Response]]
"""Opens an address with these request headers. Raises SourceFailed for a refusal, OSError or
HTTPException for a broken connection.
"""


class IndexedFile(Struct, frozen=True):
    """Where an index says a file is."""

    url: str
    sha256: str | None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from HTTPS to plain HTTP."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            fp.close()
            raise SourceFailed("the server redirects to an unprotected address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _opener() -> urllib.request.OpenerDirector:
    """urllib's default opener also reads `file:` and `ftp:`; this one speaks HTTP alone."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


@contextmanager
def open_url(url: str, headers: Mapping[str, str]) -> Iterator[Response]:
    """The `OpenUrl` of real life. A name and password in the address are sent as basic
    authentication.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SourceFailed("its address is not an HTTP address")
    request = urllib.request.Request(
        _without_password(parts), headers={"User-Agent": "chat-loop", **headers}
    )
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_unredirected_header(
            "Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"
        )
    try:
        response = _opener().open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        with error:
            if error.code != 416:
                raise SourceFailed(f"the server answered {error.code}") from error
            yield error
            return
    with response:
        yield response


def reason_of(error: OSError | HTTPException | ValueError) -> str:
    """Why a connection failed, as part of a sentence."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no answer for {TIMEOUT:.0f} s"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__


def index_url(environ: Mapping[str, str]) -> str:
    """The package index that the environment chooses for uv or pip, else the public one."""
    return next((environ[name] for name in _INDEX_VARIABLES if environ.get(name)), DEFAULT_INDEX)


def host_of(url: str) -> str:
    """The address's host, for messages: an address may hold a password."""
    try:
        return urlsplit(url).hostname or "an address without a host"
    except ValueError:
        return "an address without a host"


def find_file(index: str, distribution: str, filename: str, open_url: OpenUrl) -> IndexedFile:
    """Ask a package index where a file is: PEP 691 JSON, else the HTML of PEP 503. Raises
    SourceFailed.
    """
    page = f"{index.rstrip('/')}/{distribution}/"
    with open_url(page, {"Accept": _INDEX_TYPES}) as response:
        body = response.read(_LONGEST_PAGE + 1)
        kind = response.headers.get_content_type()
    if len(body) > _LONGEST_PAGE:
        raise SourceFailed(f"the index's page of {distribution} is too long")
    links = _json_links(body) if kind.endswith("json") else _html_links(body)
    for name, address, sha256 in links:
        if name == filename:
            return IndexedFile(_inherit_password(page, urljoin(page, address)), sha256)
    raise SourceFailed(f"the index has no {filename}")


def _json_links(body: bytes) -> Iterator[tuple[str, str, str | None]]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SourceFailed("the index's answer is no JSON") from error
    files = answer.get("files") if isinstance(answer, dict) else None
    for file in files if isinstance(files, list) else ():
        if not isinstance(file, dict):
            continue
        name, url, hashes = file.get("filename"), file.get("url"), file.get("hashes")
        sha256 = hashes.get("sha256") if isinstance(hashes, dict) else None
        if isinstance(name, str) and isinstance(url, str):
            yield name, url, sha256 if isinstance(sha256, str) else None


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for key, value in attrs if key == "href" and value]


def _html_links(body: bytes) -> Iterator[tuple[str, str, str | None]]:
    parser = _Links()
    parser.feed(body.decode("utf-8", "replace"))
    parser.close()
    for link in parser.found:
        address, fragment = urldefrag(link)
        key, _, value = fragment.partition("=")
        yield (
            unquote(urlsplit(address).path.rpartition("/")[2]),
            address,
            value if key == "sha256" else None,
        )


def _without_password(parts: SplitResult) -> str:
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _inherit_password(page: str, url: str) -> str:
    """A private index wants the same credentials for its files; another host must not get them."""
    source, target = urlsplit(page), urlsplit(url)
    user, at, host = source.netloc.rpartition("@")
    if at and (target.scheme, target.netloc) == (source.scheme, host):
        return urlunsplit(target._replace(netloc=f"{user}@{host}"))
    return url
