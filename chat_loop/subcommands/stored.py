"""The sessions of a folder for `chat-loop sessions …`, without a chat."""

from __future__ import annotations

import argparse
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.commands.references import find_session, require_file
from chat_loop.config import Config, Paths
from chat_loop.display.plain import Meter
from chat_loop.errors import SessionNotFound
from chat_loop.library.library import Database, Library
from chat_loop.sessions.files import Files, working_folder
from chat_loop.sessions.manager import LoadedSession, SessionManager

if TYPE_CHECKING:
    from chat_loop.app import App


class StoredSessions:
    """A folder of sessions with its libraries, as the command line opens it."""

    def __init__(
        self, options: argparse.Namespace, config: Config, paths: Paths, files: Files | None = None
    ) -> None:
        self.options = options
        self.config = config
        self.paths = paths
        self.store = config.sessions.store
        if options.agent_reference or config.agents:  # its settings may name another folder
            self.config = self.app.config
        folder = paths.sessions(self.config, options.sessions_dir)
        is_theirs = None
        if self.store:
            state = import_module("chat_loop.store.state")
            is_theirs = state.SyncState(folder, self.store).is_theirs
        self.sessions = SessionManager(
            folder, files=files, project=str(working_folder() or ""), is_theirs=is_theirs
        )
        progress = partial(Meter().count, what="sessions read")
        folder = self.sessions.directory
        database = Database(config.library) if config.library else None
        self.library = Library(folder, progress, thorough=True, database=database)
        self.own = Library(folder, progress, thorough=True) if database else self.library
        """The library of this folder alone."""

    @cached_property
    def app(self) -> App:
        """The objects of a chat, for the actions that need an agent: a list does not load them."""
        from chat_loop.app import App

        return App(self.options, self.config, self.paths, None)

    def close(self) -> None:
        """Close the libraries."""
        self.library.close()
        self.own.close()

    def path(self, reference: str, *, stored: bool = False) -> Path:
        """Return the file of the session that `reference` names. With `stored`, it may exist only
        in a team's library. Raises SessionNotFound.
        """
        try:
            path = find_session(self.sessions, self.library, reference, self.library.listed)
        except SessionNotFound as error:
            error.hint = "chat-loop sessions list shows numbers and ids; WORDS after it filter."
            raise
        if not stored:
            require_file(path, self.library)
        return path

    def load(self, reference: str) -> LoadedSession:
        """Read the session that `reference` names. Raises SessionError."""
        return self.sessions.load(self.path(reference))
