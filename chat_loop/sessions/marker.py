"""The comment markers of a transcript: `<!-- chat:KIND key=value … -->` at column 0, one syntax for
all kinds. Free text never stands inside a marker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, convert

from chat_loop.values import Compaction, Usage

PREFIX = b"<!-- chat:"
SUMMARY_START = "<!-- SESSION_SUMMARY_START -->"
SUMMARY_END = "<!-- SESSION_SUMMARY_END -->"
_SHAPE = re.compile(
    r"<!-- chat:([a-z-]{1,32})((?: [a-z_]{1,32}=[A-Za-z0-9_.:+/-]{1,128}){0,64}) -->\s*"
)
_WORDS = ("first", "last", "why", "model")
_KEPT = ("decisions", "pins", "facts", "archived", "superseded")
"""The values of an audit that are words, and those that count what was kept."""

Value = str | int | float | datetime | None
"""A value as `write` takes it; True is written as `yes`."""


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

    def count(self, key: str) -> int:
        return self.number(key) or 0

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

    def usage(self) -> Usage | None:
        if "in" not in self.values:
            return None
        return Usage(
            input=self.count("in"),
            output=self.count("out"),
            cached=self.count("cached"),
            written=self.count("written"),
            reasoning=self.count("reasoning"),
            estimated=self.flag("estimated"),
        )

    def compaction(self) -> Compaction:
        values: dict[str, object] = {name: self.word(name) for name in _WORDS}
        values |= {name: self.count(name) for name in ("before", "after", *_KEPT)}
        return convert({**values, "cost": self.seconds("cost")}, Compaction)


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
    """Return a name that others chose as a value: other characters become `-`, and a long one is
    cut.
    """
    return re.sub(r"[^A-Za-z0-9_.:+/-]", "-", name)[:128]


def usage_values(usage: Usage | None) -> dict[str, Value]:
    """Return the values that `Marker.usage` reads."""
    if usage is None:
        return {}
    return {
        "in": usage.input,
        "out": usage.output,
        "cached": usage.cached or None,
        "written": usage.written or None,
        "reasoning": usage.reasoning or None,
        "estimated": usage.estimated,
    }


def compaction_values(compaction: Compaction) -> dict[str, Value]:
    """Return the values that `Marker.compaction` reads."""
    names = ("first", "last", "before", "after", "why", "model")
    values: dict[str, Value] = {name: getattr(compaction, name) for name in names}
    values |= {name: getattr(compaction, name) or None for name in _KEPT}
    return values | {"cost": compaction.cost}
