"""A program in a real pseudo-terminal, and the screen that its user would see."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect
import pyte

from tests.support import fork_server

_READ = 65536  # bytes
_UNSEEN = re.compile("[\u200b-\u200f\ufe00-\ufe0f]")
"""Characters that take no column and change how their neighbors look."""
_QUESTION = re.compile(rb"\x1b\[[0-9]*[nc]")  # status report, device attributes


class _Screen(pyte.Screen):
    """An emulated screen that keeps the lines that scroll off its top, and passes its replies to
    the program to `answer`.

    pyte's own HistoryScreen does that too, at a third of the speed.
    """

    def __init__(self, cols: int, rows: int, answer: Callable[[str], None]) -> None:
        self.above: list[str] = []
        self._answer = answer
        super().__init__(cols, rows)

    def draw(self, data: str) -> None:
        super().draw(_UNSEEN.sub("", data))  # after such a character, pyte would show nothing

    def index(self) -> None:
        if self.margins is None and self.cursor.y == self.lines - 1:
            self.above.append(
                "".join(self.buffer[0][column].data for column in range(self.columns)).rstrip()
            )
        super().index()

    def write_process_input(self, data: str) -> None:
        self._answer(data)


def _hear_signals() -> None:
    """Reset signals that a terminal sends. A test run in the background (`&`, nohup) ignores them,
    and its children would inherit that.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class PtyChat:
    """A running program with its keyboard and its screen, as a context manager. Leaving the context
    kills the program's process group.

    The output goes through a terminal emulator, which also answers the program's queries (cursor
    position, device attributes). Nothing is read except while waiting, so a program that prints
    much blocks until someone waits. Waiting for output reads about 10 MB a second, waiting for the
    screen (pyte) 1 MB.

    `env` is the whole environment (None: this process's); `TERM` is xterm-256color unless `env`
    sets it. A `forked` program has its modules loaded; only its arguments are taken from `argv`,
    behind `python -m chat_loop`.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        rows: int = 24,
        cols: int = 80,
        cwd: Path | None = None,
        *,
        forked: bool = False,
    ) -> None:
        self.raw = bytearray()
        """Every byte that the program has printed so far."""
        self.read_size = _READ
        """The number of bytes read at once; a small number makes a slow terminal."""
        self._mark = 0
        self._shown = 0  # the number of bytes of `raw` that the emulator has processed
        self._screen = _Screen(max(1, cols), max(1, rows), self._answer)
        self._stream = pyte.ByteStream(self._screen)
        environment = {"TERM": "xterm-256color"} | dict(env if env is not None else os.environ)
        self._child: pexpect.spawn[bytes] | fork_server.OnTerminal
        if forked and not fork_server.AT_START & environment.keys():
            self._child = fork_server.OnTerminal(argv[3:], environment, cwd, (rows, cols))
            return
        with warnings.catch_warnings():
            # Python 3.12 warns of fork in a process with threads; here the child executes another
            # program at once.
            warnings.filterwarnings("ignore", ".*multi-threaded.*", DeprecationWarning)
            child: pexpect.spawn[bytes] = pexpect.spawn(
                argv[0],
                list(argv[1:]),
                env=environment,
                cwd=cwd,
                dimensions=(rows, cols),
                timeout=None,
                preexec_fn=_hear_signals,
            )
        child.delaybeforesend = None
        self._child = child

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, text: str) -> None:
        """Type `text` unchanged."""
        data = text.encode()
        while data:
            data = data[self._child.send(data) :]

    def line(self, text: str) -> None:
        """Type `text` and press Enter."""
        self.send(text + "\r")

    def ctrl(self, letter: str) -> None:
        """Press Ctrl and a letter (or one of `@[\\]^_`)."""
        self.send(chr(ord(letter.upper()) ^ 0x40))

    def resize(self, rows: int, cols: int) -> None:
        """Change the size of the terminal; the program gets SIGWINCH."""
        self._screen.resize(max(1, rows), max(1, cols))
        self._child.setwinsize(rows, cols)

    def hang_up(self) -> None:
        """Close the terminal; the program gets SIGHUP."""
        if isinstance(self._child, fork_server.OnTerminal):
            self._child.hang_up()
        else:
            self._child.ptyproc.fileobj.close()  # type: ignore[attr-defined]

    def screen(self) -> list[str]:
        """Return the visible lines, without trailing blanks."""
        self._show()
        return [line.rstrip() for line in self._screen.display]

    def text(self) -> str:
        """Return the lines scrolled off the top and the visible ones."""
        visible = self.screen()
        return "\n".join([*self._screen.above, *visible])

    @property
    def pid(self) -> int:
        """The id of the program's process."""
        assert self._child.pid
        return self._child.pid

    def mark(self) -> None:
        """Set the start of what `output` and `wait_for(…, output=True)` look at."""
        self._mark = len(self.raw)

    def output(self) -> str:
        """Return the output since the last mark, escape sequences included."""
        return self.raw[self._mark :].decode("utf-8", "replace")

    def wait_for(
        self, what: str | re.Pattern[str], timeout: float = 60, *, output: bool = False
    ) -> str:
        """Read until the visible screen (or with `output`, the output since the mark) contains
        `what`; return the match.

        Raise AssertionError with the screen if that takes longer than `timeout` seconds or the
        program ends first.
        """
        pattern = re.compile(re.escape(what)) if isinstance(what, str) else what
        deadline = time.monotonic() + timeout
        while True:
            # Search with and without trailing blanks, so that both "> " and /done$/m match.
            views = (
                (self.output(),)
                if output
                else ("\n".join(self.screen()), "\n".join(self._screen.display))
            )
            if found := next(filter(None, map(pattern.search, views)), None):
                return found[0]
            if not self._wait(deadline):
                raise AssertionError(
                    self._report(f"{timeout} s passed without {pattern.pattern!r}")
                )
            if not self._read():
                raise AssertionError(self._report(f"the program ended without {pattern.pattern!r}"))

    def read_for(self, seconds: float) -> None:
        """Read what arrives within `seconds`, or until the program ends."""
        deadline = time.monotonic() + seconds
        while self._wait(deadline) and self._read():
            pass

    @property
    def is_running(self) -> bool:
        """True until the program has ended, whether or not anybody has waited for that."""
        if isinstance(self._child, fork_server.OnTerminal) or self._child.terminated:
            return not self._child.terminated
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def exit_code(self, timeout: float = 60) -> int:
        """Read until the program ends; return its exit code, or minus the number of the signal that
        ended it.
        """
        deadline = time.monotonic() + timeout
        while True:
            if not self._wait(deadline):
                raise AssertionError(self._report(f"still running after {timeout} s"))
            if not self._read():
                break
        return self.ended(deadline - time.monotonic())

    def ended(self, timeout: float = 60) -> int:
        """Return the same as `exit_code`, without reading the output. Kill the program if it takes
        longer than `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        # A program may close its terminal and live on.
        late = threading.Timer(max(0.0, deadline - time.monotonic()), self._kill)
        late.start()
        self._child.wait()
        late.cancel()
        late.join()
        code, number = self._child.exitstatus, self._child.signalstatus
        return code if code is not None else -(number or 0)

    def close(self) -> None:
        """Kill the process group and free the terminal; a second call does nothing."""
        if not self._child.closed:
            self._kill()
            if self._child.isalive():
                self._child.wait()
            self._child.close()

    def _kill(self) -> None:
        assert self._child.pid
        with contextlib.suppress(
            ProcessLookupError, PermissionError
        ):  # macOS refuses for a group of zombies
            os.killpg(self._child.pid, signal.SIGKILL)

    def _wait(self, deadline: float) -> bool:
        return bool(
            select.select([self._child.fileno()], [], [], max(0.0, deadline - time.monotonic()))[0]
        )

    def _read(self) -> bool:
        """Read the available output; return False at the end."""
        # Not with the child's own `read`: at the end it waits for the process, without a limit.
        try:
            data = os.read(self._child.fileno(), self.read_size)
        except OSError:  # on Linux, nobody has the terminal open any more
            return False
        self.raw += data
        # The emulator is slow, so it processes output only when somebody looks or the program sends
        # a query.
        if _QUESTION.search(self.raw, max(self._shown, len(self.raw) - len(data) - 8)):
            self._show()
        return bool(data)

    def _show(self) -> None:
        new, self._shown = bytes(self.raw[self._shown :]), len(self.raw)
        self._stream.feed(new)

    def _answer(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the program asked and has ended
            self.send(text)

    def _report(self, what: str) -> str:
        frame = "\n".join(f"|{line}" for line in self.screen())
        return f"{what}; the screen:\n{frame}\nthe last output: {bytes(self.raw[-400:])!r}"
