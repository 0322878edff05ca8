"""The saved sessions as the browser wants them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from chat_loop.commands.chat import Chat
from chat_loop.display.rows import cost_of
from chat_loop.errors import SessionError
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import dollars_text

if TYPE_CHECKING:
    from chat_loop.browser.preview import Preview


class ChatShelf:
    """The conversations of a running chat, the one that is open among them. `first` is what is
    there at the beginning, when that was looked for already.
    """

    def __init__(self, chat: Chat, first: Sequence[SessionRow] | None = None) -> None:
        self._chat = chat
        self._first = first

    def rows(self, unfolded: Collection[str]) -> Sequence[SessionRow]:
        """Return the conversations, last used first, after those of `unfolded` their older
        sessions.
        """
        first, self._first = self._first, None
        if first is not None and not unfolded:
            return first
        return self._chat.library.rows(unfolded=unfolded, here=self._chat.here_id)[0]

    def preview(self, row: SessionRow) -> Preview:
        """What is known of a session."""
        from chat_loop.browser.preview import Preview, preview_of

        try:
            loaded = self._chat.sessions.load(row.path)
        except SessionError as error:
            return Preview(notes=(error.message,))
        price = cost_of(row, self._chat.conversation.options.cost)
        return preview_of(loaded.session, loaded.damage, "" if not price else dollars_text(price))

    def trash(self, row: SessionRow) -> str:
        """Move it to the trash."""
        from chat_loop.sessions.trash import take_away

        take_away(row.path)
        return f"{row.id} is in the trash; chat-loop sessions restore {row.id} brings it back."

    async def edit(self, row: SessionRow) -> None:
        """Open its file in the user's editor. Raises SessionLocked while the session is open
        elsewhere.
        """
        try:
            held = take_lock(row.path.parent, row.id)
        except OSError:  # a disk that refuses locks can be looked at
            await self._chat.open_file(row.path)
            return
        try:
            await self._chat.open_file(row.path)
        finally:
            held.release()
