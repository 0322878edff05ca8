"""Signals, interrupt keys, and a terminal that closes, with the real program."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from tests.support.environments import environment
from tests.support.terminal_chat import (
    PATIENCE,
    STALLING,
    chatting,
    command,
    exchanges,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and pseudo-terminals of POSIX"),
]

AS_LEADER = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""A Python program that makes its stdin the controlling terminal and then executes chat-loop."""


@pytest.mark.parametrize("signalled", [True, False], ids=["with SIGHUP", "without a signal"])
@pytest.mark.parametrize("replying", [False, True], ids=["at the prompt", "during a reply"])
def test_the_terminal_goes_away(signalled: bool, replying: bool, tmp_path: Path) -> None:
    with Loopback() as server, (tmp_path / "errors").open("wb") as errors:
        master, slave = pty.openpty()
        leader = [sys.executable, "-c", AS_LEADER] if signalled else []
        server.enqueue(STALLING)
        with subprocess.Popen(
            [*leader, *command(server)],
            stdin=slave,
            stdout=slave,
            stderr=errors,
            env=environment(tmp_path),
            start_new_session=True,
        ) as process:
            os.close(slave)
            shown = b""
            while b"context" not in shown:
                shown += os.read(master, 4096)
                if b"\x1b[6n" in shown:
                    shown = shown.replace(b"\x1b[6n", b"")
                    os.write(master, b"\x1b[1;1R")
            if replying:
                os.write(master, b"hello\r")
                while b"sentence" not in shown:
                    shown += os.read(master, 4096)
                server.stalled()
            os.close(master)
            if replying and not signalled:
                server.release()  # no signal told the program; it notices when it shows the reply
            try:
                code = process.wait(PATIENCE)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        if replying:
            (exchange,) = exchanges(tmp_path)
            assert exchange.reply is not None
            assert exchange.reply.text.startswith("Half a sentence")
        if signalled or replying:
            assert code == 128 + signal.SIGHUP
    assert (tmp_path / "errors").read_text() == ""


def test_sigint_between_the_editor_and_the_work_disturbs_nothing(tmp_path: Path) -> None:
    """The signal can come after the editor has ended and before the work begins, or vice versa."""
    with chatting(tmp_path) as (chat, _):
        for number in range(20):
            chat.mark()
            chat.line(f"message {number}")
            assert chat._child.pid
            os.kill(chat._child.pid, signal.SIGINT)
            chat.wait_for("Time:", PATIENCE, output=True)
            chat.wait_for(re.compile(r"Time:.*You:", re.DOTALL), PATIENCE, output=True)
        assert "Exception" not in chat.text()
        chat.line("exit")
        assert chat.exit_code(PATIENCE) == 0
    assert [exchange.query.text for exchange in exchanges(tmp_path)] == [
        f"message {number}" for number in range(20)
    ]


def test_sigint_ends_a_chat_without_an_editor(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(),
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"hello\n")
    process.stdin.flush()
    read = b""
    while read.count(b"You: ") < 2:
        read += os.read(process.stdout.fileno(), 1000)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130, "its input is still open"
    assert process.communicate()[1] == b""
    assert [exchange.query.text for exchange in exchanges(tmp_path)] == ["hello"]
