"""Pointers to the newest sessions of each project, so that a start reads neither lists nor index.

The file can be deleted: `remake` makes it again from the rows of all sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import Locked
from chat_loop.sessions.files import Files, Lock, read_part, take_lock
from chat_loop.sessions.git import project_of
from chat_loop.sessions.records import ID_PATTERN, SessionRow
from chat_loop.sessions.rows import read_row

FILE = ".current"
MAX_BYTES = 1 << 20
MOST = 500  # projects; the least recently used ones are found in the index again


class Pointer(Struct, frozen=True, array_like=True):
    """The newest sessions of a project: the last one that was begun, then the last one and the last
    chat that can be continued, in case that the first one cannot.
    """

    project: str
    ids: tuple[str, ...]


class Pointers(Struct, frozen=True):
    """The pointers of a folder, the project that was used last first. If they are `complete`, other
    projects have no sessions.
    """

    complete: bool = False
    newest: tuple[Pointer, ...] = ()


class Recent(Struct, frozen=True):
    """The newest session that can be continued, of this project (`is_here`) or of another one.
    `unreadable` is the id of a newer session of this project that cannot be read.
    """

    row: SessionRow
    project: str
    is_here: bool
    unreadable: str = ""


def can_continue(row: SessionRow) -> bool:
    """Return True for a readable session with a reply or a parent."""
    is_read = row.state in ("sealed", "unsealed", "plain")
    return is_read and (row.answered or bool(row.parent))


class ProjectPointers:
    """The pointers of a folder of sessions, as seen from the folder in which the program runs.
    Nothing is written without `files`.
    """

    def __init__(self, directory: Path, folder: str, files: Files | None) -> None:
        self._directory = directory
        self._folder = folder
        self._files = files
        self._noted = ""  # the session that this process has begun last

    @cached_property
    def here(self) -> str:
        """The project in which the program runs; empty if its folder was removed."""
        return _project_of(self._folder)

    def read(self) -> Pointers:
        """Return the pointers in the file; none if it cannot be read."""
        data = b""
        with suppress(OSError):
            data, _ = read_part(self._directory / FILE, MAX_BYTES)
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return msgspec.json.decode(data, type=Pointers)
        return Pointers()

    def recent(self, pointers: Pointers | None = None, *, chats: bool = False) -> Recent | None:
        """Return the newest session of this project that can be continued, or else of any other.
        With `chats`, runs of `-p` count only if this project has nothing else.
        """
        pointers = pointers or self.read()
        for pointer in sorted(pointers.newest, key=lambda one: one.project != self.here):
            is_here = pointer.project == self.here
            found: SessionRow | None = None
            for identity in filter(ID_PATTERN.fullmatch, pointer.ids):
                row = self._row(identity)
                if can_continue(row):
                    if found is None or not row.mode:
                        found = row
                    if not (chats and row.mode):
                        break
            if found is not None and (is_here or not (chats and found.mode)):
                return Recent(found, pointer.project, is_here)
        return None

    def unreadable(self, pointers: Pointers) -> str:
        """Return the id of this project's newest session if its file cannot be read, else ""."""
        ids: list[str] = []
        for pointer in pointers.newest:
            if pointer.project == self.here:
                ids += pointer.ids
        identity = next(filter(ID_PATTERN.fullmatch, ids), "")
        if not identity:
            return ""
        row = self._row(identity)
        if row.state not in ("damaged", "foreign") or not os.path.lexists(row.path):
            return ""
        return identity

    def named(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """Return rows with the main folder of their projects, which is empty for this project."""
        projects = {"": "", self._folder: ""}
        named = []
        for row in rows:
            if row.project not in projects:
                project = _project_of(row.project)
                projects[row.project] = "" if project == self.here else project
            named.append(replace(row, project=projects[row.project]))
        return named

    def note(self, identity: str, continued: str = "") -> None:
        """Record that a session has begun in this project. The session that it has `continued`, if
        any, is not the newest one of another project any more.
        """
        self._noted = identity
        if self._files is None:
            return
        with suppress(OSError, Locked), self._locked():  # only a convenience
            before = self.read()
            self._write(before, self._with_noted(before, identity, continued))

    def remake(self, rows: Sequence[SessionRow]) -> Pointers:
        """Make complete pointers from the rows of all sessions, most recently used first. Return
        them, also if they cannot be written.
        """
        pointers = pointers_of(rows)
        if self._noted and all(self._noted != row.id for row in rows):  # it has just begun
            pointers = self._with_noted(pointers, self._noted, "")
        if self._files is not None and self._directory.is_dir():
            with suppress(OSError, Locked), self._locked():
                self._write(self.read(), pointers)
        return pointers

    def forget(self) -> None:
        """Delete the pointers, in whose paths a removed text may stand. Raises OSError."""
        if self._files is not None:
            self._files.remove(self._directory / FILE)

    def _with_noted(self, pointers: Pointers, identity: str, continued: str) -> Pointers:
        ids = {identity: None}
        others = []
        complete = pointers.complete
        for pointer in pointers.newest:
            if pointer.project == self.here:
                ids |= dict.fromkeys(self._kept(pointer.ids))
                continue
            # the id of an erased session can be used again
            left = tuple(one for one in pointer.ids if one not in (continued, identity))
            if left:
                others.append(Pointer(pointer.project, left))
            else:
                complete = False  # that project may have older ones
        newest = (Pointer(self.here, (*ids,)), *others)
        return Pointers(complete and len(newest) <= MOST, newest[:MOST])

    def _kept(self, ids: Iterable[str]) -> list[str]:
        """Return the first session that can be continued, and the first such chat."""
        kept: list[str] = []
        for identity in filter(ID_PATTERN.fullmatch, ids):
            row = self._row(identity)
            if can_continue(row) and not (kept and row.mode):
                kept.append(identity)
                if not row.mode:
                    break
        return kept

    def _row(self, identity: str) -> SessionRow:
        return read_row(self._directory / f"{identity}.md", quick=True)

    def _locked(self) -> closing[Lock]:
        # under this lock, nobody takes the new file for a leftover
        return closing(take_lock(self._directory, FILE.strip("."), seconds=1))

    def _write(self, before: Pointers, after: Pointers) -> None:
        if self._files is not None and after != before:
            self._files.replace(self._directory / FILE, msgspec.json.encode(after) + b"\n")


def pointers_of(rows: Iterable[SessionRow]) -> Pointers:
    """Return complete pointers for the rows of conversations, most recently used first."""
    projects: dict[str, str] = {}  # by the recorded folder
    newest: dict[str, list[SessionRow]] = {}
    for row in rows:
        if row.owner or not can_continue(row):
            continue
        if row.project not in projects:
            projects[row.project] = _project_of(row.project)
        found = newest.setdefault(projects[row.project], [])
        if not found or (found[-1].mode and not row.mode):
            found.append(row)
    every = []
    for project, found in newest.items():
        ids = tuple(row.id for row in found)
        every.append(Pointer(project, ids))
    return Pointers(len(every) <= MOST, tuple(every[:MOST]))


def _project_of(folder: str) -> str:
    """Return the project of a folder as a text that JSON can hold."""
    return project_of(folder).encode("utf-8", "replace").decode()
