"""Sessions out of a document that somebody else may have made. Nothing here is believed before it
was looked at.

Taken are our JSON, our markdown (one transcript or a chain), and the transcripts of
basic-agent-chat-loop, which become sessions in our format. What comes out can be stored as it is:
ids that are ids, each once, parents that lead to an end, and nothing that a transcript could not
hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.export import document, jsonform
from chat_loop.sessions import marker
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.parser import Parsed, parse
from chat_loop.sessions.records import ID_PATTERN, Call, Entry, Result, Session
from chat_loop.sessions.writer import entry_text, render
from chat_loop.wording import size_text

LARGEST = 256 << 20
"""The bytes of a document that is read; a larger one is refused."""
_TOLD = 50
"""Complaints about one document that are told one by one."""
_BOM = b"\xef\xbb\xbf"
_OTHER = (
    (b"\xff\xfe", "it is UTF-16 and not UTF-8"),
    (b"\xfe\xff", "it is UTF-16 and not UTF-8"),
    (b"\x1f\x8b", "it is compressed; unpack it first"),
    (b"PK\x03\x04", "it is a ZIP archive; unpack it first"),
    (b"%PDF", "it is a PDF"),
)
_HTML = re.compile(rb"<(?:!doctype|html)[\s>]", re.IGNORECASE)


class Imported(Struct, frozen=True):
    """The sessions of a document in its order, and a sentence for everything that was not taken as
    it stood.
    """

    sessions: tuple[Session, ...] = ()
    complaints: tuple[str, ...] = ()
    images: Mapping[str, bytes] = field(default_factory=dict)
    """Those that came with it, by `Attachment.file`."""


def imported(data: bytes, name: str, largest: int = LARGEST) -> Imported:
    """Read a document called `name` (a file's name; it is not opened). Never raises."""
    shown = encode_line(name)[:100]
    if len(data) > largest:
        return Imported(
            complaints=(f"{shown}: It is larger than {size_text(largest)} and is not read.",)
        )
    found = _read(data.removeprefix(_BOM), name)
    read = united([found])
    told = [f"{shown}: {complaint}" for complaint in read.complaints[:_TOLD]]
    if len(read.complaints) > _TOLD:
        told.append(f"{shown}: There are {len(read.complaints) - _TOLD:,} more faults.")
    return Imported(read.sessions, tuple(told), read.images)


def united(parts: Iterable[Imported]) -> Imported:
    """Several imports as one: each session once, under an id of its own, and no parents in a
    circle.
    """
    complaints: list[str] = []
    sessions: list[Session] = []
    images: dict[str, bytes] = {}
    for part in parts:
        sessions += part.sessions
        complaints += part.complaints
        images |= part.images
    kept = _uncircled(_each_once(_storable(sessions, complaints), complaints), complaints)
    return Imported(tuple(kept), tuple(complaints), images)


def _read(data: bytes, name: str) -> Imported:
    start = data[:1024].lstrip()
    if not data.strip(b"\x00 \r\n\t"):
        return Imported(complaints=("It is empty.",))
    for signature, sentence in _OTHER:
        if data.startswith(signature):
            return Imported(complaints=(f"It cannot be imported: {sentence}.",))
    if start.startswith((b"{", b"[")):
        read = jsonform.read(data)
        complaints = list(read.complaints)
        sessions = tuple(identified(session, complaints) for session in read.sessions)
        return Imported(sessions, tuple(complaints), read.images)
    if _HTML.match(start):
        return Imported(
            complaints=(
                "It is an HTML page, which is for reading; import the JSON or markdown export.",
            )
        )
    if start.startswith(marker.PREFIX) or b"\n" + marker.PREFIX in data:
        return _markdown(data, name)
    return _foreign(data, name)


def _markdown(data: bytes, name: str) -> Imported:
    if b"\r\n" in data:
        data = data.replace(
            b"\r\n", b"\n"
        )  # a transcript writes a carriage return visibly: an editor added these
    parts = document.taken_apart(data)
    sessions: list[Session] = []
    complaints: list[str] = []
    for transcript in parts.transcripts or (data,):
        read = parse(transcript)
        if read.session is None:
            complaints += read.damage or ("There is no session in it.",)
            continue
        header = read.session.header
        identity = header.id or _stem(name) if len(parts.transcripts) < 2 else header.id
        session = replace(read.session, header=replace(header, id=identity))
        sessions.append(identified(session, complaints))
        complaints += (f"In {sessions[-1].header.id}: {sentence}" for sentence in read.damage)
    if parts.promised is not None and parts.promised != len(parts.transcripts):
        there = len(parts.transcripts)
        complaints.append(
            f"It says that it holds {parts.promised:,} sessions, and {there:,} are there: it "
            "was cut off."
        )
    return Imported(tuple(sessions), tuple(complaints))


def _foreign(data: bytes, name: str) -> Imported:
    from chat_loop.sessions import legacy  # only another program's file needs it

    session, damage = legacy.read(data, Path(f"{_stem(name) or 'session'}.md"))
    if session is None:
        return Imported(complaints=("It is neither an export nor a transcript.",))
    return Imported((session,), damage)


def _stem(name: str) -> str:
    """A file's name as an id; empty when nothing of it can be one."""
    stem = re.split(r"[/\\]", name)[-1].removesuffix(".md")
    return re.sub(r"[^0-9A-Za-z_-]+", "_", stem).strip("_-")[:64]


def identified(session: Session, complaints: list[str]) -> Session:
    """The session with an id that is one, and a parent that is one or none."""
    header = session.header
    identity, parent = header.id, header.parent
    if not ID_PATTERN.fullmatch(identity):
        identity = (
            _stem(header.agent.lower())[:40] or "session"
        ) + f"_{header.created:%Y%m%d_%H%M%S}"
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


def _storable(sessions: Iterable[Session], complaints: list[str]) -> list[Session]:
    """Those that a transcript gives back as they are, with names that its markers hold; others are
    refused.
    """
    kept = []
    for given in sessions:
        session = _named(given)
        if session != given:
            complaints.append(
                f"In {given.header.id}: names of tools, calls or models have signs that no "
                "marker holds."
            )
        try:
            again = parse(render(session))
        except ValueError:
            again = Parsed(None)
        if again.session == session and not again.damage:
            kept.append(session)
        else:
            where = _difference(session, again.session)
            complaints.append(
                f"Session {session.header.id} is left out: {where} holds what no transcript "
                "can hold."
            )
    return kept


def _named(session: Session) -> Session:
    """The session with names of tools, calls and models as values that markers hold."""

    def named(entry: Entry) -> Entry:
        if isinstance(entry, Call):
            return replace(entry, id=marker.value(entry.id), name=marker.value(entry.name))
        return replace(entry, id=marker.value(entry.id)) if isinstance(entry, Result) else entry

    seal = session.seal
    if seal is not None and seal.compaction is not None:
        seal = replace(
            seal, compaction=replace(seal.compaction, model=marker.value(seal.compaction.model))
        )
    return replace(session, entries=tuple(map(named, session.entries)), seal=seal)


def _difference(session: Session, again: Session | None) -> str:
    if again is None:
        return _unwritable(session)
    if again.header != session.header:
        return "its header"
    for number, entry in enumerate(session.entries):
        if again.entries[number : number + 1] != (entry,):
            return f"its entry {number + 1} ({type(entry).__name__.lower()})"
    return "its seal"


def _unwritable(session: Session) -> str:
    """What of the session cannot be written."""
    for number, entry in enumerate(session.entries):
        try:
            entry_text(entry, session.header)
        except ValueError:
            return f"its entry {number + 1} ({type(entry).__name__.lower()})"
    return "its header or its seal"


def _each_once(sessions: Sequence[Session], complaints: list[str]) -> list[Session]:
    known: dict[str, set[Session]] = {}
    taken = {session.header.id for session in sessions}
    kept = []
    for session in sessions:
        identity = session.header.id
        same = known.setdefault(identity, set())
        if session in same:
            continue
        same.add(session)
        if len(same) > 1:
            identity = _free(identity, len(same), taken)
            taken.add(identity)
            complaints.append(
                f"More than one session is called {session.header.id}; one is now {identity}."
            )
        kept.append(replace(session, header=replace(session.header, id=identity)))
    return kept


def _free(identity: str, count: int, taken: set[str]) -> str:
    """The id with a number behind it, from `count` on, that is not taken."""
    while True:
        suffix = f"_{count}"
        candidate = identity[: 64 - len(suffix)] + suffix
        if candidate not in taken:
            return candidate
        count += 1


def _uncircled(sessions: Sequence[Session], complaints: list[str]) -> list[Session]:
    """The sessions with every circle of parents opened at its member that stands first."""
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
