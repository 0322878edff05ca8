"""Without a terminal: one question, one reply."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import Protocol

from chat_loop.agent.agent import Agent
from chat_loop.attach.reading import without_secrets
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
    typed: str = "",
    as_json: bool,
) -> int:
    """Answer once: the reply (or the events) on standard output, the rest on standard error; a session is saved.

    `typed` is the part of the question that may name files: never what came from standard input.
    """
    output = JsonOutput() if as_json else TextOutput()
    return asyncio.run(_ask(agent, sessions, question, typed, config, place, output))


async def _ask(
    agent: Agent,
    sessions: SessionManager,
    question: str,
    typed: str,
    config: Config,
    place: Place | None,
    output: _Output,
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
    )
    task = asyncio.ensure_future(_answered(conversation, question, typed, output))
    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C arrives as KeyboardInterrupt
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return 130
    except ChatLoopError as error:
        output.failed(error)
        raise
    finally:
        output.end()
        conversation.leave("exit")
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
