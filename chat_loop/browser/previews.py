"""Previews read behind the screen: one at a time, for the row that is selected by then, and
remembered.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from chat_loop.browser.preview import Preview
from chat_loop.sessions.records import SessionRow

REMEMBERED = 200


class Previews:
    """`read` is called in a thread of its own; `changed` in the loop's, when there is something new
    to show.
    """

    def __init__(self, read: Callable[[SessionRow], Preview], changed: Callable[[], None]) -> None:
        self._read = read
        self._changed = changed
        self._known: dict[SessionRow, Preview] = {}
        self._reading = False
        self._wanted: SessionRow | None = None

    def get(self, row: SessionRow) -> Preview | None:
        """The preview of `row`; None while it is being read. Only what was asked for last is read
        next.
        """
        known = self._known.get(row)
        if known is None:
            self._wanted = row
            self._start()
        return known

    def forget(self) -> None:
        """Read everything again: files may have changed."""
        self._known.clear()

    def _start(self) -> None:
        row, self._wanted = self._wanted, None
        if self._reading:
            self._wanted = row
            return
        if row is None or row in self._known:
            return
        self._reading = True
        # A daemon: a file that cannot be read to its end must not keep the program from leaving.
        threading.Thread(
            target=self._work, args=(asyncio.get_running_loop(), row), daemon=True, name="preview"
        ).start()

    def _work(self, loop: asyncio.AbstractEventLoop, row: SessionRow) -> None:
        preview = Preview(notes=("It cannot be read.",))
        try:
            preview = self._read(row)
        finally:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._done, row, preview)

    def _done(self, row: SessionRow, preview: Preview) -> None:
        self._reading = False
        if len(self._known) >= REMEMBERED:
            self._known.pop(next(iter(self._known)))
        self._known[row] = preview
        self._start()
        self._changed()
