"""The sessions of a folder for `chat-loop sessions …`, without a chat."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from chat_loop.commands.references import find_session, require_file
from chat_loop.display.plain import Meter, err
from chat_loop.errors import IndexUnavailable, SessionNotFound
from chat_loop.library.library import Library
from chat_loop.library.shared import Answer
from chat_loop.parts import Parts
from chat_loop.providers.prices import costs
from chat_loop.sessions.manager import LoadedSession

T = TypeVar("T")

PRICES = "prices.json"
"""The day's prices, in the state folder."""


class StoredSessions:
    """The sessions of a run with their libraries, as the command line opens them."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.sessions = parts.sessions
        progress = partial(Meter().count, what="sessions read")
        folder = self.sessions.directory
        self.library = Library(folder, progress, thorough=True, shared=parts.shared)
        self.own = self.library
        """The library of this folder alone."""
        if parts.shared is not None:
            self.own = Library(folder, progress, thorough=True)
        self.cost = costs(parts.config, parts.paths.state / PRICES)
        self._progress = progress
        self._told = set[str]()  # the warnings that were printed

    def close(self) -> None:
        """Close the libraries."""
        self.library.close()
        self.own.close()
        if self.parts.shared is not None:
            self.parts.shared.close()

    def told(self, answer: Answer[T]) -> T:
        """Return the value of an answer. Print its warning, each one once."""
        if answer.warning and answer.warning not in self._told:
            self._told.add(answer.warning)
            err(answer.warning)
        return answer.value

    def share(self) -> str:
        """Store what has changed in the folder in the library that it shares. Return the reason if
        that fails.
        """
        if (shared := self.parts.shared) is None:
            return ""
        from chat_loop.library import refresh  # loads the code that reads and redacts texts

        try:
            refresh.share(self.sessions.directory, shared, self._progress)
        except IndexUnavailable as error:
            return str(error)
        return ""

    def path(self, reference: str, *, stored: bool = False) -> Path:
        """Return the file of the session that `reference` names. With `stored`, it may exist only
        in a team's library. Raises SessionNotFound.
        """
        library = self.library
        try:
            path = self.told(find_session(self.sessions, library, reference, library.listed))
        except SessionNotFound as error:
            error.hint = "chat-loop sessions list shows numbers and ids; WORDS after it filter."
            raise
        return path if stored else self.told(require_file(path, library))

    def load(self, reference: str) -> LoadedSession:
        """Read the session that `reference` names. Raises SessionError."""
        return self.sessions.load(self.path(reference))


Action = Callable[[StoredSessions, argparse.Namespace], int]
"""Does what `chat-loop sessions ACTION` asks for, and returns the exit code."""
