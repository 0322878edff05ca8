"""Filters of sessions (pure), as conditions over the index's table `sessions`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from chat_loop.errors import UsageError
from chat_loop.sessions.dates import instant

MOST_WORDS = 16
_SEARCHED = ("name", "id", "agent", "project", "tags", "summary")
"""The columns in which words are looked for."""
_AGE = re.compile(r"([0-9]{1,5})([dhwmy])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_NAMED = {"today": 0, "yesterday": 1}


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Filters that must all hold. `words` stand in the name, id, agent, project, tags or summary of
    a session.

    A word `#work` is a tag. `since` and `before` are about when a session was used last, `project`
    is part of the path.
    """

    words: str = ""
    agent: str = ""
    tag: str = ""
    project: str = ""
    since: datetime | None = None
    before: datetime | None = None

    def __bool__(self) -> bool:
        return any((self.words.strip(), self.agent, self.tag, self.project)) or self.is_dated

    @property
    def is_dated(self) -> bool:
        """True where sessions of which nobody knows the date are left out."""
        return self.since is not None or self.before is not None

    def condition(self) -> tuple[str, list[object]]:
        """Return a condition over the table `sessions`, and its values."""
        parts: list[str] = []
        values: list[object] = []
        for columns, text in (
            *((_SEARCHED, word) for word in self._words if not _is_tag(word)),
            *((("agent",), self.agent), (("project",), self.project)),
        ):
            likes = _likes(text) if text else []
            parts += [_any_like(columns, likes)] if likes else []
            values += likes * len(columns)
        for tag in (self.tag.lower(), *filter(_is_tag, self._words)):
            if tag:
                parts.append("instr(tags, ?)")
                values.append(f" {_storable(tag.lstrip('#'))} ")
        for sign, date in ((">=", self.since), ("<", self.before)):
            if date is not None:
                parts.append(f"used {sign} ?")
                values.append(instant(date) or 0)
        return " AND ".join(parts) or "1", values

    @property
    def of_any(self) -> SessionFilter:
        """The part that one session of a conversation must meet, whichever it is."""
        words = " ".join(word for word in self._words if not _is_tag(word))
        return SessionFilter(words=words, agent=self.agent, project=self.project)

    @property
    def of_newest(self) -> SessionFilter:
        """The part that the newest session of a conversation must meet: its tags and dates."""
        words = " ".join(filter(_is_tag, self._words))
        return SessionFilter(words=words, tag=self.tag, since=self.since, before=self.before)

    @property
    def _words(self) -> list[str]:
        return self.words.lower().split()[:MOST_WORDS]


def filter_of(values: Mapping[str, str], now: datetime, words: str = "") -> SessionFilter:
    """Return the filters that a user has typed. Raises UsageError for a date that is none."""
    return SessionFilter(
        words=words,
        agent=values.get("agent", ""),
        tag=values.get("tag", "").lstrip("#"),
        project=values.get("project", ""),
        since=moment_of(values["since"], now) if "since" in values else None,
        before=moment_of(values["before"], now) if "before" in values else None,
    )


def moment_of(text: str, now: datetime) -> datetime:
    """Return the moment of a date or an age: 30d, 12h, 2w, 6m, 1y, today, yesterday. Raises
    UsageError.
    """
    try:
        if (age := _AGE.fullmatch(text)) is not None:
            return now - timedelta(days=int(age[1]) * _DAYS[age[2]])
        if text.lower() in _NAMED:
            return now.replace(hour=0, minute=0, second=0) - timedelta(days=_NAMED[text.lower()])
        return datetime.fromisoformat(text).astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        raise UsageError(
            f"“{text[:40]}” is not a date.", "A date such as 2026-11-21, or an age such as 30d."
        ) from None


def _is_tag(word: str) -> bool:
    return word.startswith("#") and word.strip("#") != ""


def _storable(text: str) -> str:
    """Return a text without lone surrogates, which SQLite does not take."""
    return text.encode("utf-8", "replace").decode()


def _likes(text: str) -> list[object]:
    """Return the patterns for LIKE, which knows the cases of ASCII letters only."""
    text = _storable(text)
    cases = (
        [text]
        if text.isascii()
        else dict.fromkeys((text, text.lower(), text.capitalize(), text.upper()))
    )
    escaped = (one.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for one in cases)
    return [f"%{one}%" for one in escaped]


def _any_like(columns: Sequence[str], likes: Sequence[object]) -> str:
    return "(" + " OR ".join(f"{one} LIKE ? ESCAPE '\\'" for one in columns for _ in likes) + ")"
