"""Which agents the user has approved: a digest of what was read, kept in the user's own directory.

An approval is no sandbox: approved Python code runs with the user's rights.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chat_loop.agent.agent_path import LARGEST, PYTHON, bytes_of
from chat_loop.errors import AgentError
from chat_loop.frozen import dataclass
from chat_loop.sessions.files import Files

MOST_FILES = 300
MOST_BYTES = 8 << 20
"""How many modules beside an agent are read, and how large they may be together."""
MOST_FOLDERS = 2_000
NAME = "approved-agents.json"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """An agent's file as it was read, and with Python code the modules below its folder, by their paths in it."""

    path: Path
    files: Mapping[str, bytes]

    @property
    def source(self) -> bytes:
        return self.files[self.path.name]

    @property
    def digests(self) -> dict[str, str]:
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}

    @property
    def digest(self) -> str:
        """One for the whole."""
        return _together(self.digests)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the user has to allow before an agent is used. `changes` says what is not as it was approved."""

    snapshot: Snapshot
    changes: tuple[str, ...] = ()


def snapshot_of(path: Path) -> Snapshot:
    """Read an agent's file, and what it could import from its folder. Raises AgentError."""
    files = {path.name: bytes_of(path)}
    if path.suffix.lower() == PYTHON:
        for module in _modules(path.parent):
            name = module.relative_to(path.parent).as_posix()
            if name not in files:
                files[name] = bytes_of(module)
            if len(files) > MOST_FILES or sum(map(len, files.values())) > MOST_BYTES:
                raise AgentError(
                    f"Too much Python code lies beside the agent {path}: more than {MOST_FILES} files or "
                    f"{MOST_BYTES >> 20} MB.",
                    "Put the agent and its modules into a folder of their own.",
                )
    return Snapshot(path=path, files=dict(sorted(files.items())))


def _modules(folder: Path) -> Iterator[Path]:
    """The files below `folder` that could be imported by their names. Raises AgentError."""
    waiting, seen = [folder], 0
    while waiting:
        current = waiting.pop()
        seen += 1
        if seen > MOST_FOLDERS:
            raise AgentError(
                f"There are too many folders beside the agent in {folder}.", "Give it a folder of its own."
            )
        try:
            entries = sorted(os.scandir(current), key=lambda entry: entry.name)
        except OSError as error:
            raise AgentError(f"{current} cannot be read: {(error.strerror or str(error)).lower()}.") from error
        for entry in entries:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if entry.name.isidentifier():
                    waiting.append(path)
            elif path.suffix == PYTHON and path.stem.isidentifier():
                yield _own(path, folder)


def _own(path: Path, folder: Path) -> Path:
    """A module, or what it is a link to. Raises AgentError for a link out of the agent's folder."""
    if not path.is_symlink():
        return path
    raise AgentError(
        f"{path} beside the agent in {folder} is a symbolic link.",
        "Copy the file there: what runs is what was approved.",
    )


class Trust:
    """The user's approvals in `directory`: a file that only the user can read, never one in a project."""

    def __init__(self, directory: Path, files: Files | None = None) -> None:
        self._path = directory / NAME
        self._files = files or Files()

    @property
    def path(self) -> Path:
        return self._path

    def question(self, snapshot: Snapshot) -> Question | None:
        """What has to be asked before the agent is used; None when exactly this was approved."""
        known = self._read().get(str(snapshot.path))
        if known is None:
            return Question(snapshot=snapshot)
        digests = snapshot.digests
        if _together(known) == _together(digests):
            return None
        changes = [f"{name} is new" for name in digests if name not in known]
        changes += [f"{name} has changed" for name in digests if name in known and known[name] != digests[name]]
        changes += [f"{name} is gone" for name in known if name not in digests]
        return Question(snapshot=snapshot, changes=tuple(changes))

    def approve(self, snapshot: Snapshot) -> None:
        """Remember that exactly this may be used. Raises AgentError when it cannot be written."""
        known: dict[str, Mapping[str, str]] = {**self._read(), str(snapshot.path): snapshot.digests}
        self._write(known)

    def forget(self, path: Path) -> bool:
        """Take an approval back; whether there was one."""
        known = self._read()
        if known.pop(str(path), None) is None:
            return False
        self._write(known)
        return True

    def _write(self, known: Mapping[str, Mapping[str, str]]) -> None:
        data = json.dumps(known, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"
        try:
            self._files.make_directory(self._path.parent)
            self._files.replace(self._path, data)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise AgentError(f"The approval cannot be kept in {self._path}: {reason}.") from error

    def _read(self) -> dict[str, Mapping[str, str]]:
        """What was approved, by path and file. A file that cannot be understood approves nothing."""
        if not os.path.lexists(self._path):
            return {}
        try:
            value: Any = json.loads(bytes_of(self._path, 16 * LARGEST))
        except (ValueError, RecursionError):
            return {}
        if not isinstance(value, dict):
            return {}
        return {path: files for path, files in value.items() if _is_digests(files)}


def _is_digests(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(digest, str) for digest in value.values())


def _together(digests: Mapping[str, str]) -> str:
    lines = "".join(f"{digest} {json.dumps(name)}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
