"""A chain as one document that can be imported again: JSON or markdown.

JSON contains every field of every record under its name in `sessions/records.py`. The kind of an
entry is the name of its class in lower case. Times are in ISO 8601:

    {"format": "chat-loop", "version": 1,
     "sessions": [{"header": {…}, "entries": [{"kind": "query", …}], "seal": {…}}],
     "images": {"attachments/SHA256.png": "base64"}}

Characters that a terminal would obey or hide are escaped.

Markdown is a list of the sessions in a record `chat:export`, then their unchanged transcripts. A
line with a session's marker begins a transcript. The format escapes such a line in any text, so no
message can move the border between two sessions. A single session is just its transcript.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec

from chat_loop.errors import ChatLoopError
from chat_loop.sessions import marker, records
from chat_loop.sessions.escape import UNSAFE_RANGES, encode_line
from chat_loop.sessions.images import is_image
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Session
from chat_loop.sessions.writer import render

_BORDER = b"\n---\n\n"
_ESCAPED = re.compile(f"[{UNSAFE_RANGES}]")
_ENTRIES = {kind.entry.__struct_config__.tag: kind.entry for kind in marker.KINDS.values()}


class ImportRefused(ChatLoopError):
    """A document, or a session in it, cannot be imported. The message says why."""


class _SessionValue(msgspec.Struct):
    header: records.Header
    entries: list[dict[str, Any]] = []
    seal: records.Seal | None = None


class _Document(msgspec.Struct):
    format: Literal["chat-loop"]
    version: Literal[1]
    sessions: list[object]
    images: dict[str, object] = {}


def write_markdown(sessions: Sequence[Session]) -> bytes:
    """Return the sessions as one document."""
    transcripts = [render(session) for session in sessions]
    if len(sessions) == 1:
        return transcripts[0]
    agent = "No"
    if sessions:
        agent = encode_line(sessions[-1].header.agent)
    lines = [
        marker.write("export", {"v": "1", "sessions": str(len(sessions))}),
        f"# {agent}: a conversation in {len(sessions)} sessions",
        "",
        "| | Session | Date | Queries | Tokens |",
        "|---:|---|---|---:|---:|",
    ]
    for number, session in enumerate(sessions, 1):
        totals = session.totals
        header = session.header
        values = f"{header.created:%Y-%m-%d %H:%M} | {totals.queries} | {totals.combined:,}"
        lines.append(f"| {number} | {header.id} | {values} |")
    contents = "\n".join([*lines, marker.write("end"), ""])
    return _BORDER.join([contents.encode(), *transcripts])


def read_markdown(data: bytes, complaints: list[str]) -> list[Session]:
    """Return the sessions of one transcript, or of a document that contains several."""
    data = data.replace(b"\r\n", b"\n")  # an editor made these: a transcript escapes its own
    promised = None
    torn = False
    starts: list[int] = []
    for line in re.finditer(rb"^" + re.escape(marker.PREFIX) + rb"[^\n]*", data, re.MULTILINE):
        record = marker.read(line.group())
        if record is not None:
            if record.kind == "export" and not starts:
                promised = record.number("sessions")
            elif record.kind == "session" and not torn:
                starts.append(line.start())
            torn = record.kind == "torn"  # a torn header is written again in the same transcript
    sessions = []
    for start, end in pairwise([*(starts or [0]), len(data)]):
        parsed = parse(data[start:end].removesuffix(_BORDER))
        if parsed.session is None:
            complaints += parsed.damage or ("There is no session in it.",)
        else:
            identity = parsed.session.id
            complaints += (f"In {identity}: {sentence}" for sentence in parsed.damage)
            sessions.append(parsed.session)
    if promised is not None and promised != len(starts):
        text = f"It says that it holds {promised:,} sessions, and {len(starts):,} are there"
        complaints.append(f"{text}: it was cut off.")
    return sessions


def write_json(sessions: Sequence[Session], images: Mapping[str, bytes]) -> bytes:
    """Return the sessions and their images, by `Attachment.file`, as a JSON document."""
    values = []
    for session in sessions:
        value = {"header": session.header, "entries": session.entries, "seal": session.seal}
        values.append(value)
    document: dict[str, object] = {"format": "chat-loop", "version": 1, "sessions": values}
    if images:
        document["images"] = images
    text = json.dumps(msgspec.to_builtins(document), ensure_ascii=False, indent=1)
    return (_ESCAPED.sub(lambda match: json.dumps(match.group())[1:-1], text) + "\n").encode()


def read_json(data: bytes, complaints: list[str]) -> tuple[list[Session], dict[str, bytes]]:
    """Return the sessions and images of a JSON document. Raises ImportRefused."""
    try:
        document = msgspec.convert(json.loads(data), type=_Document)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        reason = str(error).partition(" (")[0]
        raise ImportRefused(f"It is not a JSON export of version 1: {reason}.") from error
    sessions: list[Session] = []
    for number, value in enumerate(document.sessions, 1):
        try:
            session = msgspec.convert(value, type=_SessionValue)
            known = [fields for fields in session.entries if fields.get("kind") in _ENTRIES]
            entries = [msgspec.convert(fields, type=_ENTRIES[fields["kind"]]) for fields in known]
        except (msgspec.ValidationError, TypeError) as error:
            complaints.append(f"Session {number} is left out: {error}.")
            continue
        sessions.append(Session(header=session.header, entries=tuple(entries), seal=session.seal))
        if unknown := len(session.entries) - len(known):
            complaints.append(f"Session {number}: {unknown} entries of unknown kinds are left out.")
    images: dict[str, bytes] = {}
    for name, text in document.images.items():
        with contextlib.suppress(msgspec.ValidationError):
            if is_image(name, data := msgspec.convert(text, type=bytes)):
                images[name] = data
    lost = len(document.images) - len(images)
    complaints += ["An image is not what its name says; it is left out."] * lost
    return sessions, images
