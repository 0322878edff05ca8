"""The indexer: a background thread that updates the index and a shared library."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library.indexed import VectorRow
from chat_loop.library.library import Library
from chat_loop.library.semantic import start_process

if TYPE_CHECKING:
    from chat_loop.library.index import Index
    from chat_loop.library.shared import SharedLibrary

PAUSE_SECONDS = 0.002  # between two transactions, so that others get the processor and the index
AGAIN_SECONDS = 5.0  # before an index that could not be used is tried again
CLOSE_SECONDS = 0.1
MOST_LACKING = 1_000  # exchanges
"""The most exchanges without vectors on this machine that are passed over in search of others."""
VECTORS = 100  # exchanges whose vectors are sent to a team's library at a time


class Indexer:
    """The thread that updates one folder's index, and the process that embeds its exchanges."""

    def __init__(
        self, directory: Path, *, embeds: bool = False, shared: SharedLibrary | None = None
    ) -> None:
        self._library = Library(directory, self._pause)
        self._shared = shared
        self._embeds = embeds
        self._process: subprocess.Popen[bytes] | None = None
        self._wake = threading.Event()
        self._wake_lock = threading.Lock()  # `idle` is set only while nobody wakes the thread
        self.idle = threading.Event()  # set when everything is done
        self._closed = False
        self._thread = threading.Thread(target=self._work, daemon=True, name="indexer")

    def start(self) -> None:
        """Start the thread; return at once."""
        if not self._closed:
            self._thread.start()

    def wake(self) -> None:
        """Make the thread check the files again, since a session has ended; return at once."""
        with self._wake_lock:
            self.idle.clear()
            self._wake.set()

    def close(self) -> None:
        """Stop, after waiting up to CLOSE_SECONDS for the current transaction to complete."""
        self._closed = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)
        if self._process is not None:  # one that is just starting ends with its parent
            self._process.kill()
            self._process.wait()

    def _work(self) -> None:
        with suppress(_ClosedError), closing(self._library):
            while not self._closed:
                self._wake.clear()
                try:
                    if any(self._library.directory.glob("*.md")):
                        self._library.ask(self._embed)
                    if self._shared is not None:
                        self._share(self._shared)
                except (
                    SessionError,
                    IndexUnavailable,
                    OSError,
                    ImportError,
                ):  # modules cannot be loaded from a failing disk
                    self._wake.wait(AGAIN_SECONDS)
                    continue
                with self._wake_lock:
                    if not self._wake.is_set():
                        self.idle.set()
                if not self._closed:
                    self._wake.wait()

    def _embed(self, index: Index) -> None:
        """Start a process if an exchange has no vectors, unless one is running or has failed."""
        is_free = self._process is None or self._process.poll() == 0
        if self._embeds and is_free and not self._closed:
            self._process = start_process(index, os.getpid())

    def _share(self, shared: SharedLibrary) -> None:
        """Update the shared library, and send it the vectors that this machine has made."""
        from chat_loop.library.refresh import share  # loads the code that reads and redacts texts

        share(self._library.directory, shared, self._pause)
        lacking = set[bytes]()  # the exchanges that have no vectors here either
        while not self._closed and len(lacking) < MOST_LACKING:
            without = shared.lacking(VECTORS + len(lacking))
            bare = [content for content in without if content not in lacking]
            if not bare:
                break
            found, _ = self._library.ask(partial(_vectors_of, contents=bare))
            shared.keep_vectors(found)
            lacking |= {*bare} - {content for content, _ in found}

    def _pause(self, done: float, of: int) -> None:
        """Let others work. Raises _ClosedError when the indexer is closed, to stop the update."""
        self._wake.wait(PAUSE_SECONDS)
        if self._closed:
            raise _ClosedError


def _vectors_of(index: Index, contents: Sequence[bytes]) -> list[VectorRow]:
    return index.vectors_of(contents)


class _ClosedError(Exception):
    """The indexer was closed between two transactions."""
