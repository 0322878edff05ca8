"""The filters of lists and searches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from chat_loop.errors import UsageError
from chat_loop.library.indexed import Condition

MAX_WORDS = 16
NAMES = ("tag", "agent", "project", "since", "before")
"""What a user filters by; `filter_of` takes their values."""
_AGE = re.compile(r"([0-9]{1,5})([dhwmy])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_DAYS_AGO = {"today": 0, "yesterday": 1}


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Filters that must all match. A word like `#work` is a tag; dates refer to the last use."""

    words: str = ""
    agent: str = ""
    project: str = ""
    since: datetime | None = None
    before: datetime | None = None

    def __bool__(self) -> bool:
        return self != SessionFilter()

    def conditions(self, *, of_any: bool = True, of_newest: bool = True) -> tuple[Condition, ...]:
        """Return conditions on the table `sessions`: with `of_any`, those that any session of a
        conversation may meet, and with `of_newest`, those that its newest session must meet.
        """
        words = self.words.lower().split()[:MAX_WORDS]
        tags = [word for word in words if word.strip("#") and word.startswith("#")]
        parts: list[Condition] = []
        if of_any:
            others = (word for word in words if word not in tags)
            parts += [Condition("searched", "contains", word) for word in others]
            named = ("agent", self.agent), ("project", self.project)
            parts += [Condition(name, "contains", text.lower()) for name, text in named if text]
        if of_newest:
            parts += [Condition("tags", "contains", f" {tag.lstrip('#')} ") for tag in tags]
            if self.since is not None:
                parts.append(Condition("used", ">=", self.since.timestamp()))
            if self.before is not None:
                parts.append(Condition("used", "<", self.before.timestamp()))
        return tuple(parts)


def filter_of(values: Mapping[str, str], now: datetime, words: str = "") -> SessionFilter:
    """Return the filters that a user has typed. Raises UsageError for an invalid date."""
    if tag := values.get("tag"):
        words = f"#{tag.lstrip('#')} {words}"
    since = values.get("since")
    before = values.get("before")
    return SessionFilter(
        words=words,
        agent=values.get("agent", ""),
        project=values.get("project", ""),
        since=moment_of(since, now) if since else None,
        before=moment_of(before, now) if before else None,
    )


def moment_of(text: str, now: datetime) -> datetime:
    """Return the moment that a date, or an age such as 30d, means. Raises UsageError."""
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
