"""The encoding, which takes 45 MB, is loaded only when the server's numbers are not enough."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from benchmarks.support.loopback import Loopback, Received, Reply
from chat_loop.values import Usage
from tests.support.mcp_descriptions import until
from tests.support.pty_chat import PtyChat
from tests.support.real_program import PATIENCE, command, environment


def has_encoding(chat: PtyChat) -> bool:
    """Return True when the process has loaded the tokenizer's library."""
    return "tiktoken" in Path(f"/proc/{chat.pid}/maps").read_text()


def test_the_encoding_is_loaded_near_the_limit(tmp_path: Path) -> None:
    used = [900, 1_000, 60_000]

    def answer(request: Received) -> Reply:
        return Reply(chunks=("Noted.",), usage=Usage(input=used.pop(0), output=2))

    with (
        Loopback(answer) as server,
        PtyChat(command(server), env=environment(tmp_path)) as chat,
    ):
        chat.wait_for(re.compile("You:.*context ", re.DOTALL), PATIENCE)
        for number in range(3):
            assert not has_encoding(chat), f"before message {number}"
            chat.mark()
            chat.line(f"message {number}")
            chat.wait_for(re.compile("Time:.*You:", re.DOTALL), PATIENCE, output=True)
        asyncio.run(until(lambda: has_encoding(chat)))
