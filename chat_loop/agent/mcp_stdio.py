"""An MCP server as a process of ours, as the SDK wants a transport to be.

The SDK's own transport takes a line of any length, needs a file for what the server says on
standard error, and leaves a server that exits by itself its children. This one does not.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    _Incoming = MemoryObjectSendStream[SessionMessage | Exception]
    _Streams = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception],
        MemoryObjectSendStream[SessionMessage],
    ]

LARGEST_MESSAGE = 16 << 20
CHUNK = 1 << 16
TAIL = 4_096
"""Bytes of standard error that are kept."""
CLOSED_SECONDS = 2.0
"""How long a server may take to exit once its standard input is closed."""
TERMINATED_SECONDS = 1.0
"""And once it was told to with SIGTERM."""
POLL_SECONDS = 0.01

_running: set[int] = set()
"""The groups of the processes that run."""


@atexit.register
def _kill_what_runs() -> None:
    """For an exit that closed nothing."""
    for group in list(_running):
        _signal(group, "SIGKILL")


class ServerProcess:
    """A server that is started, and stopped with all its children. It gets none of our environment
    but what is safe.
    """

    def __init__(self, command: str, args: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self._command = [command, *args]
        self._environment = {**get_default_environment(), **env}
        self._cwd = cwd or None
        self._tail: deque[bytes] = deque()
        self._too_large = False
        self._code: int | None = None
        self.begun = False
        self.ended = asyncio.Event()
        """Set when nothing more comes from it."""

    @property
    def end(self) -> str:
        """How it ended, as the end of a sentence."""
        if self._too_large:
            return f"sent a message of more than {LARGEST_MESSAGE >> 20} MB and was stopped"
        if self._code is None:
            return "closed its output and was stopped"
        return (
            f"was ended by signal {-self._code}"
            if self._code < 0
            else f"ended with exit code {self._code}"
        )

    @property
    def said(self) -> str:
        """The last line of its standard error."""
        lines = b"".join(self._tail)[-TAIL:].decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[_Streams]:
        """The process as a transport: it runs while that is open. Raises OSError and ValueError."""
        with anyio.CancelScope(shield=True):  # a process that is half made would be left behind
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
                cwd=self._cwd,
                start_new_session=True,
            )
        _running.add(process.pid)
        self.begun = True
        to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with (
                anyio.create_task_group() as group,
                to_session,
                from_server,
                to_server,
                from_session,
            ):
                group.start_soon(self._read, process, to_session)
                group.start_soon(self._write, process, from_session, to_session)
                group.start_soon(self._listen, process)
                try:
                    yield from_server, to_server
                finally:
                    with anyio.CancelScope(shield=True):
                        await self._stop(process)
                    _close_pipes(process)
                    group.cancel_scope.cancel()
        finally:
            _running.discard(process.pid)

    async def _read(self, process: asyncio.subprocess.Process, to_session: _Incoming) -> None:
        """Give the session each line that is a message; whatever else is on standard output is left
        out.
        """
        assert process.stdout is not None
        try:
            async with to_session:
                await self._deliver(process.stdout, to_session)
                if not self._too_large:
                    with anyio.move_on_after(CLOSED_SECONDS):
                        self._code = await process.wait()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the session is closed
        finally:
            self.ended.set()
            with anyio.CancelScope(
                shield=True
            ):  # a server that still writes must be able to come to its end
                while await process.stdout.read(CHUNK):
                    pass

    async def _deliver(self, output: asyncio.StreamReader, to_session: _Incoming) -> None:
        pieces: list[bytes] = []
        size = 0
        while chunk := await output.read(CHUNK):
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                message = _message(b"".join([*pieces, line]))
                pieces, size = [], 0
                if message is not None:
                    await to_session.send(message)
            pieces.append(rest)
            size += len(rest)
            if size > LARGEST_MESSAGE:
                self._too_large = True
                return

    async def _write(
        self,
        process: asyncio.subprocess.Process,
        from_session: MemoryObjectReceiveStream[SessionMessage],
        to_session: _Incoming,
    ) -> None:
        assert process.stdin is not None
        try:
            async with from_session:
                async for message in from_session:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    process.stdin.write(f"{text}\n".encode())
                    await process.stdin.drain()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await to_session.aclose()  # so that no request waits for an answer

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Keep the end of standard error, and it out of the terminal."""
        assert process.stderr is not None
        while chunk := await process.stderr.read(TAIL):
            self._tail.append(chunk)
            while sum(map(len, self._tail)) - len(self._tail[0]) >= TAIL:
                self._tail.popleft()

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """Close standard input, then tell the whole group to end, then end it. Takes a few seconds
        at most.
        """
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        if not self._too_large:
            await _until(lambda: process.returncode is not None, CLOSED_SECONDS)
        for name in ("SIGTERM", "SIGKILL"):
            if not _signal(process.pid, name):
                break
            await _until(
                lambda: process.returncode is not None and not _signal(process.pid),
                TERMINATED_SECONDS,
            )


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    """A process that left the group may hold them open still; there is no other way to them than
    this.
    """
    transport = getattr(process, "_transport", None)
    if transport is not None:
        with suppress(ProcessLookupError, PermissionError):
            transport.close()


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _until(holds: Callable[[], bool], seconds: float) -> None:
    with anyio.move_on_after(seconds):
        while not holds():  # noqa: ASYNC110 - nothing tells of the end of a group
            await anyio.sleep(POLL_SECONDS)


def _signal(group: int, name: str = "") -> bool:
    """Send a signal to a process group (none: only look); whether there is anyone left in it."""
    if not hasattr(os, "killpg"):  # Windows
        with suppress(OSError):
            os.kill(group, signal.SIGTERM)
        return False
    try:
        os.killpg(group, getattr(signal, name) if name else 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # some of it is another user's, or a zombie
    return True
