"""Machines that share one store, each with its own folder, and sessions that grow on them."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.mirror import SyncReport
from chat_loop.sessions.records import Query, Reply, Session
from chat_loop.sessions.writer import render
from chat_loop.store.store_mirror import StoreMirror
from tests.support.saved_sessions import at


class Machine:
    """A folder with its sessions."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.mirror = StoreMirror(folder, url)
        self.sessions = SessionManager(folder, is_theirs=self.mirror.is_theirs)

    def sync(self) -> SyncReport:
        return self.mirror.sync(both_ways=True)

    def purge(self, path: Path) -> None:
        """Remove a file for good."""
        with self.mirror.removal([path]):
            path.unlink()

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
