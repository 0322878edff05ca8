"""Reads the head of a GGUF file: enough to say what a model file is before a runtime opens it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (little-endian, versions 2 and 3).
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from chat_loop.errors import ModelError, os_reason

MAGIC = b"GGUF"

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_MOST_KEYS = 65_536
_LONGEST_KEPT = 1 << 20


class Header(Struct, frozen=True):
    """What the head of a GGUF file says about its model."""

    architecture: str
    context: int | None
    """The longest context the model was trained for, in tokens."""
    chat_template: bool
    """False for a base model: it continues texts and knows no turns."""


class _Damaged(Exception):
    """The bytes are not what the format demands."""


class _Reader:
    """A cursor over the file; every length is checked against what is there, since the file may be
    anything.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def number(self, form: str) -> int | float | bool:
        size = struct.calcsize(form)
        value: int | float | bool = struct.unpack_from(form, self._data, self.skip(size))[0]
        return value

    def count(self) -> int:
        return int(self.number("<Q"))

    def skip(self, length: int) -> int:
        start = self._at
        if length > len(self._data) - start:
            raise _Damaged
        self._at = start + length
        return start

    def take(self, length: int) -> bytes:
        start = self.skip(length)
        return self._data[start : start + min(length, _LONGEST_KEPT)]

    def string(self) -> bytes:
        return self.take(self.count())

    def value(self, kind: int) -> object:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            self._skip_array()
            return None
        if kind not in _SCALARS:
            raise _Damaged
        return self.number(_SCALARS[kind])

    def _skip_array(self) -> None:
        kind, length = int(self.number("<I")), self.count()
        if kind == _STRING:
            if length > len(self._data) // 8:
                raise _Damaged
            for _ in range(length):
                self.skip(self.count())
        elif kind in _SCALARS:
            self.skip(length * struct.calcsize(_SCALARS[kind]))
        else:
            raise _Damaged


def is_gguf(path: Path) -> bool:
    """True when the file begins as a GGUF file does. Raises OSError when it cannot be read."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_header(path: Path) -> Header:
    """Raises ModelError when the file is missing, unreadable, no GGUF file or damaged at its
    head.
    """
    try:
        with _mapped(path) as data:
            return _header(_Reader(data))
    except (_Damaged, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise ModelError(
            f"{path} is not a model file that can be read: it is no GGUF file or is damaged.",
            "Install it again.",
        ) from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {os_reason(error)}.") from error


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def _header(reader: _Reader) -> Header:
    if reader.take(len(MAGIC)) != MAGIC:
        raise _Damaged
    version, _tensors, keys = int(reader.number("<I")), reader.count(), reader.count()
    if version not in (2, 3) or keys > _MOST_KEYS:
        raise _Damaged
    found: dict[str, object] = {}
    for _ in range(keys):
        key = reader.string().decode("utf-8", "replace")
        found[key] = reader.value(int(reader.number("<I")))
    name = found.get("general.architecture")
    architecture = name.decode("utf-8", "replace") if isinstance(name, bytes) else "unknown"
    context = found.get(f"{architecture}.context_length")
    return Header(
        architecture=architecture,
        context=context if isinstance(context, int) and context > 0 else None,
        chat_template=bool(found.get("tokenizer.chat_template")),
    )
