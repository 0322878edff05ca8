"""The processes that a benchmark has started, directly or indirectly."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE_SECONDS = 20.0
"""The time in which a killed process ends, even on a busy machine."""


def kill_descendants(marker: str) -> None:
    """Kill every process of this user, except this one, that was started with `marker` in its
    environment, and wait until they have ended. Without /proc, do nothing.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while (pids := list(_started_with(marker.encode()))) and time.monotonic() < until:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


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
