"""A stream that is faster than the program is stopped by Esc, Ctrl-C and SIGTERM all the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from tests.support.pty_chat import PtyChat
from tests.support.tool_chat import chatting

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="/proc")]

PATIENCE = 60
SOON = 15
"""Seconds within which a stop shows on a busy machine, where a quiet one needs less than one."""
MOST = 64 << 10
"""Kilobytes of memory that a reply may take."""

LINES = Reply(chunks=("word\n" * 20,) * 300_000)
ONE_LINE = Reply(chunks=("word " * 200,) * 30_000)
THOUGHTS = Reply(thinking=("think " * 200,) * 30_000)
FLOODS = {"lines": LINES, "one-line": ONE_LINE, "thoughts": THOUGHTS}
STOPS: dict[str, Callable[[PtyChat], None]] = {
    "esc": lambda chat: chat.send("\x1b"),
    "ctrl-c": lambda chat: chat.ctrl("c"),
}


def memory(chat: PtyChat, name: str) -> int:
    """Return a figure of the program's memory in kilobytes."""
    status = Path(f"/proc/{chat.pid}/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    assert found
    return int(found[1])


def say(chat: PtyChat, text: str) -> None:
    chat.mark()
    chat.line(text)
    chat.wait_for(re.compile(r"Time:.*You:", re.DOTALL), PATIENCE, output=True)


@pytest.mark.parametrize(
    ("flood", "stop"), [("lines", "esc"), ("one-line", "ctrl-c"), ("thoughts", "esc")]
)
def test_a_key_stops_a_flood_and_the_chat_goes_on(tmp_path: Path, flood: str, stop: str) -> None:
    with Loopback() as server, chatting(tmp_path, server) as chat:
        say(chat, "hello")
        before = memory(chat, "VmRSS")
        server.enqueue(FLOODS[flood])
        chat.mark()
        chat.line("go")
        chat.wait_for("think think" if flood == "thoughts" else "word", PATIENCE, output=True)
        chat.mark()
        STOPS[stop](chat)
        chat.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), SOON, output=True)
        assert memory(chat, "VmHWM") - before < MOST
        say(chat, "again")
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0


def test_a_signal_ends_a_chat_in_a_flood(tmp_path: Path) -> None:
    with Loopback() as server, chatting(tmp_path, server) as chat:
        server.enqueue(LINES)
        chat.line("go")
        chat.wait_for("word", PATIENCE, output=True)
        os.kill(chat.pid, signal.SIGTERM)
        assert chat.exit_code(SOON) == 128 + signal.SIGTERM


MEASURED = """
import re, sys
from pathlib import Path
from chat_loop.cli import main

main()
status = Path("/proc/self/status").read_text()
sys.stderr.write(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
"""
"""The program, which finally says how much memory it had at most, in kilobytes."""


def test_the_longest_reply_is_saved_and_sealed_in_little_memory(tmp_path: Path) -> None:
    chunk = "word\n" * 1_000
    most = []
    with Loopback() as server:
        at = ("--model", "compatible:m", "--base-url", f"{server.url}/v1", "-p", "go")
        for count in (1, 1_670):
            server.enqueue(Reply(chunks=(chunk,) * count))
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, *at],
                env={**os.environ, "CHAT_LOOP_HOME": str(tmp_path)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=True,
            )
            most.append(int(done.stderr))
    size = 1_670 * len(chunk) >> 10
    assert most[1] - most[0] < MOST + size
    [_, saved] = sorted((tmp_path / "sessions").glob("*.md"), key=lambda path: path.stat().st_size)
    text = saved.read_text()
    assert text.count("word\n") == 1_670_000
    assert "chat:sealed" in text[-500:]
