"""The interactive run: reader, display, conversation and loop put together, and what is loaded
behind the prompt.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from chat_loop.agent.agent import Agent
from chat_loop.commands.approving import Permission
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.commands.standing import Standing
from chat_loop.config import Config
from chat_loop.conversation.compaction import MAKING
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import options_of
from chat_loop.display.manager import DisplayManager
from chat_loop.display.offer import greeting, offer
from chat_loop.display.status import status_line
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.events import Event, SessionSealed
from chat_loop.library.embedding import Embedding
from chat_loop.library.indexer import Indexer
from chat_loop.library.library import Library
from chat_loop.library.semantic import SemanticIndex
from chat_loop.lines import LineReader, Reader
from chat_loop.loading import Loading
from chat_loop.loop import ChatLoop
from chat_loop.memory import Place, ProjectMemory
from chat_loop.providers import Provider
from chat_loop.providers.choose import Models
from chat_loop.sessions.manager import SessionManager
from chat_loop.start import ENDING, InstantPrompt, banner, columns
from chat_loop.templates import Templates
from chat_loop.tokens import TokenCounter
from chat_loop.values import Usage
from chat_loop.wording import when_text

TERMINAL_GONE = 129
"""The exit code when the terminal cannot be written to any more, as after the SIGHUP that usually
comes with it.
"""

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.commands.completing import Offering
    from chat_loop.input.choice import Choice

T = TypeVar("T")


class Setting(Struct, frozen=True, kw_only=True):
    """What the command line and the config decided. `resume` is a number or an id to begin with, or
    empty.

    `memory` is where the project's memory is looked for; None when it is switched off; `prompts`
    where templates are.
    """

    config: Config
    agent: Agent
    summarizer: Provider | None
    sessions: SessionManager
    history: Path
    facts: tuple[tuple[str, str], ...]
    resume_command: str
    first: str
    offer: bool
    memory: Place | None
    models: Models
    servers: Servers | None = None
    prompts: Path


class Interactive:
    """One interactive run of the program."""

    def __init__(self, setting: Setting, instant: InstantPrompt | None) -> None:
        self._setting = setting
        self._instant = instant
        agent = setting.agent
        self._counter = TokenCounter()
        self._semantic = SemanticIndex() if setting.config.search.meaning else None
        self._library = Library(setting.sessions.directory, setting.sessions.now)
        self._display = DisplayManager(
            agent=agent.name,
            resume_command=setting.resume_command,
            show_blocks=setting.config.auto_compact.show_summary_markers,
            markdown=setting.config.display.markdown,
            theme=setting.config.display.theme,
            wraps=setting.config.display.wrap == "words",
        )
        self._count = lambda text: self._counter.count(text, self._agent.provider.model)
        self._embedding = Embedding(setting.sessions.directory)
        self._indexer = Indexer(
            setting.sessions.directory,
            [self._embedding.start_if_needed] if self._semantic is not None else (),
        )
        self._chat: Chat | None = None
        self._offering: Offering | None = None
        self._memory = (
            ProjectMemory(setting.memory, self._show) if setting.memory is not None else None
        )
        self._permission = Permission(self._display)
        self._templates = Templates(setting.prompts, registry.names())
        self._conversation = Conversation(
            self._permission.needed_by(agent),
            setting.sessions,
            count=self._count,
            show=self._show,
            options=options_of(setting.config, setting.summarizer, self._semantic),
            memory=self._memory.block if self._memory is not None else str,
            servers=setting.servers,
        )
        self._standing = Standing(self._conversation, self._conversation.options.cost)
        self._loading = Loading(
            provider=lambda: self._agent.provider,
            display=self._display,
            indexer=self._indexer,
            counter=self._counter,
            servers=setting.servers,
            later=self._after_the_first_use,
        )

    def _after_the_first_use(self) -> None:
        """Do what can wait until the user waits for something; in the thread that loads."""
        if "cost" in self._setting.config.status:
            self._conversation.options.cost(self._agent.model, Usage())  # loads the prices
        self._setting.sessions.remove_leftovers()

    async def run(self) -> int:
        """Chat until the user leaves; return the exit code. A signal leaves at once: everything is
        on disk.
        """
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        received: list[int] = []

        def leave(number: int) -> None:
            received.append(number)
            if task is not None:
                task.cancel()

        for name in ENDING:
            number = getattr(signal, name, None)
            if number is not None:
                with contextlib.suppress(NotImplementedError):
                    loop.add_signal_handler(number, leave, number)
        reader = self._permission.reader = self._reader()
        chat = Chat(
            conversation=self._conversation,
            sessions=self._setting.sessions,
            display=self._display,
            ask=lambda question: self._asked(reader, question),
            asks=sys.stdin.isatty(),
            edit=lambda text: self._in_editor(reader, lambda editor: editor.edited(text)),
            offer=reader.offer,
            open_file=lambda path: self._in_editor(reader, lambda editor: editor.open_file(path)),
            count=self._count,
            clear_screen=self._display.clear_screen,
            facts=self._setting.facts,
            models=self._setting.models,
            library=self._library,
            semantic=self._semantic,
            memory=self._memory,
            servers=self._setting.servers,
            templates=self._templates,
            config=self._setting.config,
        )
        self._chat = chat
        self._greet()
        self._tell_notices()
        self._tell_last()
        self._clear_the_way()
        try:
            return await ChatLoop(chat, reader).run(self._setting.first)
        except asyncio.CancelledError:
            if not received:
                raise
            return 128 + received[0]
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return TERMINAL_GONE
        finally:
            reader.close()
            self._library.close()
            self._indexer.close()
            self._embedding.close()
            if self._setting.servers is not None:
                await self._setting.servers.close()
            await self._agent.provider.close()

    @property
    def _agent(self) -> Agent:
        """Who answers now."""
        return self._conversation.agent

    async def _asked(self, reader: Reader, question: str) -> str:
        self._display.stop_waiting()
        return await reader.ask(question)

    async def _in_editor(self, reader: Reader, work: Callable[[ModuleType], Awaitable[T]]) -> T:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("There is no terminal to open an editor in.")
        from chat_loop import editor  # rarely asked for

        with reader.lent():
            return await work(editor)

    def _tell_notices(self) -> None:
        """Say before the first prompt what memory is used, where others may have written it, and
        what is wrong.
        """
        for notice in (
            self._memory.notice if self._memory is not None else "",
            self._templates.notice,
        ):
            if notice:
                self._tell(notice)

    def _greet(self) -> None:
        """Say at the first start of all who answers and where the words go."""
        setting = self._setting
        if setting.first or setting.sessions.directory.exists() or not sys.stdout.isatty():
            return
        for line in greeting(setting.agent.model, str(setting.sessions.directory), columns()):
            self._tell(line)

    def _tell_last(self) -> None:
        """Offer to go on with the session that was used last, in one line of the terminal."""
        sessions = self._setting.sessions
        if not (self._setting.offer and sys.stdout.isatty()):
            return
        identity, last = sessions.last_offered()
        if last is not None:
            when = when_text(last.updated, sessions.now())
            self._tell(offer(last.name or identity, when, columns()))

    def _clear_the_way(self) -> None:
        """For a command that the chat begins with: what it tells stands before the prompt, not
        behind it.
        """
        if self._setting.first:
            if self._instant is not None:
                self._instant.erase()
            self._loading.begin()

    def _tell(self, text: str) -> None:
        """Write a line before the first prompt; the display would load rich for it."""
        if self._instant is not None:
            self._instant.erase()
        sys.stdout.write(f"{one_line(text, 500)}\n")
        sys.stdout.flush()

    def _reader(self) -> Reader:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            self._display.line(f"{banner()} · {self._setting.agent.model}")
            self._loading.begin()
            return LineReader()
        if self._instant is None:
            self._display.prose(banner())
        from chat_loop.prompt import PromptReader  # loads prompt_toolkit, which pipes do not need

        return PromptReader(
            history=self._setting.history,
            status=self._status,
            instant=self._instant,
            ready=self._loading.begin,
            complete=self._choices,
            edit=self._edit_line,
            keys="vi" if self._setting.config.input.keys == "vi" else "emacs",
            moving=lambda: self._conversation.compaction.background.state == MAKING,
        )

    def _choices(self, before: str) -> Iterable[Choice]:
        if self._offering is None and self._chat is not None:
            from chat_loop.commands.completing import Offering  # not before Tab is pressed

            self._offering = Offering(self._chat)
        return self._offering.choices(before) if self._offering is not None else ()

    async def _edit_line(self, text: str) -> str:
        from chat_loop import editor  # rarely asked for

        try:
            return await editor.edited(text)
        except ChatLoopError as error:
            self._display.error(error)
            return text

    def _status(self) -> str:
        symbols = self._display.has_symbols
        return status_line(
            self._standing(), self._setting.config.status, columns() - 2, symbols=symbols
        )

    def _show(self, event: Event) -> None:
        self._loading.used.set()
        self._display.show(event)
        if isinstance(event, SessionSealed):
            self._indexer.wake()
