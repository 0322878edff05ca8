"""What `chat-loop sessions …` works with: the folder, its library, and which session a reference means."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chat_loop.agent.agent import Agent
from chat_loop.config import Config
from chat_loop.display.plain import Meter, err
from chat_loop.errors import SessionNotFound
from chat_loop.library.library import Library
from chat_loop.library.wanted import Wanted
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.row import SessionRow


@dataclass(slots=True, kw_only=True)
class Shelf:
    """`agent()` makes the agent that the command line and the config name. Raises ProviderError."""

    sessions: SessionManager
    library: Library
    config: Config
    agent: Callable[[], Agent]

    def listed(self) -> Sequence[SessionRow]:
        """The conversations as `sessions list` numbers them: newest first, chains folded."""
        return self.library.rows()[0]

    def path(self, reference: str) -> Path:
        """The file of the session with this number, id, or name; `current` and `last` are the one used last.

        Raises SessionNotFound.
        """
        if reference in ("current", "last") and self.sessions.current():
            reference = self.sessions.current()
        numbered = reference.isascii() and reference.isdigit()
        try:
            return self.sessions.find(reference, [row.id for row in self.listed()] if numbered else [])
        except SessionNotFound as error:
            if numbered or error.several:
                raise
            rows, more = self.library.rows(2, wanted=Wanted(words=reference))
            if not rows:
                raise
            if len(rows) > 1:
                raise SessionNotFound(
                    f"{len(rows) + more} sessions fit “{reference[:40]}”.",
                    f"chat-loop sessions list {json.dumps(reference)}",
                ) from None
            return rows[0].path

    def load(self, reference: str) -> Loaded:
        """Read the session that is meant. Raises SessionError."""
        return self.sessions.load(self.path(reference))

    def tell_trouble(self) -> None:
        """Say on standard error why the index was not used, if it was not."""
        if self.library.trouble:
            err(self.library.trouble)


class Progress:
    """How far the reading of sessions is, on standard error; nothing when it is soon done."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._shown = False

    def __call__(self, done: int, of: int) -> None:
        if of > MANY:
            self._shown = True
            self._meter.count(done, of, "sessions read")

    def end(self) -> None:
        """Leave the line."""
        if self._shown:
            self._meter.end()


MANY = 200
