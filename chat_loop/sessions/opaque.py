"""Opaque parts: who gets back what a service sent with a step of a reply."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from chat_loop.sessions import marker
from chat_loop.sessions.records import Opaque
from chat_loop.values import sha256

LONGEST = 111  # characters of a name that is followed by its digest


class Origin(Struct, frozen=True):
    """A model at an endpoint, in words that a marker can hold."""

    model: str
    endpoint: str


def origin_of(model: str, endpoint: str) -> Origin | None:
    """Return the origin of what a model sends, or None for one that has no endpoint."""
    return Origin(_word(model), _word(endpoint)) if endpoint else None


def _word(name: str) -> str:
    """Return a name as a marker's value. No two names have the same one."""
    word = marker.safe_value(name)
    if word == name:
        return word
    return f"{word[:LONGEST]}-{sha256(name.encode('utf-8', 'replace'))[:16]}"


def returned(parts: Iterable[Opaque], origin: Origin | None) -> str:
    """Return what a step sends back to an origin: what came from there, or an empty text."""
    text = ""
    for part in parts:
        if origin is not None and (part.model, part.endpoint) == (origin.model, origin.endpoint):
            text = part.text
    return text
