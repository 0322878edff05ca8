"""One session as a listing shows it, as a value."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

from chat_loop.frozen import dataclass

State = Literal["sealed", "unsealed", "plain", "damaged", "empty", "foreign"]
"""Ended properly; open or crashed; another program's format; unreadable in part; no bytes; no transcript."""


@dataclass(frozen=True, kw_only=True)
class SessionRow:
    """`queries` and `tokens` are None when only the whole file could tell. `updated` is when the file last changed."""

    id: str
    path: Path
    state: State
    updated: datetime
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
    forked: bool = False
    """Whether it leaves out what its parent said in the end."""
    compactions: int | None = None
    """How often its chain was compacted before it began; None when that was not counted."""
    folded: int = 0
    """How many older sessions of its chain stand behind it in a folded listing."""
