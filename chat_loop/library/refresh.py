"""Updates of an index, and of a shared library, from the files of a folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.library.indexed import IndexedExchange, IndexedSession, Progress, Texts, silent
from chat_loop.library.terms import lines
from chat_loop.redact import redact_text
from chat_loop.sessions import legacy, summary_block
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import read_part
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Exchange, RunningTotals, Session, SessionRow
from chat_loop.sessions.rows import (
    Stamp,
    clamp_time,
    is_transcript,
    read_row,
    row_of,
    spoken_tokens,
    stamps,
)
from chat_loop.tokens import estimate
from chat_loop.values import compaction_text

if TYPE_CHECKING:
    from chat_loop.library.index import Index
    from chat_loop.library.shared import SharedLibrary

BATCH_FILES = 50
BATCH_BYTES = 1 << 18
"""The most in one transaction, so that nothing waits long for the index or the processor."""
TEXTS_OF_ROWS = ("agent", "project", "git_branch", "name", "words")
MAX_FILE = 32 << 20  # searchable bytes of a transcript
MAX_TOTAL = 10**14  # queries or tokens of a session; the sum over many sessions still fits a table
FILE_CHARACTERS = 50_000  # searchable characters of an attached file, the same as of a tool result
MAX_TEXT = 1 << 20  # characters of a text that the index keeps; the rest is only in the file


def refresh(
    index: Index,
    stale: Sequence[Stamp],
    gone: Collection[str],
    *,
    rows_only: bool = False,
    progress: Progress = silent,
) -> None:
    """Index stale files, or only their rows, and drop sessions that are `gone`, in small steps."""
    if gone:
        index.drop(gone)
    for batch in batches(index.directory, stale, rows_only=rows_only, progress=progress):
        index.put(batch)


def share(
    directory: Path,
    shared: SharedLibrary,
    progress: Progress = silent,
) -> int:
    """Store the changed sessions of a folder in a shared library, in small steps. Return their
    number. Raises OSError and IndexUnavailable.
    """
    stale, gone = shared.stale(stamps(directory))
    if gone:
        shared.push((), gone)
    for batch in batches(directory, stale, progress=progress):
        shared.push(batch, ())
    return len(stale)


def batches(
    directory: Path,
    stale: Sequence[Stamp],
    *,
    rows_only: bool = False,
    progress: Progress = silent,
) -> Iterator[list[IndexedSession]]:
    """Yield stale files, or only their rows, as an index stores them: each time as many as one
    transaction takes.
    """
    batch: list[IndexedSession] = []
    size = done = 0

    def show(share: float) -> None:
        progress(done - 1 + share, len(stale))

    for done, stamp in enumerate(stale, 1):
        path = directory / f"{stamp.id}.md"
        if rows_only:
            row = read_row(path)
            session = IndexedSession(row=row, size=stamp.size, changed=stamp.changed)
        else:
            session = _read(path, stamp, show)
        batch.append(replace(session, row=without_secrets(session.row)))
        size += stamp.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_FILES or done == len(stale):
            yield batch
            batch = []
            size = 0
            progress(done, len(stale))


def _read(path: Path, stamp: Stamp, progress: Callable[[float], None]) -> IndexedSession:
    """Read one file with its exchanges and summary block, or only its row if it cannot be parsed.
    Report the share of the exchanges that are read, below 1, to `progress`.
    """
    session = None
    row = None
    size = stamp.size
    changed = stamp.changed
    with suppress(OSError):
        data, status = read_part(path, MAX_FILE)
        session = parse(data).session
        if len(data) == status.st_size:
            size = status.st_size
            changed = clamp_time(status.st_mtime_ns)
            if session is None:
                session, _ = legacy.read(data, path)
            elif is_transcript(data):
                row = row_of(session, path, data)
    row = row or read_row(path)
    if session is None:
        return IndexedSession(row=row, size=size, changed=changed, running=())
    exchanges = []
    for at, exchange in enumerate(session.exchanges):
        if at and stamp.size > BATCH_BYTES:
            progress(at / len(session.exchanges))
        exchanges.append(indexed_exchange(exchange))
    stored = IndexedSession(
        row=row,
        size=size,
        changed=changed,
        exchanges=exchanges,
        running=_running_totals(session),
    )
    if (seal := session.seal) is None or (block := seal.summary) is None:
        return stored
    archived = seal.covers
    if archived is None:
        archived = max((exchange.number for exchange in exchanges), default=0)
    sizes: tuple[float | None, ...] = (None, None, None)
    if (compaction := seal.compaction) is not None:
        sizes = compaction.before, compaction.after, compaction.cost
        text = compaction_text(compaction).partition(" tokens")[0]
        row = replace(row, compaction=f"compacted {text}")
    sections = block.topics, block.decisions, block.pending, block.pinned, block.key_facts
    return replace(
        stored,
        row=row,
        archived=archived,
        summary=(estimate(summary_block.render(block)), *sizes),
        items="\n".join(map(_text, chain.from_iterable(sections))),
    )


def texts(exchange: Exchange) -> Texts:
    """Return the speakers and texts of an exchange: user, model, then tools and attached files."""
    reply = exchange.reply.text if exchange.reply is not None else ""
    results = [("User", exchange.query.text), ("Assistant", reply)]
    for use in exchange.uses:
        result = use.result.text if use.result is not None else ""
        results.append((f"Tool {use.call.name}", f"{use.call.arguments}\n{result}"))
    for file in exchange.attached:
        if file.text:
            results.append((f"File {encode_line(file.name)}", file.text[:FILE_CHARACTERS]))
    return tuple(results)


def indexed_exchange(exchange: Exchange) -> IndexedExchange:
    """Return an exchange as the index stores it."""
    stored = tuple((_text(who), _text(text)) for who, text in texts(exchange))
    return IndexedExchange(
        number=exchange.number,
        at=exchange.query.at.isoformat(),
        texts=stored,
        lines=lines(*(text for _, text in stored)),
    )


def read_running_totals(path: Path) -> list[RunningTotals]:
    """Return the running totals of a session's file, [] if it cannot be read."""
    try:
        data, _ = read_part(path, MAX_FILE)
    except OSError:
        return []
    session = parse(data).session
    if session is None:
        return []
    return _running_totals(session)


def _running_totals(session: Session) -> list[RunningTotals]:
    """Return a session's running totals without secrets, with numbers that the index can store."""
    names = {model: _text(model) for model in session.usage_of_models}
    found = []
    for totals in session.running_totals(spoken_tokens):
        spent = totals.spent and tuple((names[model], usage) for model, usage in totals.spent)
        queries = min(totals.queries, MAX_TOTAL)
        tokens = min(totals.tokens, MAX_TOTAL)
        found.append(replace(totals, queries=queries, tokens=tokens, spent=spent))
    return found


def without_secrets(row: SessionRow) -> SessionRow:
    """Return a row without secrets, with numbers that the index can store."""
    texts = {name: _text(getattr(row, name)) for name in TEXTS_OF_ROWS}
    spent = row.spent and tuple((_text(model), usage) for model, usage in row.spent)
    queries = row.queries and min(row.queries, MAX_TOTAL)
    tokens = row.tokens and min(row.tokens, MAX_TOTAL)
    return replace(row, **texts, spent=spent, queries=queries, tokens=tokens)


def _text(text: str) -> str:
    """Return a text without secrets, in a form that the index can store."""
    return redact_text(text[:MAX_TEXT].encode("utf-8", "replace").decode())
