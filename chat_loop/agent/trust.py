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

from msgspec import Struct

from chat_loop.agent.agent_path import LARGEST, PYTHON, bytes_of
from chat_loop.errors import AgentError, os_reason
from chat_loop.sessions.files import Files

MOST_FILES = 300
MOST_BYTES = 8 << 20
"""How many modules beside an agent are read, and how large they may be together."""
MOST_FOLDERS = 2_000
MOST_COMPARED = 2_000
"""Lines of a file before and after a change, together, that are compared; more could take long."""
FOLDER = "approved-agents"


class Snapshot(Struct, frozen=True, kw_only=True):
    """An agent's file as it was read, and with Python code the modules below its folder, by their
    paths in it.
    """

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


class Question(Struct, frozen=True, kw_only=True):
    """What the user has to allow before an agent is used.

    `changes` says which files are not as they were approved, `lines` how they differ, as far as
    that is known.
    """

    snapshot: Snapshot
    changes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


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
                    f"Too much Python code lies beside the agent {path}: more than {MOST_FILES} "
                    f"files or {MOST_BYTES >> 20} MB.",
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
                f"There are too many folders beside the agent in {folder}.",
                "Give it a folder of its own.",
            )
        try:
            entries = sorted(os.scandir(current), key=lambda entry: entry.name)
        except OSError as error:
            raise AgentError(f"{current} cannot be read: {os_reason(error)}.") from error
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
    """The user's approvals, a file each in a folder of `directory` that only the user can read,
    never in a project.
    """

    def __init__(self, directory: Path, files: Files | None = None) -> None:
        self._folder = directory / FOLDER
        self._files = files or Files()

    def file_of(self, path: Path) -> Path:
        """Where the approval of the agent at `path` is kept."""
        return self._folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"

    def question(self, snapshot: Snapshot) -> Question | None:
        """What has to be asked before the agent is used; None when exactly this was approved."""
        approved = self._read(snapshot.path)
        if approved is None:
            return Question(snapshot=snapshot)
        known, digests = approved["digests"], snapshot.digests
        if _together(known) == _together(digests):
            return None
        changes = [f"{name} is new" for name in digests if name not in known]
        changes += [
            f"{name} has changed"
            for name in digests
            if name in known and known[name] != digests[name]
        ]
        changes += [f"{name} is gone" for name in known if name not in digests]
        return Question(
            snapshot=snapshot,
            changes=tuple(changes),
            lines=_difference(approved["texts"], snapshot),
        )

    def approve(self, snapshot: Snapshot) -> None:
        """Remember that exactly this may be used. Raises AgentError when it cannot be written."""
        texts: dict[str, str] = {}
        if sum(map(len, snapshot.files.values())) <= LARGEST:  # so that a change can be shown
            texts = {name: data.decode("utf-8", "replace") for name, data in snapshot.files.items()}
        approved = {"path": str(snapshot.path), "digests": snapshot.digests, "texts": texts}
        file = self.file_of(snapshot.path)
        try:
            self._files.make_directory(self._folder)
            self._files.replace(file, json.dumps(approved, indent=1).encode() + b"\n")
        except OSError as error:
            raise AgentError(
                f"The approval cannot be kept in {file}: {os_reason(error)}."
            ) from error

    def _read(self, path: Path) -> dict[str, dict[str, str]] | None:
        """What was approved of the agent at `path`. A file that cannot be read or understood
        approves nothing.
        """
        try:
            value: Any = json.loads(bytes_of(self.file_of(path), 16 * LARGEST))
        except (AgentError, ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or value.get("path") != str(path):
            return None
        approved: dict[str, Any] = {name: value.get(name) for name in ("digests", "texts")}
        return approved if all(map(_is_texts, approved.values())) else None


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _difference(texts: Mapping[str, str], snapshot: Snapshot) -> tuple[str, ...]:
    """What has changed, line by line, as far as it was kept and is not too much."""
    from difflib import unified_diff  # rarely asked for

    lines: list[str] = []
    now = {name: data.decode("utf-8", "replace") for name, data in snapshot.files.items()}
    for name in sorted({*texts, *now} if texts else ()):
        before, after = (
            text.split("\n") if text else [] for text in (texts.get(name, ""), now.get(name, ""))
        )
        if before != after and len(before) + len(after) <= MOST_COMPARED:
            lines += unified_diff(
                before, after, f"{name} (approved)", f"{name} (now)", n=1, lineterm=""
            )
    return tuple(lines)


def _together(digests: Mapping[str, str]) -> str:
    lines = "".join(f"{digest} {json.dumps(name)}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
