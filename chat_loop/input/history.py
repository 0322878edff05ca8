"""The history of entries over sessions: a private file of a bounded size, for several terminals at
once.

An entry is a line `# time` and its lines, each behind a `+`. Every entry is one write at the end of
the file. When that has grown large it is renamed, and a new one begun; both are read.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from prompt_toolkit.history import History

from chat_loop.input.lines import clean
from chat_loop.redact import find_secrets

MAX_LENGTH = 10_000
"""Characters; longer entries are not kept."""
LARGEST = 512 * 1024
"""Bytes of one file, of which there are two."""

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class PrivateHistory(History):
    """Entries in a file that only the user can read; a disk that refuses it costs the history, not
    the chat.

    An entry with a secret, or for which `is_private` returns True, stays in memory only.
    """

    def __init__(self, path: Path, is_private: Callable[[str], bool] = lambda _: False) -> None:
        super().__init__()
        self._path = path
        self._older = path.with_name(f"{path.name}.old")
        self._is_private = is_private

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, newest first."""
        return reversed([*entries(_read(self._older)), *entries(_read(self._path))])

    def store_string(self, string: str) -> None:
        """Store an entry unless it is too long or private."""
        if len(string) > MAX_LENGTH or self._is_private(string) or find_secrets(string):
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _append(self._path, history_entry(clean(string), datetime.now())):
                self._path.replace(self._older)
        except OSError:
            return


def history_entry(entry: str, now: datetime) -> bytes:
    """Return an entry in the format of the file."""
    lines = "".join(f"+{line}\n" for line in entry.split("\n"))
    return f"\n# {now:%Y-%m-%d %H:%M:%S}\n{lines}".encode()


def entries(data: bytes) -> list[str]:
    """Return the entries of the file, the oldest first; what is torn or foreign is left out."""
    found: list[str] = []
    lines: list[str] = []
    for line in [*data.decode("utf-8", "replace").split("\n"), ""]:
        if line.startswith("+"):
            lines.append(line[1:])
        elif lines:
            found.append("\n".join(lines))
            lines = []
    return found


def _append(path: Path, data: bytes) -> bool:
    """Append to the file; return True when it is large enough to begin another."""
    descriptor = os.open(
        path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | _NONBLOCK | _CLOEXEC | _BINARY, 0o600
    )
    try:
        status = os.fstat(descriptor)
        regular = stat.S_ISREG(status.st_mode)
        if regular and status.st_mode & 0o077 and os.name != "nt":
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, 0o600)
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
    # Another terminal may have begun a new file meanwhile: that one stays.
    return regular and status.st_size + len(data) > LARGEST and path.lstat().st_ino == status.st_ino


def _read(path: Path) -> bytes:
    """Return the last bytes of a file, up to the limit; nothing when it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _CLOEXEC | _BINARY)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return b""
            start = max(0, status.st_size - 2 * LARGEST)
            file.seek(start)
            data = file.read(2 * LARGEST)
    except OSError:
        return b""
    return data[data.find(b"\n# ") + 1 :] if start else data
