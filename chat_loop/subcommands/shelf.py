"""What `chat-loop sessions …` works with: the folder, its library, and which session a reference
means.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.config import Config
from chat_loop.display.plain import Meter, err
from chat_loop.errors import SessionNotFound
from chat_loop.library.filters import SessionFilter
from chat_loop.library.library import Library
from chat_loop.sessions.manager import Loaded, SessionManager

if TYPE_CHECKING:
    from chat_loop.agent.agent import Agent
    from chat_loop.providers import Provider

Models = tuple["Agent", "Provider | None"]
"""Who answers, and who writes the summaries when that is somebody else."""


@dataclass(slots=True, kw_only=True)
class Shelf:
    """`models()` makes what the command line and the config name. Raises ProviderError."""

    sessions: SessionManager
    library: Library
    config: Config
    models: Callable[[], Models]
    _trouble: str = ""

    def listed(self) -> list[str]:
        """Return the ids of the conversations as `sessions list` numbers them."""
        found = self.library.listed()
        self._trouble = self.library.trouble
        return found

    def numbers(self) -> dict[str, int]:
        """The number of every session that has one, by its id."""
        return {identity: number for number, identity in enumerate(self.listed(), 1)}

    def path(self, reference: str) -> Path:
        """The file of the session with this number, id, or name; `current` and `last` are the one
        used last.

        Raises SessionNotFound.
        """
        try:
            return self._last() if reference in ("current", "last") else self._found(reference)
        except SessionNotFound as error:
            if not error.several:
                error.hint = "chat-loop sessions list shows numbers and ids."
            raise

    def _last(self) -> Path:
        identity = self.sessions.current()
        path = self.sessions.session_file(identity)
        if identity and path.is_file():
            return path
        rows, _ = self.library.rows(1)
        if not rows:
            raise SessionNotFound("There are no sessions yet.")
        return rows[0].path

    def _found(self, reference: str) -> Path:
        numbered = reference.isascii() and reference.isdigit()
        try:
            return self.sessions.find(reference, self.listed() if numbered else [])
        except SessionNotFound as error:
            if numbered or error.several or not reference.strip():
                raise
            rows, more = self.library.rows(2, wanted=SessionFilter(words=reference))
            if not rows and " " in reference:
                raise SessionNotFound(f"No session fits “{reference[:40]}”.") from None
            if not rows:
                raise
            if len(rows) > 1:
                several = SessionNotFound(
                    f"{len(rows) + more} sessions fit “{reference[:40]}”.",
                    f"chat-loop sessions list {shlex.quote(reference)}",
                )
                several.several = True
                raise several from None
            return rows[0].path

    def load(self, reference: str) -> Loaded:
        """Read the session that is meant. Raises SessionError."""
        return self.sessions.load(self.path(reference))

    def tell_trouble(self) -> None:
        """Say on standard error why the index was not used for one of the listings so far, if it
        was not.
        """
        for trouble in dict.fromkeys((self._trouble, self.library.trouble)):
            if trouble:
                err(trouble)


class Progress:
    """How far the reading of sessions is, on standard error, as long as it lasts; nothing when it
    is soon done.
    """

    def __init__(self) -> None:
        self._meter = Meter()

    def __call__(self, done: int, of: int) -> None:
        if done < of:
            self._meter.count(done, of, "sessions read")
        else:
            self.end()

    def end(self) -> None:
        """Take the line back."""
        self._meter.erase()
