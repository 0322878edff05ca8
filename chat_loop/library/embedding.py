"""Vectors for what has none, made in a process of its own: `python -m chat_loop.library.embedding
FOLDER PARENT`.

The sentence model takes 200 MB and a core for as long as it works; a process gives both back, runs
behind everything else, and can be stopped at any moment, which a thread inside the model's runtime
cannot. It ends with its parent; the one that a search on the command line leaves has none, and ends
after a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.errors import IndexUnavailable, SessionLocked
from chat_loop.library import vectors
from chat_loop.library.semantic import SemanticIndex, missing
from chat_loop.sessions.files import Lock, take_lock

if TYPE_CHECKING:
    from chat_loop.library.index import Index

LOCK = ".embedding"
NICE = 10
UNUSABLE = 3
"""The exit code where the sentence model is no good: another try would be as bad."""
MOST_SKIPPED = 32
"""After a process that could not work, so many occasions are let pass at most: 1, then 2, then 4,
and so on.
"""
NO_PARENT = 0
ALONE_SECONDS = 60.0


class Embedding:
    """Starts such a process when there is something to do, and stops it. Safe in any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._failures = self._skipped = 0

    def start_if_needed(self, index: Index) -> bool:
        """Have what has no vectors embedded.

        Return False: nothing is left to do in this process. Raises IndexUnavailable.
        """
        with self._lock:
            if self._is_running() or self._closed:
                return False
            if self._skipped or not _is_needed(index):
                self._skipped = max(0, self._skipped - 1)
                return False
            self._process = _started(self._directory, os.getpid())
            self._closed = self._process is None  # full text finds alone
            return False

    def _is_running(self) -> bool:
        """Look at the process; when it has ended in vain, be slower to start the next one."""
        if self._process is None:
            return False
        code = self._process.poll()
        if code is None:
            return True
        self._process = None
        self._closed = self._closed or code == UNUSABLE
        self._skipped = min(2**self._failures, MOST_SKIPPED) if code else 0
        self._failures = self._failures + 1 if code else 0
        return False

    def close(self) -> None:
        """Stop the process; what it has embedded stays."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()


def leave_behind(index: Index) -> bool:
    """Start a process that goes on when this one ends, if there is something to do; return whether
    one was started. Raises IndexUnavailable.
    """
    process = _started(index.directory, NO_PARENT) if _is_needed(index) else None
    if process is None:
        return False
    process.returncode = 0  # nobody waits for it
    return True


def _is_needed(index: Index) -> bool:
    return vectors.available() and bool(missing(index, 1))


def _started(directory: Path, parent: int) -> subprocess.Popen[bytes] | None:
    """Start a process; return None where none can be started."""
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(directory), str(parent)],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )
    except OSError:
        return None


def main(arguments: Sequence[str]) -> int:
    """Embed until everything has vectors, or the parent is gone; return the exit code."""
    from chat_loop.library.index import Index

    directory, parent = Path(arguments[0]), int(arguments[1])
    until = time.monotonic() + ALONE_SECONDS
    if hasattr(os, "nice"):
        os.nice(NICE)
    held: Lock | None = None
    try:
        held = take_lock(directory, LOCK)
        with closing(Index(directory, patient=True)) as index:
            semantic = SemanticIndex()
            while _goes_on(parent, until) and semantic.embed_some(index):
                continue
            return UNUSABLE if semantic.problem else 0
    except (SessionLocked, IndexUnavailable, OSError):
        return 1
    finally:
        if held is not None:
            held.release()


def _goes_on(parent: int, until: float) -> bool:
    """Tell whether the parent still runs, or the time of a process without one is not over."""
    if parent == NO_PARENT:
        return time.monotonic() < until
    return os.name == "nt" or os.getppid() == parent


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
