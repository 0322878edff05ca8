"""The saved sessions on the whole screen."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

from chat_loop.browser.app import browse
from chat_loop.browser.preview import Preview, preview_of
from chat_loop.commands.chat import Chat
from chat_loop.display.rows import cost_of
from chat_loop.errors import SessionError
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import SessionRow
from chat_loop.sessions.trash import move_to_trash
from chat_loop.wording import dollars_text


class BrowsedSessions:
    """The saved sessions as the browser wants them. `first` is what it begins with."""

    def __init__(self, chat: Chat, first: Sequence[SessionRow] | None) -> None:
        self._chat = chat
        self._first = first

    def rows(self, unfolded: Collection[str]) -> Sequence[SessionRow]:
        """Return the conversations, after those of `unfolded` their older sessions."""
        first, self._first = self._first, None
        if first is not None and not unfolded:
            return first
        return self._chat.library.rows(unfolded=unfolded, here=self._chat.here_id)[0]

    def preview(self, row: SessionRow) -> Preview:
        """Return the facts and the last exchanges of a session."""
        try:
            loaded = self._chat.sessions.load(row.path)
        except SessionError as error:
            return Preview(about=[("Damage", error.message)])
        price = cost_of(row, self._chat.conversation.options.cost)
        return preview_of(loaded.session, loaded.damage, "" if not price else dollars_text(price))

    def trash(self, row: SessionRow) -> str:
        """Move a session to the trash."""
        move_to_trash(row.path)
        return f"{row.id} is in the trash; chat-loop sessions restore {row.id} brings it back."

    async def edit(self, row: SessionRow) -> None:
        """Open a session's file in the editor. Raises SessionLocked while it is open elsewhere."""
        lock = None
        with contextlib.suppress(OSError):  # a disk that refuses locks can be looked at
            lock = take_lock(row.path.parent, row.id)
        try:
            await self._chat.reader.open_file(row.path)
        finally:
            if lock is not None:
                lock.close()


async def choose_session(chat: Chat, rows: Sequence[SessionRow], words: str) -> SessionRow | None:
    """Let the user choose among the conversations `rows`, filtered by `words`."""
    return await browse(BrowsedSessions(chat, rows), now=chat.sessions.now(), words=words)
