"""A glance at one session: what it is called and when it was used, from a few kilobytes of its file."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from chat_loop.frozen import dataclass
from chat_loop.sessions.files import read_part
from chat_loop.sessions.listing import moment
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.parse import parse

_HEAD = 16_384


@dataclass(frozen=True)
class Glance:
    """`name` is empty when its beginning does not tell it."""

    name: str
    updated: datetime


def glance(path: Path) -> Glance | None:
    """Look at a session; None when there is none to go on with."""
    try:
        head, _, status = read_part(path, _HEAD)
    except OSError:
        return None
    session = parse(head).session
    if session is None or not (session.exchanges or session.restoration is not None):
        return None
    return Glance(name_of(session), moment(status.st_mtime_ns))
