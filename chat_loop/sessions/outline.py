"""A long sealed session read at its two ends: all that a child of it needs, whatever stands in
between.
"""

from __future__ import annotations

from pathlib import Path

from chat_loop.frozen import dataclass
from chat_loop.sessions import listing, marker
from chat_loop.sessions.files import opened
from chat_loop.sessions.parser import Parsed, parse
from chat_loop.sessions.records import Query, Session, Totals
from chat_loop.values import Usage

SHORT = 1 << 19
"""A file up to this many bytes is as well read whole."""
_HEAD = 1 << 18
_TAIL = 1 << 16
_MOST = 8 << 20
"""Bytes of the end that are looked at."""
_QUERY = b"\n" + marker.PREFIX + b"query "


@dataclass(frozen=True, kw_only=True)
class Outline(Session):
    """A session whose entries are those before its second query and its last ones; `told` are its
    totals.
    """

    told: Totals

    @property
    def totals(self) -> Totals:
        """As the seal tells them: the queries, and the tokens in all."""
        return self.told


def read(path: Path, last: int = 1) -> Outline | None:
    """Read the two ends of a sealed session with a summary block, with at least the `last`
    exchanges.

    When its block covers only the beginning, all exchanges after that are there as well. None when
    the ends do not tell as much, or hold what the program does not write: then the whole file must
    be read. Raises OSError.
    """
    with opened(path) as (file, status):
        size = status.st_size
        if size <= SHORT:
            return None
        head = file.read(_HEAD) or b""
        end = head.find(_QUERY, head.find(_QUERY) + 1)
        if head.count(_QUERY, 0, end + len(_QUERY)) < 2:
            return None
        length = _TAIL
        while length <= _MOST and size - length > end:
            file.seek(size - length)
            tail = file.read(length) or b""
            start = tail.find(_QUERY)
            if start >= 0:
                parsed = parse(head[: end + 1] + tail[start + 1 :])
                found = _outline(parsed, listing.seal_in(tail))
                if found is None or _reaches(found, tail.count(_QUERY), max(1, last)):
                    return found
            length *= 4
    return None


def _outline(parsed: Parsed, seal: marker.Marker | None) -> Outline | None:
    session = parsed.session
    if (
        session is None
        or session.seal is None
        or session.seal.summary is None
        or parsed.damage
        or seal is None
    ):
        return None
    queries, tokens = seal.number("queries"), seal.number("tokens")
    if queries is None or tokens is None:
        return None
    told = Totals(queries=queries, session=Usage(input=tokens))
    return Outline(header=session.header, entries=session.entries, seal=session.seal, told=told)


def _reaches(found: Outline, queries: int, last: int) -> bool:
    """Whether the last `queries` queries of the entries hold as many exchanges as are wanted, and
    all that the summary block does not cover.
    """
    assert found.seal is not None
    end = [entry.number for entry in found.entries if isinstance(entry, Query)][-queries:]
    standing = {exchange.query.number for exchange in found.exchanges}
    covers = found.seal.covers
    return len(standing.intersection(end)) >= last and (covers is None or end[0] <= covers + 1)
