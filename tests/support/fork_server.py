"""The program in a process that is forked from one with its libraries loaded.

Starting an interpreter and an SDK each costs up to two seconds of CPU. A test that depends on how
the program starts, on a terminal or on signals runs the program by its command line instead.
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
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

if sys.platform != "win32":
    import resource

PATIENCE_SECONDS = 240.0


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stdin: bytes = b"",
    cwd: Path | None = None,
    memory: int = 0,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end, in `cwd` or the current directory. If `memory` is given, its
    address space may grow by at most `memory` bytes.
    """
    at_start = {"PYTHONIOENCODING", "PYTHONUTF8", "PYTHONPATH", "LC_ALL"}
    if at_start & environment.keys() or sys.platform == "win32":  # an interpreter reads these once
        return subprocess.run(
            [sys.executable, "-m", "chat_loop", *arguments],
            input=stdin,
            capture_output=True,
            env=dict(environment),
            cwd=cwd,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    context = _context()
    stdin_end, feed = context.Pipe(duplex=False)
    output, stdout_end = context.Pipe(duplex=False)
    errors, stderr_end = context.Pipe(duplex=False)
    ends = (stdin_end, stdout_end, stderr_end)
    where = str(cwd or Path.cwd())
    process = context.Process(
        target=_program, args=(list(arguments), dict(environment), where, ends, memory)
    )
    process.start()
    for end in ends:
        end.close()
    with ThreadPoolExecutor(3) as pool:
        pool.submit(_write, feed, stdin)
        texts = [pool.submit(_read, pipe) for pipe in (output, errors)]
        process.join(PATIENCE_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(arguments), PATIENCE_SECONDS)
    return subprocess.CompletedProcess(
        arguments, process.exitcode, *(text.result() for text in texts)
    )


@cache
def _context() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [
            "openai",
            "anthropic",
            "mcp",
            "chat_loop.interactive",
            "chat_loop.headless",
            "tests.support.fork_server",
        ]
    )
    return context


def _write(pipe: Connection, data: bytes) -> None:
    with suppress(BrokenPipeError), pipe, open(pipe.fileno(), "wb", closefd=False) as file:
        file.write(data)


def _read(pipe: Connection) -> bytes:
    with pipe, open(pipe.fileno(), "rb", closefd=False) as file:
        return file.read()


def _program(
    arguments: list[str],
    environment: dict[str, str],
    directory: str,
    pipes: Sequence[Connection],
    memory: int,
) -> None:
    """Run the program as a new interpreter would in the locale C.UTF-8."""
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
    if memory:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    sys.argv = ["chat-loop", *arguments]
    from chat_loop.cli import main  # as `python -m chat_loop` does

    sys.exit(main())
