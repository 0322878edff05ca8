"""Sessions out of documents that somebody else may have made. Everything is checked first.

Our JSON, our markdown (one transcript or a chain), and the transcripts of basic-agent-chat-loop,
which become sessions in our format, can be imported. The sessions can be stored as they are: their
ids are valid and unique, their parents lead to an end, and a transcript can hold all of their
content.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.errors import SessionError, UsageError, os_reason
from chat_loop.export import json_export, markdown_export
from chat_loop.export.json_export import ImportRefused
from chat_loop.sessions import legacy, marker
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import Files, read_part
from chat_loop.sessions.images import ImageGone, ImageStore
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import ID_PATTERN, Attachment, Call, Entry, Result, Session
from chat_loop.sessions.writer import render
from chat_loop.wording import size_text

LARGEST = 256 << 20
"""The bytes of a document; a larger one is refused."""
_MAX_COMPLAINTS = 50
"""Complaints about one document that are shown one by one."""
_BOM = b"\xef\xbb\xbf"
_OTHER_FORMATS = (
    (b"\xff\xfe", "it is UTF-16 and not UTF-8"),
    (b"\xfe\xff", "it is UTF-16 and not UTF-8"),
    (b"\x1f\x8b", "it is compressed; unpack it first"),
    (b"PK\x03\x04", "it is a ZIP archive; unpack it first"),
    (b"%PDF", "it is a PDF"),
)
_HTML = re.compile(rb"<(?:!doctype|html)[\s>]", re.IGNORECASE)
_IMAGE_LINK = re.compile(
    rb"^!\[\d{1,9}\xc3\x97\d{1,9}\]\(([^()/\\\n]{1,300})/[0-9a-f]{64}\.[a-z]{3,4}\)\r?$",
    re.MULTILINE,
)
"""A link to an image, as a transcript has it: its group is the folder."""


class Imported(Struct, frozen=True):
    """The sessions of a document in its order, and a sentence for everything that was changed."""

    sessions: tuple[Session, ...] = ()
    complaints: tuple[str, ...] = ()
    images: Mapping[str, bytes] = field(default_factory=dict)
    """The images that came with it, by `Attachment.file`."""


def file_path(text: str) -> Path:
    """Return the path that a user means; `~` is the home directory. Raises UsageError."""
    if "\0" in text:
        raise UsageError("That is not the name of a file.")
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path's own fails where there is no home


def read_import(path: Path) -> Imported:
    """Read a file, or every `*.md` directly in a folder. Nothing is changed.

    Raises SessionError when the path itself cannot be read; a fault of one file in a folder is a
    complaint.
    """
    try:
        if path.is_dir():
            return _read_folder(path)
        return _read_file(path.resolve(), path.name)
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {os_reason(error)}.") from error


def imported(data: bytes, name: str, largest: int = LARGEST) -> Imported:
    """Return what a document called `name` holds; no file is opened. Never raises."""
    shown = encode_line(name)[:100]
    if len(data) > largest:
        too_large = f"{shown}: It is larger than {size_text(largest)} and is not read."
        return Imported(complaints=(too_large,))
    found: list[str] = []
    try:
        sessions, images = _read(data.removeprefix(_BOM), name, found)
    except ImportRefused as error:
        return Imported(complaints=(f"{shown}: {error}",))
    kept = united([Imported(tuple(_storable(sessions, found)))])
    found += kept.complaints
    complaints = [f"{shown}: {complaint}" for complaint in found[:_MAX_COMPLAINTS]]
    if len(found) > _MAX_COMPLAINTS:
        complaints.append(f"{shown}: There are {len(found) - _MAX_COMPLAINTS:,} more faults.")
    return Imported(kept.sessions, tuple(complaints), images)


def united(parts: Iterable[Imported]) -> Imported:
    """Return several imports as one: each session once, under an id of its own, without circles."""
    complaints: list[str] = []
    sessions: list[Session] = []
    images: dict[str, bytes] = {}
    for part in parts:
        sessions += part.sessions
        complaints += part.complaints
        images |= part.images
    kept = _without_circles(_each_once(sessions, complaints), complaints)
    return Imported(tuple(kept), tuple(complaints), images)


def with_valid_ids(session: Session, complaints: list[str]) -> Session:
    """Return the session with a valid id, and with a valid parent or none."""
    header = session.header
    identity, parent = header.id, header.parent
    if not ID_PATTERN.fullmatch(identity):
        agent = _as_id(header.agent.lower())[:40] or "session"
        identity = f"{agent}_{header.created:%Y%m%d_%H%M%S}"
        complaints.append(
            f"A session's id, “{encode_line(header.id)[:40]}”, is none; it is now {identity}."
        )
    if parent and not ID_PATTERN.fullmatch(parent):
        parent = ""
        complaints.append(
            f"The parent of {identity} has an id that is none; the session is now the first "
            "of its chain."
        )
    return replace(session, header=replace(header, id=identity, parent=parent))


def keep_images(store: ImageStore, found: Imported) -> list[str]:
    """Keep the imported images. Return a sentence for each that neither came nor was there."""
    missing: dict[str, str] = {}
    for entry in _images_in(found.sessions):
        try:
            if entry.file in found.images:
                store.keep(entry.file, found.images[entry.file])
            else:
                store.data(entry.file)
        except ImageGone:
            sentence = f"The image {entry.name} did not come with it."
            missing[f"{entry.name}{entry.file}"] = sentence
        except OSError as error:
            sentence = f"The image {entry.name} is not kept: {os_reason(error)}."
            missing[f"{entry.name}{entry.file}"] = sentence
    return list(missing.values())


def _images_in(sessions: Iterable[Session]) -> Iterable[Attachment]:
    for session in sessions:
        for entry in session.entries:
            if isinstance(entry, Attachment) and entry.is_image:
                yield entry


# Files
# --------------------------------------------------------------------------------------------------


def _read_folder(path: Path) -> Imported:
    """Read the transcripts of a folder; symbolic links are left out."""
    with os.scandir(path) as entries:
        found = sorted(
            (entry.name, entry.is_file(follow_symlinks=False))
            for entry in entries
            if entry.name.endswith(".md") and not entry.name.startswith(".")
        )
    if not found:
        name = encode_line(path.name)[:100]
        return Imported(complaints=(f"{name}: No file in the folder ends in .md.",))
    parts: list[Imported] = []
    for name, regular in found:
        problem = "" if regular else "It is a link, a folder or a device, and is left out."
        try:
            if regular:
                parts.append(_read_file(path / name, name))
        except OSError as error:
            problem = f"It cannot be read: {os_reason(error)}."
        if problem:
            parts.append(Imported(complaints=(f"{encode_line(name)[:100]}: {problem}",)))
    return united(parts)


def _read_file(path: Path, name: str) -> Imported:
    """Read a document with the images in the folders beside it that it links to. Raises OSError."""
    data, _ = read_part(path, LARGEST + 1)
    found = imported(data, name)
    folders = {unquote(folder.decode("utf-8", "replace")) for folder in _IMAGE_LINK.findall(data)}
    images = dict(found.images)
    for folder in sorted(folders):
        if folder not in (".", "..") and "/" not in folder:
            store = ImageStore(path.parent, Files(), folder)
            for file in {entry.file for entry in _images_in(found.sessions)}:
                with contextlib.suppress(ImageGone, ValueError):
                    images[file] = store.data(file)
    return replace(found, images=images)


# Documents
# --------------------------------------------------------------------------------------------------


def _read(
    data: bytes, name: str, complaints: list[str]
) -> tuple[list[Session], Mapping[str, bytes]]:
    """Return the sessions and the images of a document. Raises ImportRefused."""
    start = data[:1024].lstrip()
    if not data.strip(b"\x00 \r\n\t"):
        raise ImportRefused("It is empty.")
    for signature, sentence in _OTHER_FORMATS:
        if data.startswith(signature):
            raise ImportRefused(f"It cannot be imported: {sentence}.")
    if start.startswith((b"{", b"[")):
        sessions, images = json_export.read(data, complaints)
        return [with_valid_ids(session, complaints) for session in sessions], images
    if _HTML.match(start):
        raise ImportRefused(
            "It is an HTML page, which is for reading; import the JSON or markdown export."
        )
    if start.startswith(marker.PREFIX) or b"\n" + marker.PREFIX in data:
        return _read_markdown(data, name, complaints), {}
    return [_read_legacy(data, name, complaints)], {}


def _read_markdown(data: bytes, name: str, complaints: list[str]) -> list[Session]:
    # An editor added these: a transcript writes a carriage return visibly.
    data = data.replace(b"\r\n", b"\n")
    transcripts, promised = markdown_export.split(data)
    sessions: list[Session] = []
    for transcript in transcripts or [data]:
        read = parse(transcript)
        if read.session is None:
            complaints += read.damage or ("There is no session in it.",)
            continue
        header = read.session.header
        if not header.id and len(transcripts) < 2:
            header = replace(header, id=_as_id(name))
        session = with_valid_ids(replace(read.session, header=header), complaints)
        complaints += (f"In {session.header.id}: {sentence}" for sentence in read.damage)
        sessions.append(session)
    if promised is not None and promised != len(transcripts):
        complaints.append(
            f"It says that it holds {promised:,} sessions, and {len(transcripts):,} are there: it "
            "was cut off."
        )
    return sessions


def _read_legacy(data: bytes, name: str, complaints: list[str]) -> Session:
    session, damage = legacy.read(data, Path(f"{_as_id(name) or 'session'}.md"))
    if session is None:
        raise ImportRefused("It is neither an export nor a transcript.")
    complaints += damage
    return session


def _as_id(name: str) -> str:
    """Return a file's name as an id; empty when nothing of it can be one."""
    stem = re.split(r"[/\\]", name)[-1].removesuffix(".md")
    return re.sub(r"[^0-9A-Za-z_-]+", "_", stem).strip("_-")[:64]


# Checks
# --------------------------------------------------------------------------------------------------


def _storable(sessions: Iterable[Session], complaints: list[str]) -> list[Session]:
    """Return the sessions that a transcript gives back as they are; the others are left out."""
    kept = []
    for given in sessions:
        session = _with_marker_values(given)
        if session != given:
            complaints.append(
                f"In {given.header.id}: names of tools, calls or models have signs that no "
                "marker holds."
            )
        if _survives(session):
            kept.append(session)
        else:
            complaints.append(
                f"Session {session.header.id} is left out: {_lost_part(session)} holds what no "
                "transcript can hold."
            )
    return kept


def _survives(session: Session) -> bool:
    try:
        again = parse(render(session))
    except ValueError:
        return False
    return again.session == session and not again.damage


def _lost_part(session: Session) -> str:
    empty = replace(session, entries=(), seal=None)
    if not _survives(empty):
        return "its header"
    for number, entry in enumerate(session.entries, 1):
        if not _survives(replace(empty, entries=(entry,))):
            return f"its entry {number} ({type(entry).__name__.lower()})"
    return "its seal"


def _with_marker_values(session: Session) -> Session:
    """Return the session with names of tools, calls and models as values that markers hold."""

    def changed(entry: Entry) -> Entry:
        if isinstance(entry, Call):
            return replace(entry, id=marker.value(entry.id), name=marker.value(entry.name))
        return replace(entry, id=marker.value(entry.id)) if isinstance(entry, Result) else entry

    seal = session.seal
    if seal is not None and seal.compaction is not None:
        model = marker.value(seal.compaction.model)
        seal = replace(seal, compaction=replace(seal.compaction, model=model))
    return replace(session, entries=tuple(map(changed, session.entries)), seal=seal)


def _each_once(sessions: Sequence[Session], complaints: list[str]) -> list[Session]:
    known: set[Session] = set()
    counts: Counter[str] = Counter()
    taken = {session.header.id for session in sessions}
    kept = []
    for session in sessions:
        if session in known:
            continue
        known.add(session)
        was = identity = session.header.id
        counts[was] += 1
        while counts[was] > 1 and identity in taken:
            suffix = f"_{counts[was]}"
            identity = was[: 64 - len(suffix)] + suffix
            counts[was] += identity in taken
        if identity != was:
            taken.add(identity)
            complaints.append(f"More than one session is called {was}; one is now {identity}.")
        kept.append(replace(session, header=replace(session.header, id=identity)))
    return kept


def _without_circles(sessions: Sequence[Session], complaints: list[str]) -> list[Session]:
    """Return the sessions with every circle of parents opened at its first member."""
    parents = {session.header.id: session.header.parent for session in sessions}
    ended: set[str] = set()
    opened: set[str] = set()
    for start in parents:
        path: dict[str, None] = {}
        identity = start
        while identity in parents and identity not in ended and identity not in path:
            path[identity] = None
            identity = parents[identity]
        if identity in path:
            opened.add(identity)
            complaints.append(
                f"The parents of {identity} lead back to it; it is now the first of its chain."
            )
        ended.update(path)
    return [
        replace(session, header=replace(session.header, parent=""))
        if session.header.id in opened
        else session
        for session in sessions
    ]
