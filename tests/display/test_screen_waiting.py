"""The waiting line in a terminal: it counts seconds and is erased; nothing in a pipe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.display.screen import SPINNER
from tests.support.terminal_chat import chat, compatible, leave, saved


@pytest.mark.slow
@pytest.mark.parametrize("cols", [20, 80])
def test_in_a_terminal_it_turns_and_leaves_nothing(tmp_path: Path, cols: int) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server), cols=cols, ready="") as terminal:
        server.enqueue(Reply(chunks=("Hi.",), stall_after=0))
        terminal.mark()
        terminal.line("go")
        server.stalled()
        signs = [
            terminal.wait_for(
                re.compile(f"^Assistant … [{sign}]( [0-9]+ s)?( · Esc to stop)?$", re.MULTILINE)
            )
            for sign in SPINNER[:3]
        ]
        assert len(signs) == 3
        terminal.wait_for(
            re.compile(f"^Assistant … [{SPINNER}] [1-9][0-9]* s( · Esc to stop)?$", re.MULTILINE)
        )
        assert terminal.text().count("Assistant") == 1
        server.release()
        terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), output=True)
        text = terminal.text()
        assert not set(SPINNER) & {*text}
        assert text.count("Assistant") == 1
        assert text.count("\nYou: go\nAssistant: Hi.\nTime: ") == 1
        leave(terminal)
    reply = saved(tmp_path).exchanges[0].reply
    assert reply is not None
    assert reply.text == "Hi."
