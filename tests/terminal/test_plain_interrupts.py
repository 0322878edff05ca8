"""Ctrl-C in a terminal without a line editor: stop, clear the line, and twice to quit."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from tests.support.environments import environment
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import STALLING, command, exchanges, saved

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")


def test_ctrl_c_at_the_prompt_clears_the_line_and_twice_quits_with_a_summary(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.yaml").write_text("auto_compact: {summary_on_exit: wait}\n")
    with PtyChat([*command(), "--plain"], env=environment(tmp_path)) as chat:
        chat.wait_for("You: ")
        chat.line("hello")
        chat.wait_for("Time: ")
        chat.mark()
        chat.send("half a line")
        chat.wait_for("half a line", output=True)
        chat.ctrl("c")
        chat.wait_for("Press Ctrl-C again to quit.", output=True)
        chat.line("a whole line")
        chat.wait_for("You said: a whole line", output=True)
        chat.wait_for(re.compile(r"Time: [^\n]*\n\s*You: "), output=True)
        chat.mark()
        chat.ctrl("c")
        chat.wait_for("Press Ctrl-C again to quit.", output=True)
        chat.ctrl("c")
        assert chat.exit_code() == 0
        assert "Conversation saved" in chat.output()
    assert [exchange.query.text for exchange in exchanges(tmp_path)] == ["hello", "a whole line"]
    seal = saved(tmp_path).seal
    assert seal is not None
    assert seal.source == "model"


def test_ctrl_c_stops_a_reply_and_counts_as_the_first_only_there(tmp_path: Path) -> None:
    with (
        Loopback() as server,
        PtyChat([*command(server), "--plain"], env=environment(tmp_path)) as chat,
    ):
        server.enqueue(STALLING)
        chat.wait_for("You: ")
        chat.line("hello")
        chat.wait_for("Half a sentence")
        chat.mark()
        chat.ctrl("c")
        chat.wait_for("You: ", output=True)
        chat.ctrl("c")
        chat.wait_for("Press Ctrl-C again to quit.", output=True)
        chat.ctrl("c")
        chat.wait_for("Resume with: ", output=True)
        assert chat.exit_code() == 0
    [exchange] = exchanges(tmp_path)
    assert exchange.reply
    assert exchange.reply.stop == "interrupted"
