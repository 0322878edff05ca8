"""The history of entries across sessions: a private file of bounded size, which several terminals
can use at once.

It has prompt_toolkit's format: a line `# time`, and lines that begin with `+`. Each entry is
appended in one write. When the file is large, it is renamed and a new one is begun; both are read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

from prompt_toolkit.history import FileHistory, History

from chat_loop.input.lines import clean
from chat_loop.redact import find_secrets

MAX_LENGTH = 10_000  # characters; longer entries are not kept
MAX_BYTES = 512 * 1024  # the size of one file, of which there are two
MAX_READ = 8 * MAX_BYTES  # a larger file is another program's, and is not read


class PrivateHistory(History):
    """Entries in a file that only the user can read. If the file cannot be read or written, the
    chat goes on without it.

    An entry with a secret, or for which `is_private` returns True, stays in memory only.
    """

    def __init__(self, path: Path, is_private: Callable[[str], bool] = lambda _: False) -> None:
        super().__init__()
        self._path = path
        self._older = path.with_name(f"{path.name}.old")
        self._is_private = is_private

    def keep_draft(self, text: str) -> None:
        """Keep a text that was not entered, in memory only."""
        self._loaded_strings.insert(0, text)

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, newest first."""
        for path in (self._path, self._older):
            with contextlib.suppress(OSError):
                if path.is_file() and path.stat().st_size <= MAX_READ:  # a pipe would block
                    yield from FileHistory(path).load_history_strings()

    def store_string(self, string: str) -> None:
        """Store an entry unless it is too long or private."""
        if len(string) > MAX_LENGTH or self._is_private(string) or find_secrets(string):
            return
        path = self._path
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                return
            private = partial(os.open, mode=0o600)
            with open(path, "ab", buffering=0, opener=private) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # else two programs could both rename
                os.fchmod(file.fileno(), 0o600)  # another program may have made it
                file.write(history_entry(clean(string), datetime.now()))
                own = os.fstat(file.fileno())
                if own.st_size > MAX_BYTES and os.path.samestat(own, path.stat()):
                    path.replace(self._older)


def without_entries(data: bytes, is_removed: Callable[[str], bool]) -> tuple[bytes, int]:
    """Return a history file without the entries that `is_removed` selects, and their number."""
    blocks = re.split(rb"(?m)^(?=# )", data)
    lines = (block.decode("utf-8", "replace").split("\n") for block in blocks)
    entries = []
    for block in lines:
        entries.append("\n".join(line[1:] for line in block if line[:1] == "+"))
    kept = []
    for block, entry in zip(blocks, entries, strict=True):
        if not is_removed(entry):
            kept.append(block)
    return b"".join(kept), len(blocks) - len(kept)


def history_entry(entry: str, now: datetime) -> bytes:
    """Return an entry in the format of the file."""
    lines = "".join(f"+{line}\n" for line in entry.split("\n"))
    return f"\n# {now:%Y-%m-%d %H:%M:%S}\n{lines}".encode()
