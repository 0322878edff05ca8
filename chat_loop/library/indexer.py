"""Indexer: keeps the index up to date behind the prompt, in a thread of its own.

It never raises and never holds anybody up: what goes wrong is a sentence in `trouble`, and whatever
was missed is found by size and modification time the next time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from chat_loop.sessions.partial import storable
from chat_loop.sessions.records import Session

if TYPE_CHECKING:
    from chat_loop.library.file import IndexUnavailable
    from chat_loop.library.growth import Growth
    from chat_loop.library.index import Index

BATCH_FILES = 20
BATCH_BYTES = 1 << 17
"""So much is read before the thread looks whether there is something newer to do."""
PAUSE_SECONDS = 0.002
"""Between two batches, so that whoever waits for the processor or the index gets it."""
AGAIN_SECONDS = 5.0
"""After an index that could not be used it is tried again."""
MOST_FAILURES = 3
"""So often in a row a damaged index is made anew at once."""
CLOSE_SECONDS = 0.1

Job = Callable[["Index"], bool]
"""Does a little with an index that is up to date; True when there is more to do."""


class _Note(Struct, frozen=True):
    """A live session as it was when its file had this size and time."""

    session: Session
    size: int
    changed: int
    sealed: bool


class Indexer:
    """One folder's index. `now()` is the time; `jobs` are done when every file is in the index."""

    def __init__(
        self, directory: Path, now: Callable[[], datetime], jobs: Sequence[Job] = ()
    ) -> None:
        self.directory = directory
        self.now = now
        self.trouble = ""
        """Why the index is not up to date, or what was wrong with it, as a sentence; empty:
        nothing.
        """
        self._lasting = False
        self._jobs = tuple(jobs)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._notes: dict[Path, _Note] = {}
        self._growths: dict[Path, Growth] = {}
        self._index: Index | None = None

    def start(self) -> None:
        """Begin to work; returns at once."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, daemon=True, name="indexer")
                self._thread.start()

    def note(self, session: Session, path: Path, *, sealed: bool = False) -> None:
        """The session at `path`, of which everything is saved, has further entries or was sealed;
        returns at once.
        """
        try:
            status = path.lstat()
        except OSError:
            return
        with self._lock:
            if self._closed:
                return
            before = self._notes.get(path)
            sealed = sealed or (before is not None and before.sealed)
            self._notes[path] = _Note(session, status.st_size, storable(status.st_mtime_ns), sealed)
            self._idle.clear()
            self._wake.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything is done, at most `timeout` seconds; whether it is."""
        return self._idle.wait(timeout)

    def close(self) -> None:
        """Stop: what was noted is still taken when that is quick."""
        with self._lock:
            self._closed = True
            thread = self._thread
            self._wake.set()
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def _work(self) -> None:
        from chat_loop.library.file import IndexUnavailable

        catching_up, failures = True, 0
        while not (self._closed and not self._notes):
            try:
                if self._take_note():
                    continue
                if self._closed:
                    break
                if catching_up:
                    catching_up = self._catch_up()
                elif any(job(self._opened()) for job in self._jobs):
                    self._pause()
                else:
                    failures = 0
                    self._rest(0.0)
            except IndexUnavailable as error:
                catching_up, failures = True, failures + 1
                if self._closed or not self._may_go_on(error) or failures == MOST_FAILURES:
                    self._rest(AGAIN_SECONDS)
        if self._index is not None:
            self._index.close()

    def _rest(self, patience: float) -> None:
        """Wait for something to do; `patience` seconds at most, unless that is 0."""
        with self._lock:
            if self._closed or (self._notes and not patience):
                return
            self._wake.clear()
            if not patience:
                self.trouble = self.trouble if self._lasting else ""
                self._idle.set()
        self._wake.wait(patience or None)

    def _pause(self) -> None:
        if not self._closed:
            self._wake.wait(PAUSE_SECONDS)

    def _opened(self) -> Index:
        from chat_loop.library.index import Index

        self._index = self._index or Index(self.directory)
        return self._index

    def _catch_up(self) -> bool:
        """Read the newest files that the index does not know; True when there may be more, or
        something else came.
        """
        from chat_loop.library.refresh import refresh
        from chat_loop.library.stale import stale
        from chat_loop.sessions.partial import newest_first

        if not self.directory.is_dir():
            return False
        try:
            there = newest_first(self.directory)
        except OSError as error:
            self.trouble = f"The sessions folder {self.directory} cannot be read: {error.strerror}."
            return False
        if not there and self._index is None:
            return False
        behind = stale(self._opened().known(), there)
        refresh(
            self._opened(),
            self.directory,
            behind,
            progress=lambda done, of: self._pause(),
            stopped=lambda: self._closed or bool(self._notes),
            batch_files=BATCH_FILES,
            batch_bytes=BATCH_BYTES,
        )
        return bool(self._notes)

    def _take_note(self) -> bool:
        """Take what was noted of one session; False when nothing was."""
        with self._lock:
            if not self._notes:
                return False
            path = next(iter(self._notes))
            note = self._notes.pop(path)
        try:
            self._take(path, note)
        except OSError as error:
            self.trouble = f"{path.name} cannot be read: {error.strerror}."
        return True

    def _take(self, path: Path, note: _Note) -> None:
        from chat_loop.library.growth import Growth
        from chat_loop.library.refresh import grown

        growth = self._growths.get(path)
        if growth is None or not growth.goes_on(note.session):
            growth = Growth(note.session.header)
        self._growths.pop(path, None)
        grown(
            self._opened(), growth, note.session, path, note.size, note.changed, sealed=note.sealed
        )
        if not note.sealed:
            self._growths[path] = growth

    def _may_go_on(self, error: IndexUnavailable) -> bool:
        """Let the index go, and say why. True when it is out of the way: a new one can be
        opened.
        """
        from chat_loop.library.file import put_away

        if self._index is not None:
            self._index.close()
            self._index = None
        self._growths.clear()
        trouble, is_away = put_away(self.directory, self.now(), error)
        self.trouble, self._lasting = trouble or self.trouble, is_away
        return is_away
