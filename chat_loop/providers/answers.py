"""Read members of JSON from a server without trusting its form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LARGEST_COUNT = 1_000_000_000  # tokens; a larger number counts as none


def value_at(value: object, *path: str) -> Any:
    """Return the member of nested objects at `path`, None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: object, *path: str) -> str:
    """Return the string at `path`, empty when there is none."""
    member = value_at(value, *path)
    return member if isinstance(member, str) else ""


def list_at(value: object, *path: str) -> Sequence[object]:
    """Return the list at `path`, empty when there is none."""
    member = value_at(value, *path)
    return member if isinstance(member, list) else ()


def count_at(value: object, *path: str) -> int:
    """Return the number of tokens at `path`, 0 when there is none or an impossible one."""
    member = value_at(value, *path)
    return member if type(member) is int and 0 <= member <= LARGEST_COUNT else 0
