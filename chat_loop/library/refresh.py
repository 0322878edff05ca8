"""Bringing the index up to date with the files of its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from chat_loop.library.index import Index, IndexedExchange, IndexedSession, IndexedSummary, Stale
from chat_loop.library.terms import lines
from chat_loop.redact import redact_text
from chat_loop.sessions import legacy, partial, records, summary_block
from chat_loop.sessions.files import read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Exchange, Session, SessionRow
from chat_loop.tokens import estimate

BATCH_FILES = 50
BATCH_BYTES = 1 << 18
"""The most in one transaction, so that nothing waits long for the index or the processor."""
LONG = 4 << 20  # bytes; a longer file is read in pieces
MAX_TOTAL = 10**14  # number of queries or tokens of a session: sums of them fit into a table
MAX_TEXT = 1 << 20  # characters of a text that the index keeps; the rest is in the file only
_GROUP = 1 << 18  # characters of a long file that are stored at once
_ROW_TEXT = 1_000  # characters of a text that its row needs
_INCOMPLETE = -1  # the size of a file that is not wholly in the index yet


def refresh(
    index: Index,
    stale: Stale,
    *,
    rows_only: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Read what is stale, or its `rows_only`, in short transactions; return how many files it was.

    Raises IndexUnavailable.
    """
    if stale.gone:
        index.drop(stale.gone)
    batch: list[IndexedSession] = []
    size = 0
    for done, stamp in enumerate(stale.files, 1):
        path = index.directory / f"{stamp.id}.md"
        if rows_only:
            row = without_secrets(partial.row(path))
            batch.append(IndexedSession(row=row, size=stamp.size, changed=stamp.changed))
        elif stamp.size > LONG and (row := partial.row(path)).state != "plain":
            _read_long(index, path, row)
        else:
            batch.append(_read(path, stamp))
        size += stamp.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_FILES or done == len(stale.files):
            index.put(batch)
            batch, size = [], 0
            if progress is not None:
                progress(done, len(stale.files))
    return len(stale.files)


def _read(path: Path, stamp: partial.Stamp) -> IndexedSession:
    """Read one file. One that cannot be read is known by its row."""
    try:
        data, status = read_part(path)
    except OSError:
        return _indexed_session(partial.row(path), None, stamp.size, stamp.changed)
    session = parse(data).session
    row = partial.row_in(data, path, session)
    if session is None and row.state == "plain":
        session, _ = legacy.read(data, path)
    changed = partial.clamp_time(status.st_mtime_ns)
    exchanges = session.exchanges if session is not None else ()
    return _indexed_session(
        row, session, status.st_size, changed, [indexed_exchange(one) for one in exchanges]
    )


def _read_long(index: Index, path: Path, row: SessionRow) -> None:
    """Read a file that is too long for the memory in several transactions."""
    pieces = partial.Pieces(path)
    header = records.Header(id=row.id, created=records.EPOCH, agent="")  # until the file's is read
    entries: list[records.Entry] = []
    group: list[IndexedExchange] = []
    stored = 0
    try:
        for piece in pieces:
            for entry in piece:
                if isinstance(entry, records.Query | records.Reply):
                    entries.append(replace(entry, text=entry.text.strip()[:_ROW_TEXT]))
                else:
                    entries.append(entry)
            valid = tuple(
                entry
                for entry in piece
                if not (isinstance(entry, records.QueryEntry) and entry.number in pieces.undone)
            )
            group += map(indexed_exchange, Session(header=header, entries=valid).exchanges)
            if sum(len(one.query) + len(one.reply) for one in group) >= _GROUP:
                if not index.put(
                    [_indexed_session(row, None, _INCOMPLETE, 0, group)], after=stored
                ):
                    return
                stored += len(group)
                group = []
    except OSError:  # it was removed or became unreadable meanwhile
        return
    if pieces.header is None:
        index.put([_indexed_session(row, None, pieces.size, pieces.changed)])
        return
    session = Session(header=pieces.header, entries=tuple(entries), seal=pieces.seal)
    row = partial.row_of(session, path) if row.state == "unsealed" else row
    index.put([_indexed_session(row, session, pieces.size, pieces.changed, group)], after=stored)


def _indexed_session(
    row: SessionRow,
    session: Session | None,
    size: int,
    changed: int,
    exchanges: Sequence[IndexedExchange] = (),
) -> IndexedSession:
    """Return a session as the index stores it, with `session` where its file can be read."""
    seal = session.seal if session is not None else None
    summary = None
    if session is not None:
        row = replace(row, spent=(*session.usage_of_models.items(),))
    if session is not None and seal is not None and seal.summary is not None:
        numbers = [one.query.number for one in session.exchanges]
        block, compaction = seal.summary, seal.compaction
        sections = block.topics, block.decisions, block.pending, block.pinned, block.key_facts
        summary = IndexedSummary(
            last=max(numbers, default=0) if seal.covers is None else seal.covers,
            tokens=estimate(summary_block.render(block)),
            before=None if compaction is None else compaction.before,
            after=None if compaction is None else compaction.after,
            cost=None if compaction is None else compaction.cost,
            items="\n".join(_text(item) for section in sections for item in section),
        )
    row = without_secrets(row)
    return IndexedSession(row=row, size=size, changed=changed, exchanges=exchanges, summary=summary)


def indexed_exchange(exchange: Exchange, texts: Iterable[str] | None = None) -> IndexedExchange:
    """Return an exchange as the index stores it, to be found by `texts` or by query and reply."""
    query = _text(exchange.query.text)
    reply = _text(exchange.reply.text) if exchange.reply is not None else ""
    return IndexedExchange(
        number=exchange.query.number,
        at=exchange.query.at.isoformat(),
        query=query,
        reply=reply,
        lines=lines(*((query, reply) if texts is None else texts)),
    )


def without_secrets(row: SessionRow) -> SessionRow:
    """Return a row without secrets, in the ranges that the index stores."""
    return replace(
        row,
        **{name: _text(getattr(row, name)) for name in ("agent", "project", "name", "words")},
        spent=None if row.spent is None else tuple((_text(name), one) for name, one in row.spent),
        queries=None if row.queries is None else min(row.queries, MAX_TOTAL),
        tokens=None if row.tokens is None else min(row.tokens, MAX_TOTAL),
    )


def _text(text: str) -> str:
    """Return a text without secrets, in a form that the index stores."""
    return redact_text(text[:MAX_TEXT].encode("utf-8", "replace").decode())
