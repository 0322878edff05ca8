"""The file of a memory (acts): where it is, what it holds, and how it is changed."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from chat_loop.errors import ChatLoopError, SessionLocked
from chat_loop.sessions.files import Files, read_part

NAME = "MEMORY.md"
LARGEST = 256 * 1024
"""Bytes of a file that is read at all."""
LOCK_SECONDS = 2.0
"""The longest that another process is waited for; it holds the lock for milliseconds."""
_PAUSE = 0.01
_WRITABLE = 0o222
_WRITABLE_BY_ALL = 0o002


def nearest(directory: Path, home: Path) -> Path | None:
    """The first MEMORY.md from `directory` upwards, as far as the project can reach; whatever it
    is.
    """
    return next(
        (path for folder in _upwards(directory, home) if os.path.lexists(path := folder / NAME)),
        None,
    )


def root_of(directory: Path, home: Path) -> Path:
    """The project's root: the directory with `.git` that holds `directory`, else `directory`
    itself.
    """
    return next(
        (folder for folder in _upwards(directory, home) if os.path.lexists(folder / ".git")),
        directory,
    )


def _upwards(directory: Path, home: Path) -> Iterator[Path]:
    """`directory` and those above it, up to the one that holds `.git`, the home directory or the
    root.

    One that everybody may write to, such as /tmp, is left out when it is not where the user is: a
    file there may be anybody's.
    """
    for folder in (directory, *directory.parents):
        if folder is not directory and os.name != "nt":
            try:
                if folder.stat().st_mode & _WRITABLE_BY_ALL:
                    return
            except OSError:
                return
        yield folder
        if folder == home or os.path.lexists(folder / ".git"):
            return


def read(path: Path) -> str:
    """What a memory file holds; bytes that are no UTF-8 are kept (`surrogateescape`). Raises
    ChatLoopError.
    """
    try:
        data, _, _ = read_part(_target(path), LARGEST + 1)
    except OSError as error:
        raise _unusable(path, _reason(error)) from error
    if len(data) > LARGEST:
        raise _unusable(path, f"it is larger than {LARGEST // 1024} KB")
    if b"\0" in data:
        raise _unusable(path, "it is no text file")
    return data.decode("utf-8", "surrogateescape")


def change(path: Path, edit: Callable[[str], str], *, locks: Path, files: Files) -> None:
    """Write what `edit` makes of the file's text (empty when there is no file), as it stands at
    that moment.

    Nobody else changes the file meanwhile, and a crash leaves the old or the new one. Raises
    ChatLoopError, with the file as it was.
    """
    try:
        with _locked(path, locks):
            exists = os.path.lexists(path)
            before = read(path) if exists else ""
            after = edit(before)
            if after == before:
                return
            data = after.encode("utf-8", "surrogateescape")
            if len(data) > LARGEST:
                raise ChatLoopError(
                    f"{path.name} would be larger than {LARGEST // 1024} KB: nothing is written.",
                    "/forget makes room.",
                )
            _write(_target(path) if exists else path, data, files, exists=exists)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ChatLoopError(f"{path} cannot be written: {reason}. Nothing is changed.") from error


def _write(path: Path, data: bytes, files: Files, *, exists: bool) -> None:
    if not exists:
        files.make_directory(path.parent)
        files.replace(path, data)
        return
    mode = path.stat().st_mode & 0o7777
    if not mode & _WRITABLE:  # whoever set it so meant it, and a rename would not mind
        raise OSError(errno.EACCES, "it is write-protected")
    files.replace(path, data)
    path.chmod(mode)


def _target(path: Path) -> Path:
    """The file itself, where `path` is a symbolic link to one in the same directory or below it.
    Raises OSError.
    """
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path, strict=True))
    if not target.is_relative_to(os.path.realpath(path.parent)):
        raise OSError(errno.ELOOP, "it is a symbolic link out of its directory")
    return target


def _unusable(path: Path, reason: str) -> ChatLoopError:
    return ChatLoopError(
        f"{path} is not used as memory: {reason}.", "Set it right, or take it away."
    )


def _reason(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "it is a symbolic link to nothing"
    if error.errno is None or error.errno in (errno.EISDIR, errno.ENXIO):
        return "it is not a regular file"
    return (error.strerror or str(error)).lower()


@contextlib.contextmanager
def _locked(path: Path, locks: Path) -> Iterator[None]:
    """The lock of a memory file, in the user's own directory `locks`: a project is kept free of
    it.
    """
    from hashlib import sha256  # only a change needs these two

    from chat_loop.sessions import lock

    identity = sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            taken = lock.take(locks, f"memory-{identity}")
            break
        except SessionLocked as error:
            if time.monotonic() > deadline:
                raise ChatLoopError(
                    f"{path} is being changed by another process. Nothing is changed.", "Try again."
                ) from error
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        taken.release()
