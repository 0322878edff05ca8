"""The pseudo-terminal of the tests and benchmarks."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.support.pty_chat import PtyChat


def python(code: str, rows: int = 24, cols: int = 80) -> PtyChat:
    return PtyChat([sys.executable, "-c", code], rows=rows, cols=cols)


ECHO = """
while (line := input("> ")) != "quit":
    print("you said", line[::-1])
raise SystemExit(7)
"""

PROMPT = """
from prompt_toolkit import PromptSession
session = PromptSession()
while True:
    try:
        print("[" + session.prompt("chat> ", bottom_toolbar="the toolbar") + "]")
    except KeyboardInterrupt:
        print("stopped")
    except EOFError:
        break
"""

ASK = """
import sys, tty
tty.setraw(0)
sys.stdout.write("\\x1b[2J\\x1b[5;9H" + sys.argv[1])
sys.stdout.flush()
answer = b""
while not answer.endswith(sys.argv[2].encode()):
    answer += sys.stdin.buffer.raw.read(1)
sys.stdout.write("\\r\\n" + repr(answer))
"""


def test_lines_screen_and_exit_code() -> None:
    with python(ECHO) as chat:
        chat.wait_for("> ")
        chat.line("Grüße")
        chat.wait_for("you said eßürG\r\n> ", output=True)
        assert chat.screen()[:3] == ["> Grüße", "you said eßürG", ">"]
        assert len(chat.screen()) == 24
        chat.line("quit")
        assert chat.exit_code() == 7
        assert chat.exit_code() == 7
    chat.close()


def test_prompt_toolkit() -> None:
    with python(PROMPT, rows=10, cols=40) as chat:
        chat.wait_for("chat> ")
        chat.send("hello wrld\x1b[D\x1b[D\x1b[Do")
        chat.wait_for("chat> hello world")
        chat.mark()
        chat.line("")
        chat.wait_for(re.compile(r"\[hello world\].*the toolbar", re.DOTALL), output=True)
        chat.ctrl("c")
        chat.wait_for(re.compile(r"stopped.*the toolbar", re.DOTALL), output=True)
        assert chat.screen()[:3] == ["chat> hello world", "[hello world]", "chat>"]
        chat.ctrl("d")
        assert chat.exit_code() == 0
        assert b"\x1b[6n" in chat.raw
        assert "WARNING" not in chat.text()


@pytest.mark.parametrize(
    ("question", "last", "answer"),
    [("\x1b[6n", "R", r"b'\x1b[5;9R'"), ("\x1b[c", "c", r"b'\x1b[?6c'")],
)
def test_questions_to_the_terminal_are_answered(question: str, last: str, answer: str) -> None:
    with PtyChat([sys.executable, "-c", ASK, question, last]) as chat:
        chat.wait_for(answer, output=True)
        assert chat.exit_code() == 0


def test_output_since_the_mark() -> None:
    with python(ECHO) as chat:
        chat.wait_for("> ")
        chat.line("one")
        chat.wait_for("you said eno\r\n> ", output=True)
        chat.mark()
        assert chat.output() == ""
        chat.line("two")
        assert chat.wait_for(re.compile(r"said (\w{3})"), output=True) == "said owt"
        assert "eno" not in chat.output()
        assert chat.wait_for(re.compile(r"said (\w+)$", re.MULTILINE)) == "said eno"


def test_scrolled_lines_are_kept() -> None:
    code = "for n in range(200): print(f'line {n} 漢字')\ninput('end')"
    with python(code, rows=5, cols=30) as chat:
        chat.wait_for(re.compile(r"^end$", re.MULTILINE))
        assert chat.screen() == [
            "line 196 漢字",
            "line 197 漢字",
            "line 198 漢字",
            "line 199 漢字",
            "end",
        ]
        assert chat.text() == "\n".join([*(f"line {n} 漢字" for n in range(200)), "end"])


def test_size_and_resize() -> None:
    code = (
        "import os, signal\nsignal.signal(signal.SIGWINCH, lambda *_: "
        "print(os.get_terminal_size()))\n"
    )
    with python(
        code + "print(os.get_terminal_size())\nwhile True: signal.pause()", rows=11, cols=77
    ) as chat:
        chat.wait_for("columns=77, lines=11)\r\n", output=True)
        chat.resize(rows=6, cols=60)
        chat.wait_for("columns=60, lines=6")
        assert len(chat.screen()) == 6


def test_failures_show_the_screen() -> None:
    with python("print('half a sen'); input()") as chat:
        chat.wait_for("half")
        with pytest.raises(
            AssertionError, match=r"(?s)0 s passed without 'sentence'.*\|half a sen\n"
        ):
            chat.wait_for("sentence", timeout=0)
        with pytest.raises(AssertionError, match=r"(?s)still running after 0 s.*\|half a sen\n"):
            chat.exit_code(timeout=0)
        chat.line("")
        with pytest.raises(
            AssertionError, match=r"(?s)the program ended without 'sentence'.*\|half a sen\n"
        ):
            chat.wait_for("sentence")


def test_interrupt_and_signal_codes() -> None:
    with python(
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\ninput('ready')"
    ) as chat:
        chat.wait_for("ready")
        chat.ctrl("c")
        assert chat.exit_code() == -signal.SIGINT


def test_a_program_that_closes_its_terminal_is_waited_for_and_killed() -> None:
    code = "import os, signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nprint('on')\n"
    code += "os.closerange(0, 3)\nwhile True: signal.pause()"
    with python(code) as chat:
        chat.wait_for("on")
        while chat._read():
            pass
        assert chat.exit_code(timeout=0.5) == -signal.SIGKILL


def test_leaving_kills_the_children_too(tmp_path: Path) -> None:
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    code = f"""
import os, signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
open_end = os.open({str(fifo)!r}, os.O_WRONLY)
if os.fork():
    print("parent")
while True:
    signal.pause()
"""
    with python(code) as chat, fifo.open("rb") as other_end:
        chat.wait_for("parent")
        chat.close()
        assert (
            other_end.read() == b""
        )  # the read ends when no process has the other end open any more
