"""The ways in which other programs disturb a session's file while the session is live."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LINE = b"\na line of another program\n"
UNNOTICED = "other words, same size and time"
OLD = "old"
"""The name of a copy of the file after the first exchange, beside the sessions folder."""


@dataclass(frozen=True)
class Way:
    """A disturbance. `moves` is True when the conversation continues in another file. `anew` is
    True when the file is written again in its place.
    """

    name: str
    act: Callable[[Path, Path], object]
    moves: bool = True
    anew: bool = False


def beside(path: Path) -> Path:
    """Return a path for a copy, on the same file system and outside the sessions folder."""
    return path.parent.parent / f"{path.name}.copy"


def rewritten(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the file in place, so that the inode stays the same."""
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(change(data))


def unnoticed(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change bytes in place, without changing the size and the time of the file."""
    status, data = path.stat(), path.read_bytes()
    changed = change(data)
    assert len(changed) == len(data)
    with path.open("r+b") as file:
        file.write(changed)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced(path: Path, data: bytes) -> None:
    """Put another file in its place, as most editors do."""
    copy = beside(path)
    copy.write_bytes(data)
    copy.replace(path)


def in_place_of(path: Path, make: Callable[[], object]) -> None:
    path.unlink()
    make()


def linked(path: Path) -> None:
    path.rename(beside(path))
    path.symlink_to(beside(path))


def without_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def without_exchange(data: bytes) -> bytes:
    start = data.index(b"\n<!-- chat:query n=2 ")
    after = data.find(b"\n<!-- chat:query n=3 ")
    return data[:start] + (data[after:] if after > 0 else b"")


def without_words(data: bytes) -> bytes:
    return data.replace(b"second words", b"words")


def with_line(data: bytes) -> bytes:
    return data.replace(b"\n---\n", b"\n---\na line by hand\n", 1)


def another_folder(path: Path) -> None:
    without_folder(path)
    path.parent.mkdir()


def added(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def conflicted(path: Path) -> None:
    """Make the copies that sync tools leave beside a file that two machines changed."""
    for name in (f"{path.stem} (conflicted copy 2026-11-21)", f"{path.stem}.sync-conflict-1"):
        path.with_name(f"{name}.md").write_bytes(path.read_bytes())


def newer_beside(path: Path, old: Path) -> None:
    conflicted(path)
    replaced(path, old.read_bytes())


WAYS = [
    Way("old copy by rename", lambda path, old: replaced(path, old.read_bytes())),
    Way("cut to half", lambda path, old: rewritten(path, lambda data: data[: len(data) // 2])),
    Way("emptied", lambda path, old: rewritten(path, lambda _: b"")),
    Way(
        "CRLF",
        lambda path, old: replaced(path, path.read_bytes().replace(b"\n", b"\r\n")),
        moves=False,
    ),
    Way("deleted", lambda path, old: path.unlink(), moves=False, anew=True),
    Way("folder gone", lambda path, old: without_folder(path), moves=False, anew=True),
    Way("a pipe", lambda path, old: in_place_of(path, lambda: os.mkfifo(path))),
    Way("a symbolic link", lambda path, old: linked(path)),
    Way("words removed", lambda path, old: replaced(path, without_words(path.read_bytes()))),
    Way("exchange removed", lambda path, old: rewritten(path, without_exchange)),
    Way("line appended", lambda path, old: added(path, LINE), moves=False),
    Way(
        UNNOTICED,
        lambda path, old: unnoticed(path, lambda data: data.swapcase()),
    ),
    Way("a line in the middle", lambda path, old: rewritten(path, with_line), moves=False),
    Way("another volume in place", lambda path, old: another_folder(path), moves=False, anew=True),
    Way("conflict copies beside it", lambda path, old: conflicted(path), moves=False),
    Way(
        "the newer one is the conflict copy",
        newer_beside,
    ),
    Way("read-only", lambda path, old: path.chmod(0o400), moves=False),
]
