"""A chain as JSON: every field of every record, under its name in `sessions/records.py`.

    {"format": "chat-loop", "version": 1,
     "sessions": [{"header": {…}, "entries": [{"kind": "query", …}], "seal": {…}}],
     "images": {"attachments/SHA256.png": "base64"}}

An entry's kind is the name of its class in lower case; times are ISO 8601. Infinite numbers are
null. Half of a surrogate pair, which JSON cannot hold, is written as `⟦U+D83D⟧`, and a literal `⟦`
before `U+` as `⟦U+27E6⟧`. Control characters are escaped everywhere, so that a terminal can show
the file.
"""

from __future__ import annotations

import contextlib
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from chat_loop.sessions.images import is_image
from chat_loop.sessions.marker import KINDS
from chat_loop.sessions.records import Entry, Header, Seal, Session

_FORMAT = "chat-loop"
_VERSION = 1

_HALF = re.compile("[\ud800-\udfff]|⟦(?=U\\+)")
_HALF_TOKEN = re.compile("⟦U\\+(D[89A-F][0-9A-F]{2}|27E6)⟧")
_CONTROL = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
T = TypeVar("T")


class ImportRefused(Exception):
    """A document, or a session in it, cannot be imported. The message says why."""


def write(sessions: Sequence[Session], images: Mapping[str, bytes] = MappingProxyType({})) -> bytes:
    """Return the sessions as a JSON document with their images."""
    document: dict[str, object] = {"format": _FORMAT, "version": _VERSION}
    parts = [{"header": one.header, "entries": one.entries, "seal": one.seal} for one in sessions]
    given = msgspec.to_builtins(parts, builtin_types=(datetime,))
    document["sessions"] = _changed(given, _json_value)
    if images:
        document["images"] = {name: b64encode(data).decode() for name, data in images.items()}
    text = msgspec.json.format(msgspec.json.encode(document), indent=1).decode()
    return (_CONTROL.sub(_json_escape, text) + "\n").encode()


def read(data: bytes, complaints: list[str]) -> tuple[list[Session], dict[str, bytes]]:
    """Return the sessions of a JSON document, and their images by `Attachment.file`.

    Append a sentence to `complaints` for everything that is left out. Raises ImportRefused.
    """
    document = _document(data)
    sessions: list[Session] = []
    for number, value in enumerate(document["sessions"], 1):
        try:
            sessions.append(_read_session(value, complaints, f"Session {number}"))
        except ImportRefused as wrong:
            complaints.append(f"Session {number} is left out: {wrong}.")
    images: dict[str, bytes] = {}
    given = document.get("images")
    for name, text in given.items() if isinstance(given, dict) else ():
        with contextlib.suppress(ValueError):
            images[name] = b64decode(text, validate=True) if isinstance(text, str) else b""
        if not is_image(name, images.get(name, b"")):
            images.pop(name, None)
            complaints.append("An image is not what its name says; it is left out.")
    return sessions, images


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = _changed(msgspec.json.decode(data), _restored)
    except RecursionError:
        raise ImportRefused("The JSON is nested deeper than any export of ours.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ImportRefused(f"It is not valid JSON: {_reason(error)}.") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ImportRefused(f"It is JSON, but not an export of ours: “format” is not “{_FORMAT}”.")
    version = document.get("version")
    if type(version) is not int or version != _VERSION:
        shown = version if type(version) is int and abs(version) < 10**6 else "unknown"
        raise ImportRefused(f"Its version is {shown}, and this program reads version {_VERSION}.")
    if not isinstance(document.get("sessions"), list):
        raise ImportRefused("It has no list of sessions.")
    return document


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested dicts and lists with each name and each value in them changed."""
    if isinstance(value, dict):
        return {change(name): _changed(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(one, change) for one in value]
    return change(value)


def _json_value(value: Any) -> Any:
    """Return a value as one that JSON can hold."""
    match value:
        case str():
            return _HALF.sub(lambda match: f"⟦U+{ord(match.group()):04X}⟧", value)
        case datetime():
            return _iso(value)
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _restored(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _HALF_TOKEN.sub(lambda match: chr(int(match.group(1), 16)), value)


def _iso(time: datetime) -> str:
    """Return a time in ISO 8601, whose offsets have no seconds as those of the 19th century do."""
    offset = time.utcoffset()
    if offset is None or not offset.total_seconds() % 60:
        return time.isoformat()
    try:
        return time.astimezone(UTC).isoformat()
    except OverflowError:
        return time.replace(tzinfo=UTC).isoformat()


def _json_escape(match: re.Match[str]) -> str:
    """Return a character as JSON's escape: one, or the two halves of its surrogate pair."""
    code = match.group().encode("utf-16-be").hex()
    return "".join(f"\\u{code[place : place + 4]}" for place in range(0, len(code), 4))


def _read_session(value: object, complaints: list[str], where: str) -> Session:
    if not isinstance(value, dict) or not isinstance(value.get("entries", []), list):
        raise ImportRefused("it is not an object with a header and a list of entries")
    entries: list[Entry] = []
    for number, given in enumerate(value.get("entries", []), 1):
        kind = given.get("kind") if isinstance(given, dict) else None
        kinds = (one.entry for one in KINDS.values())
        cls = next((one for one in kinds if one.__struct_config__.tag == kind), None)
        if cls is None:
            complaints.append(
                f"{where}: entry {number} is of a kind that this program does not know; it is "
                "left out."
            )
        else:
            entries.append(_record(cls, given, f"entry {number}"))
    header = _record(Header, value.get("header"), "its header")
    given = value.get("seal")
    seal = None if given is None else _record(Seal, given, "its seal")
    return Session(header=header, entries=tuple(entries), seal=seal)


def _record(cls: type[T], given: object, what: str) -> T:
    try:
        return msgspec.convert(given, type=cls)
    except msgspec.ValidationError as error:
        raise ImportRefused(f"{what} is wrong: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#04x} is not UTF-8"
    text = str(error).partition("\n")[0].rstrip(".")
    return (text[:1].lower() + text[1:200]) if text[1:2].islower() else text[:200]
