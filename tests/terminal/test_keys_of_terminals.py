"""Keys of several terminals in a running chat: what they do, and that nothing else is typed."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from tests.support.environments import environment
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import (
    PATIENCE,
    PROMPT,
    STALLING,
    asked,
    chat,
    chatting,
    command,
    entered,
    exchanges,
    leave,
    told_of_pastes,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and pseudo-terminals of POSIX"),
]

NO_KEYS = "\x1b[I\x1b[O\x1b[?62;22c\x1b[?997;1n\x1b]11;rgb:0000/0000/0000\x1b\\\x1bP>|xterm\x1b\\"


def test_keys_in_two_encodings_edit_the_line_and_answers_are_no_text(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        entered(terminal, f"b{NO_KEYS}c\x1b[97;5ua\x1b[27;5;101~d\x1bx\x1b[1;3A\x1b[13u")
        entered(terminal, "one\x1b[13;2utwo\x1b[27;2;13~three\x1b[27;5;109~")
        leave(terminal)
    assert asked(tmp_path) == ["abcd", "one\ntwo\nthree"]


def test_ctrl_c_and_ctrl_d_of_the_kitty_protocol_stop_and_leave(tmp_path: Path) -> None:
    with Loopback() as server, chatting(tmp_path, server) as (terminal, _):
        server.enqueue(STALLING)
        terminal.line("hello")
        terminal.wait_for("Half a sentence", PATIENCE)
        terminal.send("\x1b[99;5u")
        terminal.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), PATIENCE)
        terminal.send("draft")
        terminal.wait_for("draft")
        terminal.send("\x1b[99;5u\x1b[100;5u")
        assert terminal.exit_code(PATIENCE) == 0
    assert len(exchanges(tmp_path)) == 1


def test_alt_with_a_key_that_does_nothing_stops_no_reply_and_answers_no_question(
    tmp_path: Path,
) -> None:
    with Loopback() as server, chatting(tmp_path, server) as (terminal, _):
        server.enqueue(STALLING)
        terminal.line("hello")
        terminal.wait_for("Half a sentence", PATIENCE)
        for keys in ("\x1bx", "\x1b[1;3A", "\x1b ", "\x1b\x1b[A", "\x1b[120;3u"):
            terminal.send(keys)
        terminal.send("typed meanwhile")
        terminal.wait_for("typed meanwhile", PATIENCE)
        assert "Interrupted" not in terminal.text()
        server.release()
        terminal.wait_for(re.compile(r"no more.*You: typed", re.DOTALL), PATIENCE)
        terminal.send("\x1bb" + "\x7f" * 6 + "\x15\x0b")  # Alt-b is bound

        terminal.line("/delete")
        terminal.wait_for("to the trash?", PATIENCE)
        terminal.send("\x1bx")
        terminal.send("\x1b[1;3B")
        terminal.send("maybe")
        terminal.wait_for(re.compile(r"trash\? .* maybe"), PATIENCE)
        terminal.send("\x1b[27u")
        terminal.wait_for("Not moved", PATIENCE)
    [exchange] = exchanges(tmp_path)
    assert exchange.reply is not None
    assert exchange.reply.text == "Half a sentence and no more"


TWO_LINES = "exit-code of what?\rand a second line\r"


def test_lines_that_arrive_at_once_are_two_where_pastes_are_marked(tmp_path: Path) -> None:
    with chat(tmp_path, TERM="tmux-256color") as terminal:
        assert "\x1b[?2004$p" not in terminal.raw.decode()
        both_answered = re.compile(r"(Time: \d.*){2}You:", re.DOTALL)
        terminal.mark()
        terminal.send(TWO_LINES)
        terminal.wait_for(both_answered, timeout=60, output=True)
        leave(terminal)
    assert asked(tmp_path) == TWO_LINES.split("\r")[:2]


def test_a_terminal_that_answers_that_it_marks_pastes_is_believed(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        assert terminal.raw.count(b"\x1b[?2004$p") == 1
        entered(terminal, TWO_LINES)
        terminal.send("\x1b[?2004;1$y")
        terminal.mark()
        terminal.send(TWO_LINES)
        terminal.wait_for(re.compile(r"(Time: \d.*){2}You:", re.DOTALL), timeout=60, output=True)
        leave(terminal)
    joined = TWO_LINES.rstrip("\r").replace("\r", "\n")
    assert asked(tmp_path) == [joined, *TWO_LINES.split("\r")[:2]]


def test_a_command_never_swallows_the_next_line(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        entered(terminal, "/pin alpha\rwhat is the port number?\r")
        terminal.send("exit\rls -la /tmp\r")
        assert terminal.exit_code(60) == 0
    assert asked(tmp_path) == ["what is the port number?"]


@pytest.mark.parametrize(
    ("variables", "turned_on", "put_back"),
    [
        ({"TERM": "xterm-kitty"}, b"\x1b[>0u", b"\x1b[<u"),
        ({"XTERM_VERSION": "XTerm(390)"}, b"\x1b[>4;0m", b"\x1b[>4m"),
    ],
)
def test_the_encoding_of_keys_is_set_and_put_back(
    tmp_path: Path, variables: dict[str, str], turned_on: bytes, put_back: bytes
) -> None:
    with PtyChat(command(), env=environment(tmp_path) | variables) as terminal:
        terminal.wait_for(PROMPT, PATIENCE)
        assert terminal.raw.rfind(turned_on) > terminal.raw.rfind(put_back)
        terminal.ctrl("d")
        assert terminal.exit_code(PATIENCE) == 0
        assert terminal.raw.count(turned_on) == terminal.raw.count(put_back)
        assert terminal.raw.rfind(turned_on) < terminal.raw.rfind(put_back)


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP])
def test_the_modes_are_right_after_a_stop_by_a_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    """A shell sets its own modes when a job stops, and gives the terminal to it again with fg."""
    shell = environment(tmp_path) | {"PS1": "shell: "}
    with PtyChat(["/bin/bash", "--norc", "-i"], env=shell) as terminal:
        terminal.wait_for("shell: ", PATIENCE)
        terminal.line(f"{' '.join(command())} & echo number $!; fg")
        terminal.wait_for(PROMPT, PATIENCE)
        found = re.search(r"number (\d+)", terminal.text())
        assert found is not None
        terminal.send("draft")
        terminal.wait_for("draft", PATIENCE)
        terminal.mark()
        os.kill(int(found[1]), number)
        terminal.wait_for("Stopped", PATIENCE, output=True)
        terminal.mark()
        terminal.line("stty sane; echo do''ne")
        terminal.wait_for("done", PATIENCE, output=True)
        terminal.mark()
        terminal.line("fg")
        terminal.wait_for(re.compile(r"chat_loop.*\x1b\[\?2004h", re.DOTALL), PATIENCE, output=True)
        assert told_of_pastes(bytes(terminal.raw))
        terminal.mark()
        terminal.send(" goes on\r")
        terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), PATIENCE, output=True)
        terminal.line("exit")
        terminal.wait_for(re.compile(r"saved.*shell: ", re.DOTALL), PATIENCE, output=True)
        terminal.line("exit")
        terminal.exit_code(PATIENCE)
    assert [exchange.query.text for exchange in exchanges(tmp_path)] == ["draft goes on"]
