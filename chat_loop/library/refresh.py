"""Bringing the index up to date with the files (act)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from chat_loop.library.digest import Digest, Sealed, digest, end_of, said
from chat_loop.library.growth import Growth
from chat_loop.library.index import Index
from chat_loop.library.stale import Stale
from chat_loop.library.stored import shown
from chat_loop.sessions import legacy, partial
from chat_loop.sessions.files import read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.partial import Pieces, Stamp, undone
from chat_loop.sessions.records import EPOCH, Exchange, Header, QueryEntry, Seal, Session

BATCH_BYTES = 1 << 20
BATCH_FILES = 200
"""A transaction holds at most these: a reader in another process waits for no more."""
LONG = 4 << 20
"""A longer file is read in pieces."""
_GROUP_EXCHANGES = 50
_GROUP_CHARACTERS = 1 << 18
_UNKNOWN = -1
"""The size of a file of which not everything is in the index yet; no file has it."""


def refresh(
    index: Index,
    directory: Path,
    behind: Stale,
    *,
    progress: Callable[[int, int], None] | None = None,
    stopped: Callable[[], bool] = bool,
    batch_files: int = BATCH_FILES,
    batch_bytes: int = BATCH_BYTES,
) -> int:
    """Read what is stale into the index, in short transactions; return how many files were read.

    `progress(done, all)` is told after each of them. Stops early when `stopped()`. Raises
    IndexUnavailable.
    """
    if behind.gone:
        index.drop(behind.gone)
    done = 0
    for batch in _batches(behind.files, batch_files, batch_bytes):
        digests = []
        for stamp in batch:
            if stopped():
                return done
            if stamp.size > LONG:
                read_long(index, directory, stamp, stopped)
            else:
                digests.append(read(directory, stamp))
        index.put(digests)
        done += len(batch)
        if progress is not None:
            progress(done, len(behind.files))
    return done


def read(directory: Path, stamp: Stamp) -> Digest:
    """Read one file. One that cannot be read is known by its row."""
    path = directory / f"{stamp.id}.md"
    try:
        data, _, status = read_part(path)
    except OSError:
        return digest(partial.unreadable(path), None, stamp.size, stamp.changed)
    now = Stamp(partial.storable(status.st_mtime_ns), stamp.id, status.st_size)
    row = partial.row_in(data, path)
    session = parse(data).session
    if session is None and row.state == "plain":
        session = legacy.read(data, path)[0]
    return digest(row, session, now.size, now.changed)


def read_long(
    index: Index, directory: Path, stamp: Stamp, stopped: Callable[[], bool] = bool
) -> None:
    """Read a file that is too long to be held in memory, in several transactions.

    Until the last of them the index knows that it does not know it whole. Raises IndexUnavailable.
    """
    path = directory / f"{stamp.id}.md"
    row = shown(partial.row(path))
    if row.state == "plain":
        index.put([read(directory, stamp)])
        return
    pieces = Pieces(path)
    header = Header(id=row.id, created=EPOCH, agent="")  # stands for one that was not read yet
    growth: Growth | None = None
    feed = Feed(index, Digest(row=row, size=_UNKNOWN, changed=0, header_id=row.id))
    try:
        without = undone(path)
        for entries in pieces:
            if stopped():
                return
            header = pieces.header or header
            growth = growth or Growth(header)
            growth.count(entries)
            standing = tuple(
                one
                for one in entries
                if not (isinstance(one, QueryEntry) and one.number in without)
            )
            feed.add(Session(header=header, entries=standing).exchanges)
    except OSError:  # it went away or became unreadable meanwhile
        return
    if pieces.header is None:
        index.put([digest(row, None, pieces.size, pieces.changed)])
        return
    row = replace(row, spent=() if growth is None else (*growth.spent.items(),))
    if growth is not None:
        row = shown(growth.row(pieces.header, path) if row.state == "unsealed" else row)
    feed.flush()
    sealed = end_of(pieces.seal, *index.span(row.id))
    last = Digest(
        row=row,
        size=pieces.size,
        changed=pieces.changed,
        header_id=pieces.header.id or row.id,
        sealed=sealed,
    )
    index.grow(last, feed.kept)


def grown(
    index: Index,
    growth: Growth,
    session: Session,
    path: Path,
    size: int,
    changed: int,
    *,
    sealed: bool = False,
) -> None:
    """Take what is new in a live session into the index; `growth` is what was taken before.

    `size` and `changed` are those of its file when it held what the session holds. Of one that was
    `sealed` meanwhile the rest is read from the file. Raises IndexUnavailable, OSError.
    """
    keep, exchanges = growth.take(session)
    row, rest = growth.row(session.header, path), Sealed()
    if sealed:
        row, seal = replace(partial.row(path), spent=row.spent), _seal_of(path)
        numbers = [exchange.query.number for exchange in exchanges]
        first, last = index.span(row.id) if keep else (min(numbers, default=0), 0)
        rest = end_of(seal, first, max(numbers, default=last))
    news = Digest(
        row=shown(row), size=size, changed=changed, header_id=session.header.id, sealed=rest
    )
    few = keep and len(exchanges) <= _GROUP_EXCHANGES
    if few and index.grow(replace(news, said=tuple(said(exchanges, first=keep + 1))), keep):
        return
    feed = Feed(index, replace(news, size=_UNKNOWN, sealed=Sealed()))
    feed.add(session.exchanges)
    feed.flush()
    index.grow(news, feed.kept)


def _seal_of(path: Path) -> Seal | None:
    loaded = partial.read_ends(path)
    if loaded is not None:
        return loaded.seal
    session = parse(read_part(path)[0]).session
    return session.seal if session is not None else None


class Feed:
    """Puts the exchanges of a session into the index as they come, in groups, from the first one
    on.

    `partly` is what the index is told of the session until all are there.
    """

    def __init__(self, index: Index, partly: Digest) -> None:
        self._index = index
        self._partly = partly
        self._waiting: list[Exchange] = []
        self._characters = 0
        self.kept = 0
        """How many exchanges are in the index."""
        index.put([partly])

    def add(self, exchanges: Iterable[Exchange]) -> None:
        """Take further exchanges. Raises IndexUnavailable."""
        for exchange in exchanges:
            self._waiting.append(exchange)
            self._characters += len(exchange.query.text) + (
                len(exchange.reply.text) if exchange.reply else 0
            )
            if len(self._waiting) >= _GROUP_EXCHANGES or self._characters >= _GROUP_CHARACTERS:
                self.flush()

    def flush(self) -> None:
        """Put what is waiting. Raises IndexUnavailable."""
        if self._waiting:
            group = replace(self._partly, said=tuple(said(self._waiting, first=self.kept + 1)))
            self._index.grow(group, self.kept)
            self.kept += len(self._waiting)
            self._waiting, self._characters = [], 0


def _batches(files: Iterable[Stamp], most_files: int, most_bytes: int) -> Iterable[list[Stamp]]:
    batch: list[Stamp] = []
    size = 0
    for stamp in files:
        batch.append(stamp)
        size += stamp.size
        if size >= most_bytes or len(batch) >= most_files:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
