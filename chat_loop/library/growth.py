"""A session as it grows: its row and its newest exchanges, without a look at the older ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from chat_loop.sessions import partial
from chat_loop.sessions.dates import used_at
from chat_loop.sessions.records import (
    Entry,
    Exchange,
    Header,
    ModelChange,
    Name,
    Query,
    QueryEntry,
    Reply,
    Restoration,
    Session,
    SessionRow,
    Tag,
    Undo,
    Untag,
    answers,
)
from chat_loop.values import Usage


class Growth:
    """What has been seen of a session that is only added to. `header` is its header."""

    def __init__(self, header: Header) -> None:
        self._seen = 0
        self._last: Entry | None = None
        self._standing = 0
        self._restoration: Restoration | None = None
        self._asked: list[Query] = []
        self._undone: set[int] = set()
        self._name = header.name
        self._used: datetime | None = None
        self._answered = False
        self._model = header.model
        self.spent: dict[str, Usage] = {}
        """The tokens of each model so far."""
        self._tags = dict.fromkeys(header.tags)
        self._queries = self._tokens = 0

    def goes_on(self, session: Session) -> bool:
        """Whether `session` is the one that was seen, with nothing but more entries."""
        seen = self._seen
        return not seen or (
            len(session.entries) >= seen and session.entries[seen - 1] is self._last
        )

    def take(self, session: Session) -> tuple[int, tuple[Exchange, ...]]:
        """Look at the entries that are new; return the exchanges that are not as they were, and how
        many stay before them.
        """
        start = _beginning(session.entries, self._seen)
        before = session.entries[start : self._seen]
        keep = self._standing - len(Session(header=session.header, entries=before).exchanges)
        tail = Session(header=session.header, entries=session.entries[start:]).exchanges
        self.count(session.entries[self._seen :])
        self._seen = len(session.entries)
        self._last = session.entries[-1] if session.entries else None
        self._standing = keep + len(tail)
        return keep, tail

    def count(self, entries: Iterable[Entry]) -> None:
        """Take what the row tells from further entries."""
        for entry in entries:
            self._used = used_at(entry) or self._used
            match entry:
                case Query():
                    self._queries += 1
                    self._asked.append(entry)
                case Undo():
                    self._undone.add(entry.number)
                case Reply():
                    self._count_reply(entry)
                case ModelChange():
                    self._model = entry.text
                case Restoration():
                    self._restoration = self._restoration or entry
                case Name():
                    self._name = entry.text
                case Tag():
                    self._tags.setdefault(entry.text)
                case Untag():
                    self._tags.pop(entry.text, None)

    def _count_reply(self, reply: Reply) -> None:
        self._answered = self._answered or answers(reply)
        if reply.usage is not None:
            self._tokens += reply.usage.total
            self.spent[self._model] = self.spent.get(self._model, Usage()) + reply.usage

    def row(self, header: Header, path: Path) -> SessionRow:
        """The row of a session that is not sealed."""
        header = replace(header, name=self._name, tags=tuple(self._tags))
        first = (one for one in self._asked if one.number not in self._undone and one.text.strip())
        entries: tuple[Entry | None, ...] = (self._restoration, next(first, None))
        few = Session(header=header, entries=tuple(entry for entry in entries if entry is not None))
        return replace(
            partial.row_of(few, path, used=self._used),
            queries=self._queries,
            tokens=self._tokens,
            answered=self._answered,
            spent=(*self.spent.items(),),
        )


def _beginning(entries: tuple[Entry, ...], seen: int) -> int:
    """Where the exchanges begin that the entries from `seen` on are about."""
    numbers = [
        entry.number for entry in entries[seen:] if isinstance(entry, QueryEntry) and entry.number
    ]
    lowest = min(numbers, default=None)
    if lowest is None or any(
        isinstance(entry, Query) and entry.number == lowest for entry in entries[seen:]
    ):
        return seen
    for at in range(seen - 1, -1, -1):
        entry = entries[at]
        if isinstance(entry, Query) and entry.number == lowest:
            return at
    return 0
