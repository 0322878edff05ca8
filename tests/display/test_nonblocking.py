"""A terminal that is slow or stops reading delays nothing, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import resource
import select
import signal
import sys
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.display.nonblocking import drain, nonblocking_output
from chat_loop.sessions.records import Exchange
from tests.support.headless import WAITS
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import answered, chatting, compatible, exchanges, saved
from tests.support.terminal_chat import chat as a_chat

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX"),
]

PATIENCE = 60
"""The seconds after which a wait fails."""
ROWS = tuple(f"{number}: a line of the long reply, 漢字\n" for number in range(4_000))
"""Twice as much as a terminal, and the buffers between it and the program, can store while nobody
reads.
"""
STALLED = Reply(chunks=(*ROWS, "and no more"), stall_after=len(ROWS))
SHORT = (
    "# Plan\n\n| a | b |\n|---|--:|\n| 漢 | 2 |\n\n- *one*\n- `two` 👍🏽\n\n```python\nx = "
    "1\n```\nThe end."
)


def on_disk(home: Path, what: str) -> None:
    """Wait until the only transcript contains `what`, without reading from the terminal."""
    (path,) = (home / "sessions").glob("*.md")
    deadline = time.monotonic() + PATIENCE
    while what not in path.read_text("utf-8", "ignore"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def numbers(text: str) -> list[int]:
    return [
        int(number) for number in re.findall(r"(\d+): a line of the long reply, 漢字\r?\n", text)
    ]


@contextmanager
def stopped(home: Path) -> Iterator[tuple[Loopback, PtyChat]]:
    """A chat that has received all of a reply except its end, while the terminal has read almost
    nothing of it.
    """
    (home / "config.yaml").write_text("models: {m: {window: 1000000}}\n")  # the reply is long
    with Loopback() as server, chatting(home, server) as (chat, _):
        server.enqueue(STALLED)
        chat.mark()
        chat.line("tell me")
        chat.wait_for("0: a line", PATIENCE, output=True)
        on_disk(home, ROWS[-1])
        yield server, chat


def test_a_terminal_that_stops_delays_neither_saving_nor_ctrl_c_and_loses_nothing(
    tmp_path: Path,
) -> None:
    with stopped(tmp_path) as (server, chat):
        chat.ctrl("c")
        server.left(0)
        on_disk(tmp_path, "stop=interrupted")
        assert len(chat.raw) < 100_000
        chat.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), PATIENCE, output=True)
        drawn = numbers(chat.output())
        assert drawn == [*range(len(drawn))], "what was not drawn when it was stopped is not drawn"
        assert drawn
        assert "You said: and now" in answered(chat, "and now")
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
    first, second = exchanges(tmp_path)
    assert (text_of(first), stop_of(first)) == ("".join(ROWS), "interrupted")
    assert (text_of(second), stop_of(second)) == ("You said: and now", "end")


def test_a_terminal_that_goes_on_shows_everything_and_the_rest(tmp_path: Path) -> None:
    with stopped(tmp_path) as (server, chat):
        chat.send("typed ahead\r")
        server.stalled()
        server.release()
        chat.wait_for(re.compile(r"You said: typed ahead.*You:", re.DOTALL), PATIENCE, output=True)
        assert numbers(chat.output()) == [*range(len(ROWS))]
        assert "and no more" in chat.output()
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
    assert [exchange.query.text for exchange in exchanges(tmp_path)] == ["tell me", "typed ahead"]
    assert text_of(exchanges(tmp_path)[0]) == "".join(ROWS) + "and no more"


def test_a_signal_ends_the_program_whatever_the_terminal_does(tmp_path: Path) -> None:
    with stopped(tmp_path) as (_, chat):
        assert chat._child.pid
        os.kill(chat._child.pid, signal.SIGTERM)
        assert chat.ended(PATIENCE) == 128 + signal.SIGTERM, (
            "and nothing of what it printed was read"
        )
    assert text_of(exchanges(tmp_path)[0]) == "".join(ROWS)


def test_a_stopped_terminal_that_goes_away_leaves_a_whole_transcript(tmp_path: Path) -> None:
    with stopped(tmp_path) as (_, chat):
        chat.hang_up()
        assert chat.ended(PATIENCE) == 128 + signal.SIGHUP
    assert text_of(exchanges(tmp_path)[0]) == "".join(ROWS)


def text_of(exchange: Exchange) -> str:
    assert exchange.reply is not None
    return exchange.reply.text


def stop_of(exchange: Exchange) -> str:
    assert exchange.reply is not None
    return exchange.reply.stop


def test_a_slow_terminal_shows_the_same_as_a_fast_one(tmp_path: Path) -> None:
    shown = []
    for size in (65536, 7):
        home = tmp_path / str(size)
        home.mkdir()
        (home / "config.yaml").write_text(WAITS)
        with (
            Loopback() as server,
            a_chat(home, *compatible(server), cols=20, ready="") as terminal,
        ):
            terminal.read_size = size
            server.enqueue(Reply(chunks=tuple(SHORT)))
            answered(terminal, "tell me")
            terminal.line("/help keys")
            terminal.line("exit")
            assert terminal.exit_code(PATIENCE) == 0
            text = re.sub(r"Time: [^\n]*\n[^\n]*", "Time:", terminal.text())
            shown.append(text.partition("tell me")[2].partition("Session ID")[0])
        reply = saved(home).exchanges[0].reply
        assert reply is not None
        assert reply.text == SHORT
    assert shown[0] == shown[1]
    assert "The end." in shown[0]


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A terminal in raw mode as standard output. Yield the descriptor of its other side, which a
    test may replace but not close, and the one of standard output.
    """
    reading, output = pty.openpty()
    tty.setraw(output)
    with (
        open(output, "w", encoding="utf-8", closefd=False) as stream,
        contextlib.redirect_stdout(stream),
    ):
        try:
            yield reading, output
        finally:
            os.close(reading)
            os.close(output)


def test_what_is_written_waits_in_its_order_until_it_is_read() -> None:
    pieces = [f"piece {number}, 漢字 and more\n" for number in range(50_000)]
    with terminal() as (reading, _), nonblocking_output():
        for piece in pieces[:-1]:
            sys.stdout.write(piece)
        sys.stdout.write(pieces[-1])
        whole = "".join(pieces).encode()
        settling = threading.Thread(target=drain, args=(sys.stdout,))
        settling.start()
        read = b""
        while len(read) < len(whole):
            read += os.read(reading, 65536)
        settling.join()
    assert read == whole


def test_a_process_with_many_files_open_waits_for_its_terminal_as_any_other() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("the system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    with contextlib.ExitStack() as files, terminal() as (reading, _):
        while (taken := os.open(os.devnull, os.O_RDONLY)) < 1030:
            files.callback(os.close, taken)
        files.callback(os.close, taken)
        with nonblocking_output():
            sys.stdout.write("x" * 1_000_000)
            settling = threading.Thread(target=drain, args=(sys.stdout,), daemon=True)
            settling.start()
            read = 0
            while read < 1_000_000 and select.select([reading], [], [], PATIENCE)[0]:
                read += len(os.read(reading, 65536))
            assert read == 1_000_000
            settling.join(PATIENCE)
            assert not settling.is_alive()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
