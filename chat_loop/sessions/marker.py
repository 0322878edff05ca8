"""The comment markers of a transcript: `<!-- chat:KIND key=value … -->` at column 0, one syntax for
all kinds.

Values are chosen by the program, `[A-Za-z0-9_.:+/-]+`; free text never stands inside a marker.
`write` refuses any other, and `value` makes one of a name that others chose, such as a model's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import get_args

from msgspec import Struct

from chat_loop.values import Compaction, StopReason, Usage

PREFIX = b"<!-- chat:"
SUMMARY_START = "<!-- SESSION_SUMMARY_START -->"
SUMMARY_END = "<!-- SESSION_SUMMARY_END -->"

LONGEST = 128
"""Characters of a value."""
_PAIR = r" [a-z_]{1,32}=[A-Za-z0-9_.:+/-]{1,128}"
_SHAPE = re.compile(rf"<!-- chat:([a-z-]{{1,32}})((?:{_PAIR}){{0,64}}) -->\s*")
_FOREIGN = re.compile(r"[^A-Za-z0-9_.:+/-]")


class Marker(Struct, frozen=True):
    """A marker line as read. The accessors return None for a value that is missing or not what it
    should be.
    """

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
        """Return a number, 0 when it is missing."""
        return self.number(key) or 0

    def seconds(self, key: str) -> float | None:
        try:
            return float(self.values.get(key, ""))
        except ValueError:
            return None

    def stop(self) -> StopReason | None:
        found = self.values.get("stop", "")
        return next((stop for stop in get_args(StopReason) if stop == found), None)

    def compaction(self) -> Compaction:
        texts = self.values
        return Compaction(
            first=texts.get("first", ""),
            last=texts.get("last", ""),
            before=self.count("before"),
            after=self.count("after"),
            why=texts.get("why", ""),
            model=texts.get("model", ""),
            decisions=self.count("decisions"),
            pins=self.count("pins"),
            facts=self.count("facts"),
            archived=self.count("archived"),
            superseded=self.count("superseded"),
            cost=self.seconds("cost"),
        )

    def usage(self) -> Usage | None:
        if "in" not in self.values:
            return None
        return Usage(
            input=self.count("in"),
            output=self.count("out"),
            cached=self.count("cached"),
            written=self.count("written"),
            reasoning=self.count("reasoning"),
            estimated=self.values.get("estimated") == "yes",
        )


def read(line: bytes) -> Marker | None:
    """Return the marker that a line at column 0 is, or None when the line only resembles one."""
    match = _SHAPE.fullmatch(line.decode("ascii", "replace"))
    if match is None:
        return None
    return Marker(match.group(1), dict(pair.split("=", 1) for pair in match.group(2).split()))


def write(kind: str, values: Mapping[str, str] | None = None) -> str:
    """Return the marker line, without a newline. Empty values are left out. Raises ValueError for
    what `read` would not read: see `value`.
    """
    pairs = "".join(f" {key}={value}" for key, value in (values or {}).items() if value)
    line = f"<!-- chat:{kind}{pairs} -->"
    if _SHAPE.fullmatch(line) is None:
        raise ValueError(f"no marker can hold this: {line[:200]!r}")
    return line


def value(name: str) -> str:
    """Return a name that others chose as a value: other characters become `-`, and a long one is
    cut.
    """
    return _FOREIGN.sub("-", name)[:LONGEST]


def usage_values(usage: Usage | None) -> dict[str, str]:
    """Return the values that `Marker.usage` reads; a usage that is None has none."""
    if usage is None:
        return {}
    return {
        "in": str(usage.input),
        "out": str(usage.output),
        "cached": str(usage.cached or ""),
        "written": str(usage.written or ""),
        "reasoning": str(usage.reasoning or ""),
        "estimated": "yes" if usage.estimated else "",
    }


def seconds_values(seconds: float | None) -> dict[str, str]:
    """Return the value that `Marker.seconds("time")` reads."""
    return {} if seconds is None else {"time": repr(float(seconds))}


def compaction_values(compaction: Compaction) -> dict[str, str]:
    """Return the values that `Marker.compaction` reads."""
    return {
        "first": compaction.first,
        "last": compaction.last,
        "before": str(compaction.before),
        "after": str(compaction.after),
        "why": compaction.why,
        "model": compaction.model,
        "decisions": str(compaction.decisions or ""),
        "pins": str(compaction.pins or ""),
        "facts": str(compaction.facts or ""),
        "archived": str(compaction.archived or ""),
        "superseded": str(compaction.superseded or ""),
        "cost": "" if compaction.cost is None else repr(compaction.cost),
    }
