"""The comment markers of a transcript: `<!-- chat:KIND key=value … -->` at column 0, one syntax for
all kinds. Free text never stands inside a marker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from chat_loop.sessions import records
from chat_loop.values import Usage

PREFIX = b"<!-- chat:"
SUMMARY_START = "<!-- SESSION_SUMMARY_START -->"
SUMMARY_END = "<!-- SESSION_SUMMARY_END -->"
_SHAPE = re.compile(
    r"<!-- chat:([a-z-]{1,32})((?: [a-z_]{1,32}=[A-Za-z0-9_.:+/-]{1,128}){0,64}) -->\s*"
)

Value = str | int | float | datetime | None  # a value as `write` takes it; True is written as `yes`


class Kind(NamedTuple):
    """A kind of record that is an entry: its attributes in the marker besides `at`, and where its
    text stands, which is behind a label or in a fold, after `skipped` lines of decoration.
    """

    entry: type[records.Entry]
    values: tuple[str, ...] = ()
    label: str = ""
    fold: str = ""  # the attribute that is folded
    skipped: int = 0


_FILE = ("number", "media", "size", "sha256", "width", "height")
_PARENTS = (
    *("queries", "tokens", "parent_created", "grandparent", "depth", "verbatim_from"),
    *("unsummarized_from", "until", "merged"),
)
KINDS = {
    "query": Kind(records.Query, ("number",), label="**You:**", skipped=1),
    "reply": Kind(records.Reply, ("number",)),
    "acknowledgment": Kind(records.Reply),
    "undo": Kind(records.Undo, ("number",)),
    "call": Kind(records.Call, ("number", "id", "name"), fold="arguments"),
    "result": Kind(records.Result, ("number", "id", "failed"), fold="text"),
    "recall": Kind(records.ArchiveContext, ("number",), fold="text"),
    "attachment": Kind(records.Attachment, _FILE, label="**Attached:**", fold="text", skipped=2),
    "restoration": Kind(records.Restoration, _PARENTS, fold="block", skipped=4),
    "pin": Kind(records.Pin, label="**Pinned:**"),
    "unpin": Kind(records.Unpin, label="**Unpinned:**"),
    "name": Kind(records.Name, label="**Named:**"),
    "tag": Kind(records.Tag, label="**Tagged:**"),
    "untag": Kind(records.Untag, label="**Untagged:**"),
    "model": Kind(records.ModelChange, label="**Model:**"),
}
"""The records between the header and the tail."""
HEADER = {
    "Agent": "agent",
    "Agent Path": "agent_path",
    "Model": "model",
    "Project": "project",
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
"""The attributes of a usage and of a compaction that markers hold."""
_KEYS = {
    "number": "n",
    "parent_created": "of",
    "verbatim_from": "since",
    "unsummarized_from": "fresh",
    "media": "type",
    "sha256": "sha",
    "input": "in",
    "output": "out",
}
"""The attributes that have another name in markers."""
_PATTERNS = {
    "grandparent": records.ID_PATTERN,
    "merged": records.ID_PATTERN,
    "verbatim_from": records.REF_PATTERN,
    "unsummarized_from": records.REF_PATTERN,
    "until": records.REF_PATTERN,
}


class Marker(Struct, frozen=True):
    """A marker line as read. The accessors never raise: a value may be missing or wrong."""

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

    def flag(self, key: str) -> bool:
        return self.values.get(key) == "yes"

    def seconds(self, key: str) -> float | None:
        try:
            return float(self.values.get(key, ""))
        except ValueError:
            return None

    def word(self, key: str, pattern: re.Pattern[str] | None = None) -> str:
        """Return a value (of this pattern), or an empty string."""
        found = self.values.get(key, "")
        return found if pattern is None or pattern.fullmatch(found) else ""

    def attributes(self, kind: type[Struct], names: Iterable[str]) -> dict[str, Any]:
        """Return the attributes of a value of this type that stand in the marker."""
        found: dict[str, Any] = {}
        for name in names:
            key, of = _KEYS.get(name, name), _fields(kind)[name].type
            if of is int:
                found[name] = self.number(key) or 0
            elif of is bool:
                found[name] = self.flag(key)
            elif of is datetime:
                found[name] = self.time(key) or records.EPOCH
            elif of is str:
                found[name] = self.word(key, _PATTERNS.get(name))
            else:
                found[name] = self.seconds(key)
        return found

    def usage(self) -> Usage | None:
        return Usage(**self.attributes(Usage, USAGE)) if "in" in self.values else None


def values_of(value: Struct | None, names: Iterable[str]) -> dict[str, Value]:
    """Return attributes as values of a marker, without those that nobody has to be told."""
    if value is None:
        return {}
    defaults = {name: field.default for name, field in _fields(type(value)).items()}
    defaults |= {"input": None, "output": None, "why": None}  # these are always written
    given = {name: getattr(value, name) for name in names}
    return {_KEYS.get(name, name): one for name, one in given.items() if one != defaults[name]}


@cache
def _fields(kind: type[Struct]) -> Mapping[str, FieldInfo]:
    return {field.name: field for field in fields(kind)}


def read(line: bytes) -> Marker | None:
    """Return the marker that a line at column 0 is, or None when the line only resembles one."""
    match = _SHAPE.fullmatch(line.decode("ascii", "replace"))
    if match is None:
        return None
    return Marker(match[1], dict(pair.split("=", 1) for pair in match[2].split()))


def write(kind: str, values: Mapping[str, Value] | None = None) -> str:
    """Return the marker line, without a newline; None, False and empty values are left out. Raises
    ValueError for what `read` would not read: see `value`.
    """
    line = f"<!-- chat:{kind}"
    for key, given in (values or {}).items():
        if given is True:
            line += f" {key}=yes"
        elif given is not None and given is not False and given != "":
            line += f" {key}={given.isoformat() if isinstance(given, datetime) else given}"
    line += " -->"
    if _SHAPE.fullmatch(line) is None:
        raise ValueError(f"no marker can hold this: {line[:200]!r}")
    return line


def value(name: str) -> str:
    """Return a name that others chose as a value: cut, and with `-` for other characters."""
    return re.sub(r"[^A-Za-z0-9_.:+/-]", "-", name)[:128]
