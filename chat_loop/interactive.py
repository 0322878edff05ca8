"""A chat on a terminal or through pipes: its objects, and the loading in the background."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from chat_loop import assembly
from chat_loop.agent.known_agents import AgentRegistry
from chat_loop.beginning import Beginning, beginning_of, first_provider
from chat_loop.characters import one_line
from chat_loop.commands import aside, pasted_files
from chat_loop.commands.chat import Chat
from chat_loop.commands.completing import CommandCompleter
from chat_loop.commands.registry import CommandCall, registry
from chat_loop.commands.secrets import secret_gate
from chat_loop.commands.templates import Templates
from chat_loop.commands.tool_approval import ToolApproval
from chat_loop.commands.view import status_of
from chat_loop.conversation.background import MAKING
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.nonblocking import drain, nonblocking_output
from chat_loop.display.sanitizer import wrapped
from chat_loop.display.status import Status, greeting, offer
from chat_loop.errors import ChatLoopError, os_reason
from chat_loop.events import Compacted, Event, ReplyEnded, SessionBegun, SessionSealed
from chat_loop.input.lines import EntryReader, LineReader
from chat_loop.input.start import ENDING_SIGNALS, SIGNAL_EXIT_BASE, banner, silent_terminal
from chat_loop.library.indexer import Indexer
from chat_loop.library.semantic import SemanticIndex
from chat_loop.loader import Loader
from chat_loop.loop import ChatLoop
from chat_loop.parts import Parts
from chat_loop.process import cancel_on, run_cancellable, start_process
from chat_loop.providers import Provider
from chat_loop.relaunch import resume_command, spawn_sync
from chat_loop.tasks import in_daemon_thread, run_to_completion
from chat_loop.terminal import DIM, Terminal, columns, styled
from chat_loop.tokens import TokenCounter
from chat_loop.values import Picture, when_text

MakeLoop = Callable[[Chat], ChatLoop]
TERMINAL_GONE = 129  # the exit code when the terminal cannot be written to, as after SIGHUP


def run(parts: Parts, answering: Provider | None = None, loop: MakeLoop = ChatLoop) -> int:
    """Chat until the user leaves; return the exit code. The model of the options answers, or that
    of the session that goes on, unless one is `answering`.
    """
    beginning = beginning_of(parts)
    provider = answering or first_provider(parts, beginning)
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not parts.options.plain
    edits = on_terminal and os.environ.get("TERM") != "dumb"
    silenced = silent_terminal(parts.instant) if edits else contextlib.nullcontext()
    with nonblocking_output(), silenced as terminal:
        chat = Interactive(parts, beginning, provider, terminal)
        code = run_cancellable(partial(chat.run, loop))
        if code < SIGNAL_EXIT_BASE:  # after a signal, do not wait for the terminal
            drain(sys.stdout)
    return code


class Interactive:
    """One chat: its objects and their connections. It has a line editor if it gets the silenced
    `terminal` that the editor reads.
    """

    def __init__(
        self, parts: Parts, beginning: Beginning, provider: Provider, terminal: Terminal | None
    ) -> None:
        config = parts.config
        sessions = parts.sessions
        memory = assembly.read_memory(parts, provider, self._show)
        agent = assembly.make_agent(parts, provider, memory)
        self._parts = parts
        self._beginning = beginning
        self._first_agent = agent
        self._counter = TokenCounter()
        self._display = DisplayManager(
            agent=agent.name,
            resume_command=self._resume_command,
            show_blocks=config.auto_compact.show_summary_markers,
            markdown=config.display.markdown,
            theme=config.display.theme,
            wraps=config.display.wrap == "words",
            plain=parts.options.plain,
        )
        self._reader: EntryReader = LineReader(is_command=self.is_command)
        if sys.stdin.isatty() and sys.stdout.isatty() and parts.instant is None:
            self._display.prose(banner(), "dim")
        if terminal is not None:
            from chat_loop.input.composer import Composer  # pipes need no prompt_toolkit

            self._reader = Composer(
                self._display.out,
                self,
                history=parts.paths.history,
                instant=parts.instant,
                terminal=terminal,
                keys=config.input.keys,
            )
        self._asks_about_files = False
        """True if the user must be asked about new project files before the first message."""
        self._has_ended = False
        self._has_sealed = False
        """True if a session was sealed since the indexer was last woken."""
        semantic = SemanticIndex() if config.search.meaning else None
        embeds = semantic is not None
        self._indexer = Indexer(sessions.directory, embeds=embeds, shared=parts.shared)
        servers = assembly.make_servers(parts)
        approvals = assembly.stored_approvals(parts)
        approval = ToolApproval(self._display, self._reader, approvals)
        secrets = secret_gate(self._display, self._reader, can_ask=sys.stdin.isatty())
        limits = replace(agent.limits, confirm=self._confirm if sys.stdin.isatty() else None)
        if memory is not None and sys.stdin.isatty() and sys.stdout.isatty():
            self._asks_about_files = not all(file.answer for file in memory.project_files)
        self._conversation = assembly.make_conversation(
            parts,
            replace(agent, approve=approval.approve, secrets=secrets, limits=limits),
            count=self._counter.count,
            show=self._show,
            memory=memory,
            servers=servers,
            settle=self._display.settle,
            summarizer=assembly.make_summarizer(parts, agent),
            semantic=semantic,
            load_encoding=self._counter.load,
            steady=self._counter.steady,
            detach=self._spawn_summary,
        )
        self._chat = Chat(
            conversation=self._conversation,
            sessions=sessions,
            display=self._display,
            reader=self._reader,
            secrets=secrets,
            can_ask=sys.stdin.isatty(),
            facts=(
                ("Sessions", str(sessions.directory)),
                ("Config", parts.options.config or str(parts.paths.config)),
            ),
            models=assembly.list_models(parts),
            offer=partial(assembly.find_offer, parts),
            model_is_chosen=parts.model_is_chosen,
            model_is_open=beginning.goes_on and not parts.model_is_chosen,
            library=parts.library(),
            semantic=semantic,
            memory=memory,
            servers=servers,
            approvals=approvals,
            agents=AgentRegistry(parts.paths),
            plugins=parts.plugins,
            templates=Templates(parts.paths.config.parent / "prompts", registry.names()),
            config=config,
        )
        self._completer = CommandCompleter(self._chat)
        self._loader = Loader(self._chat, self._indexer, self._counter, self._sync, self._report)

    async def run(self, loop: MakeLoop) -> int:
        """Chat until the user leaves or a signal arrives; return the exit code."""
        parts = self._parts
        beginning = self._beginning
        chat = self._chat
        task = asyncio.current_task()
        assert task is not None
        received = cancel_on(task, ENDING_SIGNALS)
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._report_from_loop)
        threading.excepthook = self._report_from_thread
        try:
            try:
                with parts.log.reporting(lambda: self._conversation.recorder.saved_text):
                    self._begin()
                    chat_loop = loop(chat)
                    await self._reader.start(chat_loop.stop)
                    commands = beginning.commands
                    message = parts.options.message
                    if self._asks_about_files:
                        commands = ("/memory ask", *commands)
                    chooses = beginning.chooses
                    return await chat_loop.run(*commands, message=message, chooses=chooses)
            finally:
                await run_to_completion(self._close())  # even if a signal arrives now
                threading.excepthook = threading.__excepthook__
        except asyncio.CancelledError:
            if not received:
                raise
            return SIGNAL_EXIT_BASE + received[0]
        except (OSError, MemoryError) as error:
            if isinstance(error, OSError) and error.filename is None:  # of the terminal
                if error.errno != errno.EIO:
                    raise
                return TERMINAL_GONE
            reason = "no memory is left"
            if isinstance(error, OSError):
                reason = os_reason(error)
            saved = self._conversation.recorder.saved_text
            raise ChatLoopError(f"The chat cannot go on: {reason}.", saved) from error

    def _report_from_loop(
        self, loop: asyncio.AbstractEventLoop, context: dict[str, object]
    ) -> None:
        """Report an error of a callback, or of a task that nobody waits for."""
        error = context.get("exception")
        if isinstance(error, BaseException):
            self._report(error)
        else:
            loop.default_exception_handler(context)

    def _report_from_thread(self, failure: threading.ExceptHookArgs) -> None:
        """Report an error that ended a thread."""
        if isinstance(failure.exc_value, Exception):
            self._report(failure.exc_value)

    def _report(self, error: BaseException) -> None:
        """Tell the user about an error in the background, from any thread. The chat goes on."""
        if self._has_ended:  # threads fail while the interpreter exits
            return
        told = self._parts.log.report_once(error)
        if told is not None:
            with contextlib.suppress(RuntimeError):  # the chat has ended
                self._loop.call_soon_threadsafe(self._display.warn, told.message, told.hint)

    async def _close(self) -> None:
        await self._reader.close()
        self._loader.close()
        self._chat.library.close()
        self._indexer.close()
        if self._parts.mirror is not None:
            self._parts.mirror.close()
            spawn_sync(self._parts)
        if self._chat.servers is not None:
            await self._chat.servers.close()
        await self._conversation.agent.provider.close()
        self._has_ended = True
        signal.set_wakeup_fd(-1)  # else a closing loop reports a late signal with a traceback

    def _begin(self) -> None:
        """Write the lines before the first prompt. Start loading for a first command or message."""
        parts = self._parts
        sessions = parts.sessions
        agent = self._conversation.agent
        has_commands = bool(self._beginning.commands)
        has_screen = sys.stdout.isatty()
        has_editor = self._reader.has_editor
        if not (has_screen and sys.stdin.isatty()):
            self._display.line(f"{banner()} · {agent.model}")
        lines: list[str] = []
        if agent.path and has_screen:
            lines.append(f"Agent: {agent.name} ({agent.path})")
        if has_screen and not (has_commands or sessions.directory.exists()):
            lines.append(greeting(str(sessions.directory)))
        lines += self._problems()
        lines = [wrapped(one_line(line, 500), columns() - 1, 0) for line in lines]
        is_asked = has_commands or parts.options.message or parts.options.new_session
        if has_screen and not is_asked and (text := self._offer()):
            lines.append(styled(text, DIM) if has_editor else text)
        if parts.instant is not None and (lines or has_commands):
            parts.instant.erase()
        sys.stdout.writelines(f"{line}\n" for line in lines)  # the display would load rich
        sys.stdout.flush()
        if has_commands or parts.options.message or not has_editor:
            self._loader.start()

    def _offer(self) -> str:
        """Return the offer of the newest chat; empty if there is none to offer."""
        sessions = self._parts.sessions
        pointers = sessions.pointers.read()
        found = sessions.pointers.recent(pointers, chats=True)
        if found is None or found.row.mode or not (found.is_here or pointers.complete):
            return ""
        project = found.project or "another folder"
        if found.is_here:
            project = ""
        name = found.row.name or found.row.id
        when = when_text(found.row.updated, sessions.now())
        return wrapped(offer(name, when, columns(), project), columns() - 1, 0)

    def _problems(self) -> Iterator[str]:
        """Yield a sentence about each thing that the user set up but that does not work."""
        chat = self._chat
        agent = self._conversation.agent
        if chat.memory is not None and chat.memory.warning and not self._asks_about_files:
            yield chat.memory.warning
        problems = (
            agent.tools_problem,
            assembly.folder_warning(self._parts, agent),
            assembly.parameters_warning(self._parts, agent),
        )
        for message, hint in problems:
            if message:
                yield f"{message} {hint}"
        if ignored := ", ".join(f"/{name}" for name in chat.templates.names(ignored=True)):
            yield f"Templates with the names of commands are ignored: {ignored}."

    async def _confirm(self, text: str, question: str) -> bool:
        """Ask the user about a request that would exceed a spending limit."""
        self._display.stop_waiting()
        self._display.warn(text)
        agrees = await self._chat.confirm(question)
        self._display.begin_waiting()
        return agrees

    # The host of the composer

    def status(self) -> Status:
        conversation = self._conversation
        budget = conversation.budget
        session = conversation.session
        unreported = budget.estimated and (session.answered or session.restoration is not None)
        if unreported or budget.used >= conversation.frame.trigger // 2:
            self._loader.load_encoding()
        behind = self._parts.mirror is not None and self._parts.mirror.is_behind
        status = status_of(conversation, conversation.options.cost)
        shown = self._chat.config.status
        if self._chat.model_is_open:
            shown = tuple(part for part in shown if part not in ("model", "context"))
        return replace(status, parts=shown, behind=behind)

    def status_changes(self) -> bool:
        return self._conversation.background.state == MAKING

    def ready(self) -> None:
        self._loader.start()

    def completer(self) -> CommandCompleter:
        return self._completer

    def is_command(self, line: str) -> bool:
        return isinstance(registry.parse(line), CommandCall)

    def stops(self, line: str) -> bool:
        return registry.stops(line)

    def answers(self, line: str) -> bool:
        return aside.answer(self._chat, line)

    def image_count(self) -> int:
        exchanges = self._conversation.context.exchanges
        return sum(file.is_image for exchange in exchanges for file in exchange.attached)

    async def clipboard(self) -> str | Picture:
        return await pasted_files.clipboard()

    async def dropped(self, readings: Sequence[Sequence[str]]) -> Sequence[str | Picture]:
        return await in_daemon_thread(pasted_files.files_of, readings)

    def echo(self, text: str) -> None:
        self._display.entry(text)

    def show_error(self, error: ChatLoopError) -> None:
        self._display.error(error)

    # What happens while the chat runs

    def _show(self, event: Event) -> None:
        self._loader.go_on()
        self._display.show(event)
        if self._parts.mirror is not None:
            self._parts.mirror.changed()
        if isinstance(event, SessionBegun | ReplyEnded | SessionSealed | Compacted):
            self._reader.refresh()
        if isinstance(event, SessionSealed):
            self._has_sealed = True
        # an indexer would slow down the query that waits for an automatic compaction
        waits = isinstance(event, SessionSealed) and event.reason == "automatic"
        if self._has_sealed and isinstance(event, SessionSealed | ReplyEnded) and not waits:
            self._has_sealed = False
            self._indexer.wake()

    def _resume_command(self) -> str:
        """Return the command that continues a session with the current model."""
        first = self._first_agent
        model = self._conversation.agent.model
        is_switched = model != first.model and not first.own_tools
        return shlex.join(resume_command(self._parts, first, model if is_switched else ""))

    def _spawn_summary(self, identity: str) -> None:
        """Start a process that makes the summary of a session after the exit. Raises OSError.

        It inherits a lock that a resume checks, so that the summary is never paid for twice.
        """
        agent = self._conversation.agent
        _, *arguments = resume_command(self._parts, agent, "" if agent.own_tools else agent.model)
        if agent.own_tools and "--agent" not in arguments:
            arguments += ["--agent", agent.path]
        arguments += ["sessions", "compact", identity, "--late"]
        with contextlib.closing(self._parts.sessions.lock_summary(identity)) as lock:
            start_process(arguments, [lock.descriptor])

    def _sync(self) -> None:
        """Start synchronizing the sessions with their mirror, if there is one."""
        if self._parts.mirror is None:
            return
        loop = self._loop
        warn = self._display.warn

        def tell(message: str, hint: str) -> None:
            with contextlib.suppress(RuntimeError):  # the chat has ended
                loop.call_soon_threadsafe(warn, message, hint)

        self._parts.mirror.start(tell)
