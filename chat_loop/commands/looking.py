"""Looking into all sessions for a command: in a thread, so that Ctrl-C stops the waiting, and with
progress.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from chat_loop.commands.chat import Chat
from chat_loop.library.library import Library

T = TypeVar("T")
Progress = Callable[[int, int], None]


async def looked(chat: Chat, look: Callable[[Library, Progress], T]) -> tuple[T, str]:
    """What `look` finds in a library of its own; and why the index was not used for that, as a
    sentence, if it was not.

    A look that Ctrl-C stopped goes on behind the prompt, and tells nothing any more. Raises what
    `look` raises.
    """
    waited = True

    def progress(done: int, of: int) -> None:
        if waited:
            chat.display.progress(done, of)

    library = Library(chat.sessions.directory, chat.sessions.now, progress)

    def work() -> T:
        try:
            return look(library, progress)
        finally:
            library.close()

    try:
        return await asyncio.to_thread(work), library.trouble
    finally:
        waited = False
        chat.display.stop_waiting()
