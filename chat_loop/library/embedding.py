"""Vectors for what has none, made in a process of its own: `python -m chat_loop.library.embedding
FOLDER`.

The sentence model takes 200 MB and a core for as long as it works; a process gives both back, runs
behind everything else, and can be stopped at any moment, which a thread inside the model's runtime
cannot.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.errors import SessionLocked

if TYPE_CHECKING:
    from chat_loop.library.index import Index
    from chat_loop.sessions.files import Lock

LOCK = ".embedding"
NICE = 10
UNUSABLE = 3
"""The exit code where the sentence model is no good: another try would be as bad."""
MOST_SKIPPED = 32
"""After a process that could not work, so many occasions are let pass at most: 1, then 2, then 4,
and so on.
"""


class Embedding:
    """Starts such a process when there is something to do, and stops it. Safe in any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._failures = self._skipped = 0

    def start_if_needed(self, index: Index) -> bool:
        """Have what has no vectors embedded; False: nothing is left to do here. Raises
        IndexUnavailable.
        """
        from chat_loop.library import vectors
        from chat_loop.library.semantic import missing

        with self._lock:
            if self._is_running() or self._closed or not vectors.available():
                return False
            if self._skipped or not missing(index, 1):
                self._skipped = max(0, self._skipped - 1)
                return False
            command = [sys.executable, "-P", "-m", __name__, str(self._directory), str(os.getpid())]
            quiet = subprocess.DEVNULL
            try:
                self._process = subprocess.Popen(
                    command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
                )
            except OSError:
                self._closed = True  # it cannot be started here: full text finds alone
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


def main(arguments: Sequence[str]) -> int:
    """Embed until everything has vectors, or the process that asked for it is gone; return the exit
    code.
    """
    from chat_loop.library.index import Index, IndexUnavailable
    from chat_loop.library.semantic import SemanticIndex
    from chat_loop.sessions.files import take_lock

    directory, parent = Path(arguments[0]), int(arguments[1])
    if hasattr(os, "nice"):
        os.nice(NICE)
    held: Lock | None = None
    try:
        held = take_lock(directory, LOCK)
        index = Index(directory, busy=5.0)
        try:
            semantic = SemanticIndex()
            while _goes_on(parent) and semantic.embed_some(index):
                continue
            if semantic.problem:
                return UNUSABLE
        finally:
            index.close()
    except (SessionLocked, IndexUnavailable, OSError):
        return 1
    finally:
        if held is not None:
            held.release()
    return 0


def _goes_on(parent: int) -> bool:
    """Whether the process that started this one still runs."""
    return os.name == "nt" or os.getppid() == parent


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
