"""ChatLoop: read -> command or turn -> show -> save, until the user leaves."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from chat_loop.commands import (  # noqa: F401 - importing them registers their commands
    asking_again,
    branches,
    context,
    copying,
    describe,
    mcp,
    memory,
    model,
    pins,
    search,
    session,
    settings,
    theme,
    tools,
    transfer,
    view,
)
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import Call, Quit, Unknown, registry
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.lines import Reader

if TYPE_CHECKING:
    from chat_loop.attach.reading import QueryFile


class ChatLoop:
    """One interactive run. `run` returns the exit code."""

    def __init__(
        self, chat: Chat, reader: Reader, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._chat = chat
        self._clock = clock
        self._reader = reader
        self._begun = 0.0
        """Since when the user has been waiting."""
        self._warned = 0.0
        self._work: asyncio.Future[object] | None = None
        self._cancelled = False
        self._left = False
        chat.ask, self._asked = self._ask_user, chat.ask
        chat.attended = self._attend

    async def run(self, first: str = "") -> int:
        """Loop until exit, Ctrl-D or the end of input. `first` is a line to begin with, such as a
        resume.
        """
        line = first
        try:
            with self._interruptible():
                while True:
                    if line or self._chat.replacing is not None:
                        await self.take(line)
                    line = await self._read()
        except (Quit, EOFError):
            with self._interruptible():
                await self._cancellable(self._chat.conversation.end())
            if self._chat.conversation.live.empty:
                self._say_goodbye()
        except asyncio.CancelledError:
            if not self._left:
                raise
            return 130
        finally:
            self._chat.conversation.close()
        return 0 if self._chat.conversation.live.empty or self._chat.conversation.live.saved else 1

    def _say_goodbye(self) -> None:
        """Leave a session that did not begin; one that was resumed is resumed again from where it
        was.
        """
        display, header = self._chat.display, self._chat.conversation.live.header
        display.line("Goodbye!")
        if header.parent:
            display.line("  Nothing was added since: no session was saved.")
            display.line(f"  Resume with: {display.resume_command} --resume {header.parent}")

    async def take(self, line: str) -> None:
        """Do what one line asks for; failures are shown. Raises Quit."""
        display = self._chat.display
        try:
            match registry.parse(line):
                case Call(command, argument):
                    self._give_up()
                    await self._and_ask(command.run(self._chat, argument))
                    self._notify(f"{command.name} is done")
                case Unknown(name, nearest, given):
                    template = self._chat.templates.find(name)
                    if template is not None:
                        await self._turn(template.filled(given))
                        return
                    self._give_up()
                    nearest = self._chat.templates.nearest(name) or nearest
                    meant = f"Did you mean /{nearest}?" if nearest else "help lists them."
                    display.warn(
                        f"There is no command /{name}.",
                        f"{meant} A leading space sends it as text.",
                    )
                case None:
                    await self._turn(line)
        except ChatLoopError as error:
            self._failed(error)

    def _failed(self, error: ChatLoopError) -> None:
        self._chat.display.stop_waiting()
        self._chat.display.error(error)
        self._notify(one_line(error.message, 60))

    def _give_up(self) -> None:
        """What was offered to be changed stays as it was, if anything was."""
        if self._chat.replacing is not None:
            self._chat.replacing = None
            self._chat.display.prose("The last query stays as it was.", "dim")

    async def _and_ask(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work of a command, and ask what it leaves to be asked."""
        self._chat.sending = None
        await self._cancellable(work)
        if self._chat.sending is not None:
            self._attend()
            await self._ask(*self._chat.sending)

    async def _turn(self, text: str) -> None:
        if not text.strip():
            self._give_up()
            return
        if self._chat.replacing is not None:
            await self._and_ask(asking_again.instead(self._chat, text))
            return
        files = await self._files() if "@" in self._reader.typed else ()
        if files is None:
            self._reader.put_back()
            return
        text = "\n\n".join((*self._chat.quotes, text))
        self._chat.quotes.clear()
        await self._ask(text, files)

    async def _ask(self, text: str, files: tuple[QueryFile, ...]) -> None:
        self._chat.display.begin_waiting()
        try:
            await self._cancellable(self._chat.conversation.ask(text, files), stopped="")
            self._notify(f"{one_line(self._chat.display.agent, 60)} has answered")
        except ChatLoopError as error:
            self._failed(error)
        if any(exchange.failed for exchange in self._chat.conversation.session.exchanges[-1:]):
            self._chat.display.prose(
                "This message is not sent again with the next one; /retry asks it anew.", "dim"
            )
        if self._chat.conversation.options.limits.enabled:
            return  # it makes room by itself
        budget = self._chat.conversation.budget
        if budget.warning > self._warned:
            self._chat.display.warn(
                f"The context is {budget.share:.0%} full ({budget.used:,} of "
                f"{budget.window.tokens:,} tokens).",
                "compact makes room.",
            )
        self._warned = budget.warning

    def _notify(self, what: str) -> None:
        """Tell that what the user has been waiting for has come, when that took long; not when the
        user stopped it.
        """
        wanted = self._chat.config.notify
        if wanted.after and not self._cancelled and self._clock() - self._begun >= wanted.after:
            from chat_loop.display.notice import notice  # not before it is wanted

            notice(self._chat.display, wanted.how, what)
        self._attend()

    def _attend(self) -> None:
        """The user is there: waiting begins anew."""
        self._begun = self._clock()

    async def _ask_user(self, question: str) -> str:
        """Ask in the midst of a command; the user may look elsewhere by then."""
        self._notify("a question waits")
        try:
            return await self._asked(question)
        finally:
            self._attend()

    async def _files(self) -> tuple[QueryFile, ...] | None:
        """The files of the entry; None when it is not to be sent. Raises UsageError, with the entry
        to be edited.
        """
        chat = self._chat
        found: list[tuple[QueryFile, ...]] = []

        async def look() -> None:
            found.append(await chat.conversation.files(self._reader.typed))

        try:
            await self._cancellable(look())
        except UsageError:
            self._reader.put_back()
            raise
        if not found:
            return None
        [files] = found
        if secret := [file.attachment.name for file in files if file.secret]:
            names = ", ".join(one_line(name, 80) for name in secret)
            chat.display.warn(f"What looks like a key or a password is in {names}.")
            match await chat.ask("Send it as it is? (y, n, r leaves these out) "):
                case "y" | "yes":
                    pass
                case "r":
                    files = tuple(file.without_secrets() for file in files)
                case _:
                    chat.display.line("Not sent.", "dim")
                    return None
        return files

    async def _read(self) -> str:
        while True:
            try:
                return await self._reader.read()
            except KeyboardInterrupt:
                if self._chat.replacing is None:
                    self._chat.display.line("exit or Ctrl-D leaves.", "dim")
                self._give_up()

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C stops the work that runs. In between it is the editor's key, or leaves when there
        is no editor.

        One handler for all the time: a Ctrl-C between two steps must find neither the editor's nor
        Python's own.
        """
        loop, main = asyncio.get_running_loop(), asyncio.current_task()

        def interrupt() -> None:
            if self._work is not None:
                self._cancelled = True
                self._work.cancel()
            elif main is not None and not self._reader.has_editor:
                self._left = True
                main.cancel()

        try:
            loop.add_signal_handler(signal.SIGINT, interrupt)
        except NotImplementedError:  # Windows: Ctrl-C arrives as KeyboardInterrupt
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _cancellable(
        self, work: Coroutine[Any, Any, object], stopped: str = "Stopped."
    ) -> None:
        """Run `work`; Ctrl-C cancels it, says so, and the prompt comes back."""
        self._cancelled = False
        self._attend()
        task = self._work = asyncio.ensure_future(work)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=self._chat.display.tick_seconds)
                if not task.done():
                    self._chat.display.tick()
            task.result()
            self._chat.display.stop_waiting()
        except asyncio.CancelledError:
            if (
                not self._cancelled
            ):  # the whole program is told to go: let the work save what came before
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise
            self._chat.display.stop_waiting()
            if stopped:
                self._chat.display.line(stopped, "dim")
        finally:
            self._work = None
