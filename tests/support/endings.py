"""The endings that services document, in `tests/providers/endings.toml`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from tests.support.refusal_texts import Link, Name

FILE = Path(__file__).parents[1] / "providers" / "endings.toml"

Meaning = Literal["complete", "length", "tools", "refusal", "failure", "pause", "unfinished"]


class Endings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Values that one service gives one field, by what they mean."""

    service: Name
    wire: Name
    field: str
    complete: tuple[str, ...] = ()
    length: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()
    pause: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    note: str = ""
    source: Link

    def meanings(self) -> Iterator[tuple[str, Meaning]]:
        """Yield each value with its meaning."""
        for meaning in get_args(Meaning):
            for value in getattr(self, meaning):
                yield value, meaning


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    ending: list[Endings]


def endings() -> list[Endings]:
    """Return the endings. Raise msgspec.ValidationError for an entry that is wrong."""
    return msgspec.toml.decode(FILE.read_bytes(), type=_File).ending
