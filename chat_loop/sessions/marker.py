"""The comment markers of a transcript, `<!-- chat:KIND key=value … -->`, without free text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from chat_loop.sessions import records

PREFIX = b"<!-- chat:"
SUMMARY_START = "<!-- SESSION_SUMMARY_START -->"
SUMMARY_END = "<!-- SESSION_SUMMARY_END -->"
_SHAPE = re.compile(
    r"<!-- chat:([a-z-]{1,32})((?: [a-z_]{1,32}=[A-Za-z0-9_.:+/-]{1,128}){0,64}) -->\s*"
)

Value = str | int | float | datetime | None  # a value as `write` takes it; True is written as `yes`


class Kind(NamedTuple):
    """A kind of record that is an entry: its attributes in the marker, besides `at`, and in the end
    marker, and the place of its text, which follows a label or is in a fold, after `skip` lines.
    """

    entry: type[records.Entry]
    values: tuple[str, ...] = ()
    label: str = ""
    fold: str = ""  # the attribute that is folded
    skip: int = 0
    closing: tuple[str, ...] = ()


_FILE = ("number", "media", "size", "sha256", "width", "height")
_PARENTS = (
    *("queries", "tokens", "parent_created", "grandparent", "depth", "verbatim_from"),
    *("unsummarized_from", "until", "merged", "merged_until"),
)
_REPLY = ("stop", "seconds", "failed")
_RESULT = ("number", "id", "failed", "given", "not_kept")
KINDS = {
    "query": Kind(records.Query, ("number",), label="**You:**", skip=1),
    "reply": Kind(records.Reply, ("number",), closing=_REPLY),
    "acknowledgment": Kind(records.Reply, closing=_REPLY),
    "undo": Kind(records.Undo, ("number", "ref", "session")),
    "redo": Kind(records.Redo, ("number", "ref", "session")),
    "call": Kind(records.Call, ("number", "id", "name"), fold="arguments"),
    "result": Kind(records.Result, _RESULT, fold="text", closing=("seconds",)),
    "opaque": Kind(records.Opaque, ("number", "model", "endpoint"), fold="text"),
    "change": Kind(records.Change, ("number", "written", "replaced"), label="**Changed:**"),
    "recall": Kind(records.ArchiveContext, ("number",), fold="text"),
    "attachment": Kind(records.Attachment, _FILE, label="**Attached:**", fold="text", skip=2),
    "left-out": Kind(records.LeftOut, ("number", "reason"), label="**Left out:**"),
    "restoration": Kind(records.Restoration, _PARENTS, fold="block", skip=4),
    "pin": Kind(records.Pin, label="**Pinned:**"),
    "unpin": Kind(records.Unpin, label="**Unpinned:**"),
    "name": Kind(records.Name, label="**Named:**"),
    "tag": Kind(records.Tag, label="**Tagged:**"),
    "untag": Kind(records.Untag, label="**Untagged:**"),
    "setting": Kind(records.Setting, label="**Setting:**"),
    "model": Kind(records.ModelChange, ("endpoint",), label="**Model:**"),
    "agent": Kind(records.AgentChange, label="**Agent:**"),
    "aside": Kind(records.Aside, label="**Aside:**"),
    "aside-reply": Kind(records.AsideReply, closing=_REPLY),
    "shortened": Kind(records.Shortened, ("ref", "session", "call", "part", "tokens")),
    "covered": Kind(records.Covered, ("last_ref", "session"), fold="block"),
}
"""The records between the header and the tail."""
HEADER = {
    "Agent": "agent",
    "Agent Path": "agent_path",
    "Model": "model",
    "Endpoint": "endpoint",
    "Tools": "tools",
    "Effort": "effort",
    "Sampling": "sampling",
    "Project": "project",
    "Git Branch": "git_branch",
    "Git Commit": "git_commit",
    "Settings": "settings",
    "Resumed From": "parent",
    "Previous Session": "parent_path",
    "Name": "name",
    "Title": "title",
}
"""The lines of the header, and their attributes."""
USAGE = ("input", "output", "cached", "written", "reasoning", "estimated")
AUDIT = (
    *("first", "last", "before", "after", "why", "model", "decisions", "pins", "facts"),
    *("archived", "superseded", "cost"),
)
"""The attributes of a usage and of a compaction that markers contain."""
_KEYS = {
    "number": "n",
    "parent_created": "of",
    "verbatim_from": "since",
    "unsummarized_from": "fresh",
    "media": "type",
    "sha256": "sha",
    "input": "in",
    "output": "out",
    "seconds": "time",
    "source": "summary",
    "ref": "of",
    "last_ref": "last",
    "digest": "block",
}
"""The attributes with another name in markers."""
_ALWAYS_WRITTEN = {"input", "output", "why", "stop"}  # also with their default
_PATTERNS = {
    "grandparent": records.ID_PATTERN,
    "merged": records.ID_PATTERN,
    "verbatim_from": records.REF_PATTERN,
    "unsummarized_from": records.REF_PATTERN,
    "until": records.REF_PATTERN,
    "merged_until": records.REF_PATTERN,
    "ref": records.REF_PATTERN,
    "last_ref": records.REF_PATTERN,
    "session": records.ID_PATTERN,
    "digest": records.DIGEST_PATTERN,
}


class Marker(Struct, frozen=True):
    """A marker line as read. Its methods never raise: a value may be missing or wrong."""

    kind: str
    values: Mapping[str, str]

    def time(self, key: str) -> datetime | None:
        try:
            return datetime.fromisoformat(self.values.get(key, ""))
        except ValueError:
            return None

    def number(self, key: str) -> int | None:
        text = self.values.get(key, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None

    def word(self, key: str, pattern: re.Pattern[str] | None = None) -> str:
        """Return a value, or an empty string if it is missing or does not match `pattern`."""
        text = self.values.get(key, "")
        return text if pattern is None or pattern.fullmatch(text) else ""

    def attributes(self, kind: type[Struct], names: Iterable[str]) -> dict[str, Any]:
        """Return the attributes `names` of a value of type `kind` from the marker."""
        values: dict[str, Any] = {}
        for name in names:
            key = _KEYS.get(name, name)
            field = _fields(kind)[name]
            if field.type is int:
                values[name] = self.number(key) or 0
            elif field.type == int | None:
                values[name] = self.number(key)
            elif field.type is bool:
                values[name] = self.word(key) == "yes"
            elif field.type is datetime:
                values[name] = self.time(key) or records.EPOCH
            elif field.type is str:
                values[name] = self.word(key, _PATTERNS.get(name))
            elif get_origin(field.type) is Literal:
                word = self.word(key)
                values[name] = word if word in get_args(field.type) else field.default
            else:
                try:
                    number = float(self.word(key))
                except ValueError:
                    number = math.inf
                values[name] = number if math.isfinite(number) else None
        return values


def values_of(value: Struct | None, names: Iterable[str]) -> dict[str, Value]:
    """Return attributes as values of a marker, except those that have their default."""
    values: dict[str, Value] = {}
    if value is None:
        return values
    for name in names:
        attribute = getattr(value, name)
        if name in _ALWAYS_WRITTEN or attribute != _fields(type(value))[name].default:
            values[_KEYS.get(name, name)] = attribute
    return values


@cache
def _fields(kind: type[Struct]) -> Mapping[str, FieldInfo]:
    return {field.name: field for field in fields(kind)}


def read(line: bytes) -> Marker | None:
    """Return the marker in a line at column 0, or None when the line only resembles one."""
    match = _SHAPE.fullmatch(line.decode("ascii", "replace"))
    if match is None:
        return None
    return Marker(match[1], dict(pair.split("=", 1) for pair in match[2].split()))


def write(kind: str, values: Mapping[str, Value] | None = None) -> str:
    """Return the marker line; empty values are left out. Raises ValueError for impossible ones."""
    line = f"<!-- chat:{kind}"
    for key, value in (values or {}).items():
        if value is True:
            line += f" {key}=yes"
        elif isinstance(value, datetime):
            line += f" {key}={value.isoformat()}"
        elif value is not None and value is not False and value != "":
            line += f" {key}={value}"
    line += " -->"
    if _SHAPE.fullmatch(line) is None:
        raise ValueError(f"no marker can hold this: {line[:200]!r}")
    return line


def safe_value(name: str) -> str:
    """Return a foreign name as a marker value: truncated, with `-` for other characters."""
    return re.sub(r"[^A-Za-z0-9_.:+/-]", "-", name)[:128]
