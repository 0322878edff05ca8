"""Run shell commands, each in its own process group, which ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from chat_loop.errors import ChatLoopError
from chat_loop.redact import redact_text
from chat_loop.redact.key_places import paths_in_command
from chat_loop.redact.outgoing import TextSource

MAX_SECONDS = 600  # the time limit of a command
TERM_SECONDS = 2.0  # how long its processes may take to exit after SIGTERM
MAX_BYTES = 1_000_000  # bytes of output that are kept, at its beginning and again at its end
MAX_STATES = 20  # how many of a line's last states are drawn over each other
_PIECE = 1 << 16
_SECRET = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API_?KEY|(?:TOKENS?|COOKIES?)(?:_|$)"
    r"|(?:^|_)(?:KEYS?|PASS|PAT|DSN)(?:_|$)|(?:^|_)AUTH$|_PWD$|^AWS_"
)
"""Names of variables with secrets. `SSH_AUTH_SOCK`, `PWD` and `OLDPWD` do not match."""
_NONINTERACTIVE = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without secrets, known by name, by shape, or as part of a value."""
    named = {name for name in environment if _SECRET.search(name.upper())}
    secrets = {environment[name] for name in named if len(environment[name]) >= 8}
    clean = {}
    for name, value in environment.items():
        is_secret = name in named or redact_text(value) != value
        if not (is_secret or any(secret in value for secret in secrets)):
            clean[name] = value
    return clean | _NONINTERACTIVE


def source_of(command: str) -> TextSource:
    """Return where the output of a command comes from: from the files that it names, too."""
    return TextSource(f"the output of `{command}`", paths_in_command(command))


async def run_command(
    command: str, root: Path, environment: Mapping[str, str], seconds: float
) -> str:
    """Run a command of sh in `root`; return its exit code and output. Raises ChatLoopError."""
    with contextlib.closing(Output(MAX_BYTES, MAX_BYTES)) as output:
        try:
            # Not through asyncio: if canceled now, it would end the shell but not its children.
            process = subprocess.Popen(  # noqa: ASYNC220 - it returns as soon as the process is there
                ("/bin/sh", "-c", command),
                cwd=root,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output.pipe,
                stderr=output.pipe,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ChatLoopError(f"The command cannot be run: {reason}.") from error
        exit_code = asyncio.ensure_future(asyncio.to_thread(process.wait))
        code = None
        was_left = False
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    code = await asyncio.shield(exit_code)
        finally:
            was_left = await _end_group(process, exit_code)
            for _ in range(MAX_BYTES // _PIECE):  # a process that left the group may still print
                if not output.read():
                    break
    text = last_states(output.text())
    if code is None:
        stopped = f"It took longer than {seconds:.0f} seconds and was stopped."
        raise ChatLoopError(f"{stopped} Its output until then:\n{text}")
    outcome = f"Ended by signal {-code}."
    if code >= 0:
        outcome = f"Exit code {code}."
    if was_left:
        outcome += " What it left running in the background was ended."
    if text:
        return f"{outcome}\n{text}"
    return f"{outcome} It printed nothing."


def last_states(text: str) -> str:
    """Return each line as a terminal shows it after its carriage returns, such as of progress."""
    lines = text.split("\n")
    return "\n".join(_overwritten(line) if "\r" in line[:-1] else line for line in lines)


def _overwritten(line: str) -> str:
    shown = ""
    end = "\r" if line.endswith("\r") else ""
    for state in line.removesuffix("\r").split("\r")[-MAX_STATES:]:
        shown = state + shown[len(state) :]
    return shown + end


async def _end_group(process: subprocess.Popen[bytes], exit_code: asyncio.Future[int]) -> bool:
    """End the process group: with SIGTERM while the command runs, then with SIGKILL. Return True if
    the command had ended by itself and left processes.
    """

    def send(number: int) -> bool:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # gone, or only zombies left
            os.killpg(process.pid, number)
            return True
        return False

    ended_itself = exit_code.done()
    was_left = False
    try:
        if not ended_itself:
            send(signal.SIGTERM)
            await asyncio.wait({exit_code}, timeout=TERM_SECONDS)
    finally:
        was_left = send(signal.SIGKILL) and ended_itself
        process.wait()  # also when canceled a second time; a killed shell is gone at once
    return was_left


class Output:
    """A pipe for the output of processes. It keeps the `first` and the `last` bytes."""

    def __init__(self, first: int, last: int) -> None:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self.pipe = os.fdopen(writing, "wb", 0)
        self._reading = os.fdopen(reading, "rb", 0)
        self._first = first
        self._last = last
        self._data = bytearray()
        self._omitted = 0
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(reading, self.read)

    def read(self) -> bool:
        """Read a piece from the pipe. Return False if it is empty."""
        piece = self._reading.read(_PIECE) or b""
        self._data += piece
        excess = max(0, len(self._data) - self._first - self._last)
        del self._data[self._first : self._first + excess]
        self._omitted += excess
        return bool(piece)

    def text(self) -> str:
        """Return the text without final newlines. A note replaces the bytes that were not kept."""
        note = ""
        if self._omitted:
            note = f"\n[… {self._omitted:,} bytes left out …]\n"
        data = self._data[: self._first] + note.encode() + self._data[self._first :]
        return data.decode("utf-8", "replace").rstrip("\n")

    def close(self) -> None:
        """Close the pipe."""
        self._loop.remove_reader(self._reading)
        self._reading.close()
        self.pipe.close()
