"""What protects a person who types holds with and without the line editor.

| what protects | composer | `--plain` | `TERM=dumb` | a pipe |
|---|---|---|---|---|
| a long line is whole, or refused with the way out | whole | refused | refused | whole |
| pastes of several lines wait for Enter | yes | yes | yes | each line is an entry |
| a command never swallows the next line | yes | yes | yes | yes |
| marks of pastes, and keys that are no text, are dropped | yes | yes | yes | text, as it is |
| Ctrl-C in the encoding of kitty works | at once | with Enter | with Enter | text |
| signs that the encoding lacks are in ASCII | yes | yes | yes | yes |
| NO_COLOR | yes | no colors at all | no colors at all | no colors at all |
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.headless import ECHO
from tests.support.headless import run as run_piped
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import PATIENCE, asked, command, entered

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX"),
]

DOORS = {
    "composer": ((), {"TERM": "xterm-256color"}),
    "plain": (("--plain",), {"TERM": "xterm-256color"}),
    "dumb": ((), {"TERM": "dumb"}),
}


@contextmanager
def door(home: Path, name: str, **more: str) -> Iterator[PtyChat]:
    options, variables = DOORS[name]
    env = environment(home) | variables | more
    with PtyChat([*command(), *options], env=env) as terminal:
        terminal.wait_for("context" if name == "composer" else "You:", PATIENCE)
        yield terminal


@pytest.mark.parametrize("name", ["plain", "dumb"])  # test_keys_of_terminals.py has the composer
def test_lines_pastes_and_keys(name: str, tmp_path: Path) -> None:
    waits = re.compile(r"several\n?.*lines|3 lines: Enter sends")
    with door(tmp_path, name) as terminal:
        terminal.mark()
        terminal.send("S" + "x" * 6_000 + "E")
        terminal.read_for(0.2)  # the terminal has taken it all
        terminal.send("\r")
        terminal.wait_for("cuts lines after", PATIENCE, output=True)
        terminal.wait_for(re.compile(r"short lines\.\s+You: ", re.DOTALL), PATIENCE)

        terminal.mark()
        terminal.send("first of several\rsecond\rthird of the lines\r")
        terminal.wait_for(waits, PATIENCE, output=True)
        entered(terminal, "\r")

        terminal.mark()
        terminal.send("/pin alpha\rwhat is the port of it?\r")
        terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), PATIENCE, output=True)

        entered(terminal, "\x1b[200~marked\x1b[201~ and\x1b[I\x1b[?62;22c typed\r")
        terminal.mark()
        terminal.send("draft\x1b[99;5u\r")
        terminal.wait_for("Press Ctrl-C again to quit.", PATIENCE, output=True)
        terminal.send("exit\r")
        assert terminal.exit_code(PATIENCE) == 0
    assert asked(tmp_path) == [
        "first of several\nsecond\nthird of the lines",
        "what is the port of it?",
        "marked and typed",
    ]


def test_a_paste_without_an_editor_is_dropped_by_ctrl_c(tmp_path: Path) -> None:
    with door(tmp_path, "plain") as terminal:
        terminal.send("one\rtwo\rand th")
        terminal.wait_for("2 lines: Enter sends them, Ctrl-C drops them", PATIENCE)
        terminal.ctrl("c")
        terminal.wait_for("Press Ctrl-C again to quit.", PATIENCE)
        terminal.mark()
        terminal.send("one\rtwo\rthree")
        terminal.wait_for("2 lines: Enter sends them", PATIENCE, output=True)
        entered(terminal, "\r")
        terminal.send("exit\r")
        assert terminal.exit_code(PATIENCE) == 0
    assert asked(tmp_path) == ["one\ntwo\nthree"]


@pytest.mark.parametrize("name", DOORS)
def test_signs_that_the_encoding_lacks_and_colors(name: str, tmp_path: Path) -> None:
    with door(tmp_path, name, PYTHONIOENCODING="ascii", NO_COLOR="1") as terminal:
        entered(terminal, "hello\r")
        terminal.send("/delete\r")
        terminal.wait_for("to the trash?", PATIENCE)
        terminal.send("n\r")
        terminal.wait_for("Not moved", PATIENCE)
        terminal.send("exit\r")
        assert terminal.exit_code(PATIENCE) == 0
    assert bytes(terminal.raw).isascii()
    assert b"?hello?" not in terminal.raw, "a sign of the program is not a question mark"
    colors = re.findall(rb"\x1b\[([\d;]*)m", bytes(terminal.raw))
    numbers = {number for color in colors for number in color.split(b";")}
    assert not numbers & {b"3%d" % n for n in range(9)} | numbers & {b"4%d" % n for n in range(9)}


def test_a_pipe_takes_each_line_and_changes_none(tmp_path: Path) -> None:
    long = "S" + "x" * 6_000 + "E"
    lines = [long, "/pin alpha", "\x1b[99;5u is text", "last"]
    assert run_piped(tmp_path, *ECHO, stdin="\n".join(lines).encode()).returncode == 0
    assert asked(tmp_path) == [long, "\x1b[99;5u is text", "last"]


def test_a_log_of_a_chat_has_its_questions(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    line = f'"$@" | tee {log}'
    with PtyChat(["/bin/sh", "-c", line, "sh", *command()], env=environment(tmp_path)) as terminal:
        terminal.wait_for("You: ", PATIENCE)
        terminal.line("hello there")
        terminal.wait_for("You said: hello there", PATIENCE)
        terminal.wait_for(re.compile(r"Time: \d.*"), PATIENCE)
        terminal.ctrl("d")
        assert terminal.exit_code(PATIENCE) == 0
        assert not re.search(r"You: \S*📝", terminal.text())
    said = log.read_text()
    assert "You: hello there\nAssistant: You said: hello there\n" in said
    assert said.count("You:") == 1


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_open_pipe_that_is_silent_is_named(tmp_path: Path, options: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [*command(), *options, "-p", "hello"],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        stream = process.stdout if options else process.stderr
        assert stream is not None
        told = stream.readline().decode()
        process.stdin.write(b"and this")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert "Standard input is open and silent: waiting until it ends." in told
    assert "</dev/null" in told or not options
    assert asked(tmp_path) == ["hello\n\nand this"]
