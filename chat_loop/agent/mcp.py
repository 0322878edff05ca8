"""One MCP server: connected, listed, called, and connected again. The only door to the SDK.

It runs in the event loop of `mcp_servers`. What a server says of itself beside its tools is not
given to the model, and it can ask the model and the user nothing.
"""

from __future__ import annotations

import asyncio
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
from jsonschema import Draft202012Validator, SchemaError
from mcp.client import Client, IncomingMessage, Transport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    Implementation,
    JSONRPCResponse,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from chat_loop import __version__
from chat_loop.agent import mcp_tools
from chat_loop.agent.isolation import Caught
from chat_loop.agent.mcp_tools import Json, McpTool, cleaned
from chat_loop.config import McpServer, completed
from chat_loop.errors import ChatLoopError
from chat_loop.redact import redacted

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

LARGEST_MESSAGE = 16 << 20
"""Bytes of an answer over HTTP."""
EVENT_SIZE = "max_sse_event_size"
"""The argument that limits an event, which mcp knows from 2.3 on."""
LONGEST_REASON = 300
TAIL = 4_096
"""Bytes of a server's standard error that are kept."""


class Server:
    """A server and its connection. One that is gone is connected again by the next call, once
    until a call succeeds.
    """

    def __init__(self, name: str, config: McpServer, environment: Mapping[str, str]) -> None:
        # what the SDK logs of servers would reach the terminal
        logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)
        self.tools: list[McpTool] = []
        """Those of the last connection there was."""
        self.skipped: list[str] = []
        """The names of listed tools that cannot be called, empty where they have none."""
        self.problem = self.hint = ""
        """Why the last connection is over."""
        self.settled = asyncio.Event()
        """Set when it is connected, or is not going to be."""
        self._name, self._config, self._environment = name, config, environment
        self._client: Client | None = None
        self._renewals = 1
        """How often the next calls may connect it again."""
        self._lock = asyncio.Lock()
        self._stale = False
        self.begin()

    @property
    def state(self) -> Literal["connecting", "connected", "failed"]:
        if self._client is not None:
            return "connected"
        return "failed" if self.settled.is_set() else "connecting"

    @property
    def comes_back(self) -> bool:
        """Tell if it is gone, and a call would connect it again."""
        return self.state == "failed" and bool(self.tools and self._renewals)

    def begin(self) -> None:
        """Connect, in the background."""
        self.settled.clear()
        self._opened = asyncio.Event()
        self._ended = asyncio.Event()
        self._status = 0
        self._said = b""
        deadline = anyio.current_time() + self._config.timeout
        self._scope = anyio.CancelScope(deadline=deadline)
        self._life = asyncio.ensure_future(self._live())

    async def stop(self) -> None:
        """End the connection, and the process with it."""
        await self._opened.wait()  # a process that is half started would be left behind
        self._scope.cancel()
        await asyncio.wait({self._life})

    async def restart(self) -> None:
        """Connect anew, whatever the state; wait for what becomes of it."""
        async with self._lock:
            self._renewals = 1
            await self._renew()

    async def _renew(self) -> None:
        await self.stop()
        self.begin()
        await self.settled.wait()

    async def ready(self) -> list[McpTool]:
        """Wait until it is settled; return the tools that can be called now."""
        await self.settled.wait()
        if self._client is not None and self._stale:
            self._stale = False
            with Caught():  # those from before are offered until it tells again of changes
                async with asyncio.timeout(min(5.0, self._config.timeout)):
                    self.tools = await self._listed(self._client)
        return self.tools if self._client is not None or self.comes_back else []

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool; return its result as text. Raises ChatLoopError with a sentence."""
        async with self._lock:
            await self.settled.wait()
            if self._client is None and self._renewals:
                self._renewals -= 1
                await self._renew()
            client, life = self._client, self._life
        with Caught() as caught:
            result = None if client is None else await client.call_tool(tool, dict(arguments))
        error = caught.error
        refused = isinstance(error, MCPError)
        over = False
        if isinstance(error, MCPError) and self._config.command:
            over = error.code == CONNECTION_CLOSED
        elif isinstance(error, MCPError):  # over HTTP the code is a broken answer's as well
            over = error.message == "Connection closed" or self._status == 404  # forgotten
        if over:
            self._scope.cancel()
            await asyncio.wait({life})
        if over or client is None:
            again = "The next call connects it again."
            again = again if self._renewals else "It is not connected again."
            raise ChatLoopError(self.problem, self.hint or again)
        self._renewals = 1  # the server is there, though it may refuse
        if error is not None or result is None:
            verb = "refused" if refused else "failed"
            reason = self._reason(error) if error is not None else ""
            raise ChatLoopError(f"The MCP server {self._name} {verb}: {reason}") from error
        whole = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        text = mcp_tools.result_text(whole)
        if result.is_error:
            raise ChatLoopError(text or f"{tool} failed, and does not say why.")
        return text

    async def _live(self) -> None:
        """Be connected until the server ends or `stop` is called; keep why it is over."""
        # One task, since the SDK's scopes must be left where they were entered.
        with Caught() as caught, self._scope:
            async with (
                self._transport() as transport,
                Client(
                    self._lenient(transport),
                    message_handler=self._hear,
                    client_info=Implementation(name="chat-loop", version=__version__),
                    cache=None,
                ) as client,
            ):
                self.tools = await self._listed(client)
                self._scope.deadline = math.inf
                self._client = client
                self.settled.set()
                async with anyio.create_task_group() as group:
                    group.start_soon(self._watch, client)
                    await self._ended.wait()
                    group.cancel_scope.cancel()
        error = caught.error
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        self.problem, self.hint = self._end(error)
        self._client = None
        self._opened.set()
        self.settled.set()

    def _end(self, error: BaseException | None) -> tuple[str, str]:
        """Return why the connection is over, and a hint."""
        hint = ""
        if isinstance(error, ChatLoopError):
            problem, hint = f": {error.message}", error.hint
        elif self._scope.deadline <= anyio.current_time():
            problem = f" did not answer within {self._config.timeout:g} seconds."
        elif self._config.command and self._ended.is_set():
            problem = " ended."
        elif error is not None:
            verb = "cannot be started" if self._config.command else "cannot be reached"
            verb = "failed" if self.settled.is_set() else verb
            problem = f" {verb}: {self._reason(error)}"
            if self._status in (401, 403):
                hint = "mcp.NAME.headers in the config can hold a token."
        else:
            problem = " was stopped."
        lines = cleaned(self._said.decode("utf-8", "replace"), TAIL).split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        last = f" It said: “{last[:LONGEST_REASON]}”" if last and last not in problem else ""
        return redacted(f"The MCP server {self._name}{problem}{last}"), hint

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Transport]:
        """Yield what the client opens, and closes."""
        server = self._config
        if not server.command:
            completed_headers = completed(server.headers, self._environment)
            async with httpx2.AsyncClient(
                headers={"Accept-Encoding": "identity", **completed_headers},
                timeout=httpx2.Timeout(30.0, read=None),  # reading is the caller's to limit
                event_hooks={"response": [self._bound]},
            ) as http:
                known = inspect.signature(streamable_http_client).parameters
                size: dict[str, Any] = {EVENT_SIZE: LARGEST_MESSAGE} if EVENT_SIZE in known else {}
                yield streamable_http_client(server.url, http_client=http, **size)
            return
        parameters = StdioServerParameters(
            command=_expanded(server.command),
            args=list(server.args),
            env=completed(server.env, self._environment),
            cwd=_expanded(server.cwd) or None,
        )
        reading, writing = os.pipe()
        listener = threading.Thread(target=self._listen, args=(reading,), daemon=True)
        listener.start()
        try:
            with os.fdopen(writing, "w") as errors:
                yield stdio_client(parameters, errors)
        finally:
            listener.join(1.0)

    def _listen(self, descriptor: int) -> None:
        """Keep the end of standard error, and it out of the terminal."""
        with os.fdopen(descriptor, "rb", buffering=0) as errors:
            while chunk := errors.read(TAIL):
                self._said = (self._said + chunk)[-TAIL:]

    @asynccontextmanager
    async def _lenient(self, transport: Transport) -> AsyncIterator[TransportStreams]:
        """Take the tools that the SDK would refuse a whole list for out of the server's answers,
        and notice the end of them.
        """

        async def pass_on() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async with sending:
                    async for item in read:
                        if isinstance(item, SessionMessage) and isinstance(
                            item.message, JSONRPCResponse
                        ):
                            tools = item.message.result.get("tools")
                            if isinstance(tools, list):
                                item.message.result["tools"], skipped = mcp_tools.usable(tools)
                                self.skipped += skipped
                        await sending.send(item)
            self._ended.set()

        async with transport as (read, write), anyio.create_task_group() as group:
            sending, receiving = anyio.create_memory_object_stream[SessionMessage | Exception]()
            group.start_soon(pass_on)
            self._opened.set()
            async with receiving:
                yield receiving, write
            group.cancel_scope.cancel()

    async def _bound(self, response: httpx2.Response) -> None:
        """Hold every answer to a size; that of events is the SDK's to mind."""
        if response.request.method == "POST":
            self._status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("its answer is compressed, though that was not asked for")
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream)

    async def _listed(self, client: Client) -> list[McpTool]:
        found: list[Json] = []
        cursor: str | None = None
        self.skipped.clear()
        for _ in range(50):  # pages
            page = await client.list_tools(cursor=cursor)
            found += [tool.model_dump(mode="json", by_alias=True) for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None or len(found) >= mcp_tools.MOST_LISTED:
                break
        allowed = self._config.tools
        tools = mcp_tools.listed(self._name, found, _valid)
        return [tool for tool in tools if not allowed or tool.name in allowed]

    async def _hear(self, message: IncomingMessage) -> None:
        self._stale = self._stale or isinstance(message, ToolListChangedNotification)

    async def _watch(self, client: Client) -> None:
        """Hear of changed tools where the protocol wants that to be asked for."""
        tools = client.server_capabilities.tools
        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not modern or tools is None or not tools.list_changed:
            return
        with suppress(MCPError, ListenNotSupportedError, SubscriptionLost, TimeoutError):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._stale = True

    def _reason(self, error: BaseException) -> str:
        """Return what went wrong, as the end of a sentence."""
        status = f" (HTTP {self._status})" if self._status >= 400 else ""
        text = error.message if isinstance(error, MCPError) else str(error)
        if isinstance(error, OSError) and error.strerror:
            text = ": ".join(map(str, filter(None, (error.strerror, error.filename))))
        text = " ".join(cleaned(text, LONGEST_REASON).split()) or type(error).__name__
        return f"{text.rstrip('.')}{status}."


class _Bounded(httpx2.AsyncByteStream):
    """An answer, up to the size that a message may have."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST_MESSAGE:
                raise httpx2.ReadError(f"it sent a message of more than {LARGEST_MESSAGE >> 20} MB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _expanded(path: str) -> str:
    return str(Path(path).expanduser()) if path.startswith("~") else path


def _valid(schema: Json) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True
