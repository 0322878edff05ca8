"""Bringing the index up to date with the files of its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from chat_loop.library.index import (
    LARGEST,
    Index,
    IndexedExchange,
    IndexedSession,
    Stale,
    SummaryInfo,
    number,
)
from chat_loop.library.terms import lines
from chat_loop.redact import redacted
from chat_loop.sessions import legacy, partial, summary_block
from chat_loop.sessions.files import read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.partial import Pieces, Stamp, undone
from chat_loop.sessions.records import (
    EPOCH,
    Entry,
    Exchange,
    Header,
    Query,
    QueryEntry,
    Reply,
    Seal,
    Session,
    SessionRow,
)
from chat_loop.tokens import estimate

BATCH_FILES = 50
BATCH_BYTES = 1 << 18
"""A transaction holds at most these: nobody waits for longer, be it for the index or the processor.
"""
LONG = 4 << 20
"""A longer file is read in pieces."""
LONGEST = 1 << 20
"""Characters of a text that the index keeps; the rest is in the file only."""
_GROUP = 1 << 18
"""Characters of a long file that are stored at once."""
_TOLD = 1_000
"""Characters of a text that its row needs."""
_UNKNOWN = -1
"""The size of a file that is not wholly in the index yet; no file has it."""
_SECTIONS = ("topics", "decisions", "pending", "pinned", "key_facts")


def refresh(
    index: Index,
    changed: Stale,
    *,
    progress: Callable[[int, int], None] | None = None,
    stopped: Callable[[], bool] = bool,
) -> int:
    """Read what is stale into the index, in short transactions; return how many files were read.

    `progress(done, all)` is called after each of them. Stops early when `stopped()`. Raises
    IndexUnavailable.
    """
    if changed.gone:
        index.drop(changed.gone)
    done = 0
    for batch in _batches(changed.files):
        sessions = []
        for stamp in batch:
            if stopped():
                return done
            if stamp.size > LONG:
                _read_long(index, stamp, stopped)
            else:
                sessions.append(_read(index.directory, stamp))
        index.put(sessions)
        done += len(batch)
        if progress is not None:
            progress(done, len(changed.files))
    return done


def refresh_rows(
    index: Index, changed: Stale, progress: Callable[[int, int], None] | None = None
) -> None:
    """Read the rows alone of what is stale, from the beginnings and ends of the files. Raises
    IndexUnavailable.
    """
    index.drop(changed.gone)
    done = 0
    for batch in _batches(changed.files):
        rows = [partial.row(index.directory / f"{stamp.id}.md") for stamp in batch]
        index.put(
            [
                IndexedSession(row=without_secrets(row), size=stamp.size, changed=stamp.changed)
                for row, stamp in zip(rows, batch, strict=True)
            ]
        )
        done += len(batch)
        if progress is not None:
            progress(done, len(changed.files))


def _batches(files: Iterable[Stamp]) -> Iterator[list[Stamp]]:
    batch: list[Stamp] = []
    size = 0
    for stamp in files:
        batch.append(stamp)
        size += stamp.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _read(directory: Path, stamp: Stamp) -> IndexedSession:
    """Read one file. One that cannot be read is known by its row."""
    path = directory / f"{stamp.id}.md"
    try:
        data, status = read_part(path)
    except OSError:
        return _indexed(partial.unreadable(path), None, stamp.size, stamp.changed)
    session = parse(data).session
    row = partial.row_in(data, path, session)
    if session is None and row.state == "plain":
        session, _ = legacy.read(data, path)
    found = _indexed(row, session, status.st_size, partial.storable(status.st_mtime_ns))
    if session is None:
        return found
    return replace(found, exchanges=tuple(map(_exchange, session.exchanges)))


def _read_long(index: Index, stamp: Stamp, stopped: Callable[[], bool]) -> None:
    """Read a file that is too long to be held in memory, in several transactions.

    Until the last of them the index knows that it does not know it whole. Raises IndexUnavailable.
    """
    path = index.directory / f"{stamp.id}.md"
    row = partial.row(path)
    if row.state == "plain":
        index.put([_read(index.directory, stamp)])
        return
    index.put([_indexed(row, None, _UNKNOWN, 0)])
    pieces = Pieces(path)
    header = Header(id=row.id, created=EPOCH, agent="")  # stands for one that was not read yet
    entries: list[Entry] = []
    group: list[IndexedExchange] = []
    count = 0
    try:
        without = undone(path)
        for part in pieces:
            entries += map(_shortened, part)
            standing = tuple(
                one for one in part if not (isinstance(one, QueryEntry) and one.number in without)
            )
            group += map(_exchange, Session(header=header, entries=standing).exchanges)
            if sum(len(one.query) + len(one.reply) for one in group) >= _GROUP:
                if stopped() or not index.extend(row.id, count + 1, group):
                    return
                count += len(group)
                group = []
    except OSError:  # it went away or became unreadable meanwhile
        return
    if pieces.header is None:
        index.put([_indexed(row, None, pieces.size, pieces.changed)])
        return
    if index.extend(row.id, count + 1, group):
        session = Session(header=pieces.header, entries=tuple(entries), seal=pieces.seal)
        if row.state == "unsealed":
            row = partial.row_of(session, path)
        whole = _indexed(row, session, pieces.size, pieces.changed)
        index.complete(whole, count + len(group))


def _shortened(entry: Entry) -> Entry:
    """Return an entry with as much of its text as a row tells of it."""
    if isinstance(entry, Query | Reply) and len(entry.text) > _TOLD:
        return replace(entry, text=entry.text.strip()[:_TOLD])
    return entry


def _indexed(row: SessionRow, session: Session | None, size: int, changed: int) -> IndexedSession:
    """Return a session without its exchanges; only its row when nothing in its file can be read."""
    if session is None:
        return IndexedSession(row=without_secrets(row), size=size, changed=changed)
    row = replace(row, spent=(*session.usage_of_models.items(),))
    seal = session.seal
    return IndexedSession(
        row=without_secrets(row),
        size=size,
        changed=changed,
        summary=_summary(seal, session.exchanges) if seal is not None else None,
        compaction=seal.compaction if seal is not None else None,
    )


def _summary(seal: Seal, exchanges: Sequence[Exchange]) -> SummaryInfo | None:
    if seal.summary is None:
        return None
    numbers = [min(exchange.query.number, LARGEST) for exchange in exchanges]
    items = (item for section in _SECTIONS for item in getattr(seal.summary, section))
    return SummaryInfo(
        at=seal.at.isoformat(),
        first=min(numbers, default=0),
        last=max(numbers, default=0) if seal.covers is None else min(seal.covers, LARGEST),
        tokens=estimate(summary_block.render(seal.summary)),
        source=seal.source,
        items="\n".join(map(_stored, items)),
    )


def _exchange(exchange: Exchange) -> IndexedExchange:
    query = _stored(exchange.query.text)
    reply = _stored(exchange.reply.text) if exchange.reply is not None else ""
    return IndexedExchange(
        number=min(exchange.query.number, LARGEST),
        at=exchange.query.at.isoformat(),
        query=query,
        reply=reply,
        lines=lines(query, reply),
    )


def without_secrets(row: SessionRow) -> SessionRow:
    """Return a row as the index can hold it."""
    spent = row.spent
    return replace(
        row,
        agent=_stored(row.agent),
        project=_stored(row.project),
        name=_stored(row.name),
        words=_stored(row.words),
        spent=None if spent is None else tuple((_stored(model), one) for model, one in spent),
        queries=number(row.queries),
        tokens=number(row.tokens),
        depth=min(row.depth, LARGEST),
    )


def _stored(text: str) -> str:
    """Return a text without secrets, as a table can hold it."""
    return redacted(text[:LONGEST].encode("utf-8", "replace").decode())
