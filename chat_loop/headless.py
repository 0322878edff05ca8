"""One question and one reply, for scripts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop import assembly, errors, events
from chat_loop.agent.secret_gate import SecretGate, judged
from chat_loop.agent.tools import CALL_LIMIT_RESULT, STEP_LIMIT_RESULT, Tool
from chat_loop.commands.answering_model import missing_tools
from chat_loop.commands.references import (
    NEWEST,
    elsewhere_text,
    find_last,
    find_session,
    require_file,
    unreadable_text,
)
from chat_loop.conversation import continuing
from chat_loop.conversation.attachments import release
from chat_loop.conversation.child_plan import ChildPlan
from chat_loop.conversation.continuing import Planning
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.reading import QueryFile
from chat_loop.display.plain import PlainDisplay
from chat_loop.input.lines import clean
from chat_loop.input.start import SIGNAL_EXIT_BASE
from chat_loop.parts import Parts
from chat_loop.process import REPLY_SIGNALS, cancel_on, run_cancellable
from chat_loop.providers import recorded
from chat_loop.providers.recorded import Offer
from chat_loop.redact.outgoing import TextSource
from chat_loop.relaunch import command_with, spawn_sync
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.naming import validate_name
from chat_loop.sessions.records import Session
from chat_loop.tasks import in_daemon_thread
from chat_loop.tokens import TokenCounter
from chat_loop.values import plural

INCOMPLETE = 3  # the exit code of a run with an incomplete reply
INCOMPLETE_STOPS = {
    "length": (
        "The reply was cut off at the token limit.",
        "--max-tokens N sets the limit, providers.NAME.max_tokens in the config as well.",
    ),
    "refusal": (
        "The reply was refused, by the model or by a filter of its service.",
        "Rephrase the question.",
    ),
}
"""The warning and the hint for each stop reason of an incomplete reply."""
FIRST_READ = 1 << 18  # bytes of a long session that tell what it goes on with
BYTES_OF_TOKEN = 8
"""More than a token has, so that a window's worth of bytes does not fit into the window."""
MAX_SAFE_QUESTION = 2_000
"""The most characters that fit every window. For a longer question the window is looked up."""
LARGEST_INPUT = 64 << 20
SILENT_SECONDS = 2.0
STILL_OPEN = events.Warned(
    "Standard input is open and silent: waiting until it ends.",
    "To ask without it, add </dev/null.",
)
Show = Callable[[events.Event], None]
STDIN = "-"  # the question that means standard input


def run(parts: Parts) -> int:
    """Answer one question on standard output, and save the session; return the exit code."""
    settings = parts.config.display
    display = PlainDisplay(
        settings.theme if settings.markdown and not parts.options.plain else "",
        wraps=settings.wrap == "words",
        as_json=parts.options.json,
    )
    question = read_question(parts.options.question, display.show)
    try:
        answer = PrintRun(parts, question, display)
    except errors.SessionError as error:
        display.fail(error)
        raise
    return run_cancellable(answer.ask)


class CommandLineQuestion(Struct, frozen=True):
    """The question of the command line, and the text of standard input that follows it."""

    typed: str
    piped: str

    @property
    def text(self) -> str:
        if self.piped:
            return f"{self.typed}\n\n{self.piped}".strip("\n")
        return self.typed


def read_question(question: str, show: Show) -> CommandLineQuestion:
    """Return the question with the text of standard input. Raises UsageError.

    If standard input is silent and open for two seconds, show a warning.
    """
    alone = question == STDIN
    typed = "" if alone else clean(question)
    piped = ""
    if alone or not sys.stdin.isatty():
        data = _read_input(show)
        if len(data) > LARGEST_INPUT:
            text = f"Standard input has more than {LARGEST_INPUT >> 20} MB."
            raise errors.UsageError(text, "No model accepts that much.")
        piped = clean(data.decode("utf-8", "replace"))
        piped = piped if piped.strip() else ""
    whole = CommandLineQuestion(typed, piped)
    if not whole.text.strip():
        raise errors.UsageError("No question given.", 'For example: chat-loop -p "question".')
    return whole


def _load(parts: Parts, reference: str, show: Show) -> LoadedSession:
    """Return the session that goes on. Raises SessionError."""
    sessions = parts.sessions
    if reference in NEWEST:
        path = _last(parts, show)
        return sessions.load_newest(path, FIRST_READ) or sessions.load(path)
    with contextlib.closing(parts.library()) as library:
        path, _ = find_session(sessions, library, reference, library.listed)
        require_file(path, library)
    return sessions.load_newest(path, FIRST_READ) or sessions.load(path)


def _last(parts: Parts, show: Show) -> Path:
    """Return the file of the newest session of this project. Raises SessionError."""
    found = find_last(parts.sessions)
    if found.unreadable:
        show(events.Warned(unreadable_text(found)))
    if not found.is_here:
        command = command_with(parts.options, "--resume", found.row.id, "-p")
        hint = f"{command} QUESTION continues it here."
        raise errors.SessionNotFound(elsewhere_text(found, parts.sessions), hint)
    return found.row.path


def _read_input(show: Show) -> bytes:
    """Return standard input up to its end, or a little more than the LARGEST_INPUT."""
    data = bytearray()
    is_told = sys.stdin.isatty()  # a person knows that the question is still to be typed
    while len(data) <= LARGEST_INPUT:
        if not (is_told or select.select([sys.stdin], [], [], SILENT_SECONDS)[0]):
            is_told = True
            show(STILL_OPEN)
        piece = os.read(sys.stdin.fileno(), 1 << 20)
        if not piece:
            break
        data += piece
    return bytes(data)


class PrintRun:
    """One question and its reply."""

    def __init__(self, parts: Parts, question: CommandLineQuestion, display: PlainDisplay) -> None:
        self._display = display
        self._parts = parts
        reference = parts.options.resume
        self._loaded = _load(parts, reference, display.show) if reference else None
        offer = Offer()
        if self._loaded is not None:
            offer = assembly.offer_for_script(parts, self._loaded.session)
        provider = offer.provider or assembly.choose_provider(parts)
        self._memory = assembly.read_memory(parts, provider, self._show)
        self._note = offer.note
        self._agent = assembly.make_agent(parts, provider, self._memory)
        self._servers = assembly.make_servers(parts)
        self._question = question
        self._secrets = SecretGate(tell=self._warn)
        self._stop = ""  # the stop reason of the last reply
        self._saved = True
        self._tools_stopped = self._pipe_closed = False
        self._output_error: errors.OutputError | None = None
        self._task: asyncio.Future[None] | None = None

    async def ask(self) -> int:
        """Print the reply, and return the exit code."""
        parts = self._parts
        agent = self._agent
        memory = self._memory
        problems = [(memory.warning if memory else "", ""), agent.tools_problem]
        problems.append(assembly.folder_warning(parts, agent))
        problems.append(assembly.parameters_warning(parts, agent))
        for message, hint in filter(any, problems):
            self._show(events.Warned(message, hint))
        conversation = assembly.make_conversation(
            parts,
            replace(agent, approve=self._approve, secrets=self._secrets),
            count=TokenCounter().count,
            show=self._show,
            memory=memory,
            servers=self._servers,
            settle=self._display.settle,
            prepares=False,
        )
        asyncio.get_running_loop().set_exception_handler(self._report_from_loop)
        self._task = asyncio.ensure_future(self._exchange(conversation))
        received = cancel_on(self._task, REPLY_SIGNALS)
        try:
            with parts.log.reporting(lambda: conversation.recorder.saved_text):
                await self._task
            if self._stop in INCOMPLETE_STOPS:
                self._show(events.Warned(*INCOMPLETE_STOPS[self._stop]))
        except asyncio.CancelledError:
            if self._pipe_closed:
                return 0
            return SIGNAL_EXIT_BASE + (received[0] if received else signal.SIGINT)
        except errors.ChatLoopError as error:
            if isinstance(error, errors.ContextTooLong | errors.ContextFull):
                error.hint = "Ask for less at once, or take a model with a larger window (--model)."
            self._write(partial(self._display.fail, error))
            raise
        finally:
            self._write(partial(self._display.end, stopped=self._task.cancelled()))
            await conversation.leave("exit")
            if self._servers is not None:
                await self._servers.close()
            await agent.provider.close()
            spawn_sync(self._parts)
        return self._code()

    def _report_from_loop(
        self, loop: asyncio.AbstractEventLoop, context: dict[str, object]
    ) -> None:
        """Warn of an error in the background, which the reply does not need."""
        error = context.get("exception")
        if not isinstance(error, BaseException):
            loop.default_exception_handler(context)
        elif told := self._parts.log.report_once(error):
            self._show(events.Warned(told.message, told.hint))

    def _code(self) -> int:
        """Return the exit code after the reply has ended. Raises OutputError."""
        saves = self._parts.options.save
        if self._output_error is not None:
            if saves and self._saved:
                self._output_error.hint = "The reply is saved: chat-loop sessions show last."
            raise self._output_error
        if saves and not (self._saved or self._pipe_closed):
            return 1
        if self._stop in INCOMPLETE_STOPS or self._tools_stopped:
            return INCOMPLETE
        return 0

    async def _exchange(self, conversation: Conversation) -> None:
        """Ask, with the named files, but without secrets, since nobody can confirm them."""
        options = self._parts.options
        loaded = self._loaded
        if loaded is not None or len(self._question.text) > MAX_SAFE_QUESTION:
            await asyncio.to_thread(conversation.agent.provider.warm)  # the window must be known
        if loaded is not None:
            await self._resume(conversation, loaded)
        if options.title:
            conversation.describe(name=validate_name(options.title))
        typed = self._question.typed
        files: tuple[QueryFile, ...] = ()
        if "@" in typed:
            files = await conversation.files(typed)
        released = await release(files, self._secrets)
        piped = await judged(self._question.piped, TextSource("standard input"))
        [sent] = await self._secrets.release([piped])
        question = replace(self._question, piped=sent.text)
        await conversation.ask(question.text, released or ())

    async def _resume(self, conversation: Conversation, loaded: LoadedSession) -> None:
        """Continue a saved session with all of its exchanges that fit, word for word. Raises
        SessionError, and UsageError for a session of another agent's file.
        """
        agent = conversation.agent
        header = loaded.session.header
        if header.agent_path != agent.path:
            made, now = (path or "the built-in agent" for path in (header.agent_path, agent.path))
            theirs = "no --agent"
            if header.agent_path:
                theirs = f"--agent {shlex.quote(made)}"
            raise errors.UsageError(
                f"Session {header.id} was made with {made}, not with {now}.",
                f"Go on with {theirs}; in a chat --resume asks.",
            )
        for sentence in self._sentences_on(loaded.session):
            self._warn(sentence, "")
        planning = conversation.planning(loaded.session)
        plan = await self._plan(planning, loaded)
        if plan.left_out:
            left_out = plural(plan.left_out, "exchange")
            self._show(events.Warned(f"{left_out} would not fit and stay summarized."))
        await conversation.accept(plan, acknowledge=False)

    async def _plan(self, planning: Planning, loaded: LoadedSession) -> ChildPlan:
        """Plan to go on with all exchanges that fit. Of a long session only the newest ones are
        read, unless all of these fit. Raises SessionError.
        """
        sessions = planning.sessions
        if loaded.is_partial:
            room = BYTES_OF_TOKEN * planning.frame.window.tokens
            newest = await in_daemon_thread(sessions.load_newest, loaded.path, room)
            if newest is not None:
                resumed = await continuing.resume(planning, newest, whole=True, quick=True)
                plan = resumed.plan
                if plan.left_out:
                    older = newest.session.totals.queries - len(newest.session.exchanges)
                    return replace(plan, left_out=plan.left_out + older)
            loaded = await in_daemon_thread(sessions.load, loaded.path)
        resumed = await continuing.resume(planning, loaded, whole=True, quick=True)
        return resumed.plan

    def _sentences_on(self, session: Session) -> Iterator[str]:
        """Yield what is to be said of the model and the tools of a session that goes on."""
        answering = session.answering
        now = self._agent.answering
        sentences = [self._note, recorded.change(answering, now)]
        if not self._parts.model_is_chosen:
            sentences.append(recorded.unrecorded_endpoint(answering, now))
        yield from filter(None, sentences)
        yield from missing_tools(session, self._agent)

    async def _approve(self, tool: Tool, _: str) -> bool:
        """Allow a call if --yes is given, else raise ToolDenied, since there is nobody to ask."""
        if self._parts.options.allow:
            return True
        reason = "it needs approval, and no one can be asked."
        text = f"{tool.spec.name} was not run: {reason}"
        self._show(events.Warned(text, "--yes allows all such calls."))
        raise errors.ToolDenied(f"{errors.DENIED}{reason}", "Go on without it.")

    def _warn(self, message: str, hint: str) -> None:
        self._show(events.Warned(message, hint))

    def _show(self, event: events.Event) -> None:
        match event:
            case events.ReplyEnded():
                self._stop = event.stop
            case events.ToolReturned() if event.text in (CALL_LIMIT_RESULT, STEP_LIMIT_RESULT):
                self._tools_stopped = True
            case events.SessionSealed():
                self._saved = event.saved
            case events.Warned():
                event = replace(event, hint=event.hint.replace(errors.TRIED_AGAIN, "."))
        self._write(partial(self._display.show, event))

    def _write(self, write: Callable[[], None]) -> None:
        """Write. A closed pipe also stops the model; the reply so far is saved."""
        try:
            write()
        except BrokenPipeError:
            self._pipe_closed = True
            if self._task is not None:
                self._task.cancel()
        except errors.OutputError as error:
            self._output_error = error  # the reply is still read and saved
