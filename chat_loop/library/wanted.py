"""Which sessions are wanted (pure): words and filters, as SQL and as a test of a row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chat_loop.sessions.row import SessionRow

MOST_WORDS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Filters that must all hold. `words` stand in the name, id, agent, project, tags or summary of a session.

    `since` and `before` are about when a session last changed; `project` is a part of the path.
    """

    words: str = ""
    agent: str = ""
    tag: str = ""
    project: str = ""
    since: datetime | None = None
    before: datetime | None = None

    def __bool__(self) -> bool:
        return any((self.words.strip(), self.agent, self.tag, self.project, self.since, self.before))

    @property
    def each(self) -> list[str]:
        """The words, in small letters."""
        return self.words.lower().split()[:MOST_WORDS]

    def sql(self) -> tuple[str, list[object]]:
        """A condition over the table `sessions`, and its values."""
        parts: list[str] = []
        values: list[object] = []
        for word in self.each:
            like = _like(word)
            fields = " OR ".join(f"{field} LIKE ? ESCAPE '\\'" for field in ("name", "id", "agent", "project"))
            inside = " OR ".join(
                f"key IN (SELECT session FROM {table} WHERE {field} LIKE ? ESCAPE '\\')"
                for table, field in (("tags", "tag"), ("facts", "text"))
            )
            parts.append(f"({fields} OR {inside})")
            values += [like] * 6
        for field, text in (("agent", self.agent), ("project", self.project)):
            if text:
                parts.append(f"{field} LIKE ? ESCAPE '\\'")
                values.append(_like(text))
        if self.tag:
            parts.append("key IN (SELECT session FROM tags WHERE tag = ?)")
            values.append(self.tag.lower())
        for sign, time in ((">=", self.since), ("<", self.before)):
            if time is not None:
                parts.append(f"changed {sign} ?")
                values.append(int(time.timestamp() * 1e9))
        return " AND ".join(parts) or "1", values

    def holds(self, row: SessionRow) -> bool:
        """Whether a row is wanted, as far as the row itself can tell: summaries are known to the index only."""
        text = " ".join((row.name, row.id, row.agent, row.project, *row.tags)).lower()
        return (
            all(word in text for word in self.each)
            and self.agent.lower() in row.agent.lower()
            and self.project.lower() in row.project.lower()
            and (not self.tag or self.tag.lower() in row.tags)
            and (self.since is None or row.updated >= self.since)
            and (self.before is None or row.updated < self.before)
        )


def _like(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
