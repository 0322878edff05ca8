"""Commands: run in a process group of their own, which is ended with them."""

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
_QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Nobody is there to turn pages or to answer."""


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without secrets: by the names of variables, by the shapes of their
    values, and without the variables that repeat the value of another secret one.
    """
    named = {name for name in environment if _SECRET.search(name.upper())}
    secrets = {environment[name] for name in named if len(environment[name]) >= 8}
    kept = {
        name: value
        for name, value in environment.items()
        if name not in named
        and redacted(value) == value
        and not any(secret in value for secret in secrets)
    }
    return kept | _QUIET


def question(root: Path, given: Mapping[str, object]) -> str:
    """Return the command whole, and where it runs."""
    first, *rest = str(given["command"]).replace("\r", "␍").split("\n")
    return "\n".join([f"In {root}:", f"  $ {first}", *(f"  > {line}" for line in rest)])


async def run_command(
    command: str, root: Path, environment: Mapping[str, str], seconds: float
) -> str:
    """Runs a shell command (sh) in the working directory; gives its exit code and what it prints.

    There is no terminal and nobody who answers questions. What it leaves in the background is
    stopped.
    """
    # Nothing of its process group is left, when this is cancelled as well.
    loop = asyncio.get_running_loop()
    output = _Output()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        try:
            # Not through asyncio: cancelled now, it would end the shell and forget its children.
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
        ended: Future[int] = Future()
        ended.set_running_or_notify_cancel()
        threading.Thread(
            target=lambda: ended.set_result(process.wait()), daemon=True, name="command"
        ).start()
        loop.add_reader(
            reading, lambda: output.take(reading) == b"" and loop.remove_reader(reading)
        )
        code = None
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    code = await asyncio.wrap_future(ended)
        finally:
            loop.remove_reader(reading)
            await _end(process.pid, ended)
            for _ in range(MOST_BYTES // _PIECE):  # somebody who left the group may still print
                if not output.take(reading):
                    break
    finally:
        os.close(reading)
    text = output.text()
    if code is None:
        late = f"It took longer than {seconds:.0f} seconds and was stopped."
        raise ChatLoopError(f"{late} Its output until then:\n{text}")
    outcome = f"Exit code {code}." if code >= 0 else f"Ended by signal {-code}."
    return f"{outcome}\n{text}" if text else f"{outcome} It printed nothing."


async def _end(group: int, ended: Future[int]) -> None:
    """End the process group: politely while the command runs, then for good."""
    try:
        if not ended.done():
            _signal(group, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TERM_SECONDS):
                    await asyncio.wrap_future(ended)
    finally:
        _signal(group, signal.SIGKILL)
    await asyncio.wrap_future(ended)


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # gone, or only zombies are left
        os.killpg(group, number)


class _Output:
    """The beginning and the end of what is printed."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._left_out = 0

    def take(self, descriptor: int) -> bytes | None:
        """Read what there is: nothing at the end, None when there is nothing yet."""
        try:
            data = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return None
        self._bytes += data
        if len(self._bytes) > 3 * MOST_BYTES:
            self._shorten()
        return data

    def text(self) -> str:
        self._shorten()
        head, tail = bytes(self._bytes[:MOST_BYTES]), bytes(self._bytes[MOST_BYTES:])
        left_out = f"\n[… {self._left_out:,} bytes left out …]\n" if self._left_out else ""
        return (head + left_out.encode() + tail).decode("utf-8", "replace").rstrip("\n")

    def _shorten(self) -> None:
        extra = max(0, len(self._bytes) - 2 * MOST_BYTES)
        del self._bytes[MOST_BYTES : MOST_BYTES + extra]
        self._left_out += extra
