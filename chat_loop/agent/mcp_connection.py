"""The connection to one MCP server, in the event loop of `mcp_servers`; only tools are used."""

from __future__ import annotations

import asyncio
import codecs
import inspect
import logging
import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing, suppress
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import anyio
import httpx2
import mcp_types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from msgspec.structs import replace

from chat_loop import __version__
from chat_loop.agent import mcp_tools
from chat_loop.agent.isolation import CapturedError, plain_line
from chat_loop.agent.shell import Output
from chat_loop.agent.tools import ServerTool
from chat_loop.config import McpServer, expand_variables
from chat_loop.errors import ChatLoopError
from chat_loop.redact import redact_text

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from chat_loop.agent.mcp_state import ServerState

MAX_MESSAGE = 4 << 20  # bytes of a message from a server
TOO_LARGE = f"it sent a message of more than {MAX_MESSAGE >> 20} MB"
MAX_PAGES = 50
MAX_REASON = 300
MAX_STDERR = 4_096  # bytes that are kept from the end of a server's standard error


class McpConnection:
    """A connection that lasts until the server ends, or `stop` is called."""

    def __init__(
        self, state: ServerState, config: McpServer, environment: Mapping[str, str]
    ) -> None:
        # the SDK's logs about servers would reach the terminal
        logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)
        self.state = replace(state, state="connecting", problem="", reconnects=False, skipped=())
        self.ready = asyncio.Event()  # set when the server is connected or has failed
        self._config = config
        self._environment = environment
        self._client: Client | None = None
        self._transport_opened = asyncio.Event()
        self._status = 0
        self._tools_changed = False
        self._listing = asyncio.Lock()
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + config.timeout)
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """End the connection, and the process with it."""
        await self._transport_opened.wait()  # a half-started process would be left behind
        self._scope.cancel()
        await asyncio.wait({self._task})

    async def call(self, tool: ServerTool, arguments: Mapping[str, object]) -> str:
        """Call a tool that was offered; return its result as text. Raises ChatLoopError with a
        sentence, also if the tool is not as it was offered.
        """
        client = self._client
        if client is None:
            raise ChatLoopError(self.state.problem)
        with CapturedError() as captured:
            await self._list_changed_tools(client)
            if tool not in self.state.tools:
                text = f"Nothing was run: {plain_line(tool.name, 64)} of the MCP server"
                text += f" {self.state.name} has changed, or is gone, since it was offered."
                raise ChatLoopError(text, "From the next message on, it is offered as it is now.")
            result = await client.call_tool(tool.name, dict(arguments))
        if isinstance(captured.error, ChatLoopError):
            raise captured.error
        if (error := captured.error) is not None:
            refused = isinstance(error, MCPError)
            if refused and (str(error) == "Connection closed" or self._status == 404):
                self._scope.cancel()
                await asyncio.wait({self._task})
                raise ChatLoopError(self.state.problem, "The next call connects it again.")
            verb = "refused" if refused else "failed"
            reason = f"The MCP server {self.state.name} {verb}: {self._reason(error)}"
            raise ChatLoopError(reason) from error
        json = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        text = mcp_tools.result_text(json)
        if result.is_error:
            raise ChatLoopError(text or f"{tool.name} failed without a reason.")
        return text

    async def _run(self) -> None:
        """Stay connected until the server ends or `stop` is called; record the reason."""
        # One task, because the SDK's scopes must be exited by the task that entered them.
        with closing(Output(0, MAX_STDERR)) as stderr:
            with CapturedError() as captured, self._scope:
                async with Client(
                    self._transport(stderr.pipe),
                    client_info=mcp_types.Implementation(name="chat-loop", version=__version__),
                    cache=None,
                ) as client:
                    tools = await self._list_tools(client)
                    self._scope.deadline = math.inf
                    self.state = replace(self.state, state="connected", tools=tools)
                    self._client = client
                    self.ready.set()
                    await anyio.sleep_forever()
            stderr.read()
            last_line = stderr.text().strip().rpartition("\n")[2]
        self._client = None
        problem = self._problem(captured.error, mcp_tools.clean_text(last_line, MAX_REASON))
        was_connected = self.state.state == "connected"
        self.state = replace(self.state, state="failed", problem=problem, reconnects=was_connected)
        self._transport_opened.set()
        self.ready.set()

    async def _list_changed_tools(self, client: Client) -> None:
        """List the tools again if the server has said that they changed."""
        async with self._listing:
            if self._tools_changed:
                self._tools_changed = False
                self.state = replace(self.state, skipped=())
                self.state = replace(self.state, tools=await self._list_tools(client))

    async def _list_tools(self, client: Client) -> tuple[ServerTool, ...]:
        """Return the server's tools that the config selects."""
        tools: dict[str, ServerTool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                traits = str((tool.meta or {}).get(mcp_tools.TRAITS, ""))
                spec = ServerTool(tool.name, tool.description or "", tool.input_schema, traits)
                if not self._config.tools or tool.name in self._config.tools:
                    tools.setdefault(tool.name, spec)
            cursor = page.next_cursor
            if cursor is None or len(tools) >= mcp_tools.MAX_LISTED:
                break
        return tuple(tools.values())

    def _problem(self, error: BaseException | None, last_line: str) -> str:
        """Return a sentence on why the connection ended, with the server's last line of errors."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ChatLoopError):
            problem = f": {error.message} {error.hint}"
        elif error is not None:
            connected = self.state.state == "connected"
            verb = "cannot be connected"
            if connected:
                verb = "failed"
            problem = f" {verb}: {self._reason(error)}"
        elif self._scope.deadline <= anyio.current_time():
            problem = f" did not answer within {self._config.timeout:g} seconds."
        else:
            problem = " ended."
        if self._status in (401, 403):
            problem += " mcp.NAME.headers in the config can hold a token."
        if last_line and last_line not in problem:
            problem += f" It said: “{last_line}”"
        return redact_text(f"The MCP server {self.state.name}{problem}")

    def _reason(self, error: BaseException) -> str:
        """Return an error as the end of a sentence."""
        text = error.message if isinstance(error, MCPError) else str(error)
        if isinstance(error, OSError) and error.strerror and error.filename:
            text = f"{error.strerror}: {error.filename}"
        text = plain_line(text, MAX_REASON).rstrip(".") or type(error).__name__
        return f"{text}{f' (HTTP {self._status})' if self._status >= 400 else ''}."

    @asynccontextmanager
    async def _transport(self, stderr: IO[bytes]) -> AsyncIterator[Any]:
        """Yield the SDK's streams of messages, and check the incoming ones."""
        config = self._config
        async with AsyncExitStack() as stack:
            if config.url:
                headers = expand_variables(config.headers, self._environment)
                http = httpx2.AsyncClient(
                    headers={"Accept-Encoding": "identity", **headers},
                    timeout=httpx2.Timeout(30.0, read=None),  # the caller limits reading
                    event_hooks={"response": [self._limit_response]},
                )
                await stack.enter_async_context(http)
                limit: dict[str, Any] = {"max_sse_event_size": MAX_MESSAGE}
                if not limit.keys() & inspect.signature(streamable_http_client).parameters:
                    limit = {}  # before mcp 2.3
                transport = streamable_http_client(config.url, http_client=http, **limit)
            else:
                # Path.expanduser fails without a home
                command, folder = map(os.path.expanduser, (config.command, config.cwd))
                process = StdioServerParameters(
                    command=command,
                    args=list(config.args),
                    env=expand_variables(config.env, self._environment),
                    cwd=folder or None,
                    encoding=_BOUNDED_LINES,
                )
                errlog = cast(TextIO, stderr)  # only its descriptor is used
                transport = stdio_client(process, errlog)
            read, write = await stack.enter_async_context(transport)
            self._transport_opened.set()
            sending, receiving = anyio.create_memory_object_stream[SessionMessage | Exception]()
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(self._check_messages, read, sending)
            with receiving:
                yield receiving, write
            group.cancel_scope.cancel()

    async def _check_messages(self, read: Any, sending: Any) -> None:
        """Forward the server's messages, and end the connection after the last. Clean the lists of
        tools, because the SDK rejects a whole list for one bad tool.
        """
        with sending, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for item in read:
                message = None
                if isinstance(item, SessionMessage):
                    message = item.message
                method = getattr(message, "method", "")
                if method == _TOOLS_CHANGED:
                    self._tools_changed = True
                if method == _TOO_LARGE:
                    raise httpx2.ReadError(TOO_LARGE)
                if isinstance(message, mcp_types.JSONRPCResponse):
                    tools = message.result.get("tools")
                    if isinstance(tools, list):
                        message.result["tools"], skipped = mcp_tools.clean_tools(tools)
                        skipped = self.state.skipped + skipped
                        self.state = replace(self.state, skipped=skipped)
                await sending.send(item)
            self._scope.cancel()

    async def _limit_response(self, response: httpx2.Response) -> None:
        """Note the status of an answer and limit its size; the SDK limits the size of events.
        Raises DecodingError for a compressed answer, and ReadError for a large one.
        """
        if response.request.method == "POST":
            self._status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("its answer is compressed, which was not requested")
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            async with aclosing(response.stream) as chunks:
                body = bytearray()
                async for chunk in chunks:
                    body += chunk
                    if len(body) > MAX_MESSAGE:
                        raise httpx2.ReadError(TOO_LARGE)
            response.stream = httpx2.ByteStream(bytes(body))


# The SDK does not limit the lines of stdio, but it accepts any decoder.
_BOUNDED_LINES = "utf_8_bounded_lines"
_TOOLS_CHANGED = "notifications/tools/list_changed"
_TOO_LARGE = "notifications/message-too-large"  # replaces an overlong line


class _BoundedLineDecoder(codecs.IncrementalDecoder):
    """Decodes UTF-8 line by line, and replaces a line that is too long."""

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
