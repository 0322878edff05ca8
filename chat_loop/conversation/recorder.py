"""Recorder: writes the records of a live session, and tells the user how that goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from chat_loop.errors import SaveError, save_error
from chat_loop.events import Event, SessionBegun, SessionSealed, Warned
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Entry, Seal, SummarySource


class Recorder:
    """Writes one session. `show` gets, once each, where it is saved, when saving fails, and when it
    works again.
    """

    def __init__(
        self, live: LiveSession, sessions: SessionManager, show: Callable[[Event], None]
    ) -> None:
        self._live = live
        self._sessions = sessions
        self._show = show
        self._begun_shown = False
        self._problem_shown = False

    @property
    def saved_text(self) -> str:
        """The sentence that says where the words are; empty if no file has any."""
        live = self._live
        path = live.path
        parent = live.header.parent
        if live.is_empty:
            path = self._sessions.directory / f"{parent}.md"
        if not self._sessions.saves or (live.is_empty and not parent):
            return ""
        if live.problem is not None:
            return f"What could be saved is in {path}."
        return f"What was said is saved in {path}."

    def add(self, entry: Entry) -> None:
        """Append an entry and report whether it was saved."""
        self._live.add(entry)
        self.report()

    def show(self, event: Event) -> None:
        """Show an event of a reply; before the first one, say where the session is saved."""
        if not self._begun_shown:
            self.report()
        self._show(event)

    def report(self) -> None:
        """Report once where the session is saved, when saving fails, and when it works again."""
        live = self._live
        header = live.header
        problem = live.problem
        if not (self._begun_shown or live.is_empty):
            self._begun_shown = True
            self._show(
                SessionBegun(
                    id=header.id, path=str(live.path), model=header.model, parent=header.parent
                )
            )
            if problem is None:
                self._point_here()
        for message in live.take_notices():
            self._point_here()
            self._show(Warned(message))
        if problem is not None and not self._problem_shown:
            error = save_error(live.path, problem)
            self._show(Warned(error.message, error.hint))
        elif problem is None and self._problem_shown:
            self._show(Warned("Saving works again: everything said so far is on disk."))
        self._problem_shown = problem is not None

    def _point_here(self) -> None:
        """Record the session as the newest one of its project."""
        header = self._live.header
        continued = header.parent
        if self._live.session.until:  # a branch
            continued = ""
        self._sessions.pointers.note(header.id, continued)

    async def seal(self, seal: Seal) -> SaveError | None:
        """Seal the session. Return the error if that cannot be saved."""
        try:
            await asyncio.to_thread(self._live.seal, seal)
        except SaveError as error:
            self._problem_shown = self._live.problem is not None
            return error
        return None

    def close(self, reason: str, summary: SummarySource) -> None:
        """Close a sealed session and report it; keep one open whose words are not all on disk."""
        self.report()
        live = self._live
        saved = live.is_saved
        totals = live.session.totals
        if saved:
            live.close()
        if saved and reason == "exit":  # another chat may have begun since
            self._point_here()
        self._show(
            SessionSealed(
                id=live.header.id,
                path=str(live.path),
                reason=reason,
                queries=sum(1 for _ in live.session.queries),
                session_tokens=totals.session,
                restoration_tokens=totals.restoration,
                saved=saved,
                summary=summary,
            )
        )
