"""The thread that synchronizes the sessions during a chat."""

from __future__ import annotations

import threading
from typing import Protocol

from chat_loop.errors import SessionError, SessionLocked, os_reason
from chat_loop.sessions.mirror import SyncReport, Tell

PAUSE_SECONDS = 3.0  # between two uploads of a session that grows
RETRY_SECONDS = 20.0  # before a store that could not be used is tried again
CLOSE_SECONDS = 0.3


class Sync(Protocol):
    """Synchronizes once, as `Mirror.sync` does."""

    def __call__(self, *, both_ways: bool) -> SyncReport: ...


class BackgroundSync:
    """The thread that keeps the store up to date. It calls `tell` with sentences for the user, and
    only once with the same problem.
    """

    def __init__(
        self,
        sync: Sync,
        tell: Tell,
        *,
        pause: float = PAUSE_SECONDS,
        retry: float = RETRY_SECONDS,
    ) -> None:
        self._sync = sync
        self._tell = tell
        self._pause = pause
        self._retry = retry
        self.is_behind = False  # something could not be uploaded
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True, name="syncer")

    def start(self) -> None:
        """Start the thread; return at once."""
        if not self._closed.is_set():
            self._thread.start()

    def wake(self) -> None:
        """Upload soon, since a session has changed; return at once."""
        self._wake.set()

    def close(self) -> None:
        """Stop, after waiting up to CLOSE_SECONDS for the current upload to complete."""
        self._closed.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)

    def _work(self) -> None:
        both_ways = True
        problem = ""
        while not self._closed.is_set():
            self._wake.clear()
            try:
                report = self._sync(both_ways=both_ways)
            except SessionLocked:
                self._wake.set()
            except (SessionError, OSError) as error:
                self.is_behind = True
                text = error.args[0]
                hint = getattr(error, "hint", "")
                if isinstance(error, OSError):
                    text = f"The sessions cannot be synchronized: {os_reason(error)}."
                if text != problem:
                    self._tell(text, hint)
                problem = text
                self._closed.wait(self._retry)
                continue
            else:
                self.is_behind = bool(report.waiting)
                for sentence in ["The store works again."] * bool(problem) + report.sentences:
                    self._tell(sentence, "")
                both_ways = False
                problem = ""
            self._closed.wait(self._pause)
            self._wake.wait()
