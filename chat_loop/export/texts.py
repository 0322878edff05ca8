"""Every text of a session, wherever it stands, changed by one function: how secrets are left out of
an export.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from chat_loop.redact import Redactor
from chat_loop.sessions.records import (
    Attachment,
    Call,
    Header,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
)
from chat_loop.values import Compaction

T = TypeVar("T")

STRUCTURE: Mapping[type, frozenset[str]] = {
    Header: frozenset({"id", "parent"}),
    Reply: frozenset({"stop"}),
    Call: frozenset({"id", "name"}),
    Result: frozenset({"id"}),
    Attachment: frozenset({"media", "sha256"}),
    Restoration: frozenset({"grandparent", "since", "fresh", "until", "merged"}),
    Seal: frozenset({"reason", "source"}),
    Compaction: frozenset({"first", "last", "why", "model"}),
}
"""The strings that are no text but hold the chain together. A string that is not named here is a
text.
"""


def with_texts(value: T, change: Callable[[str], str]) -> T:
    """Return a record with each of its texts, and those of the records in it, as `change` gives
    them back.
    """
    result: T = _changed(value, change)
    return result


def without_secrets(session: Session) -> Session:
    """Return the session with each secret in it as a mark that tells nothing of it."""
    return with_texts(session, Redactor())


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_changed(item, change) for item in value)
    if not isinstance(value, Struct):
        return value
    kept = STRUCTURE.get(type(value), frozenset())
    changed = {}
    for name, before in asdict(value).items():
        if name not in kept:
            after = _changed(before, change)
            if after is not before:
                changed[name] = after
    return replace(value, **changed) if changed else value
