"""The MCP servers of an agent, on their own event loop, which outlives the main loop."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from concurrent.futures import wait
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from chat_loop.agent.approval import DIGEST
from chat_loop.agent.isolation import CapturedError, background_loop, describe, plain_line
from chat_loop.agent.mcp_state import ServerState
from chat_loop.agent.tools import Arguments, ServerTool, Tool, call_question
from chat_loop.config import McpServer
from chat_loop.errors import ChatLoopError, UsageError, install_hint
from chat_loop.providers.replies import tool_name
from chat_loop.redact import redact_text
from chat_loop.values import ToolSpec, plural, sha256

if TYPE_CHECKING:
    from chat_loop.agent.mcp_connection import McpConnection

T = TypeVar("T")
MAX_TOOLS = 128  # the most tools that a model is offered, of all servers
MISSING = "MCP servers need a package that is not installed."


def _package_problem(error: BaseException) -> tuple[str, str]:
    """Return a sentence and a hint about the error of the package's import."""
    text = f"The package mcp cannot be used: {describe(error)}."
    is_missing = isinstance(error, ModuleNotFoundError)
    return MISSING if is_missing else text, install_hint("mcp")


def _where(config: McpServer) -> str:
    """Return the address of a server, or the command that starts it."""
    return config.url or " ".join((config.command, *config.args))


class McpServers:
    """The servers of a config, by name. `start` connects them, `close` ends them."""

    def __init__(
        self, servers: Mapping[str, McpServer], environment: Mapping[str, str] = os.environ
    ) -> None:
        self._configs = {name: server for name, server in servers.items() if server.enabled}
        self._environment = environment
        self._connections: dict[str, McpConnection] = {}
        self._package_problem = ("", "")
        """A sentence and a hint about the package that connects to servers, if it is unusable."""
        self._running = False
        self._locks = {name: asyncio.Lock() for name in self._configs}
        self._reported = set[str]()
        self._omitted = 0
        self._owners: dict[str, tuple[str, str]] = {}  # of tool names; approvals rely on them

    def start(self) -> None:
        """Connect in the background. Any thread may call this, and repeatedly."""
        self._running = True
        asyncio.run_coroutine_threadsafe(self._connect_all(), background_loop("mcp"))

    async def _connect_all(self) -> None:
        with CapturedError() as importing:  # foreign code, in versions that may not fit
            import_module("chat_loop.agent.mcp_connection")
        if importing.error is not None:
            self._package_problem = _package_problem(importing.error)
            return
        for name in self._configs:
            if name not in self._connections:
                self._connect(name)

    def _connect(self, name: str) -> McpConnection:
        from chat_loop.agent.mcp_connection import McpConnection

        connection = McpConnection(self.state(name), self._configs[name], self._environment)
        self._connections[name] = connection
        return connection

    async def _connected(self, name: str, *, again: bool = False) -> McpConnection:
        """Return the connection of a server. Reconnect if it was lost, or if `again`."""
        async with self._locks[name]:
            connection = self._connections[name]
            await connection.ready.wait()
            if again or connection.state.reconnects:
                await connection.stop()
                connection = self._connect(name)
                await connection.ready.wait()
            return connection

    async def close(self) -> None:
        """End all connections, and the processes with them."""

        async def stop() -> None:
            await asyncio.gather(*(connection.stop() for connection in self._connections.values()))

        was_running = self._running
        self._running = False
        if was_running:
            stopped = asyncio.run_coroutine_threadsafe(stop(), background_loop("mcp"))
            await asyncio.shield(asyncio.to_thread(wait, [stopped], 10.0))

    async def _in_thread(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine in the servers' thread. Canceling it here cancels it there."""
        if not self._running:
            work.close()
            raise ChatLoopError("The MCP servers are not running.")
        future = asyncio.run_coroutine_threadsafe(work, background_loop("mcp"))
        return await asyncio.wrap_future(future)

    async def wait_ready(self) -> None:
        """Wait until every server is connected or has failed."""

        async def ready() -> None:
            for connection in self._connections.values():
                await connection.ready.wait()

        self.start()
        await self._in_thread(ready())

    async def tools(
        self,
        used_names: Collection[str],
        max_characters: int,
        on_wait: Callable[[tuple[str, ...]], None],
    ) -> tuple[Tool, ...]:
        """Return all servers' tools under unused names. `on_wait` gets the servers it waits for."""
        self.start()
        states = self.states()
        if connecting := tuple(state.name for state in states if state.state == "connecting"):
            on_wait(connecting)
        await self.wait_ready()
        listed = []
        for state in self.states():
            if state.state == "connected" or state.reconnects:
                for tool in state.tools:
                    listed.append((state.name, tool))
        chosen = name_tools(listed, used_names, max_characters, self._owners)
        self._omitted = len(listed) - len(chosen)
        return tuple(self._tool(name, server, tool) for name, (server, tool) in chosen.items())

    def _tool(self, name: str, server: str, tool: ServerTool) -> Tool:
        async def run(arguments: Arguments) -> str:
            async def call() -> str:
                return await (await self._connected(server)).call(tool, arguments)

            return await self._in_thread(call())

        def prepare(arguments: Arguments) -> str:
            title = f"{plain_line(tool.name, 64)} of the MCP server {server}"
            return call_question(title, arguments)

        spec = ToolSpec(name, tool.description, tool.parameters)
        asks = self.needs_approval(server, tool.name)
        origin = self._origin(server, tool)
        return Tool(spec, run, prepare if asks else None, origin=origin)

    def _origin(self, server: str, tool: ServerTool) -> dict[str, str]:
        """Return what defines a tool beside its specification, by labels for a person."""
        config = self._configs[server]
        started = (config.command, config.args, config.cwd, config.env, config.url, config.headers)
        digest = sha256(repr(started).encode("utf-8", "replace"))
        return {
            "server": server,
            "name at the server": tool.name,
            "title and annotations": tool.traits,
            "address" if config.url else "command": redact_text(_where(config)),
            "settings of the server": f"{DIGEST}{digest}",
        }

    async def restart(self, name: str) -> ServerState:
        """Reconnect a server; return its state. Raises UsageError for an unknown name."""

        async def reconnect() -> None:
            if name in self._connections:
                await self._connected(name, again=True)

        self.start()
        await self._in_thread(reconnect())
        return self.state(name)

    def states(self) -> tuple[ServerState, ...]:
        """Return the state of each server."""
        return tuple(map(self.state, self._configs))

    def state(self, name: str) -> ServerState:
        """Return the state of a server. Raises UsageError for an unknown name."""
        if name not in self._configs:
            names = ", ".join(self._configs)
            raise UsageError(f"No MCP server named “{name[:40]}”.", f"The servers are: {names}.")
        if name in self._connections:
            return self._connections[name].state
        config = self._configs[name]
        where = _where(config)
        if problem := " ".join(self._package_problem).strip():
            return ServerState(name=name, where=where, state="failed", problem=problem)
        return ServerState(
            name=name, where=where, state="connecting" if self._running else "not started"
        )

    def needs_approval(self, name: str, tool: str) -> bool:
        """Return True if the user must approve calls of a server's tool."""
        return self._configs[name].ask and tool not in self._configs[name].unasked

    def notices(self) -> tuple[tuple[str, str], ...]:
        """Return the problems since the last call: sentences, with hints."""
        text, hint = self._package_problem
        notices = {text: hint} if text else {}
        for name, connection in self._connections.items():
            state = connection.state
            if state.state == "failed" and not state.reconnects:
                again = f"Its tools are unavailable; /mcp restart {name} tries again."
                notices[state.problem] = again
            if state.skipped:
                named = plain_line(", ".join(state.skipped), 200)
                text = f"Tools of the MCP server {name} cannot be used: {named}"
                notices[text] = "They have no usable name or no schema, or are listed twice."
        if self._omitted:
            many = f"The model is not offered {plural(self._omitted, 'tool')} of the MCP servers"
            why = f"{many}: there are too many, or other tools have their names."
            notices[why] = "mcp.NAME.tools in the config selects the ones you want."
        new = tuple(item for item in notices.items() if item[0] not in self._reported)
        self._reported = set(notices)
        return new


def name_tools(
    tools: Iterable[tuple[str, ServerTool]],
    used_names: Collection[str],
    max_characters: int,
    owners: dict[str, tuple[str, str]],
) -> dict[str, tuple[str, ServerTool]]:
    """Map names for the model to servers and tools. A name always belongs to its first owner."""
    chosen: dict[str, tuple[str, ServerTool]] = {}
    for server, tool in tools:
        name = tool_name(f"{server}_{tool.name}")
        size = len(name) + len(tool.description) + len(json.dumps(tool.parameters))
        owned = owners.setdefault(name, (server, tool.name)) == (server, tool.name)
        fits = len(chosen) < MAX_TOOLS and size <= max_characters
        if owned and fits and name not in used_names:
            max_characters -= size
            chosen[name] = server, tool
    return chosen


def servers_of(servers: Mapping[str, McpServer]) -> McpServers | None:
    """Return the enabled servers, or None if there are none."""
    if any(server.enabled for server in servers.values()):
        return McpServers(servers)
    return None
