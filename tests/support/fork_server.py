"""The program in a process that is forked from one with its libraries loaded.

Starting an interpreter and an SDK each costs up to two seconds of CPU. A test that depends on how
the program starts, on a terminal or on signals runs the program by its command line instead.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

if sys.platform != "win32":
    import resource

PATIENCE_SECONDS = 240.0
PRINT_SECONDS = 120.0


class Printed:
    """What a running program has printed so far on its standard output."""

    def __init__(self) -> None:
        self.pid = 0
        """The program's process."""
        self._data = bytearray()
        self._ended = False
        self._changed = threading.Condition()

    @property
    def size(self) -> int:
        """The number of bytes printed so far."""
        with self._changed:
            return len(self._data)

    def add(self, data: bytes) -> None:
        """Add what was read; nothing means that the program has closed its output."""
        with self._changed:
            self._data += data
            self._ended = not data
            self._changed.notify_all()

    def wait_for(self, texts: Sequence[bytes], start: int = 0) -> bool:
        """Wait until one of `texts` stands in the output, from the offset `start` on. Return False
        if the program ends without it. Raises TimeoutError.
        """

        def stands() -> bool:
            return any(self._data.find(text, start) >= 0 for text in texts)

        with self._changed:
            if not self._changed.wait_for(lambda: self._ended or stands(), PRINT_SECONDS):
                raise TimeoutError(f"{texts} were not printed: {bytes(self._data[start:])!r}")
            return stands()


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stdin: bytes | Iterable[bytes] = b"",
    cwd: Path | None = None,
    memory: int = 0,
    printed: Printed | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end, in `cwd` or the current directory. If `memory` is given, its
    address space may grow by at most `memory` bytes. `printed` gets the output as it arrives, so
    that `stdin` can produce its parts in answer to it.
    """
    at_start = {"PYTHONIOENCODING", "PYTHONUTF8", "PYTHONPATH", "LC_ALL"}
    if at_start & environment.keys() or sys.platform == "win32":  # an interpreter reads these once
        return subprocess.run(
            [sys.executable, "-m", "chat_loop", *arguments],
            input=stdin if isinstance(stdin, bytes) else b"".join(stdin),
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
    if printed is not None:
        printed.pid = process.pid or 0
    for end in ends:
        end.close()
    with ThreadPoolExecutor(3) as pool:
        fed = pool.submit(_write, feed, (stdin,) if isinstance(stdin, bytes) else stdin)
        texts = [
            pool.submit(_read, output, Printed() if printed is None else printed),
            pool.submit(_read, errors, Printed()),
        ]
        process.join(PATIENCE_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(arguments), PATIENCE_SECONDS)
    fed.result()
    return subprocess.CompletedProcess(
        arguments, process.exitcode, *(text.result() for text in texts)
    )


@cache
def _context() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.preloaded"])
    return context


def _write(pipe: Connection, parts: Iterable[bytes]) -> None:
    with suppress(BrokenPipeError), pipe, open(pipe.fileno(), "wb", 0, closefd=False) as file:
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[file.write(left) :]


def _read(pipe: Connection, printed: Printed) -> bytes:
    whole = bytearray()
    with pipe, open(pipe.fileno(), "rb", 0, closefd=False) as file:
        while data := file.read(1 << 16):
            whole += data
            printed.add(data)
    printed.add(b"")
    return bytes(whole)


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
