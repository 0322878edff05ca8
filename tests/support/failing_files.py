"""A file system whose calls fail."""

from __future__ import annotations

import errno

from chat_loop.sessions.files import Files


class FailingFiles(Files):
    """Files whose `write` fails once `room` bytes are taken and whose `sync` raises `sync_error`,
    if these are set. `failures` counts the failures.
    """

    def __init__(self) -> None:
        self.room: int | None = None
        self.sync_error: OSError | None = None
        self.failures = 0

    def write(self, descriptor: int, data: bytes) -> int:
        if self.room is None:
            return super().write(descriptor, data)
        if not self.room:
            self.failures += 1
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = super().write(descriptor, data[: self.room])
        self.room -= taken
        return taken

    def sync(self, descriptor: int) -> None:
        if self.sync_error is not None:
            self.failures += 1
            raise self.sync_error
        super().sync(descriptor)
