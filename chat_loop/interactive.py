"""A chat on a terminal or through pipes: its objects, and what loads behind the prompt."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from chat_loop.agent.agent import Agent
from chat_loop.app import App
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.commands.templates import Templates
from chat_loop.commands.tools import ToolApproval
from chat_loop.commands.view import StatusLine
from chat_loop.conversation.compaction import MAKING
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import options_of
from chat_loop.display.manager import DisplayManager
from chat_loop.display.notice import Notifier
from chat_loop.display.offer import greeting, offer
from chat_loop.display.status import status_line
from chat_loop.display.text import one_line
from chat_loop.display.unhurried import settle, unhurried_output
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.events import Event, SessionSealed
from chat_loop.input.lines import LineReader, Reader
from chat_loop.input.start import ENDING, banner, columns
from chat_loop.library.indexer import Indexer
from chat_loop.library.library import Library
from chat_loop.library.semantic import Embedding, SemanticIndex
from chat_loop.loop import ChatLoop
from chat_loop.memory import ProjectMemory
from chat_loop.tokens import TokenCounter
from chat_loop.values import Usage
from chat_loop.wording import when_text

if TYPE_CHECKING:
    from chat_loop.commands.completing import Offering
    from chat_loop.input.completing import Choice

SIGNALLED = 128
"""From here on an exit code names the signal that ended the program."""
TERMINAL_GONE = 129
"""The exit code when the terminal cannot be written to, as after SIGHUP."""
SWITCH_SECONDS = 0.0005
"""How long a thread that loads may keep a key waiting for its echo; Python's 5 ms add up."""

T = TypeVar("T")


def chat(app: App) -> int:
    """Chat until the user leaves; return the exit code."""
    agent = app.agent()
    with unhurried_output():
        code = asyncio.run(Interactive(app, agent).run())
        if code < SIGNALLED:  # else who asked it to go does not wait
            settle(sys.stdout)
    return code


class Interactive:
    """One chat: its objects, and what they ask of each other."""

    def __init__(self, app: App, agent: Agent) -> None:
        config, sessions = app.config, app.sessions
        self._config, self._sessions, self._instant = config, sessions, app.instant
        self._history = app.paths.history
        self._first = app.first_command
        self._offers = not (self._first or app.options.new_session)
        self._counter = TokenCounter()
        self._library = Library(sessions.directory, sessions.now)
        self._display = DisplayManager(
            agent=agent.name,
            resume_command=app.resume_command(agent),
            show_blocks=config.auto_compact.show_summary_markers,
            markdown=config.display.markdown,
            theme=config.display.theme,
            wraps=config.display.wrap == "words",
        )
        self._notifier = Notifier(self._display, config.notify.after, config.notify.how)
        self._loads = False
        self._used = threading.Event()
        """Set when the user first waits for something: what costs time may load then."""
        self._offering: Offering | None = None
        self._reader = self._new_reader()
        semantic = SemanticIndex() if config.search.meaning else None
        self._embedding = Embedding()
        then = self._embedding.start_if_needed if semantic is not None else None
        self._indexer = Indexer(sessions.directory, then)
        place = app.memory(agent)
        self._memory = ProjectMemory(place, self._show) if place is not None else None
        approval = ToolApproval(self._display, self._reader)
        self._servers = app.servers()
        self._conversation = Conversation(
            approval.needed_by(agent),
            sessions,
            count=self._count,
            show=self._show,
            options=options_of(config, app.summarizer(agent), semantic),
            memory=self._memory.block if self._memory is not None else str,
            servers=self._servers,
        )
        self._status_line = StatusLine(self._conversation, self._conversation.options.cost)
        self._chat = Chat(
            conversation=self._conversation,
            sessions=sessions,
            display=self._display,
            ask=lambda question: self._notifier.ask(self._ask, question),
            attended=self._notifier.begin,
            asks=sys.stdin.isatty(),
            edit=lambda text: self._in_editor(lambda editor: editor.edited(text)),
            offer=self._reader.offer,
            open_file=lambda path: self._in_editor(lambda editor: editor.open_file(path)),
            clear_screen=self._display.clear_screen,
            facts=(
                ("Sessions", str(sessions.directory)),
                ("Config", app.options.config or str(app.paths.config)),
            ),
            models=app.models(),
            library=self._library,
            semantic=semantic,
            memory=self._memory,
            servers=self._servers,
            templates=Templates(app.paths.prompts, registry.names()),
            config=config,
        )

    async def run(self) -> int:
        """Chat until the user leaves, or a signal comes: everything is on disk. Return the exit
        code.
        """
        task = asyncio.current_task()
        received: list[int] = []

        def leave(number: int) -> None:
            received.append(number)
            if task is not None:
                task.cancel()

        for name in ENDING:
            if number := getattr(signal, name, None):
                with contextlib.suppress(NotImplementedError):
                    asyncio.get_running_loop().add_signal_handler(number, leave, number)
        try:
            self._begin()
            return await ChatLoop(self._chat, self._reader, self._notifier).run(self._first)
        except asyncio.CancelledError:
            if not received:
                raise
            return SIGNALLED + received[0]
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return TERMINAL_GONE
        finally:
            self._reader.close()
            self._library.close()
            self._indexer.close()
            self._embedding.close()
            if self._servers is not None:
                await self._servers.close()
            await self._conversation.agent.provider.close()

    def _new_reader(self) -> Reader:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return LineReader()
        if self._instant is None:
            self._display.prose(banner())
        from chat_loop.input.prompt import (
            PromptReader,  # loads prompt_toolkit, which pipes do not need
        )

        return PromptReader(
            history=self._history,
            status=self._status,
            instant=self._instant,
            ready=self._load_behind,
            complete=self._choices,
            edit=self._edit_line,
            keys=self._config.input.keys,
            moving=lambda: self._conversation.compaction.background.state == MAKING,
        )

    def _begin(self) -> None:
        """Say what stands before the first prompt; a first command needs all to be loaded."""
        agent, sessions, shown = self._conversation.agent, self._sessions, sys.stdout.isatty()
        if not (sys.stdin.isatty() and shown):
            self._display.line(f"{banner()} · {agent.model}")
            self._load_behind()
        lines: list[str] = []
        if shown and not (self._first or sessions.directory.exists()):
            lines += greeting(agent.model, str(sessions.directory), columns())
        lines.append(self._memory.notice if self._memory is not None else "")
        if shadowed := [f"/{name}" for name in self._chat.templates.shadowed()]:
            lines.append(
                f"Not used as templates, as commands have their names: {', '.join(shadowed)}."
            )
        if self._offers and shown:
            identity, last = sessions.last_offered()
            if last is not None:
                when = when_text(last.updated, sessions.now())
                lines.append(offer(last.name or identity, when, columns()))
        for line in filter(None, lines):  # not by the display: it would load rich
            if self._instant is not None:
                self._instant.erase()
            sys.stdout.write(f"{one_line(line, 500)}\n")
            sys.stdout.flush()
        if self._first:
            if self._instant is not None:
                self._instant.erase()
            self._load_behind()

    async def _ask(self, question: str) -> str:
        self._display.stop_waiting()
        try:
            return await self._reader.ask(question)
        except (EOFError, KeyboardInterrupt):
            return ""

    async def _in_editor(self, work: Callable[[ModuleType], Awaitable[T]]) -> T:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("There is no terminal to open an editor in.")
        from chat_loop.input import editor  # rarely asked for

        with self._reader.lent():
            return await work(editor)

    async def _edit_line(self, text: str) -> str:
        from chat_loop.input import editor  # rarely asked for

        try:
            return await editor.edited(text)
        except ChatLoopError as error:
            self._display.error(error)
            return text

    def _choices(self, before: str) -> Iterable[Choice]:
        if self._offering is None:
            from chat_loop.commands.completing import Offering  # not before Tab is pressed

            self._offering = Offering(self._chat)
        return self._offering.choices(before)

    def _status(self) -> str:
        symbols = self._display.has_symbols
        return status_line(self._status_line(), self._config.status, columns() - 2, symbols=symbols)

    def _count(self, text: str) -> int:
        return self._counter.count(text, self._conversation.agent.provider.model)

    def _show(self, event: Event) -> None:
        self._used.set()
        self._display.show(event)
        if isinstance(event, SessionSealed):
            self._indexer.wake()

    def _load_behind(self) -> None:
        """Load in a thread, once, what the first request and the first reply need."""
        if not self._loads:
            self._loads = True
            gc.disable()
            threading.Thread(target=self._load, daemon=True, name="load-behind").start()

    def _load(self) -> None:
        provider = self._conversation.agent.provider
        switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            from chat_loop.sessions.files import load_lock_library

            load_lock_library()
            with contextlib.suppress(ChatLoopError):  # the first request says it to who waits
                provider.warm()
            self._display.load()
            from chat_loop.agent import tools  # noqa: F401 - for the first request
            from chat_loop.context import ledger, summary  # noqa: F401 - for after the first reply
        finally:
            gc.freeze()  # modules are no garbage: no collection looks through them
            gc.enable()
            sys.setswitchinterval(switch_seconds)
        if self._servers is not None and provider.calls_tools:
            self._servers.start()
        self._indexer.start()
        self._used.wait()  # the tokenizer holds up every other thread for 0.1 s
        agent = self._conversation.agent
        self._counter.load(agent.provider.model)
        if "cost" in self._config.status:
            self._conversation.options.cost(agent.model, Usage())  # loads the prices
        self._sessions.remove_leftovers()
