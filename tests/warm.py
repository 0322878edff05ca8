"""The program in a process that is forked from one with its libraries loaded.

An interpreter and an SDK cost each start up to two seconds of CPU. What depends on how the program
starts, on a terminal or on signals runs it by its command line.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["openai", "anthropic", "mcp", "chat_loop.interactive", "chat_loop.headless", "tests.warm"]
)
PATIENCE_SECONDS = 60.0


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stdin: bytes = b"",
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end, in the current directory unless there is another."""
    (given, feed), (out, taken), (errors, told) = (_CONTEXT.Pipe(duplex=False) for _ in range(3))
    target = (list(arguments), dict(environment), str(cwd or Path.cwd()), (given, taken, told))
    process = _CONTEXT.Process(target=_program, args=target)
    process.start()
    for theirs in (given, taken, told):
        theirs.close()
    with ThreadPoolExecutor(3) as pool:
        pool.submit(_write, feed, stdin)
        outputs = [pool.submit(_read, ours) for ours in (out, errors)]
        process.join(PATIENCE_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(arguments), PATIENCE_SECONDS)
    return subprocess.CompletedProcess(
        arguments, process.exitcode, *(output.result() for output in outputs)
    )


def _write(pipe: Connection, data: bytes) -> None:
    with suppress(BrokenPipeError), pipe, open(pipe.fileno(), "wb", closefd=False) as file:
        file.write(data)


def _read(pipe: Connection) -> bytes:
    with pipe, open(pipe.fileno(), "rb", closefd=False) as file:
        return file.read()


def _program(
    arguments: list[str], environment: dict[str, str], directory: str, pipes: Sequence[Connection]
) -> None:
    """Be the program, as a new interpreter would run it in the locale C.UTF-8."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(directory)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["chat-loop", *arguments]
    from chat_loop.cli import main  # as `python -m chat_loop` does

    sys.exit(main())
