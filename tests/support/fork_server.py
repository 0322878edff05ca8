"""The program in a process that is forked from one with its libraries loaded.

Starting an interpreter and an SDK each costs up to two seconds of CPU. A test that depends on how
the program starts or on what a terminal was before runs it by its command line instead.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

PATIENCE_SECONDS = 240.0
PRINT_SECONDS = 120.0
AT_START = {"PYTHONIOENCODING", "PYTHONUTF8", "PYTHONPATH", "LC_ALL"}
"""Variables that an interpreter reads once: a program with one of them is not forked."""


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
    if AT_START & environment.keys():
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


class OnTerminal:
    """The program on a pseudo-terminal of its own, with the methods of a child of pexpect."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path | None,
        size: tuple[int, int],
    ) -> None:
        self._master, slave = os.openpty()
        self._hung_up = self.closed = False
        self.setwinsize(*size)
        context = _context()
        opened, opening = context.Pipe(duplex=False)
        where = str(cwd or Path.cwd())
        self._process = context.Process(
            target=_on_terminal,
            args=(list(arguments), dict(environment), where, os.ttyname(slave), opening),
        )
        self._process.start()
        self.pid = self._process.pid
        opening.close()
        opened.recv()
        opened.close()
        os.close(slave)  # or there would be no end when the program has ended

    @property
    def terminated(self) -> bool:
        return self._process.exitcode is not None

    @property
    def exitstatus(self) -> int | None:
        code = self._process.exitcode
        return code if code is not None and code >= 0 else None

    @property
    def signalstatus(self) -> int | None:
        code = self._process.exitcode
        return -code if code is not None and code < 0 else None

    def send(self, data: bytes) -> int:
        return os.write(self._master, data)

    def fileno(self) -> int:
        return self._master

    def setwinsize(self, rows: int, cols: int) -> None:
        termios.tcsetwinsize(self._master, (rows, cols))

    def wait(self) -> None:
        self._process.join()

    def isalive(self) -> bool:
        return self._process.is_alive()

    def hang_up(self) -> None:
        if not self._hung_up:
            os.close(self._master)
        self._hung_up = True

    def close(self) -> None:
        self.hang_up()
        self._process.join()
        self._process.close()
        self.closed = True


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
    """Run the program with pipes as its standard streams."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    _main(arguments, environment, directory, memory)


def _on_terminal(
    arguments: list[str],
    environment: dict[str, str],
    directory: str,
    terminal: str,
    opening: Connection,
) -> None:
    """Run the program on a terminal that sends it signals; say when it is open."""
    os.login_tty(os.open(terminal, os.O_RDWR | os.O_NOCTTY))
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    opening.send(True)
    opening.close()
    _main(arguments, environment, directory)


def _main(
    arguments: list[str], environment: dict[str, str], directory: str, memory: int = 0
) -> None:
    """Run the program as a new interpreter would in the locale C.UTF-8."""
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
