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

from chat_loop.frozen import dataclass
from chat_loop.values import Compaction, StopReason, Usage

PREFIX = b"<!-- chat:"
SUMMARY_START = "<!-- SESSION_SUMMARY_START -->"
SUMMARY_END = "<!-- SESSION_SUMMARY_END -->"

LONGEST = 128
"""Characters of a value."""
_PAIR = r" [a-z_]{1,32}=[A-Za-z0-9_.:+/-]{1,128}"
_SHAPE = re.compile(rf"<!-- chat:([a-z-]{{1,32}})((?:{_PAIR}){{0,64}}) -->\s*")
_FOREIGN = re.compile(r"[^A-Za-z0-9_.:+/-]")


@dataclass(frozen=True)
class Marker:
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

        def count(key: str) -> int:
            return self.number(key) or 0

        return Compaction(
            first=texts.get("first", ""),
            last=texts.get("last", ""),
            why=texts.get("why", ""),
            model=texts.get("model", ""),
            before=count("before"),
            after=count("after"),
            cost=self.seconds("cost"),
            decisions=count("decisions"),
            pins=count("pins"),
            facts=count("facts"),
            archived=count("archived"),
            superseded=count("superseded"),
        )

    def usage(self) -> Usage | None:
        if "in" not in self.values:
            return None
        return Usage(
            input=self.number("in") or 0,
            output=self.number("out") or 0,
            cached=self.number("cached") or 0,
            written=self.number("written") or 0,
            reasoning=self.number("reasoning") or 0,
            estimated=self.values.get("estimated") == "yes",
        )


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


def read(line: bytes) -> Marker | None:
    """Return the marker that a line at column 0 is, or None when the line only resembles one."""
    match = _SHAPE.fullmatch(line.decode("ascii", "replace"))
    if match is None:
        return None
    return Marker(match.group(1), dict(pair.split("=", 1) for pair in match.group(2).split()))


def usage_values(usage: Usage | None) -> dict[str, str]:
    """The values a usage is written as; a usage that is None writes nothing."""
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
    return {} if seconds is None else {"time": repr(float(seconds))}
