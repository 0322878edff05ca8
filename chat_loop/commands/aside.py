"""Commands that answer while the chat works, because they only show something."""

from __future__ import annotations

import asyncio
import io

from msgspec.structs import replace

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import CommandCall, registry
from chat_loop.display.screen import SOON_SECONDS, Screen
from chat_loop.errors import ChatLoopError, os_failure
from chat_loop.tasks import report_bug


class Captured(io.StringIO):
    """What is printed for the terminal of `screen`, in its width and colors."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def isatty(self) -> bool:
        return self._screen.isatty()

    def fileno(self) -> int:
        return self._screen.fileno()


def answer(chat: Chat, line: str) -> bool:
    """Begin to run a command that only shows something, whatever the chat does now. Its output goes
    below the reply that streams. Return False for any other line.
    """
    call = registry.parse(line)
    if not isinstance(call, CommandCall) or not call.only_shows:
        return False
    task = asyncio.ensure_future(_show(chat, line, call))
    chat.asides.add(task)
    task.add_done_callback(chat.asides.discard)
    task.add_done_callback(report_bug)
    return True


async def _show(chat: Chat, line: str, call: CommandCall) -> None:
    captured = Captured(chat.display.out)
    display = chat.display.on(captured)
    display.entry(line)
    aside = replace(chat, display=display)
    task = asyncio.ensure_future(_run(aside, call))
    try:
        done, _ = await asyncio.wait({task}, timeout=SOON_SECONDS)
        if not done:  # show at once that it was understood
            chat.display.out.show_below(captured.getvalue())
            captured.seek(0)
            captured.truncate()
        await task
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        display.line("Stopped.", "dim")
        raise
    finally:
        chat.listed = aside.listed
        chat.display.out.show_below(captured.getvalue())


async def _run(chat: Chat, call: CommandCall) -> None:
    """Run a command, and show why it fails if it does."""
    try:
        words, options = call.command.arguments(call.argument)
        await call.command.run(chat, words, options)
    except ChatLoopError as error:
        chat.display.error(error)
    except OSError as error:
        chat.display.error(os_failure(error))


async def stop(chat: Chat) -> None:
    """Stop the commands that still answer, and wait for their ends."""
    running = [*chat.asides]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
