"""Bringing the index up to date with the files (act)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chat_loop.library.digest import Digest, digest
from chat_loop.library.index import Index
from chat_loop.sessions import foreign, listing
from chat_loop.sessions.files import read_part
from chat_loop.sessions.listing import Stamp
from chat_loop.sessions.parse import parse
from chat_loop.sessions.row import SessionRow

BATCH_BYTES = 1 << 20
BATCH_FILES = 200
"""A transaction holds at most these: a reader in another process waits for no more."""


@dataclass(frozen=True, slots=True)
class Stale:
    """What the index does not know as it is: files that are new or changed, newest first, and ids that are gone."""

    files: tuple[Stamp, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.files or self.gone)


def stale(index: Index, there: Sequence[Stamp]) -> Stale:
    """Compare the index with the files that are there. Raises IndexTrouble."""
    known = index.stamps()
    files = tuple(stamp for stamp in there if known.get(stamp.id) != (stamp.changed, stamp.size))
    ids = {stamp.id for stamp in there}
    return Stale(files, tuple(identity for identity in known if identity not in ids))


def refresh(
    index: Index,
    directory: Path,
    behind: Stale,
    *,
    progress: Callable[[int, int], None] | None = None,
    stopped: Callable[[], bool] = bool,
) -> int:
    """Read what is stale into the index, in short transactions; return how many files were read.

    `progress(done, all)` is told after each of them. Stops early when `stopped()`. Raises IndexTrouble.
    """
    if behind.gone:
        index.drop(behind.gone)
    done = 0
    for batch in _batches(behind.files):
        if stopped():
            break
        index.put(read(directory, stamp) for stamp in batch)
        done += len(batch)
        if progress is not None:
            progress(done, len(behind.files))
    return done


def read(directory: Path, stamp: Stamp) -> Digest:
    """Read one file. One that cannot be read is known by its row."""
    path = directory / f"{stamp.id}.md"
    updated = listing.moment(stamp.changed)
    try:
        data, _, status = read_part(path)
    except OSError:
        return digest(
            SessionRow(id=stamp.id, path=path, state="foreign", updated=updated), None, stamp.size, stamp.changed
        )
    session = parse(data).session
    if session is not None:
        row, header_id = listing.row_of(session, path, updated), session.header.id
    else:
        row, header_id = listing.row(path, updated), ""
        session = foreign.read(data, path)[0] if row.state == "plain" else None
    return digest(row, session, status.st_size, status.st_mtime_ns, header_id)


def _batches(files: Iterable[Stamp]) -> Iterable[list[Stamp]]:
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
