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
NO_PARENT = 0
ALONE_SECONDS = 60.0


class Embedding:
    """Starts such a process when there is something to do, and stops it. Safe in any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def start_if_needed(self, index: Index) -> None:
        """Have what has no vectors embedded, unless that failed before. Raises
        IndexUnavailable.
        """
        with self._lock:
            code = self._process.poll() if self._process is not None else 0
            self._closed = self._closed or code not in (0, None)
            if code == 0 and not self._closed and _is_needed(index):
                self._process = _start(self._directory, os.getpid())
                self._closed = self._process is None  # full text finds alone

    def close(self) -> None:
        """Stop the process; what it has embedded stays."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()


def leave_behind(index: Index) -> None:
    """Start a process that goes on when this one ends, if there is something to do. Raises
    IndexUnavailable.
    """
    process = _start(index.directory, NO_PARENT) if _is_needed(index) else None
    if process is not None:
        process.returncode = 0  # nobody waits for it


def _is_needed(index: Index) -> bool:
    return vectors.available() and bool(missing(index, 1))


def _start(directory: Path, parent: int) -> subprocess.Popen[bytes] | None:
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
    """Embed until everything has vectors, or the parent is gone, or without one for ALONE_SECONDS;
    return the exit code.
    """
    from chat_loop.library.index import Index

    directory, parent = Path(arguments[0]), int(arguments[1])
    until = time.monotonic() + ALONE_SECONDS
    if hasattr(os, "nice"):
        os.nice(NICE)

    def goes_on() -> bool:
        if parent == NO_PARENT:
            return time.monotonic() < until
        return os.name == "nt" or os.getppid() == parent

    held: Lock | None = None
    try:
        held = take_lock(directory, LOCK)
        with closing(Index(directory, patient=True)) as index:
            semantic = SemanticIndex()
            while goes_on() and semantic.embed_some(index):
                continue
            return 1 if semantic.problem else 0
    except (SessionLocked, IndexUnavailable, OSError):
        return 1
    finally:
        if held is not None:
            held.release()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
