"""A terminal that is resized at any time, down to one column."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import answered, chat, compatible, leave, saved
from tests.support.tool_chat import ASKED, PATIENCE, at_prompt, calling, chatting

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX"),
]

TINY = ((1, 1), (0, 0), (2, 2), (0, 80), (1, 80), (24, 0), (24, 1), (2, 80), (24, 2))
"""A size of 0 is unknown, and taken for the usual one; no two such sizes follow each other."""
SIZES = ((24, 40), (8, 30), (24, 1), (3, 20), (24, 200), (24, 80))
TYPED = "first line of a text that wraps at forty columns\x1b\rsecond line 漢字\x1b\rthird"
LINES = {
    80: "You: first line of a text that wraps at forty columns\n     second line 漢字\n     third\n",
    40: "You: first line of a text that wraps at\nforty columns\n     second line 漢字\n     third\n",
}


def test_at_the_prompt_with_several_lines(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        answered(terminal, "hello")
        terminal.send(TYPED)
        terminal.wait_for(LINES[80])
        for rows, cols in SIZES:
            terminal.mark()
            terminal.resize(rows, cols)
            terminal.wait_for("\x1b[J", PATIENCE, output=True)
            if cols in LINES and rows == 24:
                terminal.wait_for(LINES[cols], PATIENCE)
        terminal.wait_for(
            re.compile(
                re.escape(LINES[80]) + r"\n* [^\n]*scripted:echo · [^\n]*hello$", re.MULTILINE
            ),
            PATIENCE,
        )
        assert "\n".join(terminal.screen()).count("You:") == 1
        terminal.mark()
        terminal.send("\r")
        terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), PATIENCE, output=True)
        leave(terminal)
    assert saved(tmp_path).exchanges[-1].query.text == TYPED.replace("\x1b\r", "\n")


@pytest.mark.parametrize("waited", [False, True], ids=["in the text", "before it"])
def test_while_a_reply_streams(tmp_path: Path, waited: bool) -> None:
    before, after = (
        "# Plan\n\nSome **bold** wo",
        "rds.\n\n| a | b |\n|---|--:|\n| 漢 | 2 |\n\nThe end.",
    )
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        server.enqueue(Reply(chunks=(before, after), stall_after=0 if waited else 1))
        terminal.line("tell me")
        terminal.wait_for(
            re.compile(r"Assistant … . \d+ s" if waited else "Some bold wo"), PATIENCE
        )
        for rows, cols in SIZES:
            terminal.resize(rows, cols)
        if waited:
            terminal.mark()
            terminal.wait_for("Assistant … ", PATIENCE, output=True)  # the timer continues
        server.stalled()
        server.release()
        shown = r"rds\.\n\na  │ b\n───┼──\n漢 │ 2\n\nThe end\.\nTime: [^\n]*\n\nYou:\n"
        terminal.wait_for(re.compile(shown), PATIENCE)
        assert "Assistant …" not in terminal.text()
        answered(terminal, "and now?")
        assert "You: and now?\nAssistant: You said: and now?\nTime: " in "\n".join(
            terminal.screen()
        )
        leave(terminal)
    first, second = saved(tmp_path).exchanges
    assert first.reply is not None
    assert second.reply is not None
    assert (first.reply.text, second.reply.text) == (before + after, "You said: and now?")


def test_while_a_question_stands(tmp_path: Path) -> None:
    with Loopback() as server, chatting(tmp_path, server) as terminal:
        server.enqueue(calling(("run_command", {"command": "touch done"})), Reply(chunks=("Ran.",)))
        terminal.line("go")
        terminal.wait_for(ASKED, PATIENCE)
        for rows, cols in SIZES:
            terminal.mark()
            terminal.resize(rows, cols)
            terminal.wait_for("\x1b[J", PATIENCE, output=True)
        terminal.wait_for(f"{ASKED}this exact call)", PATIENCE)
        assert "\n".join(terminal.screen()).count("Run? [y]es") == 1
        terminal.mark()
        terminal.line("y")
        at_prompt(terminal)
        assert (tmp_path / "project" / "done").exists()
        assert "\nAssistant: Ran.\nTime: " in "\n".join(terminal.screen())
        terminal.ctrl("d")
        assert terminal.exit_code(PATIENCE) == 0


def shrink(terminal: PtyChat) -> None:
    """Give the terminal each tiny size, and then its usual one."""
    for rows, cols in (*TINY, (24, 80)):
        terminal.mark()
        terminal.resize(rows, cols)
        terminal.wait_for("\x1b[J", PATIENCE, output=True)


def test_no_size_is_too_small_at_any_moment(tmp_path: Path) -> None:
    with Loopback() as server, chatting(tmp_path, server) as terminal:
        server.enqueue(calling(("run_command", {"command": "touch done"})))
        server.enqueue(Reply(chunks=("Half a ", "reply."), stall_after=1))
        shrink(terminal)
        terminal.send("/")
        terminal.wait_for(re.compile(r"\(1/\d+\)"), PATIENCE)
        shrink(terminal)  # with a menu
        terminal.send("\x15go\r")
        terminal.wait_for(ASKED, PATIENCE)
        shrink(terminal)  # with a question
        terminal.line("y")
        server.stalled(1)
        terminal.send("typed meanwhile")
        terminal.wait_for("typed meanwhile", PATIENCE)
        shrink(terminal)  # while a reply streams
        server.release()
        terminal.wait_for(
            re.compile(r"Half a reply\.\nTime: .*\n\nYou: typed meanwhile$", re.MULTILINE), PATIENCE
        )
        terminal.send("\x15/rewind\r")
        terminal.wait_for("go", PATIENCE)
        shrink(terminal)  # with a list to choose from
        terminal.send("\x1b")
        terminal.wait_for(re.compile(r"^You:$", re.MULTILINE), PATIENCE)
        terminal.ctrl("d")
        assert terminal.exit_code(PATIENCE) == 0


@pytest.mark.parametrize("size", TINY)
def test_a_chat_starts_in_any_size(tmp_path: Path, size: tuple[int, int]) -> None:
    with chat(tmp_path, size=size, ready="") as terminal:
        terminal.resize(24, 80)
        answered(terminal, "hello")
        leave(terminal)
