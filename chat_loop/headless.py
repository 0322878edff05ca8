"""Without a terminal: one question, one reply."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from chat_loop.agent.agent import Agent
from chat_loop.agent.approval import anything, nobody
from chat_loop.attach.reading import without_secrets
from chat_loop.chain.options import options_of
from chat_loop.config import Config
from chat_loop.conversation import Conversation
from chat_loop.display.plain import JsonOutput, TextOutput
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.events import Event, Warned
from chat_loop.frozen import dataclass
from chat_loop.lines import clean
from chat_loop.memory.notebook import Notebook, Place
from chat_loop.sessions.manager import SessionManager
from chat_loop.tokens import TokenCounter

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers

ENDED_BY = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
LARGEST_INPUT = 64 << 20


def whole_question(question: str) -> str:
    """The question, and after it standard input when that is not a terminal. Raises UsageError when both are empty."""
    question = clean(question)
    if not sys.stdin.isatty():
        piped = clean(sys.stdin.buffer.read(LARGEST_INPUT).decode("utf-8", "replace"))
        question = f"{question}\n\n{piped}".strip("\n") if piped.strip() else question
    if not question.strip():
        raise UsageError("There is no question.", 'For example: chat-loop -p "question".')
    return question


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question. `typed` is the part of it that may name files: never what came from standard input.

    `allow`: tools run that the user would be asked about.
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


def ask(asked: Asked) -> int:
    """Answer once: the reply (or the events) on standard output, the rest on standard error; a session is saved."""
    output: _Output = JsonOutput() if asked.as_json else TextOutput()
    return asyncio.run(_ask(asked, output))


async def _ask(asked: Asked, output: _Output) -> int:
    place, servers = asked.place, asked.servers
    approve = anything if asked.allow else nobody(lambda sentence, hint: output.show(Warned(sentence, hint)))
    agent = replace(asked.agent, approve=approve)
    options = options_of(asked.config, None)
    notebook = Notebook(place, output.show) if place is not None else None
    if notebook is not None and notebook.trouble:
        output.show(Warned(notebook.trouble))
    conversation = Conversation(
        agent,
        asked.sessions,
        count=TokenCounter().count,
        show=output.show,
        options=options,
        memory=notebook.block if notebook is not None else str,
        servers=servers,
    )
    task = asyncio.ensure_future(_answered(conversation, asked.question, asked.typed, output))
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C arrives as KeyboardInterrupt
        for number in (signal.SIGINT, *ENDED_BY):
            if number == signal.SIGINT or servers is not None:  # their processes must not outlive this one
                asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        await task
    except asyncio.CancelledError:
        return 128 + received[0] if received else 130
    except ChatLoopError as error:
        output.failed(error)
        raise
    finally:
        output.end()
        conversation.leave("exit")
        if servers is not None:
            await servers.close()
        await agent.provider.close()
    return 0 if output.saved else 1


async def _answered(conversation: Conversation, question: str, typed: str, output: _Output) -> None:
    """Ask with the files that are named. What looks like a secret in them is left out: nobody is there to be asked."""
    files = await conversation.files(clean(typed)) if "@" in typed else ()
    for file in files:
        if file.secret:
            output.show(Warned(f"What looks like a key or a password in {file.name} is not sent."))
    await conversation.ask(question, tuple(map(without_secrets, files)))


class _Output(Protocol):
    saved: bool

    def show(self, event: Event) -> None: ...

    def failed(self, error: ChatLoopError) -> None: ...

    def end(self) -> None: ...
