"""Without a terminal: one question, one reply."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.agent.approval import anything, nobody
from chat_loop.agent.tools import NO_MORE
from chat_loop.attach.reading import without_secrets
from chat_loop.config import Config, expanded
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import options_of
from chat_loop.display.plain import JsonOutput, Paragraphs, TextOutput, out, text_output
from chat_loop.display.text import one_line
from chat_loop.errors import (
    ChatLoopError,
    ContextFull,
    ContextTooLong,
    OutputError,
    SaveError,
    UsageError,
    os_reason,
)
from chat_loop.events import Event, ReplyEnded, ToolReturned, Warned
from chat_loop.lines import clean
from chat_loop.memory import Place, ProjectMemory
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import SessionManager
from chat_loop.tokens import TokenCounter
from chat_loop.wording import counted

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers

ENDED_BY = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
INCOMPLETE = 3
"""The exit code of a run whose reply is not all that the model had to say."""
CUT: Mapping[str, tuple[str, str]] = {
    "length": (
        "The reply was cut off at the token limit.",
        "--max-tokens N sets the limit, providers.NAME.max_tokens in the config as well.",
    ),
    "refusal": (
        "The reply was refused, by the model or by a filter of its service.",
        "Say it in other words.",
    ),
}
"""Why a reply ended -> what is said of it, where it is not whole."""
SURELY_FITS = 2_000
"""Characters of a question that every window takes; before a longer one the model's is looked
up.
"""
LARGEST_INPUT = 64 << 20
STDIN = "-"
"""The question that stands for standard input."""


def whole_question(question: str) -> str:
    """The question, and after it standard input when that is not a terminal; `-` is standard input
    alone.

    Raises UsageError when both are empty, or standard input has more than 64 MB.
    """
    alone = question == STDIN
    question = "" if alone else clean(question)
    if alone or not sys.stdin.isatty():
        data = sys.stdin.buffer.read(LARGEST_INPUT + 1)
        if len(data) > LARGEST_INPUT:
            raise UsageError(
                f"Standard input has more than {LARGEST_INPUT >> 20} MB.",
                "No model takes that much.",
            )
        piped = clean(data.decode("utf-8", "replace"))
        question = f"{question}\n\n{piped}".strip("\n") if piped.strip() else question
    if not question.strip():
        raise UsageError("There is no question.", 'For example: chat-loop -p "question".')
    return question


class Asked(Struct, frozen=True, kw_only=True):
    """One question. `typed` is the part of it that may name files: never what came from standard
    input.

    `allow`: tools run that the user would be asked about. `reference`: the session that is gone on
    with; "" begins one. `saves` is False when `sessions` are those that leave nothing behind.
    """

    agent: Agent
    sessions: SessionManager
    question: str
    typed: str
    config: Config
    place: Place | None
    as_json: bool
    allow: bool
    servers: Servers | None
    reference: str = ""
    target: Target | None = None
    saves: bool = True


class Target(Struct, frozen=True):
    """The file that the reply is written into."""

    path: Path
    force: bool

    def write(self, text: str) -> None:
        """Put the text there, private, and over a file only when that is forced. Raises
        SaveError.
        """
        files = Files()
        data = text.encode("utf-8", "replace")
        try:
            if self.force:
                files.replace(self.path, data)
            else:
                files.put(self.path, data)
        except FileExistsError:
            raise SaveError(
                f"{self.path} is there already by now: the reply is not in it."
            ) from None
        except OSError as error:
            raise SaveError(f"{self.path} cannot be written: {os_reason(error)}.") from error


def target_of(file: str, *, force: bool) -> Target | None:
    """Where the reply goes: None is standard output. Raises UsageError for what cannot become that
    file.
    """
    if file in ("", STDIN):
        return None
    path = expanded(file).absolute()
    try:
        path = path.resolve()
        there = path.exists()
        if not path.parent.is_dir():
            raise UsageError(f"There is no folder {path.parent}.", "Make it first.")
        if there and not path.is_file():
            raise UsageError(
                f"{path} is not a file.", "Name a file, or leave --output away and redirect."
            )
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # a name that is too long, a loop of links, a NUL
        raise UsageError(f"{one_line(file)} cannot be a file.", "Name another one.") from error
    if there and not force:
        raise UsageError(f"{path} is there already.", "--force replaces it.")
    return Target(path, force)


def ask(asked: Asked) -> int:
    """Answer once: the reply (or the events) on standard output, the rest on standard error; a
    session is saved.
    """
    text: list[str] = []
    reply = Paragraphs(text.append) if asked.target is not None else None
    look = asked.config.display
    on_screen = text_output(look.theme if look.markdown else "", wraps=look.wrap == "words")
    shown = (
        JsonOutput() if asked.as_json else on_screen if reply is None else TextOutput(text.append)
    )
    kept = asked.target is None
    try:
        code, whole = asyncio.run(_ask(asked, _Watched(shown, reply if asked.as_json else None)))
        if asked.target is not None and whole:
            asked.target.write("".join(text))
            kept = True
        return code
    finally:
        if not kept and not asked.as_json:  # what came of it is not lost
            out("".join(text))


async def _ask(asked: Asked, output: _Watched) -> tuple[int, bool]:
    """The exit code, and whether the reply is whole."""
    place, servers = asked.place, asked.servers
    approve = (
        anything
        if asked.allow
        else nobody(lambda sentence, hint: output.show(Warned(sentence, hint)))
    )
    agent = replace(asked.agent, approve=approve)
    options = options_of(asked.config, None)
    memory = ProjectMemory(place, output.show) if place is not None else None
    if memory is not None and memory.trouble:
        output.show(Warned(memory.trouble))
    conversation = Conversation(
        agent,
        asked.sessions,
        count=TokenCounter().count,
        show=output.show,
        options=options,
        memory=memory.block if memory is not None else str,
        servers=servers,
    )
    task = asyncio.ensure_future(_answered(conversation, asked, output))
    received: list[int] = []
    output.left = (
        task.cancel
    )  # nobody reads any more: what is there is saved, and nothing more is paid for

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C arrives as KeyboardInterrupt
        for number in (signal.SIGINT, *ENDED_BY):
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        await task
        if output.stop in CUT:
            output.show(Warned(*CUT[output.stop]))
    except asyncio.CancelledError:
        return (0 if output.gone else 128 + received[0] if received else 130), False
    except ChatLoopError as error:
        if isinstance(error, ContextTooLong | ContextFull):
            error.hint = "Ask for less at once, or take a model with a larger window (--model)."
        output.failed(error)
        raise
    finally:
        output.end()
        await conversation.leave("exit")
        if servers is not None:
            await servers.close()
        await agent.provider.close()
    return _code(asked, output), True


def _code(asked: Asked, output: _Watched) -> int:
    """Return the exit code of a reply that came to its end. Raises OutputError when it could not be
    written.
    """
    if output.refused is not None:
        if asked.saves and output.saved:
            output.refused.hint = "The reply is saved: chat-loop sessions show last."
        raise output.refused
    if not (output.saved or output.gone or not asked.saves):
        return 1
    return INCOMPLETE if output.stop in CUT or output.tools_stopped else 0


async def _answered(conversation: Conversation, asked: Asked, output: _Watched) -> None:
    """Ask with the files that are named. What looks like a secret in them is left out: nobody is
    there to be asked.
    """
    provider = conversation.agent.provider
    if asked.reference or len(asked.question) > SURELY_FITS:
        await asyncio.to_thread(provider.warm)  # a guess of the window would not do
    if asked.reference:
        await _take_up(conversation, asked, output)
    files = await conversation.files(clean(asked.typed)) if "@" in asked.typed else ()
    for file in files:
        if file.secret:
            output.show(Warned(f"What looks like a key or a password in {file.name} is not sent."))
    await conversation.ask(asked.question, tuple(map(without_secrets, files)))


async def _take_up(conversation: Conversation, asked: Asked, output: _Watched) -> None:
    """Go on with a saved session, in the words that its model saw as far as they fit. No model is
    asked for a summary.

    Raises SessionError, and UsageError for a session of another agent's file.
    """
    from chat_loop.commands.references import find_session
    from chat_loop.library.library import Library

    library = Library(asked.sessions.directory, asked.sessions.now)
    try:
        path = find_session(asked.sessions, library, asked.reference, library.listed)
        loaded = asked.sessions.load(path)
    finally:
        library.close()
    header, agent = loaded.session.header, conversation.agent
    if header.agent_path != agent.path:
        theirs = f"--agent {shlex.quote(header.agent_path)}" if header.agent_path else "no --agent"
        made, now = (path or "the built-in agent" for path in (header.agent_path, agent.path))
        raise UsageError(
            f"Session {header.id} was made with {made}, not with {now}.",
            f"Go on with {theirs}; in a chat --resume asks.",
        )
    offer = await conversation.offers(quick=True).resumed(loaded, whole=True)
    if offer.left_out:
        output.show(
            Warned(f"{counted(offer.left_out, 'exchange')} would not fit and stay summarized.")
        )
    await conversation.accept(offer, acknowledge=False)


class _Watched:
    """An output whose reader may leave: `left` is called then, once, and nothing more is written.

    `reply` is given the events as well.
    """

    def __init__(self, output: _Output, reply: Paragraphs | None) -> None:
        self._output = output
        self._reply = reply
        self.left: Callable[[], object] = bool
        self.gone = False
        self.refused: OutputError | None = None
        self.stop = ""
        """Why the last reply ended."""
        self.tools_stopped = False
        """Whether the model wanted more tools than it may call for one reply."""

    @property
    def saved(self) -> bool:
        return self._output.saved

    def show(self, event: Event) -> None:
        if isinstance(event, ReplyEnded):
            self.stop = event.stop
        elif isinstance(event, ToolReturned):
            self.tools_stopped = self.tools_stopped or event.text == NO_MORE
        if self._reply is not None:
            self._reply.show(event)
        self._write(lambda: self._output.show(event))

    def failed(self, error: ChatLoopError) -> None:
        self._write(lambda: self._output.failed(error))

    def end(self) -> None:
        if self._reply is not None:
            self._reply.end()
        self._write(self._output.end)

    def _write(self, write: Callable[[], None]) -> None:
        if self.gone or self.refused is not None:
            return
        try:
            write()
        except BrokenPipeError:
            self.gone = True
            self.left()
        except OutputError as error:
            self.refused = error  # the reply is still read and saved


class _Output(Protocol):
    saved: bool

    def show(self, event: Event) -> None: ...

    def failed(self, error: ChatLoopError) -> None: ...

    def end(self) -> None: ...
