"""Read the head of a GGUF file, to say what a model file is before a runtime opens it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (little-endian, versions 2 and 3).
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from msgspec import Struct

from chat_loop.errors import ModelError

_SCALARS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""Kind of a value -> its form as `struct` writes it."""
_STRING, _ARRAY = 8, 9


class Header(Struct, frozen=True):
    """The description of a model in the head of its GGUF file."""

    architecture: str
    context: int | None
    """The longest context the model was trained for, in tokens."""
    chat_template: bool
    """False for a base model: it continues texts and knows no turns."""


class _Reader:
    """A cursor over the file. Every length is checked, since the file may be anything."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 0

    def number(self, form: str) -> int:
        start = self._at
        self.skip(struct.calcsize(form))
        value: int = struct.unpack_from(f"<{form}", self._data, start)[0]
        return value

    def skip(self, length: int) -> None:
        if length > len(self._data) - self._at:
            raise ValueError("cut off")
        self._at += length

    def string(self) -> bytes:
        length = self.number("Q")
        start = self._at
        self.skip(length)
        return self._data[start : start + min(length, 1 << 20)]

    def value(self, kind: int) -> object:
        """Return the value that comes next; that of an array is None."""
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.number(_SCALARS[kind])
        kind, length = self.number("I"), self.number("Q")
        if kind != _STRING:
            self.skip(length * struct.calcsize(_SCALARS[kind]))
            return None
        for _ in range(length):
            self.skip(self.number("Q"))
        return None


def read_header(path: Path) -> Header:
    """Return the head of a file. Raises ModelError when it is missing or damaged at its head."""
    found: dict[str, object] = {}
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            reader = _Reader(data)
            if data[:4] != b"GGUF" or len(data) < 24:
                raise ValueError("another format")
            reader.skip(4)
            version, _tensors, keys = reader.number("I"), reader.number("Q"), reader.number("Q")
            if version not in (2, 3):
                raise ValueError("another version")
            for _ in range(keys):
                key = reader.string().decode("utf-8", "replace")
                found[key] = reader.value(reader.number("I"))
    except (ValueError, KeyError) as error:  # ValueError: an empty file cannot be mapped
        raise ModelError(
            f"{path} is not a model file that can be read: it is no GGUF file or is damaged.",
            "Install it again.",
        ) from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}.") from error
    name = found.get("general.architecture")
    architecture = name.decode("utf-8", "replace") if isinstance(name, bytes) else "unknown"
    context = found.get(f"{architecture}.context_length")
    return Header(
        architecture=architecture,
        context=context if isinstance(context, int) and context > 0 else None,
        chat_template=bool(found.get("tokenizer.chat_template")),
    )
