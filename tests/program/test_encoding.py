"""The encoding, which takes 45 MB, is loaded only when the server's token counts are not enough."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Received, Reply
from chat_loop.values import Usage
from tests.support.environments import environment
from tests.support.mcp_descriptions import until
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import PATIENCE, command

STATE = re.compile(r"^(?:State|\w*voluntary_ctxt_switches):\s+(\w+)", re.MULTILINE)


def has_encoding(chat: PtyChat) -> bool:
    """Return True when the process has loaded the tokenizer's library."""
    return "tiktoken" in Path(f"/proc/{chat.pid}/maps").read_text()


def threads_beside(chat: PtyChat) -> list[tuple[str, ...]]:
    """Return the states of all threads except the main one, with counts of sleeps and wake-ups."""
    states = []
    for task in Path(f"/proc/{chat.pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
            if task.name != str(chat.pid):
                states.append(tuple(STATE.findall((task / "status").read_text())))
    return states


def is_at_rest(chat: PtyChat) -> bool:
    """Type a key; return True when all other threads were asleep meanwhile. A thread that works
    would at least have waited for the interpreter's lock, which typing takes.
    """
    before = threads_beside(chat)
    chat.send("x")
    chat.wait_for(re.compile(r"You: x"), PATIENCE)
    chat.send("\x7f")
    chat.wait_for(re.compile(r"You:(?! x)(?!.*You: x)", re.DOTALL), PATIENCE)
    return all(state == "S" for state, *_ in before) and before == threads_beside(chat)


@pytest.mark.slow
def test_the_encoding_is_loaded_near_the_limit(tmp_path: Path) -> None:
    used = [900, 1_000, 60_000]

    leftover = tmp_path / "sessions" / ".gone.md.1.tmp"
    leftover.parent.mkdir(mode=0o700)
    leftover.touch()

    def answer(request: Received) -> Reply:
        return Reply(chunks=("Noted.",), usage=Usage(input=used.pop(0), output=2))

    with Loopback(answer) as server, PtyChat(command(server), env=environment(tmp_path)) as chat:
        chat.wait_for(re.compile("You:.*context ", re.DOTALL), PATIENCE)
        for number in range(3):
            if number:  # the thread removes it right before it waits for the need of the encoding
                asyncio.run(until(lambda: not leftover.exists()))
            asyncio.run(until(lambda: is_at_rest(chat)))
            assert not has_encoding(chat), f"before message {number}"
            chat.mark()
            chat.line(f"message {number}")
            chat.wait_for(re.compile("Time:.*You:", re.DOTALL), PATIENCE, output=True)
        asyncio.run(until(lambda: has_encoding(chat)))
