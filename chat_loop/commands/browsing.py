"""The saved sessions on the whole screen."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from msgspec import Struct

from chat_loop.browser.app import browse
from chat_loop.commands.chat import Chat
from chat_loop.display.preview import Preview, preview_of
from chat_loop.display.rows import cost_of
from chat_loop.errors import SessionError, UsageError
from chat_loop.input.editor import open_file
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import SessionRow
from chat_loop.values import dollars_text


class BrowsedSessions(Struct):
    """The saved sessions as the browser wants them."""

    chat: Chat

    def rows(self) -> Sequence[SessionRow]:
        """Return the conversations."""
        return self.chat.library.rows(here=self.chat.here_id)[0]

    def preview(self, row: SessionRow) -> Preview:
        """Return the facts and the last exchanges of a session."""
        try:
            loaded = self.chat.sessions.load(row.path)
        except SessionError as error:
            return Preview(about=[("Damage", error.message)])
        price = cost_of(row.spent, self.chat.conversation.options.cost)
        return preview_of(loaded.session, loaded.damage, dollars_text(price) if price else "")

    def trash(self, row: SessionRow) -> str:
        """Move a session to the trash."""
        return self.chat.sessions.move_to_trash(row.path)

    async def edit(self, row: SessionRow) -> None:
        """Open a session's file in the editor. Raises SessionLocked while it is open elsewhere."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # a disk that refuses locks can be looked at
                stack.enter_context(contextlib.closing(take_lock(row.path.parent, row.id)))
            await open_file(row.path)


async def choose_session(chat: Chat, words: str) -> SessionRow | None:
    """Let the user choose among the conversations, filtered by `words`."""
    await chat.look(lambda library: library.rows(1))  # shows progress, the browser does not
    if not chat.reader.has_editor:
        raise UsageError("The browser needs a terminal.", "sessions lists them.")
    async with chat.reader.release_terminal():
        return await browse(BrowsedSessions(chat), now=chat.sessions.now(), words=words)
