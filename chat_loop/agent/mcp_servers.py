"""The MCP servers of an agent, in a thread with its own event loop: the SDK is slow to load
and to read, and its scopes do not survive the shutdown of the main loop.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from chat_loop.agent import mcp_tools
from chat_loop.agent.isolation import plain_line
from chat_loop.agent.mcp_tools import ServerState
from chat_loop.agent.tools import Arguments, Tool, call_text
from chat_loop.config import McpServer
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.values import ToolSpec
from chat_loop.wording import install_hint

if TYPE_CHECKING:
    from chat_loop.agent.mcp_connection import McpConnection

T = TypeVar("T")
MISSING = "MCP servers need a package that is not installed."


class McpServers:
    """The servers of a config, by name. `start` connects them, `close` ends them."""

    def __init__(
        self, servers: Mapping[str, McpServer], environment: Mapping[str, str] = os.environ
    ) -> None:
        self._configs = {name: server for name, server in servers.items() if server.enabled}
        self._environment = environment
        self._connections: dict[str, McpConnection] = {}
        self._package_missing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._started = asyncio.Event()
        self._closing = asyncio.Event()
        self._reported: set[str] = set()
        self._omitted = 0
        self._names: dict[tuple[str, str], str] = {}
        """The name of each tool for the model, by its server and its own name."""

    def start(self) -> None:
        """Connect in the background; safe in any thread, and more than once."""
        with self._lock:
            if self._thread is None:
                loop = self._loop = asyncio.new_event_loop()

                def work() -> None:
                    with asyncio.Runner(loop_factory=lambda: loop) as runner:
                        runner.run(self._serve())

                self._thread = threading.Thread(target=work, daemon=True, name="mcp")
                self._thread.start()

    async def _serve(self) -> None:
        """Connect all servers in this thread until `close` is called."""
        try:
            from chat_loop.agent.mcp_connection import McpConnection
        except ImportError:
            self._package_missing = True
        else:
            self._connections = {
                name: McpConnection(config, self._environment, self.state(name))
                for name, config in self._configs.items()
            }
        self._started.set()
        await self._closing.wait()
        await asyncio.gather(*(connection.stop() for connection in self._connections.values()))

    async def close(self) -> None:
        """End all connections, and the processes with them."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._closing.set)
            await asyncio.shield(asyncio.to_thread(thread.join, 10.0))

    async def _in_thread(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the servers' thread; cancelling it here cancels it there."""
        if self._loop is None or self._thread is None:
            work.close()
            raise ChatLoopError("The MCP servers are not running.")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def tools(
        self,
        used_names: Collection[str],
        max_characters: int,
        on_wait: Callable[[tuple[str, ...]], None],
    ) -> tuple[Tool, ...]:
        """Return the tools of all servers, as they are now, under names that are not `taken`.

        Waits for those that still connect; `waiting` gets their names. The names, descriptions and
        schemas take at most `room` characters.
        """
        self.start()
        connecting = [state.name for state in self.states() if state.state == "connecting"]
        if connecting:
            on_wait(tuple(connecting))
        entries = await self._in_thread(self._list_tools())
        chosen, self._omitted = mcp_tools.name_tools(
            entries, used_names, max_characters, self._names
        )
        self._names.update({(server, tool.name): name for name, (server, tool) in chosen.items()})
        return tuple(self._tool(name, server, tool) for name, (server, tool) in chosen.items())

    def _tool(self, name: str, server: str, tool: ToolSpec) -> Tool:
        async def run(arguments: Arguments) -> str:
            return await self._in_thread(self._connections[server].call(tool.name, arguments))

        def preview(arguments: Arguments) -> str:
            title = f"{plain_line(tool.name, 64)} of the MCP server {server}"
            return call_text(title, arguments)

        spec = ToolSpec(name, tool.description, tool.parameters)
        return Tool(spec, run, preview if self.needs_approval(server, tool.name) else None)

    async def _list_tools(self) -> list[tuple[str, ToolSpec]]:
        """Return the servers and their tools once all are connected or have failed."""
        await self._started.wait()
        connections = self._connections.values()
        await asyncio.gather(*(connection.wait_ready() for connection in connections))
        return [
            (connection.state.name, tool)
            for connection in connections
            if connection.state.state == "connected" or connection.state.reconnects
            for tool in connection.state.tools
        ]

    async def wait_ready(self) -> None:
        """Wait until every server is connected or has failed."""
        self.start()
        await self._in_thread(self._list_tools())

    async def restart(self, name: str) -> ServerState:
        """Reconnect a server; return its state. Raises UsageError for an unknown name."""
        self.state(name)
        self.start()

        async def restart() -> None:
            await self._started.wait()
            if name in self._connections:
                await self._connections[name].restart()

        await self._in_thread(restart())
        return self.state(name)

    def states(self) -> tuple[ServerState, ...]:
        """Return the state of each server."""
        return tuple(map(self.state, self._configs))

    def state(self, name: str) -> ServerState:
        """Return the state of a server. Raises UsageError for an unknown name."""
        if name not in self._configs:
            known = ", ".join(self._configs)
            raise UsageError(f"There is no MCP server “{name[:40]}”.", f"The servers are: {known}.")
        if name in self._connections:
            return self._connections[name].state
        config = self._configs[name]
        where = config.url or " ".join((config.command, *config.args))
        if self._package_missing:
            problem = f"{MISSING} {install_hint('mcp')}"
            return ServerState(name=name, state="failed", where=where, problem=problem)
        return ServerState(
            name=name, state="connecting" if self._thread else "not started", where=where
        )

    def needs_approval(self, name: str, tool: str) -> bool:
        """Return True when the user must approve calls of a server's tool."""
        return self._configs[name].ask and tool not in self._configs[name].unasked

    def notices(self) -> tuple[tuple[str, str], ...]:
        """Return the problems since the last call: sentences, with hints."""
        notices = {MISSING: install_hint("mcp")} if self._package_missing else {}
        for state in () if self._package_missing else self.states():
            if state.state == "failed" and not state.reconnects:
                again = f"Its tools are not there; /mcp restart {state.name} tries again."
                notices[state.problem] = again
            elif state.state == "connected" and state.problem:
                notices[state.problem] = "Its other tools can be called."
        if self._omitted:
            many = f"the model is not offered {self._omitted:,} of them."
            hint = "mcp.NAME.tools in the config names those that are wanted."
            notices[f"The MCP servers have too many tools: {many}"] = hint
        new = tuple(item for item in notices.items() if item[0] not in self._reported)
        self._reported = set(notices)
        return new


def servers_of(servers: Mapping[str, McpServer]) -> McpServers | None:
    """Return the enabled servers, None when there are none."""
    return McpServers(servers) if any(server.enabled for server in servers.values()) else None
