"""A chain as one document that can be imported again: JSON, or markdown.

JSON holds every field of every record, under its name in `sessions/records.py`; an entry's kind is
the name of its class in lower case, times are ISO 8601, infinite numbers are null:

    {"format": "chat-loop", "version": 1,
     "sessions": [{"header": {…}, "entries": [{"kind": "query", …}], "seal": {…}}],
     "images": {"attachments/SHA256.png": "base64"}}

Half of a surrogate pair, which JSON cannot hold, is written as `⟦U+D83D⟧`, and a literal `⟦` before
`U+` as `⟦U+27E6⟧`. Control characters are escaped, so that a terminal can show the file.

Markdown is a list of the sessions in a record `chat:export`, then their transcripts as they are. A
line with a session's marker begins a transcript; the format escapes such a line in any text, so
nothing that was said can move the border between two sessions. One session alone is its transcript.
"""

from __future__ import annotations

import contextlib
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from chat_loop.sessions import marker
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.images import is_image
from chat_loop.sessions.records import IMAGE_FOLDER, Entry, Header, Seal, Session
from chat_loop.sessions.writer import render

_FORMAT = "chat-loop"
_VERSION = 1
_BORDER = b"\n---\n\n"
_HALF = re.compile("[\ud800-\udfff]|⟦(?=U\\+)")
_HALF_TOKEN = re.compile("⟦U\\+(D[89A-F][0-9A-F]{2}|27E6)⟧")
_CONTROL = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
T = TypeVar("T")


class ImportRefused(Exception):
    """A document, or a session in it, cannot be imported. The message says why."""


def write_markdown(sessions: Sequence[Session], folder: str = IMAGE_FOLDER) -> bytes:
    """Return the sessions as one document; its links to images lead into `folder`, a URL's part."""
    transcripts = [render(session, folder) for session in sessions]
    if len(sessions) == 1:
        return transcripts[0]
    agent = encode_line(sessions[-1].header.agent) if sessions else "No"
    lines = [
        marker.write("export", {"v": "1", "sessions": str(len(sessions))}),
        f"# {agent}: a conversation in {len(sessions)} sessions",
        "",
        "| | Session | Date | Queries | Tokens |",
        "|---:|---|---|---:|---:|",
    ]
    for number, session in enumerate(sessions, 1):
        totals, header = session.totals, session.header
        values = f"{header.created:%Y-%m-%d %H:%M} | {totals.queries} | {totals.combined:,}"
        lines.append(f"| {number} | {header.id} | {values} |")
    contents = "\n".join([*lines, marker.write("end"), ""])
    return _BORDER.join([contents.encode(), *transcripts])


def split_markdown(data: bytes) -> tuple[list[bytes], int | None]:
    """Return the transcripts of a document, and how many it promises, if it says so."""
    promised, torn = None, False
    starts: list[int] = []
    for line in re.finditer(rb"^" + re.escape(marker.PREFIX) + rb"[^\n]*", data, re.MULTILINE):
        record = marker.read(line.group())
        if record is not None:
            if record.kind == "export" and not starts:
                promised = record.number("sessions")
            elif record.kind == "session" and not torn:
                starts.append(line.start())
            torn = record.kind == "torn"  # a torn header is written again in the same transcript
    borders = pairwise([*starts, len(data)])
    return [data[start:end].removesuffix(_BORDER) for start, end in borders], promised


def write_json(
    sessions: Sequence[Session], images: Mapping[str, bytes] = MappingProxyType({})
) -> bytes:
    """Return the sessions as a JSON document with their images by `Attachment.file`."""

    def json_value(value: Any) -> Any:
        match value:
            case str():
                return _HALF.sub(lambda match: f"⟦U+{ord(match.group()):04X}⟧", value)
            case datetime():
                return _iso(value)
            case float() if not math.isfinite(value):
                return None
            case _:
                return value

    def json_escape(match: re.Match[str]) -> str:  # one, or the two halves of a surrogate pair
        code = match.group().encode("utf-16-be").hex()
        return "".join(f"\\u{code[place : place + 4]}" for place in range(0, len(code), 4))

    document: dict[str, object] = {"format": _FORMAT, "version": _VERSION}
    parts = [{"header": one.header, "entries": one.entries, "seal": one.seal} for one in sessions]
    document["sessions"] = _map_values(
        msgspec.to_builtins(parts, builtin_types=(datetime,)), json_value
    )
    if images:
        document["images"] = {name: b64encode(data).decode() for name, data in images.items()}
    text = msgspec.json.format(msgspec.json.encode(document), indent=1).decode()
    return (_CONTROL.sub(json_escape, text) + "\n").encode()


def read_json(data: bytes, complaints: list[str]) -> tuple[list[Session], dict[str, bytes]]:
    """Return the sessions and images of a JSON document. Raises ImportRefused."""
    document = _json_document(data)
    sessions: list[Session] = []
    for number, value in enumerate(document["sessions"], 1):
        try:
            sessions.append(_session(value, complaints, f"Session {number}"))
        except ImportRefused as wrong:
            complaints.append(f"Session {number} is left out: {wrong}.")
    images: dict[str, bytes] = {}
    encoded = document.get("images")
    for name, text in encoded.items() if isinstance(encoded, dict) else ():
        image = b""
        with contextlib.suppress(ValueError):
            image = b64decode(text, validate=True) if isinstance(text, str) else b""
        if is_image(name, image):
            images[name] = image
        else:
            complaints.append("An image is not what its name says; it is left out.")
    return sessions, images


def _json_document(data: bytes) -> dict[str, Any]:
    def restored(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return _HALF_TOKEN.sub(lambda match: chr(int(match.group(1), 16)), value)

    try:
        document = _map_values(msgspec.json.decode(data), restored)
    except RecursionError:
        raise ImportRefused("The JSON is nested deeper than any export of ours.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ImportRefused(f"It is not valid JSON: {_reason(error)}.") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ImportRefused(f"It is JSON, but not an export of ours: “format” is not “{_FORMAT}”.")
    if document.get("version") is True or document.get("version") != _VERSION:
        raise ImportRefused(f"It is not of version {_VERSION}, which this program reads.")
    if not isinstance(document.get("sessions"), list):
        raise ImportRefused("It has no list of sessions.")
    return document


def _session(value: object, complaints: list[str], where: str) -> Session:
    if not isinstance(value, dict) or not isinstance(value.get("entries", []), list):
        raise ImportRefused("it is not an object with a header and a list of entries")
    kinds = {kind.entry.__struct_config__.tag: kind.entry for kind in marker.KINDS.values()}
    entries: list[Entry] = []
    for number, fields in enumerate(value.get("entries", []), 1):
        tag = fields.get("kind") if isinstance(fields, dict) else None
        if isinstance(tag, str) and tag in kinds:
            entries.append(_record(kinds[tag], fields, f"entry {number}"))
        else:
            what = f"{where}: entry {number} is of a kind that this program does not know"
            complaints.append(f"{what}; it is left out.")
    header = _record(Header, value.get("header"), "its header")
    seal = None if value.get("seal") is None else _record(Seal, value["seal"], "its seal")
    return Session(header=header, entries=tuple(entries), seal=seal)


def _record(cls: type[T], value: object, what: str) -> T:
    try:
        return msgspec.convert(value, type=cls)
    except msgspec.ValidationError as error:
        raise ImportRefused(f"{what} is wrong: {_reason(error)}") from error


def _map_values(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested dicts and lists with each name and each value in them changed."""
    if isinstance(value, dict):
        return {change(name): _map_values(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_map_values(one, change) for one in value]
    return change(value)


def _iso(time: datetime) -> str:
    """Return a time in ISO 8601, whose offsets have no seconds as those of the 19th century do."""
    offset = time.utcoffset()
    if offset is None or not offset.total_seconds() % 60:
        return time.isoformat()
    try:
        return time.astimezone(UTC).isoformat()
    except OverflowError:
        return time.replace(tzinfo=UTC).isoformat()


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#04x} is not UTF-8"
    text = str(error).partition("\n")[0].rstrip(".")
    return (text[:1].lower() + text[1:200]) if text[1:2].islower() else text[:200]
