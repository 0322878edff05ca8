"""The process that embeds exchanges: `python -m chat_loop.library.embedding FOLDER PARENT`.

The model takes 200 MB and a core for as long as it embeds; a process gives both back.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.errors import IndexUnavailable, SessionLocked
from chat_loop.library.semantic import SemanticIndex, available, unembedded
from chat_loop.sessions.files import take_lock

if TYPE_CHECKING:
    from chat_loop.library.index import Index

LOCK = ".embedding"
NICE = 10
NO_PARENT = 0
ALONE_SECONDS = 60.0  # of a process without a parent: a search on the command line leaves one


def start_detached(index: Index) -> None:
    """Start a process that outlives this one, if something has no vectors."""
    process = start(index, NO_PARENT)
    if process is not None:
        process.returncode = 0  # it is not waited for


def start(index: Index, parent: int) -> subprocess.Popen[bytes] | None:
    """Start a process if something has no vectors; else return None."""
    if not (available() and unembedded(index, 1)):
        return None
    command = (sys.executable, "-P", "-m", "chat_loop.library.embedding")
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [*command, str(index.directory), str(parent)],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )
    except OSError:
        return None


def main(arguments: Sequence[str]) -> int:
    """Embed until everything has vectors or is no longer needed; return the exit code."""
    from chat_loop.library.index import Index

    directory, parent = Path(arguments[0]), int(arguments[1])
    until = time.monotonic() + ALONE_SECONDS
    os.nice(NICE)
    semantic = SemanticIndex()
    try:
        with closing(take_lock(directory, LOCK)), closing(Index(directory, patient=True)) as index:
            while os.getppid() == parent or (parent == NO_PARENT and time.monotonic() < until):
                if not semantic.embed_batch(index):
                    return 1 if semantic.problem else 0
    except (SessionLocked, IndexUnavailable, OSError):
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
