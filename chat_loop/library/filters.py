"""Filters of sessions (pure), as conditions over the index's table `sessions`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from chat_loop.errors import UsageError

MAX_WORDS = 16
_AGE = re.compile(r"([0-9]{1,5})([dhwmy])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_DAYS_AGO = {"today": 0, "yesterday": 1}


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Filters that must all match; a word `#work` is a tag, the dates refer to the last use."""

    words: str = ""
    agent: str = ""
    tag: str = ""
    project: str = ""
    since: datetime | None = None
    before: datetime | None = None

    def __bool__(self) -> bool:
        return self != SessionFilter()

    def condition(self, *, of_any: bool = True, of_newest: bool = True) -> tuple[str, list[object]]:
        """Return a condition over the table `sessions`, or "1", and its values.

        The part `of_any` holds for any session of a conversation, `of_newest` for its newest one.
        """
        words = self.words.lower().split()[:MAX_WORDS]
        tags = [word for word in words if word.strip("#") and word.startswith("#")]
        parts: list[tuple[str, object]] = []
        if of_any:
            parts += [("instr(searched, ?)", word) for word in words if word not in tags]
            parts += [("instr(agent, ?)", self.agent.lower())] if self.agent else []
            parts += [("instr(project, ?)", self.project.lower())] if self.project else []
        if of_newest:
            tags += [self.tag.lower()] if self.tag else []
            parts += [("instr(tags, ?)", f" {tag.lstrip('#')} ") for tag in tags]
            parts += [("used >= ?", self.since.timestamp())] if self.since else []
            parts += [("used < ?", self.before.timestamp())] if self.before else []
        values = (
            # SQLite takes no lone surrogates
            value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for _, value in parts
        )
        return " AND ".join(condition for condition, _ in parts) or "1", [*values]


def filter_of(values: Mapping[str, str], now: datetime, words: str = "") -> SessionFilter:
    """Return the filters that a user has typed. Raises UsageError for an invalid date."""
    return SessionFilter(
        words=words,
        agent=values.get("agent", ""),
        tag=values.get("tag", "").lstrip("#"),
        project=values.get("project", ""),
        since=moment_of(values["since"], now) if values.get("since") else None,
        before=moment_of(values["before"], now) if values.get("before") else None,
    )


def moment_of(text: str, now: datetime) -> datetime:
    """Return the moment of a date or of an age such as 30d. Raises UsageError."""
    try:
        if (age := _AGE.fullmatch(text)) is not None:
            return now - timedelta(days=int(age[1]) * _DAYS[age[2]])
        if text.lower() in _DAYS_AGO:
            return now.replace(hour=0, minute=0, second=0) - timedelta(days=_DAYS_AGO[text.lower()])
        return datetime.fromisoformat(text).astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        raise UsageError(
            f"“{text[:40]}” is not a date.", "A date such as 2026-11-21, or an age such as 30d."
        ) from None
