"""The program reads a bounded part of anything that a server, a file or a pipe sends, names the
limit in one sentence, and ends with its own exit code. The system limits the memory: a read without
a bound fails with MemoryError.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.values import ToolCall
from tests.support import fork_server
from tests.support.environments import environment
from tests.support.headless import said, saved

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="limits the address space"),
]

MEMORY = 512 << 20
SSE = {"content-type": "text/event-stream"}
WIRES = {
    "openai": ("--model", "vllm:m", "--base-url", "{}/v1"),
    "anthropic": ("--model", "anthropic:claude-sonnet-4-5", "--base-url", "{}"),
}


def packed(megabytes: int) -> bytes:
    """Return `megabytes` of a single event line, packed with gzip to about a thousandth of the size
    and without an end.

    The packed piece is independent of the data before it, and is repeated.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b"data: ") + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(b"x" * (16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + piece * (megabytes // 16)


def gzipped(coding: str) -> dict[str, str]:
    return {"content-encoding": coding}


def calls(count: int, arguments: str = "{}") -> Reply:
    many = (ToolCall(f"a{number}", "list_files", arguments) for number in range(count))
    return Reply(calls=tuple(many))


def ask(
    home: Path, *options: str, stdin: bytes = b"", question: str = "one"
) -> subprocess.CompletedProcess[bytes]:
    arguments = (*options, "--tools", "list_files,read_file", "-p", question)
    return fork_server.run(
        arguments, environment(home, ANTHROPIC_API_KEY="k"), stdin, home, memory=MEMORY
    )


LINE = "sent more than 8 MB in one event."
TWICE = "sent an answer packed as gzip, gzip, which was not requested."
SERVERS: dict[str, tuple[Callable[[], Reply], int, str]] = {
    "a line of 64 MB": (lambda: Reply(body=b"data: " + b"x" * (64 << 20), headers=SSE), 1, LINE),
    "a bomb": (lambda: Reply(body=packed(1024), headers=SSE | gzipped("gzip")), 1, LINE),
    "a bomb in a bomb": (
        lambda: Reply(body=gzip.compress(packed(4096)), headers=SSE | gzipped("gzip, gzip")),
        1,
        TWICE,
    ),
    "a refusal in a bomb in a bomb": (
        lambda: Reply(status=400, body=gzip.compress(packed(4096)), headers=gzipped("gzip, gzip")),
        1,
        TWICE,
    ),
    "a refusal of 40 MB": (
        lambda: Reply(status=400, body=b'{"error": {"message": "' + b"y" * (40 << 20) + b'"}}'),
        1,
        "rejected the request (400)",
    ),
    "an event that is nested without end": (
        lambda: Reply(chunks=("Hi.",), raw=("[" * 5_000_000,)),
        1,
        "ended in the middle of the reply",
    ),
    "a thousand calls": (lambda: calls(1000), 3, "The model called more than 32 tools at once."),
}
"""What a server sends, made only when it is sent; the exit code, and a part of the sentence."""
ANTHROPIC = ("a line of 64 MB", "a bomb", "a bomb in a bomb", "a refusal in a bomb in a bomb")
CASES = [("openai", name) for name in SERVERS] + [("anthropic", name) for name in ANTHROPIC]


@pytest.mark.parametrize(("wire", "name"), CASES)
def test_what_a_server_sends(tmp_path: Path, server: Loopback, wire: str, name: str) -> None:
    make, code, sentence = SERVERS[name]
    server.enqueue(make())

    result = ask(tmp_path, *(option.format(server.url) for option in WIRES[wire]))

    told = result.stderr.decode()
    assert (result.returncode, sentence in told, "Traceback" in told) == (code, True, False), told
    assert len(told) < 800
    assert said(saved(tmp_path)[0])[0] == "one"


def test_arguments_of_two_megabytes_are_not_run(tmp_path: Path, server: Loopback) -> None:
    server.enqueue(calls(1, json.dumps({"pattern": "x" * (2 << 20)})))

    result = ask(tmp_path, *(option.format(server.url) for option in WIRES["openai"]))

    assert result.returncode == 0, result.stderr
    assert server.requests[1].query.startswith("The arguments are not a JSON object.")
    assert "of less than 1,048,576 characters" in server.requests[1].query


def test_standard_input_of_65_megabytes(tmp_path: Path) -> None:
    result = ask(tmp_path, "--model", "scripted:echo", stdin=b"x" * (65 << 20))

    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.startswith(b"Standard input has more than 64 MB.")
