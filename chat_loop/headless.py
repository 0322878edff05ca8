"""Without a terminal: one question, one reply."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Protocol

from chat_loop.agent.agent import Agent
from chat_loop.chain.options import options_of
from chat_loop.config import Config
from chat_loop.conversation import Conversation
from chat_loop.display.plain import JsonOutput, TextOutput
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.events import Event, Warned
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


def ask(
    agent: Agent,
    sessions: SessionManager,
    question: str,
    config: Config,
    place: Place | None,
    *,
    as_json: bool,
    servers: Servers | None = None,
) -> int:
    """Answer once: the reply (or the events) on standard output, the rest on standard error; a session is saved."""
    output: _Output = JsonOutput() if as_json else TextOutput()
    return asyncio.run(_ask(agent, sessions, question, config, place, output, servers))


async def _ask(
    agent: Agent,
    sessions: SessionManager,
    question: str,
    config: Config,
    place: Place | None,
    output: _Output,
    servers: Servers | None,
) -> int:
    options = options_of(config, agent.provider, None)
    notebook = Notebook(place, output.show) if place is not None else None
    if notebook is not None and notebook.trouble:
        output.show(Warned(notebook.trouble))
    conversation = Conversation(
        agent,
        sessions,
        count=TokenCounter().count,
        show=output.show,
        options=options,
        memory=notebook.block if notebook is not None else str,
        servers=servers,
    )
    task = asyncio.ensure_future(conversation.ask(question))
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


class _Output(Protocol):
    saved: bool

    def show(self, event: Event) -> None: ...

    def failed(self, error: ChatLoopError) -> None: ...

    def end(self) -> None: ...
