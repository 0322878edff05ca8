"""A long transcript read in pieces: never more of it in memory than one exchange, however long the
file is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chat_loop.sessions import marker
from chat_loop.sessions.files import opened
from chat_loop.sessions.listing import storable
from chat_loop.sessions.parser import _Reader
from chat_loop.sessions.records import Entry, Header, Query, Seal

MOST = 8 << 20
"""Bytes of a record, and of a line, that are read; what follows them is left out."""
_BUFFER = 1 << 16
_UNDO = marker.PREFIX + b"undo "


class Pieces:
    """The entries of a transcript in groups: what stands before the first query, then a query with
    all that follows it.

    `header` and `seal` are there when the last group was given; `size` and `changed` are the file's
    when it was opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: Header | None = None
        self.seal: Seal | None = None
        self.size = self.changed = 0

    def __iter__(self) -> Iterator[tuple[Entry, ...]]:
        """Raises OSError."""
        with opened(self.path, _BUFFER) as (file, status):
            self.size, self.changed = status.st_size, storable(status.st_mtime_ns)
            reader = _Draining()
            number, ended = 0, True
            while line := file.readline(MOST):
                number += 1
                ended = line.endswith(b"\n")
                while not ended and len(line) == MOST:  # the rest of a line that nobody reads
                    ended = (rest := file.readline(MOST)).endswith(b"\n")
                    if len(rest) < MOST:
                        break
                reader.take(number, line[:-1] if line.endswith(b"\n") else line)
                if reader.complete:
                    self.header = reader.header
                    yield tuple(reader.complete)
                    reader.complete = []
            reader.finish(ends_with_newline=ended)
            self.header, self.seal = reader.header, reader.seal
            for group in (reader.complete, reader.entries):
                if group:
                    yield tuple(group)


def undone(path: Path) -> frozenset[int]:
    """The numbers of the queries that a transcript says were undone. Raises OSError."""
    numbers = set()
    with opened(path, _BUFFER) as (file, _):
        while line := file.readline(MOST):
            if line.startswith(_UNDO) and (found := marker.read(line)) is not None:
                numbers.add(found.number("n") or 0)
    return frozenset(numbers)


class _Draining(_Reader):
    """A reader whose entries are taken away when the next query begins."""

    def __init__(self) -> None:
        super().__init__()
        self.complete: list[Entry] = []
        self.held = 0

    def take(self, number: int, line: bytes) -> None:
        self.held = 0 if self.open is None else self.held + len(line) + 1
        if self.held <= MOST or line.startswith(b"<!-- "):
            super().take(number, line)

    def _add(self, entry: Entry) -> None:
        super()._add(entry)
        if isinstance(entry, Query) and len(self.entries) > 1:
            self.complete = self.entries[:-1]
            self.entries = [entry]
            self.damage.clear()
