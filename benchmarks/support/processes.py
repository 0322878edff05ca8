"""The processes that a benchmark has started, directly or indirectly."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path


def kill_descendants(marker: str) -> None:
    """Kill every process of this user, except this one, that was started with `marker` in its
    environment. Without /proc, do nothing.
    """
    for pid in list(_started_with(marker.encode())):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _started_with(marker: bytes) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) == os.getpid():
            continue
        try:
            found = marker in (folder / "environ").read_bytes()
        except OSError:  # it has ended, or belongs to another user
            continue
        if found:
            yield int(folder.name)
