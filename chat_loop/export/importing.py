"""Imports sessions from documents that somebody else may have made.

A document is our JSON or markdown, a transcript of basic-agent-chat-loop, or a history that another
chat program exported or keeps. A session is imported only if a transcript can represent all of it.
Existing sessions are not changed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import Locked, SaveError, UsageError, os_reason
from chat_loop.export import documents
from chat_loop.export.documents import ImportRefused
from chat_loop.sessions import legacy, marker, records
from chat_loop.sessions.copies import add_session
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import Files, read_part
from chat_loop.sessions.images import ImageStore, ImageUnavailable
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import ID_PATTERN, Attachment, Restoration, Session
from chat_loop.sessions.writer import render
from chat_loop.values import size_text

Record = TypeVar("Record", bound=Struct)
_HISTORIES = ("rollout-*.jsonl", "conversations*.json", "logs.db")  # other programs' files
MAX_BYTES = 256 << 20  # the bytes of a document; a larger one is refused
_MAX_COMPLAINTS = 50  # the most complaints about one document that are listed


class StoredImport(Struct, frozen=True):
    """A stored session: its original id, its id here, and True if it is new here."""

    original_id: str
    id: str
    is_new: bool


def file_path(text: str) -> Path:
    """Return the path that the user typed; `~` is the home directory. Raises UsageError."""
    if "\0" in text:
        raise UsageError("That is not a file name.")
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser fails without a home


class Importer:
    """Collects sessions of documents and stores them; `complaints` say what was left out."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.complaints: list[str] = []
        self._images: dict[str, bytes] = {}  # the images that were found, by `Attachment.file`
        self._once = set[str]()  # ids of sessions that are skipped if they exist

    def add_path(self, path: Path) -> None:
        """Read a file, or the transcripts and histories in a folder. Each file that cannot be read
        adds a complaint.
        """
        before = len(self.sessions)
        is_folder = os.path.isdir(path)  # noqa: PTH112 - is_dir raises for long names
        files = [Path(os.path.realpath(path))]
        folder = files[0].parent
        if is_folder:
            folder = path
            histories = chain.from_iterable(map(path.rglob, _HISTORIES))
            files = [*sorted(path.glob("*.md")), *sorted(histories)]
        if not files:
            self._complain(path.name, ["The folder has no transcripts."])
        for file in files:
            try:
                self.add_document(read_part(file, MAX_BYTES + 1)[0], file.name, file)
            except OSError as error:
                self._complain(file.name, [f"{os_reason(error)}."])
        store = ImageStore(folder, Files())
        for entry in images_in(self.sessions[before:]):
            with contextlib.suppress(ImageUnavailable):
                self._images[entry.file] = store.data(entry.file)

    def add_document(self, data: bytes, name: str, path: Path | None = None) -> None:
        """Read the sessions in a document called `name`. Only a database is opened by its path."""
        problems: list[str] = []
        try:
            sessions = self._read(data.removeprefix(b"\xef\xbb\xbf"), name, path, problems)
        except ImportRefused as error:
            sessions = []
            problems = [str(error)]
        for session in sessions:
            parsed = None
            with contextlib.suppress(ValueError):  # a value that no marker can represent
                parsed = parse(render(session))
            if parsed is not None and parsed.session == session and not parsed.damage:
                self.sessions.append(session)
            else:
                identity = session.id
                problems.append(f"Session {identity} is left out: no transcript can hold it.")
        self._complain(name, problems)

    def _complain(self, name: str, problems: Sequence[str]) -> None:
        listed = [*problems[:_MAX_COMPLAINTS]]
        if more := len(problems) - len(listed):
            listed.append(f"{more:,} more problems.")
        self.complaints += (f"{encode_line(name)[:100]}: {problem}" for problem in listed)

    def _read(
        self, data: bytes, name: str, path: Path | None, problems: list[str]
    ) -> list[Session]:
        """Return the sessions of a document, with valid ids. Raises ImportRefused."""
        from chat_loop.export import histories  # loads SQLite, which the first prompt does not need

        start = data[:1024].lstrip()
        if path is not None and start.startswith(b"SQLite format 3\0"):
            return self._history(histories.read_llm(path, problems), name)
        if len(data) > MAX_BYTES:
            raise ImportRefused(f"It is larger than {size_text(MAX_BYTES)} and is not read.")
        if start.startswith(b"PK\x03\x04"):
            return self._history(histories.read_zip(data, MAX_BYTES, problems), name)
        if start.startswith(b"{") and b'"session_meta"' in data.partition(b"\n")[0]:
            return self._history(histories.read_codex(data, problems), name)
        is_export = b'"chat_messages"' in data or b'"current_node"' in data
        if start.startswith(b"[") or (is_export and b'"format"' not in start):
            return self._history(histories.read_export(data, problems), name)
        if start.startswith(b"{"):
            sessions, images = documents.read_json(data, problems)
            self._images |= images
        elif start.startswith(marker.PREFIX) or b"\n" + marker.PREFIX in data:
            sessions = documents.read_markdown(data, problems)
        else:
            session, damage = legacy.read(data, Path(f"{as_id(name) or 'session'}.md"))
            if session is None:
                raise ImportRefused("It is neither an export nor a transcript.")
            problems += damage
            sessions = [session]
        return [with_valid_ids(session, name) for session in sessions]

    def _history(self, sessions: Sequence[Session], name: str) -> list[Session]:
        """Return the sessions of another program, with valid ids."""
        valid = [with_valid_ids(session, name) for session in sessions]
        self._once.update(session.id for session in valid)
        return valid

    def store(self, manager: SessionManager) -> list[StoredImport]:
        """Write the sessions, parents first, and their images. Return the result for each session.

        A session that exists with the same content, or that was imported from another program
        before, is not written again. An id that another session has gets a number, and links are
        changed to it. A file's time is that of the last event. Raises SaveError; the sessions that
        were written before stay.
        """
        now = manager.now().timestamp()
        stored: list[StoredImport] = []
        renamed: dict[str, str] = {}
        free_ids: dict[str, Iterator[str]] = {}
        for original in sorted(self.sessions, key=lambda each: _seconds(each.header.created, 0.0)):
            session = _with_links(original, renamed)
            original_id = identity = session.id
            changed = max(0.0, min(now, _seconds(_last_event(session), now)))
            try:
                if identity in self._once and manager.session_file(identity).exists():
                    stored.append(StoredImport(original_id, identity, is_new=False))
                    continue
                while (is_new := add_session(manager, session, changed)) is None:
                    identity = next(free_ids.setdefault(original_id, records.free_ids(original_id)))
                    session = replace(session, header=replace(session.header, id=identity))
            except OSError as error:
                problem = f"{manager.session_file(identity)} cannot be written: {os_reason(error)}."
                raise SaveError(problem, "What was imported until then stays.") from error
            stored.append(StoredImport(original_id, identity, is_new))
            renamed.setdefault(original_id, identity)
        missing: dict[str, None] = {}
        for entry in images_in(self.sessions):
            try:
                if entry.file in self._images:
                    manager.images.keep(entry.file, self._images[entry.file])
                manager.images.data(entry.file)
            except (ImageUnavailable, OSError, Locked) as error:
                missing[f"The image {entry.name} is missing: {error}."] = None
        self.complaints += missing
        return stored


def images_in(sessions: Iterable[Session]) -> list[Attachment]:
    """Return the entries of the sessions that are images."""
    images = []
    for session in sessions:
        for entry in session.entries:
            if isinstance(entry, Attachment) and entry.is_image:
                images.append(entry)
    return images


def with_valid_ids(session: Session, name: str = "") -> Session:
    """Return the session with valid ids. A session without one is named after the document."""
    header = session.header
    identity = as_id(header.id) or as_id(name) or f"session_{header.created:%Y%m%d_%H%M%S}"
    return replace(session, header=replace(header, id=identity, parent=as_id(header.parent)))


def as_id(name: str) -> str:
    """Return an id, or the name of a file, as a valid id; empty if no character of it is usable."""
    if ID_PATTERN.fullmatch(name):
        return name
    stem = re.split(r"[/\\]", name)[-1].removesuffix(".md")
    return re.sub(r"[^0-9A-Za-z_-]+", "_", stem).strip("_-")[:64]


def _with_links(session: Session, renamed: Mapping[str, str]) -> Session:
    """Return a session whose links use the ids under which its parents were stored."""

    def linked(record: Record, *names: str) -> Record:
        ids = {name: getattr(record, name) for name in names}
        return replace(record, **{name: renamed.get(old, old) for name, old in ids.items()})

    entries = list(session.entries)
    for at, entry in enumerate(entries):
        if isinstance(entry, Restoration):
            entries[at] = linked(entry, "grandparent", "merged")
    return replace(session, header=linked(session.header, "parent"), entries=tuple(entries))


def _last_event(session: Session) -> datetime:
    """Return the time of the seal, of the last record, or of the session's beginning."""
    if session.seal is not None:
        return session.seal.at
    if session.entries:
        return session.entries[-1].at
    return session.header.created


def _seconds(moment: datetime, default: float) -> float:
    """Return a time in seconds since 1970, or `default` if it is impossible."""
    try:
        return moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return default
