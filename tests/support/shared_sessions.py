"""Machines that share one store, each with its own folder, and sessions that grow on them."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply, Session
from chat_loop.sessions.writer import render
from chat_loop.store.state import SyncState
from chat_loop.store.synchronizer import Outcome, Synchronizer
from tests.support.saved_sessions import at


class Machine:
    """A folder with its sessions."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self._state = folder, SyncState(folder, url)
        self.sessions = SessionManager(folder, is_theirs=self._state.is_theirs)
        self.synchronizer = Synchronizer(self.sessions, url)

    def sync(self) -> Outcome:
        return self.synchronizer.run()

    def purge(self, path: Path) -> None:
        """Remove a file for good."""
        self.synchronizer.mark_removed([path])
        path.unlink()
        self.synchronizer.finish_removal()

    def put(self, session: Session) -> Path:
        """Write a session as an editor would, replacing any existing one."""
        path = self.sessions.session_file(session.header.id)
        self.folder.mkdir(exist_ok=True)
        path.write_bytes(render(session))
        return path

    def said(self) -> dict[str, list[str]]:
        """Return the queries and replies of each session, by its id."""
        return {path.stem: said(self.sessions.load(path).session) for path in self.files()}

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.md"))


def said(session: Session) -> list[str]:
    return [entry.text for entry in session.entries if isinstance(entry, Query | Reply)]


def grown(session: Session, *texts: str) -> Session:
    """Return the session, open, with `texts` as additional queries."""
    queries = (
        Query(number=session.totals.queries + place, at=at(11, 20, place), text=text)
        for place, text in enumerate(texts, 1)
    )
    return replace(session, entries=(*session.entries, *queries), seal=None)
