"""One session, or one conversation, as a listing shows it, as a value."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

from chat_loop.frozen import dataclass
from chat_loop.values import Usage

State = Literal["sealed", "unsealed", "plain", "damaged", "empty", "foreign"]
"""Ended properly; open or crashed; another program's format; unreadable in part; no bytes; no
transcript.
"""


@dataclass(frozen=True)
class Branch:
    """A branch begins after the query with the reference `at` (empty: unknown) with the words
    `words`.
    """

    at: str
    words: str


@dataclass(frozen=True, kw_only=True)
class SessionRow:
    """`queries` and `tokens` are None when only the whole file could tell.

    In a listing of conversations the row is that of the newest session, and the numbers are those
    of its whole chain. `updated` is the date of its last record, whatever the file's own times are;
    None: it has none that can be true.
    """

    id: str
    path: Path
    state: State
    updated: datetime | None = None
    created: datetime | None = None
    agent: str = ""
    project: str = ""
    """The working directory in which it began."""
    parent: str = ""
    merged: str = ""
    """The id of its second parent."""
    queries: int | None = None
    tokens: int | None = None
    name: str = ""
    """What it is called: by the user, else by the program, else its first query's first line."""
    tags: tuple[str, ...] = ()
    depth: int = 1
    compacted: bool = False
    """Whether it ended because its context was compacted."""
    until: str = ""
    """The reference of its parent's last query that it goes on from; empty: it goes on from all of
    its parent.
    """
    words: str = ""
    """The first line of its own first query."""
    mode: str = ""
    """`print`: it was only held with `-p`."""
    answered: bool = True
    """False when no reply ever came."""
    spent: tuple[tuple[str, Usage], ...] | None = None
    """The tokens of each model by its reference; None when only the whole file could tell."""
    compactions: int = 0
    """How often the chain was compacted."""
    folded: int = 0
    """How many older sessions of its chain stand behind it in a listing of conversations."""
    shared: int = 0
    """How many queries of its chain belong to other conversations as well."""
    branch: Branch | None = None
    """Where its chain leaves that of another conversation."""
    behind: str = ""
    """The id of the conversation's newest session, where it is listed below that."""
    current: bool = False
    """It is the conversation that is open here."""
