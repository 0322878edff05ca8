"""The chain of a session: its ancestors, read from their files, nearest first."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.records import ID_PATTERN, Restoration, Session


class Chain(Struct, frozen=True):
    """The ancestors of a session, its parent first; `problem` says why some are missing."""

    ancestors: tuple[LoadedSession, ...] = ()
    problem: str = ""


class ChainReader:
    """Reads chains from the files of a folder."""

    def __init__(self, sessions: SessionManager) -> None:
        self._sessions = sessions
        self._seen: set[str] = set()
        self._broken = ""

    def read(self, session: Session) -> Chain:
        """Follow the parents of `session` inside the folder as far as possible. What was said
        after a fork is left out; of two merged sessions the second one's line comes nearer.
        """
        self._seen, self._broken = {session.header.id}, ""
        oldest_first: list[LoadedSession] = []
        pending = self._line(session, main=True)
        while pending:
            one = pending.pop()
            if isinstance(one, LoadedSession):
                oldest_first.append(one)
            elif one not in self._seen and (second := self._load(one, main=False)) is not None:
                pending += [second, *self._line(second.session, main=False)]
        return Chain(tuple(oldest_first[::-1]), self._broken)

    def _line(self, session: Session, *, main: bool) -> list[LoadedSession | str]:
        """Return the parents, nearest first; the id of a merge's second one stands before."""
        line: list[LoadedSession | str] = []
        while True:
            restoration = session.restoration
            if restoration is not None and restoration.merged:
                line.append(restoration.merged)
            parent = session.header.parent
            loaded = self._load(parent, main=main) if parent else None
            if loaded is None:
                return line
            line.append(replace(loaded, session=before_fork(loaded.session, restoration)))
            session = loaded.session

    def _load(self, parent: str, *, main: bool) -> LoadedSession | None:
        """Load a parent; None: the line ends here."""
        problem = ""
        if not ID_PATTERN.fullmatch(parent):
            problem = "The chain ends at a parent with an invalid id."
        elif parent in self._seen:
            problem = f"The chain ends at {parent}: it would begin again there." if main else ""
        else:
            self._seen.add(parent)
            try:
                return self._sessions.load(self._sessions.session_file(parent))
            except SessionError as error:
                problem = f"The chain ends before {parent}: {error.message}"
        self._broken = self._broken or problem
        return None


def before_fork(parent: Session, restoration: Restoration | None) -> Session:
    """Return a parent as its child inherits it: up to the fork, if the child is one."""
    number = restoration.until.partition(".")[2] if restoration is not None else ""
    return parent.up_to(int(number)) if number else parent
