"""Change a file without following a link, whatever becomes of its folders meanwhile.

Each folder of the path is opened in the one before it, so that a folder which was replaced by a
link is refused instead of followed. All functions raise OSError.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
"""On Linux, a folder on the way may be one that can be passed but not listed."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def create(path: Path, data: bytes) -> None:
    """Create a file and its missing folders. Raises FileExistsError."""
    with _parent(path, make=True) as folder:
        _write(path.name, folder, data)


def replace(path: Path, data: bytes) -> None:
    """Replace a regular file atomically, and keep its mode. Raises PermissionError if nobody may
    write to it.
    """
    with _parent(path, make=False) as folder:
        status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file")
        mode = stat.S_IMODE(status.st_mode)
        if not (mode & 0o222 and os.access(path.name, os.W_OK, dir_fd=folder)):
            raise PermissionError(errno.EACCES, "It is write-protected")
        temporary = f".{path.name[:200]}.{os.urandom(6).hex()}.tmp"
        try:
            _write(temporary, folder, data, mode)
            os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except (OSError, KeyboardInterrupt):
            _remove_if_there(temporary, folder)
            raise
        _sync(folder)


def remove(path: Path) -> None:
    """Remove a file."""
    with _parent(path, make=False) as folder:
        os.unlink(path.name, dir_fd=folder)


@contextmanager
def _parent(path: Path, *, make: bool) -> Iterator[int]:
    """Open the folder of an absolute path; `make` makes the folders that are missing."""
    descriptor = os.open(path.anchor, _FOLDER)
    try:
        for part in path.parent.parts[1:]:
            inner = _open_folder(part, descriptor, make=make)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(name: str, parent: int, *, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(name, dir_fd=parent)
    return os.open(name, _FOLDER, dir_fd=parent)


def _write(name: str, folder: int, data: bytes, mode: int | None = None) -> None:
    """Write a new file completely, and sync it. Without a `mode` it gets the usual one."""
    first_mode = 0o666 if mode is None else 0o600
    with os.fdopen(os.open(name, _NEW_FILE, first_mode, dir_fd=folder), "wb") as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _remove_if_there(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return


def _sync(folder: int) -> None:
    descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
