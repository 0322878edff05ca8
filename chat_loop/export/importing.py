"""Sessions out of documents that somebody else may have made, as new files of a sessions folder.

Our JSON, our markdown (one transcript or a chain) and the transcripts of basic-agent-chat-loop can
be imported. A session is taken only when a transcript can hold all of it. Nothing that is there is
changed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.errors import SaveError, SessionError, UsageError, os_reason
from chat_loop.export.documents import ImportRefused, read_json, split_markdown
from chat_loop.sessions import legacy, marker
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import Files, read_part
from chat_loop.sessions.images import ImageStore, ImageUnavailable
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import ID_PATTERN, Attachment, Restoration, Session
from chat_loop.sessions.writer import render
from chat_loop.wording import size_text

MAX_BYTES = 256 << 20
"""The bytes of a document; a larger one is refused."""
_MAX_COMPLAINTS = 50
"""Complaints about one document that are shown one by one."""
_HTML = re.compile(rb"<(?:!doctype|html)[\s>]", re.IGNORECASE)
_IMAGE_LINK = re.compile(
    rb"^!\[\d{1,9}\xc3\x97\d{1,9}\]\(([^()/\\\n]{1,300})/[0-9a-f]{64}\.[a-z]{3,4}\)\r?$",
    re.MULTILINE,
)
"""A link to an image, as a transcript has it: its group is the folder."""


class ImportResult(Struct, frozen=True):
    """The sessions of documents in their order, a sentence for everything that was changed, and
    the images that came with them by `Attachment.file`.
    """

    sessions: tuple[Session, ...] = ()
    complaints: tuple[str, ...] = ()
    images: Mapping[str, bytes] = field(default_factory=dict)


class StoredImport(Struct, frozen=True):
    """A stored session: the id it had, the one it has here, and if it is new here."""

    original_id: str
    id: str
    is_new: bool


def file_path(text: str) -> Path:
    """Return the path that a user means; `~` is the home directory. Raises UsageError."""
    if "\0" in text:
        raise UsageError("That is not the name of a file.")
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path's own fails where there is no home


def combine_imports(parts: Iterable[ImportResult]) -> ImportResult:
    """Return several imports as one."""
    sessions: list[Session] = []
    complaints: list[str] = []
    images: dict[str, bytes] = {}
    for part in parts:
        sessions += part.sessions
        complaints += part.complaints
        images |= part.images
    return ImportResult(tuple(sessions), tuple(complaints), images)


def read_import(path: Path) -> ImportResult:
    """Read a file, or every `*.md` directly in a folder. Nothing is changed.

    Raises SessionError when the path itself cannot be read; a fault of one file in a folder is a
    complaint.
    """
    try:
        if not path.is_dir():
            return _read_file(path.resolve(), path.name)
        names = sorted(name for name in os.listdir(path) if re.fullmatch(r"[^.].*\.md", name))  # noqa: PTH208
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {os_reason(error)}.") from error
    parts: list[ImportResult] = []
    for name in names:
        file, problem = path / name, ""
        try:
            if file.is_symlink() or not file.is_file():
                problem = "It is a link, a folder or a device, and is left out."
            else:
                parts.append(_read_file(file, name))
        except OSError as error:
            problem = f"It cannot be read: {os_reason(error)}."
        if problem:
            parts.append(ImportResult(complaints=(f"{encode_line(name)[:100]}: {problem}",)))
    if not names:
        problem = f"{encode_line(path.name)[:100]}: No file in the folder ends in .md."
        parts.append(ImportResult(complaints=(problem,)))
    return combine_imports(parts)


def _read_file(path: Path, name: str) -> ImportResult:
    """Read a document with the images in the folders beside it that it links to. Raises OSError."""
    data, _ = read_part(path, MAX_BYTES + 1)
    result = parse_import(data, name)
    folders = {unquote(folder.decode("utf-8", "replace")) for folder in _IMAGE_LINK.findall(data)}
    images = dict(result.images)
    for folder in sorted(folders):
        if folder not in (".", "..") and "/" not in folder:
            store = ImageStore(path.parent, Files(), folder)
            for entry in _images_in(result.sessions):
                with contextlib.suppress(ImageUnavailable, ValueError):
                    images[entry.file] = store.data(entry.file)
    return replace(result, images=images)


def parse_import(data: bytes, name: str, largest: int = MAX_BYTES) -> ImportResult:
    """Return what a document called `name` holds; no file is opened. Never raises."""
    shown, problems = encode_line(name)[:100], list[str]()
    try:
        if len(data) > largest:
            raise ImportRefused(f"It is larger than {size_text(largest)} and is not read.")
        sessions, images = _read(data.removeprefix(b"\xef\xbb\xbf"), name, problems)
    except ImportRefused as error:
        return ImportResult(complaints=(f"{shown}: {error}",))
    whole = []
    for session in sessions:
        parsed = None
        with contextlib.suppress(ValueError):  # a value that no marker can hold
            parsed = parse(render(session))
        if parsed is not None and parsed.session == session and not parsed.damage:
            whole.append(session)
        else:
            identity = session.header.id
            problems.append(f"Session {identity} is left out: no transcript can hold all of it.")
    complaints = [f"{shown}: {complaint}" for complaint in problems[:_MAX_COMPLAINTS]]
    if len(problems) > _MAX_COMPLAINTS:
        complaints.append(f"{shown}: There are {len(problems) - _MAX_COMPLAINTS:,} more faults.")
    return ImportResult(tuple(whole), tuple(complaints), images)


def _read(
    data: bytes, name: str, complaints: list[str]
) -> tuple[list[Session], Mapping[str, bytes]]:
    """Return the sessions and the images of a document. Raises ImportRefused."""
    start = data[:1024].lstrip()
    if not data.strip(b"\x00 \r\n\t"):
        raise ImportRefused("It is empty.")
    if start.startswith((b"{", b"[")):
        sessions, images = read_json(data, complaints)
        return [with_valid_ids(session, complaints) for session in sessions], images
    if _HTML.match(start):
        raise ImportRefused(
            "It is an HTML page, which is for reading; import the JSON or markdown export."
        )
    if not start.startswith(marker.PREFIX) and b"\n" + marker.PREFIX not in data:
        legacy_session, damage = legacy.read(data, Path(f"{_as_id(name) or 'session'}.md"))
        if legacy_session is None:
            raise ImportRefused("It is neither an export nor a transcript.")
        complaints += damage
        return [legacy_session], {}
    # An editor added carriage returns: a transcript writes them visibly.
    data = data.replace(b"\r\n", b"\n")
    transcripts, promised = split_markdown(data)
    sessions = []
    for transcript in transcripts or [data]:
        parsed = parse(transcript)
        if parsed.session is None:
            complaints += parsed.damage or ("There is no session in it.",)
            continue
        header = parsed.session.header
        if not header.id and len(transcripts) < 2:
            header = replace(header, id=_as_id(name))
        session = with_valid_ids(replace(parsed.session, header=header), complaints)
        complaints += (f"In {session.header.id}: {sentence}" for sentence in parsed.damage)
        sessions.append(session)
    if promised is not None and promised != len(transcripts):
        text = f"It says that it holds {promised:,} sessions, and {len(transcripts):,} are there"
        complaints.append(f"{text}: it was cut off.")
    return sessions, {}


def with_valid_ids(session: Session, complaints: list[str]) -> Session:
    """Return the session with a valid id, and with a valid parent or none."""
    header = session.header
    identity, parent = header.id, header.parent
    if not ID_PATTERN.fullmatch(identity):
        agent = _as_id(header.agent.lower())[:40] or "session"
        identity = f"{agent}_{header.created:%Y%m%d_%H%M%S}"
        was = encode_line(header.id)[:40]
        complaints.append(f"A session's id, “{was}”, is invalid; it is now {identity}.")
    if parent and not ID_PATTERN.fullmatch(parent):
        parent = ""
        text = f"The parent of {identity} has an invalid id"
        complaints.append(f"{text}; the session is now the first of its chain.")
    return replace(session, header=replace(header, id=identity, parent=parent))


def _as_id(name: str) -> str:
    """Return a file's name as an id; empty when nothing of it can be one."""
    stem = re.split(r"[/\\]", name)[-1].removesuffix(".md")
    return re.sub(r"[^0-9A-Za-z_-]+", "_", stem).strip("_-")[:64]


def _images_in(sessions: Iterable[Session]) -> list[Attachment]:
    entries = (entry for session in sessions for entry in session.entries)
    return [entry for entry in entries if isinstance(entry, Attachment) and entry.is_image]


def keep_images(store: ImageStore, result: ImportResult) -> list[str]:
    """Save the imported images. Return a sentence for each one that is missing."""
    missing: dict[str, None] = {}
    for entry in _images_in(result.sessions):
        try:
            if entry.file in result.images:
                store.keep(entry.file, result.images[entry.file])
            else:
                store.data(entry.file)
        except ImageUnavailable:
            missing[f"The image {entry.name} did not come with it."] = None
        except OSError as error:
            missing[f"The image {entry.name} is not kept: {os_reason(error)}."] = None
    return list(missing)


def store(manager: SessionManager, sessions: Sequence[Session]) -> list[StoredImport]:
    """Write sessions with valid ids; the result is in their order.

    A session that is there with the same content is not written again. An id that another session
    has gets a number, and the links from the other sessions given follow; links to sessions that
    are not among them stay. A file's time is that of the session's last event, from 1970 to now.
    Raises SaveError; what was written until then stays.
    """
    limit = manager.now().timestamp()
    first: dict[str, int] = {}
    for at, session in enumerate(sessions):
        first.setdefault(session.header.id, at)
    graph: dict[int, list[int]] = {}
    for at, session in enumerate(sessions):
        restoration = session.restoration
        parents = session.header.parent, restoration.merged if restoration is not None else ""
        graph[at] = [first[parent] for parent in parents if parent in first]
    order: Iterable[int] = range(len(sessions))
    with contextlib.suppress(CycleError):  # edited by hand: then in the order given
        order = list(TopologicalSorter(graph).static_order())
    stored: dict[int, StoredImport] = {}
    renamed: dict[str, str] = {}
    suffixes: Counter[str] = Counter()
    for at in order:
        session = _with_links(sessions[at], renamed)
        changed = max(0.0, min(limit, _last_event(session, limit)))
        was = identity = session.header.id
        try:
            while (written := manager.insert(session, changed)) is None:
                suffixes[was] += 1
                suffix = f"_{suffixes[was] + 1}"
                identity = was[: 64 - len(suffix)] + suffix
                session = replace(session, header=replace(session.header, id=identity))
        except OSError as error:
            problem = f"{manager.session_file(identity)} cannot be written: {os_reason(error)}."
            raise SaveError(problem, "What was imported until then stays.") from error
        stored[at] = StoredImport(was, identity, written)
        if first[was] == at:
            renamed[was] = identity
    return [stored[at] for at in range(len(sessions))]


def _with_links(session: Session, renamed: Mapping[str, str]) -> Session:
    """Return a session with its parents called as they were stored."""
    entries = list(session.entries)
    for at, entry in enumerate(entries):
        if isinstance(entry, Restoration):
            older, merged = entry.grandparent, entry.merged
            entries[at] = replace(
                entry, grandparent=renamed.get(older, older), merged=renamed.get(merged, merged)
            )
    parent = session.header.parent
    header = replace(session.header, parent=renamed.get(parent, parent))
    return replace(session, header=header, entries=tuple(entries))


def _last_event(session: Session, default: float) -> float:
    """Return when the session's last event was, in seconds; `default` without a time."""
    times = [session.header.created, *(entry.at for entry in session.entries[-1:])]
    times += [session.seal.at] if session.seal is not None else []
    seconds: list[float] = []
    for time in times:
        with contextlib.suppress(ValueError, OverflowError, OSError):
            seconds.append(time.timestamp())
    return max(seconds, default=default)
