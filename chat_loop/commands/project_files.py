"""The files of the project, found by any part of their path."""

from __future__ import annotations

import heapq
import os
import subprocess
import time
from collections.abc import Iterator
from itertools import islice
from threading import Lock

MAX_FILES = 200_000
FRESH_SECONDS = 10.0
"""The time after which the list is read again."""
_GIT = (
    *("git", "--no-optional-locks", "-c", "core.fsmonitor=false"),
    *("ls-files", "-z", "-c", "-o", "--exclude-standard"),
)
"""Lists the files in a folder of a repository, and runs nothing that the repository names."""
_GIT_SECONDS = 5
SHORTEST = 2  # characters; every path contains a shorter part


class ProjectFiles:
    """The files below the working folder. Threads may use it; one reads the list, others wait."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._due = 0.0
        self._files: list[tuple[str, str]] = []
        """Each path as it is compared, and as it is."""

    def containing(self, part: str, most: int) -> list[str]:
        """Return at most `most` paths that contain `part`, those whose names begin with it first,
        then by length.
        """
        files = self._all()  # already for `@`, so that the list is there for what follows
        wanted = part.casefold()
        if len(wanted) < SHORTEST:
            return []

        def rank(file: tuple[str, str]) -> tuple[bool, bool, int, str]:
            compared, path = file
            name = compared[compared.rfind("/") + 1 :]
            return not name.startswith(wanted), wanted not in name, len(path), path

        found = (file for file in files if wanted in file[0])
        return [path for _, path in heapq.nsmallest(most, found, key=rank)]

    def _all(self) -> list[tuple[str, str]]:
        with self._lock:
            if time.monotonic() >= self._due:
                names = islice(_listed() or _walked(), MAX_FILES)
                # a quote would end the mention, and other signs could not be shown
                usable = (name for name in names if name.isprintable() and '"' not in name)
                self._files = [(name.casefold(), name) for name in usable]
                self._due = time.monotonic() + FRESH_SECONDS
            return self._files


def _listed() -> Iterator[str] | None:
    """Return the files that git lists, or None without git or a repository."""
    try:
        found = subprocess.run(
            _GIT,
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    names = found.stdout.decode("utf-8", "surrogateescape").split("\0")
    return iter(dict.fromkeys(filter(None, names)))


def _walked() -> Iterator[str]:
    """Yield the files below the working folder, without hidden ones."""
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            if not name.startswith("."):
                yield os.path.join(folder, name).removeprefix("./")  # noqa: PTH118 - no objects
