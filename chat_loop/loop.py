"""ChatLoop: read -> command or turn -> show -> save, until the user leaves."""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from chat_loop.commands import (  # noqa: F401 - importing them registers their commands
    aside,
    branches,
    btw,
    context,
    facts,
    finding,
    model,
    resuming,
    retry_edit,
    session,
    settings,
    shell_commands,
    tool_lists,
    transfer,
    view,
)
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import Command, CommandCall, NextQuery, Quit, Unknown, registry
from chat_loop.config import expand_home
from chat_loop.conversation.attachments import release
from chat_loop.errors import ChatLoopError, SpendingLimit, Undecided, UsageError, os_failure
from chat_loop.tasks import report_bug

if TYPE_CHECKING:
    from chat_loop.conversation.reading import QueryFile

T = TypeVar("T")
IDLE_SECONDS = 60.0  # the time without a key before the summary for the exit is prepared


class ChatLoop:
    """One interactive run."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self._display = chat.display
        self._reader = chat.reader
        self._told = set[str]()  # the old words whose new ones were shown
        self._warned = 0.0  # the share of the window in the last warning
        self._work: asyncio.Task[object] | None = None
        self._cancelled = self._quits = False
        self._failed = False  # something failed or was refused, and nobody could be asked

    async def run(self, *lines: str, message: str = "", chooses: bool = False) -> int:
        """Loop until exit, Ctrl-D or the end of input; return the exit code. Begin with `lines`,
        then `message`. With `chooses`, quit if the lines have not resumed a session.
        """
        chat = self.chat
        display = self._display
        loop = asyncio.get_running_loop()
        main = asyncio.current_task()
        # One handler all the time: between two steps Ctrl-C must not reach Python's own handler.
        loop.add_signal_handler(signal.SIGINT, self._interrupt, main)
        is_elsewhere = False
        try:
            try:
                await self._begin(lines, message, chooses=chooses)
                while True:
                    line = await self.read()
                    if line or chat.replacing is not None:
                        await self.handle(line)
            except (Quit, EOFError):
                self._reader.hide()
                await aside.stop(chat)
                await self._cancellable(chat.conversation.end())
                with suppress(EOFError, KeyboardInterrupt):
                    is_elsewhere = await self._write_elsewhere()
            if chat.conversation.live.is_empty:
                display.line("Goodbye!")
                if parent := chat.conversation.live.header.parent:
                    display.prose("  You added nothing, so no new session was saved.", indent=2)
                    display.line(f"  Resume with: {display.resume_command()} --resume {parent}")
                elif chat.conversation.session.name or chat.conversation.session.tags:
                    display.prose("  No messages, so its name and tags were not saved.", indent=2)
        except asyncio.CancelledError:
            if not self._quits:
                raise
            return 130
        finally:
            chat.conversation.close()
            loop.remove_signal_handler(signal.SIGINT)
        live = chat.conversation.live
        saved = live.is_empty or live.is_saved or is_elsewhere
        return int(self._failed or not saved)

    async def _write_elsewhere(self) -> bool:
        """Offer to write the conversation elsewhere if words are missing on disk. Return True if it
        is there now. Without a path, its own folder is tried again as the chat closes.
        """
        live = self.chat.conversation.live
        display = self._display
        while self.chat.can_ask and live.problem is not None:
            display.prose(
                "Type a path on another disk to write it there, or Enter to try once more."
            )
            if not (text := (await self._reader.read()).strip()):
                return False
            try:
                live.write_to(expand_home(text))
            except ChatLoopError as error:
                display.error(error)
                continue
            display.line(f"Written to {text}: chat-loop sessions import {text} brings it back.")
            return True
        return False

    async def _begin(self, lines: Sequence[str], message: str, *, chooses: bool) -> None:
        """Run the first lines, and enter the first message when none of them failed."""
        successes = [await self.handle(line) for line in lines]
        self.chat.model_is_open = False
        if chooses and not self.chat.conversation.live.header.parent:
            raise Quit
        if message:
            self._reader.enter(message if registry.parse(message) is None else f" {message}")
        if not all(successes):
            if not self.chat.can_ask:  # what follows was meant for another conversation
                self._failed = True
                raise Quit
            self._reader.pause_queue()

    async def read(self) -> str:
        """Return the next entry; Ctrl-C cancels an edit, or shows how to leave."""
        preparing = asyncio.ensure_future(self._prepare_exit())
        preparing.add_done_callback(report_bug)
        try:
            while True:
                try:
                    return await self._reader.read()
                except KeyboardInterrupt:
                    if self.chat.replacing is not None:
                        self._cancel_edit()
                    else:
                        self._display.line("Press Ctrl-C again to quit.", "dim")
                except UsageError as error:
                    self._show_failure(error)
                    self._failed = not self.chat.can_ask
        finally:
            preparing.cancel()

    async def _prepare_exit(self) -> None:
        """Prepare the summary for the exit after a minute without a key."""
        if self._reader.has_editor:
            while (rest := IDLE_SECONDS - self._reader.idle_seconds) > 0:  # noqa: ASYNC110 - keys move it
                await asyncio.sleep(rest)
            await self.chat.conversation.prepare_exit()

    async def handle(self, line: str) -> bool:
        """Run a line, a command or a query. If it fails, show why and return False. Raises Quit."""
        chat = self.chat
        try:
            match registry.parse(line):
                case CommandCall(command, argument):
                    self._refuse_pictures(command)
                    words, options = command.arguments(argument)
                    self._cancel_edit()
                    await self._command(command.run(chat, words, options))
                    self._tell_new_word(command)
                case Unknown(name, argument):
                    await asyncio.to_thread(registry.add_plugins, chat.plugins)
                    if registry.named(name):
                        return await self.handle(line)
                    if template := chat.templates.find(name):
                        await self._send(template.fill(argument))
                        return True
                    self._cancel_edit()
                    names = [*registry.names(), *chat.templates.names()]
                    near = get_close_matches(name.lower(), names, 1, 0.75)
                    hint = "/help lists the commands."
                    if near:
                        hint = f"Did you mean /{near[0]}?"
                    hint += " To send it as text, start with a space."
                    self._display.warn(f"Unknown command /{name}.", hint)
                case None:
                    await self._send(line)
        except Undecided as error:  # what follows is meant for the session that waits
            self._show_failure(error)
            self._failed = True
            raise Quit from error
        except ChatLoopError as error:
            self._show_failure(error)
            return False
        except OSError as error:
            self._show_failure(_failure(error))
            return False
        return True

    def _refuse_pictures(self, command: Command) -> None:
        """Raise UsageError for a command with an image of the clipboard, which it could not use."""
        if self._reader.pictures:
            self._reader.put_back()
            text = f"/{command.name} takes no images."
            raise UsageError(text, "Send the image in a message, or delete its name.")

    def _tell_new_word(self, command: Command) -> None:
        """Say once how an old word is written today."""
        if command.now and command.name not in self._told:
            self._told.add(command.name)
            old = f"/{command.name}"
            self._display.prose(f"{old} is {command.now} now; {old} works until 1.0.", "dim")

    def _cancel_edit(self) -> None:
        """Cancel the edit of the last query, if there is one."""
        if self.chat.replacing is not None:
            self.chat.replacing = None
            self._display.prose("Edit canceled.", "dim")

    def _show_failure(self, error: ChatLoopError) -> None:
        self._display.stop_waiting()
        self._display.error(error)

    async def _command(self, work: Awaitable[NextQuery | None]) -> None:
        """Run a command, and send the message that it returns, if any."""
        if (message := await self._cancellable(work)) is not None:
            await self._ask(*message)

    async def _send(self, text: str) -> None:
        """Send a query with the files that the entry names and the quotes that go with it."""
        chat = self.chat
        if chat.replacing is not None and not text.strip():
            self._cancel_edit()
        elif chat.replacing is not None:
            await self._command(retry_edit.replace_edited(chat, chat.replacing, text))
        elif text.strip():
            files: tuple[QueryFile, ...] | None = ()
            if "@" in self._reader.typed or self._reader.pictures:
                files = await self._files()
            if files is None:
                self._reader.put_back()
                return
            text = "\n\n".join((*chat.quotes, text))
            chat.quotes.clear()
            await self._ask(text, files)

    async def _files(self) -> tuple[QueryFile, ...] | None:
        """Return the files that the entry names; None when the user does not want to send them."""
        chat = self.chat
        reader = self._reader
        self._display.begin_waiting("Reading the files …")
        try:
            files = await self._cancellable(chat.conversation.files(reader.typed, reader.pictures))
        except UsageError:
            reader.put_back()
            raise
        if files is None:
            return None
        released = await self._cancellable(release(files, chat.secrets))
        if released is None:
            self._display.line("Not sent.", "dim")
        return released

    async def _ask(self, text: str, files: tuple[QueryFile, ...]) -> None:
        conversation = self.chat.conversation
        display = self._display
        display.begin_waiting()
        try:
            await self._cancellable(conversation.ask(text, files), stopped="")
        except (ChatLoopError, OSError) as error:
            self._show_failure(_failure(error) if isinstance(error, OSError) else error)
            self._reader.pause_queue()
            if isinstance(error, SpendingLimit) and not self.chat.can_ask:
                self._failed = True
                raise Quit from error
        if any(exchange.failed for exchange in conversation.session.exchanges[-1:]):
            note = "The model will not see this message again; /retry resends it."
            display.prose(note, "dim")
        if conversation.options.limits.enabled:
            return  # long conversations are compacted automatically
        budget = conversation.budget
        if budget.warning > self._warned:
            used = f"{budget.used:,} of {budget.window.tokens:,} tokens"
            warning = f"The context is {budget.share:.0%} full ({used})."
            display.warn(warning, "compact makes room.")
        self._warned = budget.warning

    def stop(self) -> None:
        """Stop the running work, if any, and the commands that answer beside it."""
        self._cancelled = True
        for task in self.chat.asides:
            task.cancel()
        if self._work is not None:
            self._work.cancel()

    def _interrupt(self, main: asyncio.Task[object] | None) -> None:
        """Handle SIGINT: stop the running work, or else let a user confirm that the chat ends. In a
        pipe there is no user, and it ends at once.
        """
        if self._work is not None or self.chat.asides:
            self.stop()
        is_pressed = self._reader.has_editor or self._reader.press_ctrl_c()
        if not is_pressed and self._work is None and main is not None:
            self._quits = True
            main.cancel()

    async def _cancellable(self, work: Awaitable[T], stopped: str = "Stopped.") -> T | None:
        """Return the result of `work`; when Ctrl-C stops it, show `stopped` and return None."""
        self._cancelled = False
        task = asyncio.ensure_future(work)
        try:
            await asyncio.sleep(0)  # the first step saves the query and cannot be stopped
            self._work = task
            if self._cancelled:
                task.cancel()
            await asyncio.wait({task})
            result = task.result()
            self._display.stop_waiting()
            return result
        except asyncio.CancelledError:
            if not self._cancelled:  # the program ends: let the work save the partial reply
                task.cancel()
                await asyncio.wait({task})
                report_bug(task)
                raise
            self._display.stop_waiting()
            if stopped:
                self._display.line(stopped, "dim")
            return None
        finally:
            self._work = None


def _failure(error: OSError) -> ChatLoopError:
    """Return an error of the system as the failure of a command. Raise it if the terminal or the
    reader of the output is gone. If the output cannot be written, showing the failure raises again.
    """
    is_terminal_gone = error.errno == errno.EIO and error.filename is None
    if is_terminal_gone or isinstance(error, BrokenPipeError):
        raise error
    return os_failure(error)
