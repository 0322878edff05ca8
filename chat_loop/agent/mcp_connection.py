"""The connection to one MCP server, in the event loop of `mcp_servers`; only tools are used."""

from __future__ import annotations

import asyncio
import codecs
import inspect
import logging
import math
import os
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
import httpx2
import mcp_types
from mcp.client import Client, IncomingMessage, Transport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from chat_loop import __version__
from chat_loop.agent import mcp_tools
from chat_loop.agent.isolation import CapturedError, plain_line
from chat_loop.config import McpServer, expand_variables
from chat_loop.errors import ChatLoopError
from chat_loop.redact import redact_text
from chat_loop.values import ToolSpec

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from mcp.client._transport import TransportStreams

MAX_MESSAGE = 4 << 20
"""Bytes of a message from a server."""
TOO_LARGE = f"it sent a message of more than {MAX_MESSAGE >> 20} MB"
MAX_PAGES = 50
MAX_REASON = 300
MAX_STDERR = 4_096
"""Bytes of a server's standard error that are kept."""


class McpConnection:
    """A server and its connection. After a loss the next call reconnects it."""

    def __init__(self, name: str, config: McpServer, environment: Mapping[str, str]) -> None:
        # what the SDK logs of servers would reach the terminal
        logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)
        self.tools: tuple[ToolSpec, ...] = ()
        self.ready = asyncio.Event()
        """Set when the server is connected or has failed."""
        self._name, self._config, self._environment = name, config, environment
        self._client: Client | None = None
        self._lock = asyncio.Lock()
        self._tools_changed = False
        self._connect()

    def _connect(self) -> None:
        """Connect, in the background."""
        self.ready.clear()
        self.state: Literal["connecting", "connected", "failed"] = "connecting"
        self.problem = ""
        self.reconnects = False
        self._transport_opened = asyncio.Event()
        self._stream_ended = asyncio.Event()
        self._too_large = False
        self._status = 0
        self._stderr = b""
        deadline = anyio.current_time() + self._config.timeout
        self._scope = anyio.CancelScope(deadline=deadline)
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """End the connection, and the process with it."""
        await self._transport_opened.wait()  # a process that is half started would be left behind
        self._scope.cancel()
        await asyncio.wait({self._task})

    async def restart(self) -> None:
        """Reconnect in any state; wait for the outcome."""
        async with self._lock:
            await self._reconnect()

    async def _reconnect(self) -> None:
        await self.stop()
        self._connect()
        await self.ready.wait()

    async def wait_ready(self) -> None:
        """Wait until it is connected or has failed; reload the tools if they have changed."""
        await self.ready.wait()
        if self._client is not None and self._tools_changed:
            self._tools_changed = False
            with CapturedError():  # on failure the old tools stay until the next change
                async with asyncio.timeout(min(5.0, self._config.timeout)):
                    await self._list_tools(self._client)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool; return its result as text. Raises ChatLoopError with a sentence."""
        async with self._lock:
            await self.ready.wait()
            if self.reconnects:
                await self._reconnect()
            client, life = self._client, self._task
        with CapturedError() as captured:
            result = None if client is None else await client.call_tool(tool, dict(arguments))
        error = captured.error
        lost = client is None
        if isinstance(error, MCPError):
            lost = error.code == mcp_types.CONNECTION_CLOSED
            if self._config.url:  # the code of a broken answer is the same; 404: it forgot us
                lost = error.message == "Connection closed" or self._status == 404
        if lost:
            self._scope.cancel()
            await asyncio.wait({life})
            again = "The next call connects it again." if self.reconnects else ""
            raise ChatLoopError(self.problem, again)
        if error is not None or result is None:
            verb = "refused" if isinstance(error, MCPError) else "failed"
            reason = self._reason(error)
            raise ChatLoopError(f"The MCP server {self._name} {verb}: {reason}") from error
        json = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        text = mcp_tools.result_text(json)
        if result.is_error:
            raise ChatLoopError(text or f"{tool} failed, and does not say why.")
        return text

    async def _run(self) -> None:
        """Stay connected until the server ends or `stop` is called; record the reason."""
        # One task, since the SDK's scopes must be left where they were entered.
        with CapturedError() as captured, self._scope:
            async with (
                self._transport() as transport,
                Client(
                    self._filter_messages(transport),
                    message_handler=self._receive,
                    client_info=mcp_types.Implementation(name="chat-loop", version=__version__),
                    cache=None,
                ) as client,
            ):
                await self._list_tools(client)
                self._scope.deadline = math.inf
                self._client = client
                self.state = "connected"
                self.ready.set()
                async with anyio.create_task_group() as group:
                    group.start_soon(self._watch_tools, client)
                    await self._stream_ended.wait()
                    group.cancel_scope.cancel()
        self._client = None
        self.state = "failed"
        self.problem = self._problem(captured.error)
        self.reconnects = self.ready.is_set()
        self._transport_opened.set()
        self.ready.set()

    def _problem(self, error: BaseException | None) -> str:
        """Return the reason for the end of the connection, with the last line of standard error."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ChatLoopError):
            problem = f": {error.message} {error.hint}"
        elif self._scope.deadline <= anyio.current_time():
            problem = f" did not answer within {self._config.timeout:g} seconds."
        elif self._too_large:
            problem = f" failed: {TOO_LARGE}."
        elif error is None or (self._config.command and self._stream_ended.is_set()):
            problem = " ended."
        else:
            verb = "failed" if self.ready.is_set() else "cannot be connected"
            problem = f" {verb}: {self._reason(error)}"
        if self._status in (401, 403):
            problem += " mcp.NAME.headers in the config can hold a token."
        lines = self._stderr.decode("utf-8", "replace").split("\n")
        spoken = [line for line in lines if line.strip()]
        last = mcp_tools.clean_text(spoken[-1].strip(), MAX_REASON) if spoken else ""
        last = f" It said: “{last}”" if last and last not in problem else ""
        return redact_text(f"The MCP server {self._name}{problem}{last}")

    def _reason(self, error: BaseException | None) -> str:
        """Return an error as the end of a sentence."""
        text = error.message if isinstance(error, MCPError) else str(error)
        if isinstance(error, OSError) and error.strerror and error.filename:
            text = f"{error.strerror}: {error.filename}"
        text = plain_line(text, MAX_REASON).rstrip(".") or type(error).__name__
        return f"{text}{f' (HTTP {self._status})' if self._status >= 400 else ''}."

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Transport]:
        """Yield the SDK's transport, which the client opens and closes."""
        config = self._config
        if config.url:
            headers = expand_variables(config.headers, self._environment)
            async with httpx2.AsyncClient(
                headers={"Accept-Encoding": "identity", **headers},
                timeout=httpx2.Timeout(30.0, read=None),  # reading is the caller's to limit
                event_hooks={"response": [self._limit_response]},
            ) as http:
                limit: dict[str, Any] = {"max_sse_event_size": MAX_MESSAGE}
                if not limit.keys() & inspect.signature(streamable_http_client).parameters:
                    limit = {}  # before mcp 2.3
                yield streamable_http_client(config.url, http_client=http, **limit)
            return
        process = StdioServerParameters(
            command=_expand_home(config.command),
            args=list(config.args),
            env=expand_variables(config.env, self._environment),
            cwd=_expand_home(config.cwd) or None,
            encoding=_BOUNDED_LINES,
        )
        reading, writing = os.pipe()
        reader = threading.Thread(target=self._read_stderr, args=(reading,), daemon=True)
        reader.start()
        try:
            with os.fdopen(writing, "w") as stderr:
                yield stdio_client(process, stderr)
        finally:
            reader.join(1.0)

    def _read_stderr(self, descriptor: int) -> None:
        """Keep the end of standard error, away from the terminal."""
        with os.fdopen(descriptor, "rb", buffering=0) as stderr:
            while chunk := stderr.read(MAX_STDERR):
                self._stderr = (self._stderr + chunk)[-MAX_STDERR:]

    async def _limit_response(self, response: httpx2.Response) -> None:
        """Limit the size of an answer; the SDK limits events."""
        if response.request.method == "POST":
            self._status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("its answer is compressed, though that was not asked for")
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _LimitedStream(response.stream)

    @asynccontextmanager
    async def _filter_messages(self, transport: Transport) -> AsyncIterator[TransportStreams]:
        """Forward a server's messages; detect their end and messages that are too large.

        Lists of tools are cleaned here: to the SDK one bad tool costs the whole list, and checking
        results against their schemas could take forever.
        """

        async def pass_on() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async with sending:
                    async for item in read:
                        message = item.message if isinstance(item, SessionMessage) else None
                        if getattr(message, "method", "") == _TOO_LARGE:
                            self._too_large = True
                            break
                        if isinstance(message, mcp_types.JSONRPCResponse):
                            tools = message.result.get("tools")
                            if isinstance(tools, list):
                                message.result["tools"] = mcp_tools.clean_tools(tools)
                        await sending.send(item)
            self._stream_ended.set()

        async with transport as (read, write), anyio.create_task_group() as group:
            sending, receiving = anyio.create_memory_object_stream[SessionMessage | Exception]()
            group.start_soon(pass_on)
            self._transport_opened.set()
            async with receiving:
                yield receiving, write
            group.cancel_scope.cancel()

    async def _list_tools(self, client: Client) -> None:
        """Load the list of tools."""
        tools: dict[str, ToolSpec] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                spec = ToolSpec(tool.name, tool.description or "", tool.input_schema)
                if not self._config.tools or tool.name in self._config.tools:
                    tools.setdefault(tool.name, spec)
            cursor = page.next_cursor
            if cursor is None or len(tools) >= mcp_tools.MAX_LISTED:
                break
        self.tools = tuple(tools.values())

    async def _receive(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._tools_changed = True

    async def _watch_tools(self, client: Client) -> None:
        """Subscribe to changes of the tools where the protocol requires it."""
        tools = client.server_capabilities.tools
        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not modern or tools is None or not tools.list_changed:
            return
        with suppress(MCPError, ListenNotSupportedError, SubscriptionLost, TimeoutError):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._tools_changed = True


def _expand_home(path: str) -> str:
    return str(Path(path).expanduser()) if path.startswith("~") else path


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of an answer, limited to the size of a message."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_MESSAGE:
                raise httpx2.ReadError(TOO_LARGE)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


_BOUNDED_LINES = "utf_8_bounded_lines"
"""The encoding of stdio: the SDK buffers lines without a limit, but accepts any decoder."""
_TOO_LARGE = "notifications/message-too-large"
"""The method of the message that replaces a line that is too long."""


class _BoundedLineDecoder(codecs.IncrementalDecoder):
    """Decodes UTF-8 line by line."""

    _rest = b""

    def decode(self, data: ReadableBuffer, final: bool = False) -> str:
        lines = (self._rest + bytes(data)).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_MESSAGE:
            lines.append(b'{"jsonrpc": "2.0", "method": "%s"}' % _TOO_LARGE.encode())
            self._rest = b""
        return "".join(f"{line.decode('utf-8', 'replace')}\n" for line in lines)


_BOUNDED_UTF8 = codecs.CodecInfo(
    codecs.utf_8_encode, codecs.utf_8_decode, incrementaldecoder=_BoundedLineDecoder
)
codecs.register(lambda name: _BOUNDED_UTF8 if name == _BOUNDED_LINES else None)
