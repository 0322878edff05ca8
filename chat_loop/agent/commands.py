"""The tool that runs a command: in a process group of its own, which is ended with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from chat_loop.errors import ChatLoopError
from chat_loop.redact import redacted

MOST_SECONDS = 600
"""The longest that a command may be given."""
TERM_SECONDS = 2.0
"""How long its processes may take to leave when they are asked to."""
MOST_BYTES = 1_000_000
"""Of the output's beginning and of its end, each."""
_PIECE = 1 << 16
_SECRET = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API_?KEY|(?:TOKENS?|COOKIES?)(?:_|$)"
    r"|(?:^|_)(?:KEYS?|PASS|PAT|DSN)(?:_|$)|(?:^|_)AUTH$|_PWD$|^AWS_"
)
"""Names of variables that hold secrets, in capital letters; `SSH_AUTH_SOCK`, `PWD` and `OLDPWD`
hold none.
"""
_SHORTEST_COPY = 8
"""Characters of a secret from which on it is looked for in the values of other variables."""
_QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Nobody is there to turn pages or to answer."""


class Commands:
    """Runs commands in `root`, each for at most `seconds` unless the model gives it more time."""

    def __init__(
        self, root: Path, seconds: float, environment: Mapping[str, str] | None = None
    ) -> None:
        self._root = root
        self._seconds = seconds
        self._environment = clean_environment(os.environ if environment is None else environment)

    async def run_command(self, command: str, seconds: int = 0) -> str:
        """Runs a shell command (sh) in the working directory; gives its exit code and what it
        prints.

        There is no terminal and nobody who answers questions. What it leaves in the background is
        stopped.

        Args:
            command: As it is typed.
            seconds: The longest that it may take, at most 600; 0 leaves it to the program.
        """
        output = _Output()
        limit = min(seconds, MOST_SECONDS) if seconds > 0 else self._seconds
        code = await run(command, self._root, self._environment, limit, output)
        text = output.text
        if code is None:
            raise ChatLoopError(
                f"It took longer than {limit:.0f} seconds and was stopped. Its output until "
                f"then:\n{text}"
            )
        ended = f"Exit code {code}." if code >= 0 else f"Ended by {_signal_name(-code)}."
        return f"{ended}\n{text}" if text else f"{ended} It printed nothing."

    def about(self, given: Mapping[str, object]) -> str:
        """The command whole, and where it runs."""
        first, *rest = str(given["command"]).replace("\r", "␍").split("\n")
        return "\n".join([f"In {self._root}:", f"  $ {first}", *(f"  > {line}" for line in rest)])


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without secrets: by the names of variables, by the shapes of their
    values, and without the variables that repeat the value of another secret one.
    """
    named = {name for name in environment if _SECRET.search(name.upper())}
    secrets = {environment[name] for name in named if len(environment[name]) >= _SHORTEST_COPY}
    kept = {
        name: value
        for name, value in environment.items()
        if name not in named
        and redacted(value) == value
        and not any(secret in value for secret in secrets)
    }
    return kept | _QUIET


async def run(
    command: str, root: Path, environment: Mapping[str, str], seconds: float, output: _Output
) -> int | None:
    """Run a command until it ends or `seconds` have passed; its exit code, None when it was
    stopped.

    What it prints goes into `output`. Nothing of its process group is left, when this is cancelled
    as well. Raises ChatLoopError when it cannot be run.
    """
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        try:
            # Not through asyncio: cancelled at this moment, it would end the shell and forget its
            # children.
            process = subprocess.Popen(  # noqa: ASYNC220 - it returns as soon as the process is there
                ("/bin/sh", "-c", command),
                cwd=root,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ChatLoopError(f"The command cannot be run: {reason}.") from error
        finally:
            os.close(writing)
        code = _exit_code(process)
        loop.add_reader(
            reading, lambda: output.take(reading) == b"" and loop.remove_reader(reading)
        )
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(code)
        except TimeoutError:
            return None
        finally:
            loop.remove_reader(reading)
            await _end(process.pid, code)
            for _ in range(MOST_BYTES // _PIECE):  # somebody who left the group may still print
                if not output.take(reading):
                    break
    finally:
        os.close(reading)


def _exit_code(process: subprocess.Popen[bytes]) -> Future[int]:
    """The exit code, when there is one. Waiting for it may be cancelled and begun again."""
    future: Future[int] = Future()
    future.set_running_or_notify_cancel()
    threading.Thread(
        target=lambda: future.set_result(process.wait()), daemon=True, name="command"
    ).start()
    return future


async def _end(group: int, code: Future[int]) -> None:
    """End the process group: politely while the command runs, then for good."""
    try:
        if not code.done():
            _signal(group, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TERM_SECONDS):
                    await asyncio.wrap_future(code)
    finally:
        _signal(group, signal.SIGKILL)
    await asyncio.wrap_future(code)


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(
        ProcessLookupError, PermissionError
    ):  # it is gone, or only zombies are left of it
        os.killpg(group, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Output:
    """The beginning and the end of what is printed."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def take(self, descriptor: int) -> bytes | None:
        """Read what there is: nothing at the end, None when there is nothing yet."""
        try:
            data = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return None
        room = MOST_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * MOST_BYTES:
            self._left_out += len(self._tail) - MOST_BYTES
            del self._tail[:-MOST_BYTES]
        return data

    @property
    def text(self) -> str:
        tail = bytes(self._tail[-MOST_BYTES:])
        left_out = self._left_out + len(self._tail) - len(tail)
        between = f"\n[… {left_out:,} bytes left out …]\n".encode() if left_out else b""
        return (bytes(self._head) + between + tail).decode("utf-8", "replace").rstrip("\n")
