"""The partial file of an installation: a prefix of the model's bytes that survives a cut, and a
note beside it.

Whatever source the bytes came from, they are a prefix of the same file; so an installation may go
on from any source. The note says how many bytes were safe on the disk when it was written; what
lies beyond is cut off before going on.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from chat_loop.errors import ModelError, os_reason
from chat_loop.models.catalogue import EmbeddedModel
from chat_loop.models.store import partial_of, record_of

SAFE_STEP = 32 << 20
"""Bytes between two notes."""
_CHUNK = 1 << 20


class _Note(Struct, frozen=True):
    length: int
    etag: str


class Partial:
    """The open partial file of one model. All sizes in bytes; every refusal of the disk is a
    ModelError.
    """

    def __init__(self, model: EmbeddedModel, directory: Path) -> None:
        self._model = model
        self.path = partial_of(directory, model.name)
        self._record = record_of(directory, model.name)
        self._noted = 0
        self._finished = False
        self.etag = ""
        """What the direct source called the version these bytes are of; empty when unknown."""
        try:
            flags = (
                os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            )
            self._file = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise _refused(self.path, error) from error
        try:
            self.size = self._resume()
        except OSError as error:
            os.close(self._file)
            raise _refused(self.path, error) from error

    def _resume(self) -> int:
        found = os.fstat(self._file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is not a regular file")
        note = _read_note(self._record, self._model.sha256)
        size = min(note.length, found.st_size, self._model.size)
        os.ftruncate(self._file, size)
        os.lseek(self._file, size, os.SEEK_SET)
        self.etag, self._noted = note.etag, size
        return size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file. One without bytes is deleted: there is nothing to go on from."""
        if self._finished:
            return
        os.close(self._file)
        if not self.size:
            self.path.unlink(missing_ok=True)
            self._record.unlink(missing_ok=True)

    def append(self, data: bytes) -> None:
        """Add bytes. They outlive a crash once `keep` has run, which happens by itself every
        SAFE_STEP bytes.
        """
        view = memoryview(data)
        try:
            while view:
                written = os.write(self._file, view)
                view = view[written:]
                self.size += written
        except OSError as error:
            raise _refused(self.path, error) from error
        if self.size - self._noted >= SAFE_STEP:
            self.keep()

    def keep(self) -> None:
        """Bring all bytes to the disk and note how many there are."""
        note = {"sha256": self._model.sha256, "bytes": self.size, "etag": self.etag}
        fresh = self._record.with_name(self._record.name + ".new")
        try:
            os.fsync(self._file)
            with os.fdopen(
                os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
            ) as file:
                json.dump(note, file)
            fresh.replace(self._record)
        except OSError as error:
            raise _refused(self._record, error) from error
        self._noted = self.size

    def cut(self, size: int) -> None:
        """Drop the bytes from `size` on."""
        if size >= self.size:
            return
        try:
            os.ftruncate(self._file, size)
            os.lseek(self._file, size, os.SEEK_SET)
        except OSError as error:
            raise _refused(self.path, error) from error
        self.size = size
        if not size:
            self.etag = ""
        self.keep()

    def is_whole(self) -> bool:
        """Read all bytes again and compare their hash with the model's."""
        digest = hashlib.sha256()
        try:
            os.lseek(self._file, 0, os.SEEK_SET)
            while chunk := os.read(self._file, _CHUNK):
                digest.update(chunk)
        except OSError as error:
            raise _refused(self.path, error) from error
        return digest.hexdigest() == self._model.sha256

    def finish(self, target: Path) -> None:
        """Close the file and give it its real name, safely on the disk."""
        try:
            os.fsync(self._file)
            os.close(self._file)
            self._finished = True
            self.path.replace(target)
            self._record.unlink(missing_ok=True)
            if os.name == "posix":
                directory = os.open(target.parent, os.O_RDONLY)
                try:
                    os.fsync(directory)
                finally:
                    os.close(directory)
        except OSError as error:
            raise _refused(target, error) from error


def _read_note(path: Path, sha256: str) -> _Note:
    """A note that is missing, damaged or of another file counts as none: the bytes are fetched
    again.
    """
    nothing = _Note(0, "")
    try:
        note = json.loads(path.read_bytes()[:4096])
    except (OSError, ValueError, RecursionError):
        return nothing
    if not isinstance(note, dict) or note.get("sha256") != sha256:
        return nothing
    length, etag = note.get("bytes"), note.get("etag")
    if (
        not isinstance(length, int)
        or length < 0
        or not isinstance(etag, str)
        or not (etag + "x").isprintable()
    ):
        return nothing
    return _Note(length, etag)


def _refused(path: Path, error: OSError) -> ModelError:
    return ModelError(
        f"{path} cannot be written: {os_reason(error)}.",
        "Make room or choose another data directory; the next installation goes on from here.",
    )
