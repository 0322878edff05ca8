"""A server on 127.0.0.1 that speaks every provider's wire, records every request, and answers each
as a script says.

    with Loopback() as server:
        server.enqueue(Reply(chunks=("Hel", "lo")), failing(429, retry_after="3")) ...a program
        talks to server.url (Anthropic, Azure, Bedrock) or server.url + "/v1" (OpenAI)...
        server.requests[0].body

Without a script it has a conversation (`talk`), so that a program in another process can be tested
with one.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from benchmarks.support.loopback_aws import CONTENT_TYPE
from benchmarks.support.loopback_wires import Failure, Received, Reply, failure_body, frames
from chat_loop.values import Usage

__all__ = ["Failure", "Loopback", "Received", "Reply", "failing", "talk"]

CALLS = ("/v1/messages", "/chat/completions", "/responses", "/invoke-with-response-stream")
"""The ends of the paths of model calls."""

ASIDE = ("/api/generate", "/api/show")
"""The paths at which a client asks Ollama about its models, by POST."""

Handler = Callable[[Received], Reply]

PATIENCE_SECONDS = 60.0
"""Seconds to wait for the server or the client; reached only when something is broken."""

SUMMARY = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- {topic}

**Decisions Made:**
- none

**Pending:**
- none
"""


def talk(request: Received) -> Reply:
    """Return the reply without a script: a summary for a summary task, else an echo. Tokens are
    counted as words.
    """
    if request.system.partition("\n")[0].startswith("Task: session summary"):
        said = (
            line.removeprefix("User:").split()
            for line in request.query.splitlines()
            if line.startswith("User:")
        )
        text = SUMMARY.format(topic=" ".join(next(said, ["conversation"])[:6]))
    else:
        text = f"You said: {request.query[:60]}"
    asked = sum(len(part.split()) for part in (request.system, *request.texts))
    words = text.split(" ")
    chunks = (words[0], *(f" {word}" for word in words[1:]))
    return Reply(chunks=chunks, usage=Usage(input=asked, output=len(text.split())))


def failing(
    status: int,
    kind: str = "api_error",
    message: str = "It did not work.",
    *,
    code: str | int | None = None,
    retry_after: str | None = None,
) -> Reply:
    """Return a refusal with an error object in the form of the wire."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Reply(status=status, error=Failure(kind, message, code), headers=headers)


class Loopback:
    """The server. Its thread runs until the `with` block ends; `url` has no trailing slash."""

    def __init__(self, handler: Handler = talk, *, models: tuple[str, ...] = ("loopback",)) -> None:
        self.handler = handler
        self.models = models
        self.url = ""
        self.requests: list[Received] = []
        """Every request that arrived completely, in order, except those in `looked`."""
        self.looked: list[Received] = []
        """The requests about models, which may arrive at any time."""
        self.connections = 0
        """The number of connections that clients have opened."""
        self._script: deque[Reply] = deque()
        self._arrived = threading.Condition()
        self._started = threading.Event()
        self._faults: list[BaseException] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="loopback", daemon=True
        )

    def enqueue(self, *replies: Reply) -> None:
        """Answer the next model calls with `replies`, one each, before asking the handler again."""
        self._script.extend(replies)

    def request(self, number: int = 0) -> Received:
        """Wait for a request and return it. Raises AssertionError when it does not arrive."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.requests) > number, PATIENCE_SECONDS), (
                "no request came"
            )
            return self.requests[number]

    def stalled(self, number: int = 0) -> Received:
        """Return a request once its reply stalls."""
        request = self.request(number)
        assert request.stalled.wait(PATIENCE_SECONDS), "the reply did not reach its stall"
        return request

    def left(self, number: int = 0) -> Received:
        """Return a request once its client has closed the connection."""
        request = self.request(number)
        assert request.left.wait(PATIENCE_SECONDS), "the client did not leave"
        return request

    def release(self) -> None:
        """Let the replies that are stalled now continue."""

        def wake() -> None:
            self._released.set()
            self._released.clear()

        self._loop.call_soon_threadsafe(wake)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(PATIENCE_SECONDS), "the server did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_SECONDS)
        if self._faults and error is None:
            raise self._faults[0]

    async def _serve(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._fault)
        self._stop = asyncio.Event()
        self._released = asyncio.Event()
        # asyncio's own server leaves a connection open that it accepts while it is closed
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            host, port = listener.getsockname()
            self.url = f"http://{host}:{port}"
            loop.add_reader(listener, self._accept, listener)
            self._started.set()
            await self._stop.wait()
            loop.remove_reader(listener)
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        self._faults.append(
            error if isinstance(error, BaseException) else RuntimeError(str(context["message"]))
        )

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection = listener.accept()[0]
        except (BlockingIOError, ConnectionAbortedError):
            return  # the client has left already
        # asyncio would set it, but it does not know that this is TCP; each reply would take 40 ms more
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._converse(connection))
        self._connections.add(task)
        task.add_done_callback(lambda _: self._disconnected(task, connection))

    def _disconnected(self, task: asyncio.Task[None], connection: socket.socket) -> None:
        self._connections.discard(task)
        connection.close()  # the task may have been cancelled before its first step
        if not task.cancelled() and (error := task.exception()):
            self._faults.append(error)

    async def _converse(self, connection: socket.socket) -> None:
        """Answer the requests of a connection until the client or a reply ends it."""
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            while (request := await self._receive(reader)) and await self._answer(
                request, reader, writer
            ):
                pass
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()  # until the client has read the rest, or left
        finally:
            writer.transport.abort()  # data that the client did not read would keep it open

    async def _receive(self, reader: asyncio.StreamReader) -> Received | None:
        """Return the next request of a connection; None when the client has closed it."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            at = time.perf_counter()
            first, *lines = head.rstrip("\r\n").split("\r\n")
            method, path, _ = first.split(" ")
            fields = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in fields}
            raw = await reader.readexactly(int(headers.get("content-length", "0")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        body = json.loads(raw) if raw else None
        request = Received(method=method, path=path, headers=headers, body=body, at=at)
        with self._arrived:
            (self.looked if method == "GET" or path in ASIDE else self.requests).append(request)
            self._arrived.notify_all()
        return request

    async def _answer(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer a request; return False when the connection must end."""
        path = request.path.partition("?")[0]
        if path.endswith("/models"):
            data = [
                {"id": model, "object": "model", "type": "model", "display_name": model}
                for model in self.models
            ]
            reply = Reply(
                body=json.dumps({"object": "list", "data": data, "has_more": False}).encode()
            )
        elif path.endswith(CALLS):
            reply = self._script.popleft() if self._script else self.handler(request)
        else:
            reply = failing(404, "not_found_error", f"No such path: {request.path}")
        try:
            if reply.body is None and reply.status == 200:
                return await self._stream(reply, request, reader, writer)
            error = reply.error or Failure("api_error", "")
            body = (
                json.dumps(failure_body(request.wire, error)).encode()
                if reply.body is None
                else reply.body
            )
            headers = {
                "content-type": "application/json",
                "content-length": str(len(body)),
                **reply.headers,
            }
            if request.wire == "bedrock":
                headers["x-amzn-errortype"] = f"{error.kind}:http://internal.amazon.com/"
            writer.write(_head(reply.status, headers) + body)
            await writer.drain()
        except ConnectionError:
            request.left.set()
            return False
        return True

    async def _stream(
        self,
        reply: Reply,
        request: Received,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        kind = CONTENT_TYPE if request.wire == "bedrock" else "text/event-stream; charset=utf-8"
        headers = {"content-type": kind, "transfer-encoding": "chunked", **reply.headers}
        writer.write(_head(200, headers))
        await writer.drain()
        for frame in frames(reply, request):
            if frame == "cut":
                return False
            if frame == "stall":
                if not await self._held(reader, reply.stall_seconds, request.stalled):
                    request.left.set()
                    return False
                continue
            assert isinstance(frame, bytes)
            step = reply.split or len(frame)
            for start in range(0, len(frame), step):
                part = frame[start : start + step]
                writer.write(b"%x\r\n%b\r\n" % (len(part), part))
                await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _held(
        self, reader: asyncio.StreamReader, seconds: float | None, stalled: threading.Event
    ) -> bool:
        """Set `stalled`, and wait for `release`, or `seconds`; return False if the client leaves
        first. A client sends nothing while it waits.
        """
        released = asyncio.ensure_future(self._released.wait())
        gone = asyncio.ensure_future(reader.read(1))
        stalled.set()  # only now, or a `release` that follows at once would wake nobody
        try:
            await asyncio.wait(
                (released, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            return not gone.done()
        finally:
            released.cancel()
            gone.cancel()
            await asyncio.gather(released, gone, return_exceptions=True)


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
