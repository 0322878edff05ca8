"""The indexer: brings the index up to date behind the prompt, in a thread of its own.

It never raises and never holds anybody up: an error is a sentence in `trouble`, and whatever was
missed is found by size and modification time the next time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.errors import IndexUnavailable, os_reason
from chat_loop.sessions.partial import newest_first

if TYPE_CHECKING:
    from chat_loop.library.index import Index

PAUSE_SECONDS = 0.002
"""Between two batches, so that whoever waits for the processor or the index gets it."""
AGAIN_SECONDS = 5.0
"""The time after which an index that could not be used is tried again."""
CLOSE_SECONDS = 0.1


class Indexer:
    """The thread of one folder's index. `then` is called whenever every file is in the index."""

    def __init__(self, directory: Path, then: Callable[[Index], object] | None = None) -> None:
        self.directory = directory
        self.trouble = ""
        """Why the index is not up to date, as a sentence; empty: it is, or is just being read."""
        self._then = then
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._index: Index | None = None

    def start(self) -> None:
        """Begin to work; return at once."""
        if self._thread is None and not self._closed:
            thread = threading.Thread(target=self._work, daemon=True, name="indexer")
            thread.start()
            self._thread = thread  # only now can `close`, in another thread, wait for it

    def wake(self) -> None:
        """Look at the files again, since a session has ended; return at once."""
        self._idle.clear()
        self._wake.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything is done, at most `timeout` seconds. Return True when it is."""
        return self._idle.wait(timeout)

    def close(self) -> None:
        """Stop: what is in the middle of being written is still written when that is quick."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def _work(self) -> None:
        from chat_loop.library.index_file import make_way

        failures = 0
        while not self._closed:
            self._wake.clear()
            patience = None
            try:
                self._catch_up()
                failures, self.trouble = 0, ""
            except OSError as error:
                self.trouble = (
                    f"The sessions folder {self.directory} cannot be read: {os_reason(error)}."
                )
            except IndexUnavailable as error:
                failures += 1
                self._drop_index()
                line = make_way(self.directory, error)
                self.trouble = str(error) if line is None else line
                patience = 0.0 if line is not None and failures == 1 else AGAIN_SECONDS
            if patience is None and not self._wake.is_set():
                self._idle.set()
            self._wake.wait(patience)
        self._drop_index()

    def _catch_up(self) -> None:
        """Read what the index does not know. Raises IndexUnavailable, OSError for the folder."""
        from chat_loop.library.index import Index
        from chat_loop.library.refresh import refresh

        there = newest_first(self.directory)
        if not there and self._index is None:
            return
        index = self._index = self._index or Index(self.directory)
        refresh(
            index,
            index.stale(there),
            progress=lambda done, of: self._pause(),
            stopped=lambda: self._closed,
        )
        if self._then is not None and not self._closed:
            self._then(index)

    def _pause(self) -> None:
        if not self._closed:
            self._wake.wait(PAUSE_SECONDS)

    def _drop_index(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None
