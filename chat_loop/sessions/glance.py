"""A glance at one session: what it is called and when it was used, from a few kilobytes of its
file.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from chat_loop.frozen import dataclass
from chat_loop.sessions.dates import local, used_in
from chat_loop.sessions.files import read_part
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.parser import parse

_HEAD = 16_384
_TAIL = 1 << 16


@dataclass(frozen=True)
class Glance:
    """`name` is empty when its beginning does not tell it, `updated` None when no record has a
    date.
    """

    name: str
    updated: datetime | None


def glance(path: Path) -> Glance | None:
    """Look at a session; None when there is nothing to go on with: a run of `-p`, or a query
    without a reply.
    """
    try:
        head, tail, status = read_part(path, _HEAD, _TAIL)
    except OSError:
        return None
    session = parse(head).session
    if session is None or session.header.mode:
        return None
    if not (session.answered or session.restoration is not None or status.st_size > len(head)):
        return None
    return Glance(name_of(session), local(used_in(tail) or session.header.created))
