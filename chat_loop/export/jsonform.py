"""A chain as JSON: every field of every record, under the names that `sessions/records.py` has for
them.

    {"format": "chat-loop", "version": 1, "sessions": [{"header": {…}, "entries": [{"kind": "query",
    …}], "seal": {…}}],
     "images": {"attachments/SHA256.png": "base64"}}

An entry's kind is its class's name in lower case; times are ISO 8601. A number that is none
(infinite) is null. Half of a surrogate pair, which JSON cannot hold, is written as `⟦U+D83D⟧`, and
a literal `⟦` before `U+` as `⟦U+27E6⟧`. Control characters are escaped throughout, so that the file
can be looked at in a terminal.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict

from chat_loop.export.texts import with_texts
from chat_loop.sessions.images import is_image
from chat_loop.sessions.records import Entry, Header, Seal, Session

FORMAT = "chat-loop"
VERSION = 1
KINDS: Mapping[str, type[Entry]] = {cls.__name__.lower(): cls for cls in get_args(Entry)}

_HALF = re.compile("[\ud800-\udfff]|⟦(?=U\\+)")
_HALF_TOKEN = re.compile("⟦U\\+(D[89A-F][0-9A-F]{2}|27E6)⟧")
_CONTROL = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
T = TypeVar("T")


class Read(Struct, frozen=True):
    """What a JSON document held; a sentence for everything that could not be taken as it stood."""

    sessions: tuple[Session, ...] = ()
    complaints: tuple[str, ...] = ()
    images: Mapping[str, bytes] = field(default_factory=dict)
    """By `Attachment.file`, each what its name says."""


class _Wrong(Exception):
    """A value is not what it should be; the message says which and why."""


def written(
    sessions: Sequence[Session], images: Mapping[str, bytes] = MappingProxyType({})
) -> bytes:
    """Return the sessions as a JSON document, with their images."""
    document: dict[str, object] = {"format": FORMAT, "version": VERSION}
    document["sessions"] = [_session(session) for session in sessions]
    if images:
        document["images"] = {name: b64encode(data).decode() for name, data in images.items()}
    text = msgspec.json.format(msgspec.json.encode(document), indent=1).decode()
    return (_CONTROL.sub(_escaped, text) + "\n").encode()


def read(data: bytes) -> Read:
    """Read a JSON document. Never raises; of what is wrong a sentence tells."""
    try:
        document = msgspec.json.decode(data)
    except RecursionError:
        return Read(complaints=("The JSON is nested deeper than any export of ours.",))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Read(complaints=(f"It is not valid JSON: {_reason(error)}.",))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return Read(
            complaints=(f"It is JSON, but not an export of ours: “format” is not “{FORMAT}”.",)
        )
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        shown = version if type(version) is int and abs(version) < 10**6 else "unknown"
        return Read(
            complaints=(f"Its version is {shown}, and this program reads version {VERSION}.",)
        )
    given = document.get("sessions")
    if not isinstance(given, list):
        return Read(complaints=("It has no list of sessions.",))
    sessions: list[Session] = []
    complaints: list[str] = []
    for number, value in enumerate(given, 1):
        try:
            sessions.append(_read_session(value, complaints, f"Session {number}"))
        except _Wrong as wrong:
            complaints.append(f"Session {number} is left out: {wrong}.")
    images = _images(document.get("images"), complaints)
    return Read(tuple(sessions), tuple(complaints), images)


def _images(given: object, complaints: list[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, text in given.items() if isinstance(given, dict) else ():
        try:
            data = b64decode(text, validate=True) if isinstance(text, str) else b""
        except ValueError:
            data = b""
        if is_image(name, data):
            found[name] = data
        else:
            complaints.append("An image is not what its name says; it is left out.")
    return found


def _session(session: Session) -> dict[str, object]:
    return {
        "header": _plain(session.header),
        "entries": [
            {"kind": type(entry).__name__.lower()} | _plain(entry) for entry in session.entries
        ],
        "seal": _plain(session.seal),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {name: _plain(one) for name, one in asdict(value).items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return _HALF.sub(lambda match: f"⟦U+{ord(match.group()):04X}⟧", value)
    if isinstance(value, datetime):
        return _time(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _time(value: datetime) -> str:
    """ISO 8601 knows no seconds in an offset, which the local times of the 19th century have."""
    offset = value.utcoffset()
    if offset is None or not offset.total_seconds() % 60:
        return value.isoformat()
    try:
        return value.astimezone(UTC).isoformat()
    except OverflowError:
        return value.replace(tzinfo=UTC).isoformat()


def _escaped(match: re.Match[str]) -> str:
    """A character as JSON's own escape: one, or the two halves of its surrogate pair."""
    code = match.group().encode("utf-16-be").hex()
    return "".join(f"\\u{code[place : place + 4]}" for place in range(0, len(code), 4))


def _whole(text: str) -> str:
    return _HALF_TOKEN.sub(lambda match: chr(int(match.group(1), 16)), text)


def _read_session(value: object, complaints: list[str], where: str) -> Session:
    if not isinstance(value, dict) or not isinstance(value.get("entries", []), list):
        raise _Wrong("it is not an object with a header and a list of entries")
    entries: list[Entry] = []
    for number, given in enumerate(value.get("entries", []), 1):
        kind = given.get("kind") if isinstance(given, dict) else None
        cls = KINDS.get(kind) if isinstance(kind, str) else None
        if cls is None:
            complaints.append(
                f"{where}: entry {number} is of a kind that this program does not know; it is "
                "left out."
            )
            continue
        entries.append(_built(cls, given, complaints, f"{where}: entry {number}"))
    header = _built(Header, value.get("header"), complaints, f"{where}: its header")
    given = value.get("seal")
    seal = None if given is None else _built(Seal, given, complaints, f"{where}: its seal")
    return Session(header=header, entries=tuple(entries), seal=seal)


def _built(cls: type[T], given: object, complaints: list[str], where: str) -> T:
    try:
        built = msgspec.convert(given, type=cls)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _Wrong(f"{where.partition(': ')[2]} is wrong: {_reason(error)}") from error
    unknown = sorted(_unknown(given, _plain(built)))
    if unknown:
        names = ", ".join(f"“{_whole(name)[:40]}”" for name in unknown[:3])
        complaints.append(
            f"{where} has fields that this program does not know: {names}; they are left out."
        )
    return with_texts(built, _whole)


def _unknown(given: object, known: object) -> set[str]:
    """The names that `given` has and `known` has not, in what is nested as well."""
    if not isinstance(given, dict) or not isinstance(known, dict):
        return set()
    inner = (_unknown(value, known[name]) for name, value in given.items() if name in known)
    return {name for name in given if name not in known and name != "kind"}.union(*inner)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#04x} is not UTF-8"
    text = str(error).partition("\n")[0].rstrip(".")
    return (text[:1].lower() + text[1:200]) if text[1:2].islower() else text[:200]
