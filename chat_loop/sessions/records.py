"""What a transcript holds, as values: a header, entries in the order they happened, and a seal."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from chat_loop.values import StopReason, Usage

ID_PATTERN = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")

SealReason = Literal["exit", "compact", "resume", "clear"]
SummarySource = Literal["model", "extracted", "none"]
"""Who made the summary block: a model; code, from the words themselves; nobody yet."""


State = Literal["sealed", "unsealed", "plain", "damaged", "empty", "foreign"]
"""Ended properly; open or crashed; another program's format; unreadable in part; no bytes; no transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary block. The first four fields are the model's narrative, the others code keeps word for word."""

    background: str = "Initial session."
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Who talks, where and when. `id` and `parent` match ID_PATTERN (`parent` may be empty)."""

    id: str
    created: datetime
    agent: str
    agent_path: str = ""
    model: str = ""
    parent: str = ""
    parent_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What the user said. `number` counts the session's queries from 1."""

    number: int
    at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model answered, complete or not. `number` is that of its query; 0 is the acknowledgment."""

    number: int
    at: datetime
    text: str
    stop: StopReason = "end"
    seconds: float | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Text that every later summary block of the chain carries unchanged."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """What the session was given of its parent. `block` is the inner text of the parent's summary block."""

    at: datetime
    parent_created: datetime
    queries: int
    tokens: int
    block: str
    grandparent: str = ""


Entry = Query | Reply | Pin | Restoration


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The end of a session. `usage` and `seconds` are those of the summary call."""

    at: datetime
    reason: SealReason
    source: SummarySource = "none"
    summary: Summary | None = None
    usage: Usage | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A query and, when one came, its reply."""

    query: Query
    reply: Reply | None = None
    depth: int = 1
    """Which session of the chain it belongs to, the first being 1."""

    @property
    def ref(self) -> str:
        """Its place in the chain as summaries and the archive name it: `2.14`, query 14 of the second session."""
        return f"{self.depth}.{self.query.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Accounting of a session: the restoration's tokens are counted apart, and not as a query."""

    queries: int = 0
    session: Usage = field(default_factory=Usage)
    restoration: Usage = field(default_factory=Usage)

    @property
    def combined(self) -> int:
        return self.session.total + self.restoration.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One transcript as a value."""

    header: Header
    entries: tuple[Entry, ...] = ()
    seal: Seal | None = None

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        replies = {entry.number: entry for entry in self.entries if isinstance(entry, Reply)}
        return tuple(Exchange(entry, replies.get(entry.number)) for entry in self.entries if isinstance(entry, Query))

    @property
    def restoration(self) -> Restoration | None:
        return next((entry for entry in self.entries if isinstance(entry, Restoration)), None)

    @property
    def acknowledgment(self) -> Reply | None:
        return next((entry for entry in self.entries if isinstance(entry, Reply) and entry.number == 0), None)

    @property
    def pins(self) -> tuple[str, ...]:
        return tuple(entry.text for entry in self.entries if isinstance(entry, Pin))

    @property
    def totals(self) -> Totals:
        session = restoration = Usage()
        queries = 0
        for entry in self.entries:
            if isinstance(entry, Query):
                queries += 1
            elif isinstance(entry, Reply) and entry.usage is not None:
                if entry.number:
                    session += entry.usage
                else:
                    restoration += entry.usage
        return Totals(queries=queries, session=session, restoration=restoration)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session as a listing shows it. `queries` and `tokens` are None when only the whole file could tell."""

    id: str
    path: Path
    state: State
    updated: datetime
    created: datetime | None = None
    agent: str = ""
    parent: str = ""
    queries: int | None = None
    tokens: int | None = None
    name: str = ""
    """The first line of the first query."""
