"""Which sessions are wanted (pure): words and filters, as SQL and as a test of a row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from chat_loop.sessions.dates import instant
from chat_loop.sessions.records import SessionRow

MOST_WORDS = 16


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
        return any(
            (self.words.strip(), self.agent, self.tag, self.project, self.since, self.before)
        )

    @property
    def each(self) -> list[str]:
        """The words, in small letters."""
        return self.words.lower().split()[:MOST_WORDS]

    def sql(self) -> tuple[str, list[object]]:
        """A condition over the table `sessions`, and its values."""
        parts: list[str] = []
        values: list[object] = []
        words = [word for word in self.each if not _is_tag(word)]
        for word in words:
            likes = _likes(word)
            fields = " OR ".join(
                _alike(field, likes) for field in ("name", "id", "agent", "project")
            )
            inside = " OR ".join(
                f"key IN (SELECT session FROM {table} WHERE {_alike(field, likes)})"
                for table, field in (("tags", "tag"), ("facts", "text"))
            )
            parts.append(f"({fields} OR {inside})")
            values += likes * 6
        for field, text in (("agent", self.agent), ("project", self.project)):
            if text:
                parts.append(f"({_alike(field, _likes(text))})")
                values += _likes(text)
        for tag in self._tags:
            parts.append("key IN (SELECT session FROM tags WHERE tag = ?)")
            values.append(tag)
        for sign, time in ((">=", self.since), ("<", self.before)):
            if time is not None:
                parts.append(f"used {sign} ?")
                values.append(instant(time) or 0)
        return " AND ".join(parts) or "1", values

    @property
    def _tags(self) -> list[str]:
        return [
            _storable(word.lstrip("#"))
            for word in (self.tag.lower(), *filter(_is_tag, self.each))
            if word
        ]

    def holds(self, row: SessionRow) -> bool:
        """Whether a row is wanted, as far as the row itself can tell: summaries are known to the
        index only.
        """
        text = " ".join((row.name, row.id, row.agent, row.project, *row.tags)).lower()
        return (
            all(word in text for word in self.each if not _is_tag(word))
            and self.agent.lower() in row.agent.lower()
            and self.project.lower() in row.project.lower()
            and all(tag in row.tags for tag in self._tags)
            and self.dated(instant(row.updated))
        )

    def dated(self, used: int | None) -> bool:
        """Return True when a session that was used then (microseconds; None: nobody knows) is
        within the dates.
        """
        if self.since is None and self.before is None:
            return True
        since, before = instant(self.since), instant(self.before)
        return (
            used is not None
            and (since is None or used >= since)
            and (before is None or used < before)
        )

    @property
    def of_any(self) -> SessionFilter:
        """The part that one session of a conversation must meet, whichever it is."""
        words = " ".join(word for word in self.each if not _is_tag(word))
        return SessionFilter(words=words, agent=self.agent, project=self.project)

    @property
    def of_newest(self) -> SessionFilter:
        """The part that the newest session of a conversation must meet, its dates apart: its
        tags.
        """
        return SessionFilter(words=" ".join(filter(_is_tag, self.each)), tag=self.tag)


def _is_tag(word: str) -> bool:
    return word.startswith("#") and word.strip("#") != ""


def _storable(text: str) -> str:
    """A text without lone surrogates, which SQLite does not take."""
    return text.encode("utf-8", "replace").decode()


def _likes(text: str) -> list[object]:
    """What LIKE compares with: it knows the cases of ASCII letters only."""
    text = _storable(text)
    cases = (
        [text]
        if text.isascii()
        else dict.fromkeys((text, text.lower(), text.capitalize(), text.upper()))
    )
    escaped = (one.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for one in cases)
    return [f"%{one}%" for one in escaped]


def _alike(field: str, likes: Sequence[object]) -> str:
    return " OR ".join([f"{field} LIKE ? ESCAPE '\\'"] * len(likes))
