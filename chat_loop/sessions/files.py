"""File system primitives for saving, and the lock that limits a session to one writer.

No link is followed in the place of a file, or of a folder that the program makes inside a folder of
sessions. The folder of sessions itself may be a link, and so may those above it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from chat_loop.errors import ChatLoopError, FolderError, Locked, SessionLocked, os_reason
from chat_loop.sessions.records import IMAGE_FOLDER
from chat_loop.values import size_text

LOCK_FOLDER = ".locks"
TRASH = ".trash"
INNER_FOLDERS = frozenset({LOCK_FOLDER, TRASH, IMAGE_FOLDER})
"""The names of the folders that the program makes inside a folder of sessions."""
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
"""Folders that are not listed or searched unless named explicitly."""

_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC
_flush = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


def working_folder() -> Path | None:
    """Return the working directory, or None if it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


class Files:
    """Thin wrappers of system calls; all raise OSError."""

    def make_directory(self, path: Path) -> None:
        """Make a private directory with its missing parents, and sync their names."""
        if path.name in INNER_FOLDERS and os.path.lexists(path):
            os.close(open_folder(path))
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
            self.sync_directory(folder.parent)

    def create(self, path: Path) -> int:
        """Create a file that must not exist; return a descriptor that only appends."""
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | _FLAGS
        with _folder_of(path) as (folder, name):
            return os.open(name, flags, 0o600, dir_fd=folder)

    def append_to(self, path: Path) -> int:
        """Open an existing file for appending, without waiting if it is a pipe."""
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | _FLAGS)

    def set_mode(self, path: Path, mode: int) -> None:
        """Set the permissions of a file."""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _FLAGS)
        try:
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def write(self, descriptor: int, data: bytes) -> int:
        """Write once; return the number of bytes that were written."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        _flush(descriptor)

    def sync_directory(self, path: Path) -> None:
        descriptor = open_folder(path) if path.name in INNER_FOLDERS else os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file, replacing `target` if it exists."""
        with _folder_of(source) as (before, old), _folder_of(target) as (after, new):
            os.replace(old, new, src_dir_fd=before, dst_dir_fd=after)

    def move(self, source: Path, target: Path) -> None:
        """Move a file to a free name in another directory, and sync both."""
        self.rename(source, target)
        self.sync_directory(target.parent)
        self.sync_directory(source.parent)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        with contextlib.suppress(FileNotFoundError), _folder_of(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def write_new(self, path: Path, data: bytes) -> None:
        """Write a new file completely or not at all, even on Ctrl-C. Raises FileExistsError."""
        descriptor = self.create(path)
        with contextlib.ExitStack() as undo:
            undo.callback(self.remove, path)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[self.write(descriptor, bytes(rest[: 1 << 20])) :]
                self.sync(descriptor)
            finally:
                os.close(descriptor)
            undo.pop_all()

    def replace(self, path: Path, data: bytes) -> None:
        """Replace the file at `path` atomically: a crash leaves the old or the new file."""
        temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
        self.write_new(temporary, data)
        try:
            self.rename(temporary, path)
        except (OSError, KeyboardInterrupt):
            self.remove(temporary)
            raise
        self.sync_directory(path.parent)


def open_folder(path: Path) -> int:
    """Open a folder that is not a link; return its descriptor. Raises FolderError and OSError."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
    except OSError as error:
        if path.is_symlink():
            raise FolderError(errno.ELOOP, "is a symbolic link", str(path)) from error
        if error.errno == errno.ENOTDIR and os.path.lexists(path):
            raise FolderError(errno.ENOTDIR, "is not a folder", str(path)) from error
        raise


@contextlib.contextmanager
def _folder_of(path: Path) -> Iterator[tuple[int | None, Path | str]]:
    """Yield the descriptor of a file's folder, if it is one of INNER_FOLDERS, and the file's name
    in it; else None and the path. So nobody can put a link in the folder's place meanwhile.
    """
    if path.parent.name not in INNER_FOLDERS:
        yield None, path
        return
    folder = open_folder(path.parent)
    try:
        yield folder, path.name
    finally:
        os.close(folder)


@contextlib.contextmanager
def open_regular(path: Path) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """Open a regular file for reading, without following links or waiting. Raises OSError."""
    with _folder_of(path) as (folder, name):
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _FLAGS, dir_fd=folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "It is not a regular file")
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        yield file, status


def read_part(path: Path, max_bytes: int = -1) -> tuple[bytes, os.stat_result]:
    """Return the first `max_bytes` bytes (-1: all) of a regular file, and its status."""
    with open_regular(path) as (file, status):
        return file.read(max_bytes) or b"", status


def read_text(path: Path, max_bytes: int) -> str:
    """Return the text of a regular file. Raises ChatLoopError, whose message ends a sentence."""
    try:
        data, _ = read_part(path, max_bytes + 1)
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ChatLoopError("it is not UTF-8 text") from error
    except OSError as error:
        raise ChatLoopError(os_reason(error)) from error
    if len(data) > max_bytes:
        raise ChatLoopError(f"it is larger than {size_text(max_bytes)}")
    if "\0" in text:
        raise ChatLoopError("it is a binary file")
    return text


def write_private(path: Path, data: bytes) -> None:
    """Write or replace a small private file, and create its folder. Raises ChatLoopError."""
    try:
        Files().make_directory(path.parent)
        Files().replace(path, data)
    except OSError as error:
        raise ChatLoopError(f"{path} cannot be written: {os_reason(error)}.") from error


def walk_files(folder: Path, skips: Callable[[Path], bool] = lambda path: False) -> Iterator[Path]:
    """Yield the files under a folder, sorted, except links, SKIPPED_FOLDERS and paths to skip."""
    for directory, folders, names in os.walk(folder):
        parent = Path(directory)
        kept = (name for name in folders if name not in SKIPPED_FOLDERS)
        folders[:] = sorted(name for name in kept if not skips(parent / name))
        for name in sorted(names):
            file = parent / name
            if not (file.is_symlink() or skips(file)):
                yield file


class Lock:
    """An advisory lock, held until it is closed, or the process ends."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def close(self) -> None:
        """Release the lock, which the system also does when the process ends."""
        if self.descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self.descriptor)
        self.descriptor = -1

    __del__ = close


def take_lock(directory: Path, name: str, *, seconds: float = 0) -> Lock:
    """Take the lock `name` of a folder, waiting at most `seconds`. Raises Locked, and FolderError
    or another OSError.

    The lock file is never removed: otherwise two processes could hold the same lock.
    """
    folder = directory / LOCK_FOLDER
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        Files().make_directory(folder)
    flags = os.O_RDWR | os.O_CREAT | _FLAGS
    with _folder_of(folder / f"{name}.lock") as (descriptor, file):
        lock = Lock(os.open(file, flags, 0o600, dir_fd=descriptor))
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except (BlockingIOError, PermissionError) as error:
            if time.monotonic() >= deadline:
                lock.close()
                message = f"Another process is using “{name}” in {directory}."
                raise Locked(message, "Try again in a moment.") from error
        except OSError:
            lock.close()
            raise
        time.sleep(0.01)


def is_locked(directory: Path, name: str) -> bool:
    """Return True while a process holds the lock `name` of a folder. Nothing is created. Raises
    OSError on a disk without locks.
    """
    try:
        with _folder_of(directory / LOCK_FOLDER / f"{name}.lock") as (descriptor, file):
            lock = Lock(os.open(file, os.O_RDWR | _FLAGS, dir_fd=descriptor))
    except FileNotFoundError:
        return False
    with contextlib.closing(lock):
        try:
            fcntl.flock(lock.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return True
    return False


def lock_session(directory: Path, identity: str) -> Lock:
    """Take the lock of a session. Raises SessionLocked and OSError."""
    try:
        return take_lock(directory, identity)
    except Locked as error:
        message = f"Session {identity} is open in another process."
        hint = "Close it there, or resume it once it has ended."
        raise SessionLocked(message, hint) from error
