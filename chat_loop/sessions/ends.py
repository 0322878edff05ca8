"""Long sessions read in part: their ends, the model that answered last, or the queries alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from chat_loop.sessions import marker
from chat_loop.sessions.files import open_regular, read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import ALL, Answering, Query, Session, Totals
from chat_loop.sessions.rows import read_at, seal_in
from chat_loop.values import Usage

SHORT = 1 << 19  # a file up to this many bytes is read whole rather than at its ends
_HEAD = 8192
_LONG_HEAD = 1 << 18
_TAIL = 1 << 16
_CHUNK = 1 << 20
_CHUNK_OF_QUERIES = 1 << 15
_LONGEST_KIND = 16
_MARKER = b"\n" + marker.PREFIX
_QUERY = _MARKER + b"query "
_SWITCH = _MARKER + b"model "
_END = _MARKER + b"end"
_RECORD = re.compile(rb"^" + marker.PREFIX + rb"(?!end )([a-z-]+) ", re.MULTILINE)
_SET = {b"setting", b"model", b"agent", b"pin", b"unpin", b"name", b"tag", b"untag"}
"""The records that count for a session wherever they are in it."""
_OF_QUERIES = {b"session", b"restoration", b"query", b"undo", b"redo", b"sealed"}


def _last_switch(file: BinaryIO, start: int, end: int) -> bytes:
    """Return the last switch to another model between two places of a file, if there is one."""
    while end > start:
        begin = max(start, end - _CHUNK)
        data = read_at(file, begin - 1, end - begin + len(_SWITCH))
        found = data.rfind(_SWITCH)
        end = begin
        if found >= 0:
            record = data[found + 1 :] + read_at(file, begin - 1 + len(data), _HEAD)
            close = record.find(_END)
            if close >= 0:
                return record[: record.find(b"\n", close + 1) + 1]
            end += found - 1  # a crash cut it off: the one before it counts
    return b""


def read_answering(path: Path) -> Answering:
    """Return the model that answered last in a session, from its header and its last switch.
    Raises OSError.
    """
    with open_regular(path) as (file, status):
        head = file.read(_LONG_HEAD)
        head = head[: head.find(_END) + 1] or head
        switch = _last_switch(file, max(1, len(head)), status.st_size)
        session = parse(head + switch).session
    if session is None:
        return Answering("", "")
    return session.answering


def read_ends(path: Path, last: int = 1) -> Session | None:
    """Read the ends of a sealed session as `SessionManager.load_ends` does. Raises OSError."""
    with open_regular(path) as (file, status):
        size = status.st_size
        if size <= SHORT:
            return None
        head = file.read(_LONG_HEAD)
        end = head.find(_QUERY, head.find(_QUERY) + 1)
        seal = seal_in(read_at(file, size - _TAIL, _TAIL))
        if end < 0 or seal is None:
            return None
        totals = _totals(seal)
        if totals is None:
            return None
        for length in (_TAIL, 4 * _TAIL, 16 * _TAIL, 64 * _TAIL):
            if size - length <= end:
                break
            tail = read_at(file, size - length, length)
            rest = tail[tail.find(_QUERY) + 1 :]
            switch = _last_switch(file, end + 1, size - len(rest))
            parsed = parse(head[: end + 1] + switch + rest)
            session = parsed.session
            count = tail.count(_QUERY)
            if not count or parsed.damage or session is None or session.seal is None:
                continue
            sent = [entry for entry in session.entries if isinstance(entry, Query)][-count:]
            numbers = {query.number for query in sent}
            active = numbers.intersection(exchange.number for exchange in session.exchanges)
            covers = session.seal.covers
            if len(active) >= max(1, last) and (covers is None or sent[0].number <= covers + 1):
                if session.seal.summary is None:
                    return None
                return replace(session, partial_totals=totals)
    return None


def read_newest(path: Path, length: int) -> Session | None:
    """Read a sealed session with only the newest of its queries, those in its last `length` bytes,
    and with all that its user set. Return None if its summary block does not cover the others, if
    that is no faster than to read all, or if something is damaged. Raises OSError.
    """
    with open_regular(path) as (file, status):
        size = status.st_size
        if size <= max(SHORT, 2 * length):
            return None
        head = file.read(_LONG_HEAD)
        start = head.find(_QUERY) + 1
        seal = seal_in(read_at(file, size - _TAIL, _TAIL))
        if not start or seal is None:
            return None
        totals = _totals(seal)
        if totals is None:
            return None
        tail = read_at(file, size - length, length)
        first = tail.find(_QUERY) + 1
        kept = _set_between(file, start, size - length + first)
    if not first or kept is None:
        return None
    parsed = parse(b"".join((head[:start], kept, tail[first:])))
    session = parsed.session
    if parsed.damage or session is None or session.seal is None or session.seal.summary is None:
        return None
    covers = session.seal.covers
    if not session.exchanges or (covers is not None and _number_at(tail, first) > covers + 1):
        return None
    return replace(session, partial_totals=totals)


def _totals(seal: marker.Marker) -> Totals | None:
    """Return the totals that a seal tells, or None if it lacks one."""
    queries = seal.number("queries")
    tokens = seal.number("tokens")
    if queries is None or tokens is None:
        return None
    return Totals(queries=queries, session=Usage(input=tokens))


def _set_between(file: BinaryIO, start: int, end: int) -> bytes | None:
    """Return what a user set between two places of a file, or None if a record has no end."""
    records = []
    while start < end:
        # the last marker may be cut: the next part begins before it
        data = read_at(file, start - 1, min(_CHUNK + _HEAD, end - start + 1))
        at = data.find(_MARKER)
        while 0 <= at < _CHUNK:
            kind = data[at + len(_MARKER) : at + len(_MARKER) + _LONGEST_KIND].partition(b" ")[0]
            if kind in _SET:
                record = read_at(file, start + at, _LONG_HEAD)
                close = record.find(_END)
                if close < 0:
                    return None
                records.append(record[: record.find(b"\n", close + 1) + 1])
            at = data.find(_MARKER, at + 1)
        start += _CHUNK
    return b"".join(records)


def read_from(path: Path, number: int) -> Session | None:
    """Read a session without its queries before `number`, and without its seal if it has none from
    there on. Return None if that is no faster than to read all, or something is damaged. Raises
    OSError.
    """
    with open_regular(path) as (file, status):
        head = file.read(_HEAD)
        if head.find(_QUERY) < 0:
            head += file.read(_LONG_HEAD - _HEAD)
        start = head.find(_QUERY) + 1
        if not start:
            return None
        rest = b""
        if number != ALL:
            rest = _queries_from(file, start, status.st_size, number)
            if not rest:
                return None
    parsed = parse(head[:start] + rest)
    return None if parsed.damage else parsed.session


def _queries_from(file: BinaryIO, start: int, size: int, number: int) -> bytes:
    """Return the end of a file from a query on. The first query begins at the byte `start`."""
    length = _CHUNK_OF_QUERIES
    while length < size - start:
        tail = read_at(file, size - length, length)
        first = tail.find(_QUERY)
        if first >= 0 and _number_at(tail, first + 1) <= number:
            while first >= 0 and _number_at(tail, first + 1) < number:
                first = tail.find(_QUERY, first + 1)
            if first < 0:
                return b""
            return tail[first + 1 :]
        length *= 4
    return read_at(file, start)


def _number_at(data: bytes, at: int) -> int:
    """Return the number of the query whose marker begins at a byte, or ALL for no marker."""
    mark = marker.read(data[at : data.find(b"\n", at)])
    if mark is None:
        return ALL
    number = mark.number("n")
    return ALL if number is None else number


def read_queries(path: Path) -> Session | None:
    """Read a session without what was said to its queries, but with what was undone. Return None
    for another program's or a damaged file. Raises OSError.
    """
    data, _ = read_part(path)
    parts = []
    start = 0
    is_kept = True
    for found in _RECORD.finditer(data):
        if is_kept:
            parts.append(data[start : found.start()])
        start = found.start()
        is_kept = found[1] in _OF_QUERIES
    if is_kept:
        parts.append(data[start:])
    parsed = parse(b"".join(parts))
    return None if parsed.damage else parsed.session
