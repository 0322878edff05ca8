"""Read the head of a GGUF file, to say what a model file is before a runtime opens it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (little-endian, versions 2 and 3).
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from msgspec import Struct

from chat_loop.errors import ModelError, os_reason

_SCALARS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_STRING, _ARRAY = 8, 9


class Header(Struct, frozen=True):
    """The description of a model in the head of its GGUF file."""

    architecture: str
    context: int | None  # the longest context the model was trained for, in tokens
    chat_template: bool  # False for a base model: it continues texts and knows no turns


class _Reader:
    """A cursor over the file. Every length is checked, since the file may be anything."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._offset = data, 0

    def take(self, length: int, keep: int = 1 << 20) -> bytes:
        """Return the next bytes, at most `keep` of them, and pass over them all."""
        start = self._offset
        if length > len(self._data) - start:
            raise ValueError("cut off")
        self._offset += length
        return self._data[start : start + min(length, keep)]

    def number(self, form: str) -> int:
        value: int = struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]
        return value

    def value(self, kind: int) -> object:
        """Return the value that comes next; that of an array is None."""
        if kind == _STRING:
            return self.take(self.number("Q"))
        if kind != _ARRAY:
            return self.number(_SCALARS[kind])
        kind, length = self.number("I"), self.number("Q")
        if kind != _STRING:
            self.take(length * struct.calcsize(_SCALARS[kind]), 0)
            return None
        for _ in range(length):
            self.take(self.number("Q"), 0)
        return None


def read_header(path: Path) -> Header:
    """Return the head of a file. Raises ModelError when it is missing or damaged at its head."""
    values: dict[bytes, object] = {}
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            reader = _Reader(data)
            if reader.take(4) != b"GGUF" or reader.number("I") not in (2, 3):
                raise ValueError("another format")
            _tensors, keys = reader.number("Q"), reader.number("Q")
            for _ in range(keys):
                key = reader.take(reader.number("Q"))
                values[key] = reader.value(reader.number("I"))
    except (ValueError, KeyError) as error:  # ValueError: an empty file cannot be mapped
        raise ModelError(
            f"{path} is not a model file that can be read: it is no GGUF file or is damaged.",
            "Install it again.",
        ) from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {os_reason(error)}.") from error
    name = values.get(b"general.architecture")
    architecture = name if isinstance(name, bytes) else b"unknown"
    context = values.get(architecture + b".context_length")
    return Header(
        architecture=architecture.decode("utf-8", "replace"),
        context=context if isinstance(context, int) and context > 0 else None,
        chat_template=bool(values.get(b"tokenizer.chat_template")),
    )
