"""Lines from a pipe: bounded reads, and long lines."""

from __future__ import annotations

import asyncio
import io
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.display.questions import Question
from chat_loop.input.lines import LineReader
from tests.support.environments import environment
from tests.support.terminal_chat import PATIENCE, command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")


def fed(data: bytes) -> tuple[int, threading.Thread]:
    """Return the reading end of a pipe, and the thread that writes the data into it."""
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as file:  # noqa: PTH123 - a descriptor
            try:
                file.write(data)
            except BrokenPipeError:
                return

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return reading, thread


def lines_of(data: bytes) -> list[str]:
    """Return the lines that a reader finds in the data."""
    reading, thread = fed(data)
    found: list[str] = []

    async def read() -> None:
        reader = LineReader(reading, io.StringIO())
        while True:
            found.append(await reader.read())

    with pytest.raises(EOFError):
        asyncio.run(read())
    thread.join()
    os.close(reading)
    return found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"one", ["one"]),
        (b"one\n", ["one"]),
        (b"one\n\ntwo", ["one", "", "two"]),
        (b"\n", [""]),
        ("grüße 漢\n".encode() * 600, ["grüße 漢"] * 600),
        (b"x" * 70_000 + b"\n" + b"y" * 65_536 + b"\nz", ["x" * 70_000, "y" * 65_536, "z"]),
        (b"x" * 30_000_000, ["x" * 30_000_000]),
        (b"\\\\\none\ntwo\n\nthree\n", ["one\ntwo", "three"]),
    ],
    ids=lambda value: f"{len(value)} long" if isinstance(value, bytes) else "",
)
def test_lines(data: bytes, expected: list[str]) -> None:
    assert lines_of(data) == expected


@pytest.mark.slow
def test_what_nobody_asks_for_stays_in_the_pipe(tmp_path: Path) -> None:
    """While the first line is answered, the program does not read everything that is written, as
    with `yes | chat-loop`.
    """
    with Loopback() as server:
        server.enqueue(Reply(chunks=("one", " two"), stall_after=1))
        with subprocess.Popen(
            command(server),
            env=environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        ) as process:
            assert process.stdin
            pipe = process.stdin.fileno()
            os.set_blocking(pipe, False)
            os.write(pipe, b"y\n")
            server.stalled(0)
            written = 0
            while written < 10_000_000 and select.select([], [pipe], [], 2)[1]:
                written += os.write(pipe, (b"y" * 999 + b"\n") * 4)
            process.terminate()
            assert process.wait(PATIENCE) == 143
    assert written < 1_000_000


def test_what_is_no_answer_in_a_pipe_is_the_next_entry() -> None:
    reading, thread = fed(b"Next: the limit\nlast\n")
    out = io.StringIO()

    async def read() -> list[str]:
        reader = LineReader(reading, out)
        answer = await reader.ask(Question("Run?", act=("x\u200b" * 9_000,)))
        reader.give_back(answer)
        return [await reader.read(), await reader.read()]

    assert asyncio.run(read()) == ["Next: the limit", "last"]
    thread.join()
    os.close(reading)
    assert out.getvalue() == (
        "Run? [y]es [n]o Next: the limit\nYou: Next: the limit\nYou: last\n"
    ), "without a screen an act is never longer than it"
