"""A program in a pseudo-terminal, and the times of its output. No terminal is emulated, so nothing
here is slow.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROWS, COLUMNS = 24, 200
PATIENCE_SECONDS = 60.0
_QUESTION, _ANSWER = b"\x1b[6n", b"\x1b[2;1R"
"""The question where the cursor is, and the terminal's answer, for which a program waits."""
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\^_])")


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the part of this process's environment that the programs need, without anything that
    leads to a real model or server.
    """
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LANG", "LC_ALL", "TMPDIR")
        if name in os.environ
    }
    return {
        **kept,
        "HOME": str(home),
        "CHAT_LOOP_HOME": str(home / "chat-loop"),
        "TERM": "xterm-256color",
        **more,
    }


def visible(data: bytes) -> str:
    """Return the text without the escape sequences."""
    return _ESCAPES.sub(b"", data).decode("utf-8", "replace")


class Terminal:
    """A running program. Leaving the block kills it. All times are from `time.perf_counter()`."""

    patience = PATIENCE_SECONDS
    """The seconds to wait for output that does not arrive."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], folder: Path | None = None
    ) -> None:
        self.output = b""
        """Every byte that the program has printed so far."""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.started = time.perf_counter()
        """The time just before the process was made."""
        self._process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            cwd=folder,
            start_new_session=True,
        )
        os.close(slave)
        self.pid = self._process.pid

    def press(self, text: str) -> float:
        """Press keys; return the time."""
        at = time.perf_counter()
        os.write(self._master, text.encode())
        return at

    def read(self, until: float) -> float | None:
        """Read the output that has arrived or arrives before the time `until`; return the time of
        its arrival, or None if there is none. Raises EOFError when the program has ended.
        """
        if not select.select([self._master], [], [], max(0.0, until - time.perf_counter()))[0]:
            return None
        at = time.perf_counter()
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the program has ended
            data = b""
        if not data:
            raise EOFError(f"The program ended:\n{visible(self.output)[-2000:]}")
        self.output += data
        for _ in range(data.count(_QUESTION)):
            os.write(self._master, _ANSWER)
        return at

    def wait_for(self, text: str, after: int = 0) -> float:
        """Read until the visible output from byte `after` on contains `text`; return the time when
        its last part arrived.
        """
        deadline = time.perf_counter() + self.patience
        at = time.perf_counter()
        while text not in visible(self.output[after:]):
            came = self.read(deadline)
            if came is None:
                raise TimeoutError(f"{text!r} did not come:\n{visible(self.output)[-2000:]}")
            at = came
        return at

    def rest(self, seconds: float) -> None:
        """Read, and press nothing, until no output has arrived for `seconds`."""
        while self.read(time.perf_counter() + seconds) is not None:
            pass

    def listen(self, seconds: float) -> None:
        """Read for `seconds`, since some programs never stop drawing."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.read(end)

    def exit_time(self) -> float:
        """Read until the program has ended; return the time."""
        try:
            while self.read(time.perf_counter() + self.patience) is not None:
                pass
        except EOFError:
            self._process.wait()
            return time.perf_counter()
        raise TimeoutError("The program does not end.")

    def cpu_seconds(self) -> float:
        """Return the seconds that the process has used in user and system mode."""
        return time.clock_gettime(~self.pid << 3 | 2)  # see clock_getcpuclockid(3)

    def memory(self) -> float:
        """Return the process's resident memory in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text("ascii", "replace")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # with its children in this terminal
        self._process.wait()
        os.close(self._master)
