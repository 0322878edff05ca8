"""Without a terminal: one question, and the sessions on the command line."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import re
import signal
import sys
from datetime import datetime
from typing import Protocol

from chat_loop.agent.agent import Agent
from chat_loop.conversation import Conversation, Options
from chat_loop.display.text import one_line, printable
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.events import Event, Retrying, SessionSealed, TextDelta, Warned
from chat_loop.lines import clean
from chat_loop.sessions.files import read_part
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import SessionRow
from chat_loop.tokens import TokenCounter
from chat_loop.wording import counts_text

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


def ask(agent: Agent, sessions: SessionManager, question: str, *, as_json: bool) -> int:
    """Answer once: the reply (or the events) on standard output, the rest on standard error; a session is saved."""
    return asyncio.run(_ask(agent, sessions, question, _JsonOutput() if as_json else _TextOutput()))


async def _ask(agent: Agent, sessions: SessionManager, question: str, output: _Output) -> int:
    counter = TokenCounter()
    conversation = Conversation(agent, sessions, count=counter.count, show=output.show, options=Options())
    task = asyncio.ensure_future(conversation.ask(question))
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


class _Output(Protocol):
    saved: bool

    def show(self, event: Event) -> None: ...

    def failed(self, error: ChatLoopError) -> None: ...

    def end(self) -> None: ...


class _TextOutput:
    """The reply's text, and nothing else, on standard output."""

    def __init__(self) -> None:
        self.saved = True
        self._begun = False
        self._terminal = sys.stdout.isatty()

    def show(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._begun = True
            _write(printable(event.text) if self._terminal else event.text)
        elif isinstance(event, Warned):
            sys.stderr.write(printable(" ".join(filter(None, (event.message, event.hint))) + "\n"))
        elif isinstance(event, Retrying):
            sys.stderr.write(printable(f"{event.reason} Trying again ({event.attempt}/{event.attempts}).\n"))
        elif isinstance(event, SessionSealed):
            self.saved = event.saved

    def failed(self, error: ChatLoopError) -> None:
        """The sentence itself is printed where all failures are."""

    def end(self) -> None:
        if self._begun:
            _write("\n")


class _JsonOutput:
    """One JSON object per event and line; the type's name in snake case is `event`."""

    def __init__(self) -> None:
        self.saved = True

    def show(self, event: Event) -> None:
        if isinstance(event, SessionSealed):
            self.saved = event.saved
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(event).__name__).lower()
        _print_json({"event": name, **dataclasses.asdict(event)})

    def failed(self, error: ChatLoopError) -> None:
        _print_json({"event": "error", "message": error.message, "hint": error.hint})

    def end(self) -> None:
        """There is nothing to end."""


def _print_json(value: object) -> None:
    _write(json.dumps(value, default=_plain) + "\n")


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def list_sessions(sessions: SessionManager, *, as_json: bool) -> int:
    """Print every session, newest first."""
    rows = sessions.rows()
    if as_json:
        _print_json([_row(number, row) for number, row in enumerate(rows, 1)])
        return 0
    for number, row in enumerate(rows, 1):
        numbers = "" if row.queries is None else counts_text(row.queries, row.tokens or 0)
        parts = (f"{number:>3}", f"{row.updated:%Y-%m-%d %H:%M}", row.id, row.state, numbers, one_line(row.name, 60))
        _write("  ".join(part for part in parts if part) + "\n")
    return 0


def _row(number: int, row: SessionRow) -> dict[str, object]:
    return {
        "number": number,
        "id": row.id,
        "name": row.name,
        "agent": row.agent,
        "created": row.created,
        "updated": row.updated,
        "queries": row.queries,
        "tokens": row.tokens,
        "parent": row.parent or None,
        "state": row.state,
        "path": str(row.path),
    }


def show_session(sessions: SessionManager, reference: str, *, as_json: bool) -> int:
    """Print one session's transcript, or its value as JSON."""
    shown = [row.id for row in sessions.rows()] if reference.isdigit() else []
    if reference == "current" and sessions.current():
        reference = sessions.current()
    path = sessions.find(reference, shown)
    loaded = sessions.load(path)
    if not as_json:
        text = read_part(path)[0].decode("utf-8", "replace")
        _write(printable(text) if sys.stdout.isatty() else text)
        return 0
    session = loaded.session
    _print_json(
        {
            **dataclasses.asdict(session.header),
            "path": str(path),
            "damage": loaded.damage,
            "totals": dataclasses.asdict(session.totals),
            "entries": [
                {"kind": type(entry).__name__.lower(), **dataclasses.asdict(entry)} for entry in session.entries
            ],
            "seal": None if session.seal is None else dataclasses.asdict(session.seal),
        }
    )
    return 0
