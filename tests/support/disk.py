"""A disk that loses power: data that was not synced may be lost, torn or reordered.

`Disk` performs every operation of `Files` for real and also keeps a model of what is safe: the
bytes of a file up to its last sync, and the names in a directory up to that directory's last sync.
From the model it makes every tree that a machine could find after a power failure at this moment.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chat_loop.sessions.files import Files

Tree = dict[str, bytes]
"""The files of a directory tree by their relative paths."""


@dataclass(eq=False)
class Inode:
    """A file's bytes: the safe ones, and those written since the last sync."""

    safe: bytes = b""
    unsafe: bytes = b""


@dataclass(frozen=True)
class Change:
    """A change of a name in `directory` that is not safe yet."""

    kind: Literal["make directory", "name", "remove"]
    directory: str
    name: str
    inode: Inode | None = None
    was: str = ""
    """The previous name of the inode, for a rename."""


class Disk(Files):
    """The tree under `root`. `watch` is called after every operation, where the power may fail.

    `fail_at` is the number of the operation, from 1, that fails once with ENOSPC. A write that
    fails has written its first half. `failures` counts the failures.
    """

    def __init__(
        self, root: Path, watch: Callable[[], None] = lambda: None, *, fail_at: int = 0
    ) -> None:
        self.root = root
        self.watch = watch
        self.acts = 0
        self.fail_at = fail_at
        self.failures = 0
        self._names: dict[str, Inode] = {}
        self._safe_names: dict[str, Inode] = {}
        self._changes: list[Change] = []
        self._open: dict[int, Inode] = {}
        for path in root.rglob("*"):
            if path.is_file() and path.suffix != ".lock":
                self._names[self._key(path)] = Inode(path.read_bytes())
        self._safe_names = dict(self._names)

    def make_directory(self, path: Path) -> None:
        for one in (path, *path.parents):
            if not one.exists():
                self._change("make directory", one)
        super().make_directory(path)

    def create(self, path: Path) -> int:
        self._act()
        descriptor = super().create(path)
        self._open[descriptor] = inode = Inode()
        self._names[self._key(path)] = inode
        self._change("name", path, inode)
        return descriptor

    def append_to(self, path: Path) -> int:
        self._act()
        descriptor = super().append_to(path)
        self._open[descriptor] = self._names[self._key(path)]
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        try:
            self._act()
        except OSError:
            self._written(descriptor, data[: len(data) // 2])
            raise
        return self._written(descriptor, data)

    def _written(self, descriptor: int, data: bytes) -> int:
        count = super().write(descriptor, data)
        self._open[descriptor].unsafe += data[:count]
        self.watch()
        return count

    def sync(self, descriptor: int) -> None:
        self._act()
        super().sync(descriptor)
        inode = self._open[descriptor]
        inode.safe, inode.unsafe = inode.safe + inode.unsafe, b""
        self.watch()

    def sync_directory(self, path: Path) -> None:
        self._act()
        super().sync_directory(path)
        directory = self._key(path)
        for change in self._changes:
            if change.directory == directory:
                _apply(self._safe_names, change)
        self._changes = [one for one in self._changes if one.directory != directory]
        self.watch()

    def rename(self, source: Path, target: Path) -> None:
        self._act()
        super().rename(source, target)
        inode = self._names.pop(self._key(source))
        self._names[self._key(target)] = inode
        self._change("name", target, inode, source)

    def remove(self, path: Path) -> None:
        super().remove(path)
        if self._names.pop(self._key(path), None) is not None:
            self._change("remove", path)

    def trees(self) -> Iterator[Tree]:
        """Yield every tree of files that a power failure could leave now.

        Any subset of the name changes may be done. Of the unsafe bytes, none, all, or any number of
        the first ones may be there; for a long piece, only about every hundredth length is tried.
        """
        for names in self._possible_names():
            yield {name: inode.safe for name, inode in names.items()}
            yield {name: inode.safe + inode.unsafe for name, inode in names.items()}
        longest = max((len(inode.unsafe) for inode in self._names.values()), default=0)
        for count in range(1, longest, 1 + longest // 100):
            yield {name: inode.safe + inode.unsafe[:count] for name, inode in self._names.items()}

    def reordered(self) -> Iterator[Tree]:
        """Yield trees in which later bytes were kept and earlier ones are zeros."""
        longest = max((len(inode.unsafe) for inode in self._names.values()), default=0)
        for count in {1, longest // 2, longest - 1} - {0, -1}:
            yield {
                name: inode.safe + b"\0" * len(inode.unsafe[:count]) + inode.unsafe[count:]
                for name, inode in self._names.items()
            }

    def unseen(self) -> list[str]:
        """Return the files whose content on the real disk differs from the model. Locks are left
        out, and so is the index, which is derived.
        """
        real = {
            self._key(path): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and path.suffix != ".lock" and not path.name.startswith(".index")
        }
        model = {name: inode.safe + inode.unsafe for name, inode in self._names.items()}
        return sorted(name for name in real | model if real.get(name) != model.get(name))

    def _act(self) -> None:
        self.acts += 1
        if self.acts == self.fail_at:
            self.failures += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _change(
        self,
        kind: Literal["make directory", "name", "remove"],
        path: Path,
        inode: Inode | None = None,
        source: Path | None = None,
    ) -> None:
        was = "" if source is None else self._key(source)
        self._changes.append(Change(kind, self._key(path.parent), self._key(path), inode, was))
        self.watch()

    def _possible_names(self) -> Iterator[dict[str, Inode]]:
        for count in range(len(self._changes) + 1):
            for done in itertools.combinations(self._changes, count):
                names = dict(self._safe_names)
                for change in done:
                    _apply(names, change)
                missing = {
                    one.name
                    for one in self._changes
                    if one.kind == "make directory" and one not in done
                }
                yield {
                    name: inode
                    for name, inode in names.items()
                    if not missing.intersection(map(str, Path(name).parents))
                }

    def _key(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def _apply(names: dict[str, Inode], change: Change) -> None:
    if change.kind == "remove":
        names.pop(change.name, None)
    elif change.inode is not None:
        names.pop(change.was, None)
        names[change.name] = change.inode
