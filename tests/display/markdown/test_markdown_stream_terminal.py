"""Markdown in the real program, which is interrupted or resized during a reply."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.support.loopback import Loopback, Reply
from tests.support.terminal_chat import chat, compatible, leave, saved

START = "# Plan\n\nSome **bold** text and `co"


def lines(text: str, begin: str, end: str) -> list[str]:
    """The lines of the screen from one that starts with `begin` to one that starts with `end`."""
    all_lines = text.split("\n")
    first = next(at for at, line in enumerate(all_lines) if line.startswith(begin))
    last = next(at for at, line in enumerate(all_lines) if at > first and line.startswith(end))
    return [line.rstrip() for line in all_lines[first:last]]


def test_ctrl_c_shows_what_was_held_back_and_leaves_a_clean_line(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server), cols=100) as terminal:
        server.enqueue(Reply(chunks=(START, "never"), stall_after=1))
        terminal.mark()
        terminal.line("tell me")
        terminal.wait_for("text and", timeout=60, output=True)
        terminal.ctrl("c")
        terminal.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), timeout=60)
        server.left(0)
        assert lines(terminal.text(), "Assistant:", "Time:") == [
            "Assistant:",
            "Plan",
            "",
            "Some bold text and `co",
        ]
        assert re.search(r"^You:$", terminal.text(), re.MULTILINE)
        leave(terminal)
    reply = saved(tmp_path).exchanges[0].reply
    assert reply is not None
    assert reply.text == START
