"""Enter always sends, after any text, at any speed, at any time."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import asked, chat, command, entered, leave

LONG = (
    "A question of more than sixty-four characters, as a text expander writes it at once: number "
)


MORE = [
    pytest.param(length, marks=pytest.mark.slow)
    for length in (7, 8, 9, 63, 64, 80, 1000, 1024, 3000)
]


@pytest.mark.parametrize("length", [1, 65, *MORE])
def test_text_and_enter_in_one_write(tmp_path: Path, length: int) -> None:
    text = (LONG * 40)[: length - 1] + "."
    with chat(tmp_path) as terminal:
        entered(terminal, f"{text}\r")
        leave(terminal)
    assert asked(tmp_path) == [text]


def test_enter_that_comes_a_moment_after_the_text(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        for number in range(10):
            terminal.mark()
            terminal.send(f"{LONG}{number}")
            terminal.wait_for(
                re.compile(r"\w"), output=True
            )  # the moment when its first character is drawn
            terminal.send("\r")
            terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), timeout=60, output=True)
        terminal.line("/pin the port is 8443")
        terminal.wait_for("Pinned", timeout=60)
        leave(terminal)
    assert asked(tmp_path) == [f"{LONG}{number}" for number in range(10)]


@pytest.mark.slow
def test_long_lines_typed_as_soon_as_the_first_prompt_is_drawn(tmp_path: Path) -> None:
    with PtyChat(
        [sys.executable, "-m", "chat_loop", "--model", "scripted:echo"], env=environment(tmp_path)
    ) as chat:
        chat.wait_for("You:")
        chat.send(f"{LONG}1\r")
        chat.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), timeout=60, output=True)
        leave(chat)
    assert asked(tmp_path) == [f"{LONG}1"]


@pytest.mark.slow
def test_keys_of_a_program_that_stood_still(tmp_path: Path) -> None:
    """A program that was stopped and continued reads text and Enter at once, as after a delay in
    which it could not read.
    """
    with PtyChat(command(), env=environment(tmp_path)) as chat:
        chat.wait_for("context")
        process = chat._child.pid or 0
        for number in range(3):
            chat.mark()
            os.kill(process, signal.SIGSTOP)
            chat.send(LONG)
            chat.send(f"{number}")
            chat.send("\r")
            os.kill(process, signal.SIGCONT)
            chat.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), timeout=60, output=True)
        leave(chat)
    assert asked(tmp_path) == [f"{LONG}{number}" for number in range(3)]
