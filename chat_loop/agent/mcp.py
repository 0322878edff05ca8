"""One MCP server: connected, listed, called, and connected again. With `mcp_stdio` the only door to
the SDK.

It runs in the event loop of `mcp_servers`. A connection is one task, since the SDK's scopes must be
left where they were entered; what goes wrong in it ends that task, and becomes a sentence. What a
server says of itself beside its tools (instructions, prompts, resources) is not given to the model,
and it can ask the model and the user nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio
import httpx2
from jsonschema import Draft202012Validator, SchemaError
from mcp.client import Client, IncomingMessage, Transport
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
from chat_loop.agent.mcp_stdio import LARGEST_MESSAGE, ServerProcess
from chat_loop.agent.mcp_tools import (
    MOST_LISTED,
    Json,
    Listed,
    cleaned,
    listed,
    result_text,
    usable,
)
from chat_loop.config import McpServer, completed
from chat_loop.errors import ChatLoopError
from chat_loop.redact import redacted

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams

MOST_PAGES = 50
LONGEST_REASON = 300
REFRESH_SECONDS = 5.0
HTTP_SECONDS = 30.0
"""For connecting and writing; how long an answer may take is the caller's to say."""
CLOSED = "Connection closed"
"""What the SDK says to the requests of a connection that is over; the status 404: the server has
forgotten it.
"""
TOKEN = "mcp.NAME.headers in the config can hold a token."
FAULTS = (
    MCPError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    httpx2.HTTPError,
    httpx2.StreamError,
    OSError,
    ValueError,
    RuntimeError,
    LookupError,
    TypeError,
)
"""What a request to a server fails with. A result that is none of its protocol is a ValueError."""


class Connection:
    """One connection to a server, from `begin` to `over`."""

    def __init__(self, name: str, server: McpServer, environment: Mapping[str, str]) -> None:
        logging.getLogger("mcp").setLevel(
            logging.CRITICAL + 1
        )  # what it says of servers would reach the terminal
        self.tools: tuple[Listed, ...] = ()
        self.skipped: list[str] = []
        """The tools of the last list that cannot be called: their names, empty where they have
        none.
        """
        self.connected = False
        self.problem = self.hint = ""
        """Why it is over, or will not be."""
        self.settled = asyncio.Event()
        """Set when it is connected, or is not going to be."""
        self.over = asyncio.Event()
        """Set when it has ended, and the process with it."""
        self._name = name
        self._server = server
        self._environment = environment
        self._client: Client | None = None
        self._process: ServerProcess | None = None
        self._scope = anyio.CancelScope()
        self._stale = False
        self._status = 0
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Connect, in the background."""
        self._task = asyncio.ensure_future(self._run())

    def close(self) -> None:
        """End it, in the background."""
        self._scope.cancel()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool; its result as text. Raises ChatLoopError with a sentence, and Gone. Can be
        cancelled.
        """
        if self._client is None:
            raise Gone
        try:
            result = await self._client.call_tool(tool, dict(arguments))
        except MCPError as error:
            if self._is_over(error):
                self.close()
                await self.over.wait()
                raise Gone from error
            raise ChatLoopError(
                f"The MCP server {self._name} refused: {self._reason(error)}"
            ) from error
        except FAULTS as error:
            raise ChatLoopError(
                f"The MCP server {self._name} failed: {self._reason(error)}"
            ) from error
        text = result_text(result.model_dump(mode="json", by_alias=True, exclude_none=True))
        if result.is_error:
            raise ChatLoopError(text or f"{tool} failed, and does not say why.")
        return text

    async def refresh(self) -> None:
        """List the tools anew where the server has said that they changed."""
        if self._client is None or not self._stale:
            return
        self._stale = False
        try:
            async with asyncio.timeout(min(REFRESH_SECONDS, self._server.timeout)):
                self.tools = await self._listed(self._client)
        except FAULTS:
            pass  # those from before are offered until it says again that they changed
        except asyncio.CancelledError:
            self._stale = True
            raise

    def _is_over(self, error: MCPError) -> bool:
        """Whether an error is the connection's, and not only the request's."""
        if self._process is not None:
            return bool(error.code == CONNECTION_CLOSED)
        return (
            self._status == 404 or error.message == CLOSED
        )  # over HTTP the code is a broken answer's as well

    async def _run(self) -> None:
        timer = asyncio.get_running_loop().call_later(self._server.timeout, self._expire)
        life = asyncio.ensure_future(self._live(timer))
        await asyncio.wait({life})
        timer.cancel()
        self._client, self.connected = None, False
        self._fail(life.exception())
        self.over.set()

    async def _live(self, timer: asyncio.TimerHandle) -> None:
        with self._scope:
            async with (
                self._transport() as transport,
                Client(
                    self._lenient(transport),
                    message_handler=self._told,
                    client_info=Implementation(name="chat-loop", version=__version__),
                    cache=None,
                ) as client,
            ):
                self.tools = await self._listed(client)
                timer.cancel()
                self._client, self.connected = client, True
                self.settled.set()
                async with anyio.create_task_group() as group:
                    group.start_soon(self._watch, client)
                    await (
                        self._process.ended.wait()
                        if self._process is not None
                        else anyio.sleep_forever()
                    )
                    group.cancel_scope.cancel()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Transport]:
        """What the client opens, and closes."""
        server = self._server
        if server.command:
            env = completed(server.env, self._environment)
            self._process = ServerProcess(
                _expanded(server.command), server.args, env, _expanded(server.cwd)
            )
            yield self._process.transport()
            return
        headers = {"Accept-Encoding": "identity", **completed(server.headers, self._environment)}
        timeout = httpx2.Timeout(HTTP_SECONDS, read=None)
        hooks = {"response": [self._answered]}
        async with httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks) as http:
            yield streamable_http_client(
                server.url, http_client=http, max_sse_event_size=LARGEST_MESSAGE
            )

    @asynccontextmanager
    async def _lenient(self, transport: Transport) -> AsyncIterator[TransportStreams]:
        """Take the tools that the SDK would refuse the whole list for out of the server's
        answers.
        """
        async with transport as (read, write):
            yield _Checked(read, self.skipped), write

    async def _answered(self, response: httpx2.Response) -> None:
        """Hold every answer to a size; that of events is the SDK's to mind."""
        if response.request.method == "POST":
            self._status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("its answer is compressed, though that was not asked for")
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream)

    async def _listed(self, client: Client) -> tuple[Listed, ...]:
        found: list[Json] = []
        cursor: str | None = None
        self.skipped.clear()
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                found.append(
                    tool.model_dump(
                        mode="json", by_alias=True, exclude={"output_schema", "icons", "meta"}
                    )
                )
                if tool.output_schema:
                    # the SDK would check results with it, for as long as its patterns take
                    tool.output_schema.clear()
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_LISTED:
                break
        allowed = self._server.tools
        return tuple(tool for tool in listed(found, _valid) if not allowed or tool.name in allowed)

    async def _told(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._stale = True

    async def _watch(self, client: Client) -> None:
        """Hear of changed tools where the protocol wants that to be asked for; without it they stay
        as they are.
        """
        tools = client.server_capabilities.tools
        if (
            client.protocol_version not in MODERN_PROTOCOL_VERSIONS
            or tools is None
            or not tools.list_changed
        ):
            return
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._stale = True
        except (MCPError, ListenNotSupportedError, SubscriptionLost, TimeoutError):
            return

    def _expire(self) -> None:
        self.problem = (
            f"The MCP server {self._name} did not answer within {self._server.timeout:g} seconds."
        )
        self.settled.set()
        self._scope.cancel()

    def _fail(self, error: BaseException | None) -> None:
        """Say why the connection is over, if nothing has been said yet."""
        if not self.problem:
            process, first = self._process, _first(error)
            if isinstance(first, ChatLoopError):
                self.problem, self.hint = (
                    f"The MCP server {self._name}: {first.message}",
                    first.hint,
                )
            elif process is not None and process.begun and process.ended.is_set():
                self.problem = f"The MCP server {self._name} {process.end}."
            elif first is not None:
                verb = (
                    "failed"
                    if self.settled.is_set()
                    else "cannot be reached"
                    if process is None
                    else "cannot be started"
                )
                self.problem = f"The MCP server {self._name} {verb}: {self._reason(first)}"
                self.hint = TOKEN if process is None and self._status in (401, 403) else ""
            else:
                self.problem = f"The MCP server {self._name} was stopped."
        said = cleaned(self._process.said, LONGEST_REASON) if self._process is not None else ""
        if said and said not in self.problem:
            self.problem += f" It said: “{said}”"
        self.problem = redacted(self.problem)
        self.settled.set()

    def _reason(self, error: BaseException) -> str:
        """What went wrong, as the end of a sentence."""
        status = f" (HTTP {self._status})" if self._status >= 400 else ""
        text = error.message if isinstance(error, MCPError) else str(error)
        if isinstance(error, OSError) and error.strerror:
            text = ": ".join(map(str, filter(None, (error.strerror, error.filename))))
        text = " ".join(cleaned(text, LONGEST_REASON).split()) or type(error).__name__
        return f"{text.rstrip('.')}{status}."


class Gone(Exception):
    """The connection is over."""


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


class _Checked:
    """A server's messages, with each list of tools reduced to those that can be called; the rest
    goes to `skipped`.
    """

    def __init__(self, stream: ReadStream[SessionMessage | Exception], skipped: list[str]) -> None:
        self._stream = stream
        self._skipped = skipped

    async def receive(self) -> SessionMessage | Exception:
        item = await self._stream.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            tools = item.message.result.get("tools")
            if isinstance(tools, list):
                item.message.result["tools"], skipped = usable(tools)
                self._skipped += skipped
        return item

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _expanded(path: str) -> str:
    return str(Path(path).expanduser()) if path.startswith("~") else path


def _first(error: BaseException | None) -> BaseException | None:
    """What a group of errors began with."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _valid(schema: Json) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True
