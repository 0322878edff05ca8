"""Without a terminal: one question, and the sessions on the command line."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import signal
import sys
from datetime import datetime
from typing import Any

from chat_loop.agent.agent import Agent
from chat_loop.conversation import Conversation, Options
from chat_loop.display.text import one_line, printable
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.events import Event, Retrying, TextDelta, Warned
from chat_loop.prompt import clean
from chat_loop.sessions.files import read_part
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import SessionRow
from chat_loop.tokens import TokenCounter

LARGEST_INPUT = 64 << 20


def ask(agent: Agent, sessions: SessionManager, question: str, *, as_json: bool) -> int:
    """Answer once: the reply (or the events) on standard output, everything else on standard error; a session is saved.

    Standard input, when it is not a terminal, is added after the question.
    """
    if not sys.stdin.isatty():
        piped = clean(sys.stdin.buffer.read(LARGEST_INPUT).decode("utf-8", "replace"))
        question = f"{question}\n\n{piped}".strip("\n") if piped.strip() else question
    if not question.strip():
        raise UsageError("There is no question.", 'For example: chat-loop -p "question".')
    return asyncio.run(_ask(agent, sessions, question, _show_json if as_json else _show_text))


async def _ask(agent: Agent, sessions: SessionManager, question: str, show: Any) -> int:
    counter = TokenCounter()
    conversation = Conversation(agent, sessions, count=counter.count, show=show, options=Options())
    task = asyncio.ensure_future(conversation.ask(question))
    try:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    except NotImplementedError:
        pass
    try:
        await task
    except asyncio.CancelledError:
        return 130
    except ChatLoopError as error:
        if show is _show_json:
            _print_json({"event": "error", "message": error.message, "hint": error.hint})
        raise
    finally:
        if show is _show_text:
            _write("\n")
        conversation.leave("exit")
        await agent.provider.close()
    return 0


def _show_text(event: Event) -> None:
    if isinstance(event, TextDelta):
        _write(printable(event.text) if sys.stdout.isatty() else event.text)
    elif isinstance(event, Warned | Retrying):
        message = event.message if isinstance(event, Warned) else f"{event.reason} Trying again."
        sys.stderr.write(f"{printable(message)}\n")


def _show_json(event: Event) -> None:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(event).__name__).lower()
    _print_json({"event": name, **dataclasses.asdict(event)})


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
        numbers = "" if row.queries is None else f"{row.queries} queries, {row.tokens or 0:,} tokens"
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
            "entries": [{"kind": type(entry).__name__.lower(), **dataclasses.asdict(entry)} for entry in session.entries],
            "seal": None if session.seal is None else dataclasses.asdict(session.seal),
        }
    )
    return 0
