"""The MCP servers of an agent, in a thread with an event loop of its own: the SDK takes long to
load and to read, and its scopes do not survive how the program's own loop is ended.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct

from chat_loop.config import McpServer
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.values import ToolSpec
from chat_loop.wording import install_hint

if TYPE_CHECKING:
    from chat_loop.agent.mcp import Server
    from chat_loop.agent.mcp_tools import McpTool
    from chat_loop.agent.tools import Tool

T = TypeVar("T")
MISSING = "MCP servers need a package that is not installed."


class ServerState(Struct, frozen=True, kw_only=True):
    """The state of a server. `problem` says why it failed, or which of its tools cannot be called.

    `missing` are tools that the config names and it does not have.
    """

    name: str
    state: Literal["not started", "connecting", "connected", "failed"]
    where: str
    problem: str = ""
    tools: tuple[McpTool, ...] = ()
    missing: tuple[str, ...] = ()
    comes_back: bool = False
    """It failed, and the next call connects it again."""


class Servers:
    """The servers of a config, by name. `start` connects them, `close` ends them."""

    def __init__(
        self, servers: Mapping[str, McpServer], environment: Mapping[str, str] = os.environ
    ) -> None:
        self._configs = {name: server for name, server in servers.items() if server.enabled}
        self._environment = environment
        self._servers: dict[str, Server] = {}
        self._missing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._begun = asyncio.Event()
        self._closing = asyncio.Event()
        self._told: set[str] = set()
        self._left_out = 0
        self._names: dict[tuple[str, str], str] = {}
        """What each tool was called, by its server and its own name."""

    def start(self) -> None:
        """Begin to connect, in the background; safe in any thread, and more than once."""
        with self._lock:
            if self._thread is None:
                loop = self._loop = asyncio.new_event_loop()

                def work() -> None:
                    with asyncio.Runner(loop_factory=lambda: loop) as runner:
                        runner.run(self._serve())

                self._thread = threading.Thread(target=work, daemon=True, name="mcp")
                self._thread.start()

    async def tools(
        self, taken: Collection[str], room: int, waiting: Callable[[tuple[str, ...]], None]
    ) -> tuple[Tool, ...]:
        """Return the tools of all servers, as they are now, under names that are not `taken`.

        Waits for those that still connect; `waiting` is told which, whenever they become fewer.
        What a model is told of the tools takes at most `room` characters.
        """
        from chat_loop.agent import mcp_tools  # not before there is a request
        from chat_loop.agent.tools import Tool, call_text

        self.start()
        connecting = await self._there(self._connecting(()))
        while connecting:
            waiting(connecting)
            connecting = await self._there(self._connecting(connecting))
        chosen, self._left_out = mcp_tools.named(
            await self._there(self._ready()), taken, room, self._names
        )
        self._names.update({(tool.server, tool.name): name for name, tool in chosen.items()})

        def tool_of(name: str, tool: McpTool) -> Tool:
            async def run(arguments: Mapping[str, object]) -> str:
                return await self._there(self._servers[tool.server].call(tool.name, arguments))

            def asks(arguments: Mapping[str, object]) -> str:
                own = " ".join(mcp_tools.cleaned(tool.name, 64).split())
                return call_text(f"{own} of the MCP server {tool.server}", arguments)

            spec = ToolSpec(name, tool.description, tool.parameters)
            return Tool(spec, run, asks if self.asks(tool.server, tool.name) else None)

        return tuple(tool_of(name, tool) for name, tool in chosen.items())

    def notices(self) -> tuple[tuple[str, str], ...]:
        """Return what has gone wrong since this was last asked: sentences, with hints."""
        found = [(MISSING, install_hint("mcp"))] if self._missing else []
        for state in () if self._missing else self.states():
            if state.state == "failed" and not state.comes_back:
                again = f"Its tools are not there; /mcp restart {state.name} tries again."
                found.append((state.problem, again))
            elif state.state == "connected" and state.problem:
                found.append((state.problem, "Its other tools can be called."))
        if self._left_out:
            many = f"the model is not offered {self._left_out:,} of them."
            hint = "mcp.NAME.tools in the config names those that are wanted."
            found.append((f"The MCP servers have too many tools: {many}", hint))
        new = tuple(notice for notice in found if notice[0] not in self._told)
        self._told = {message for message, _ in found}
        return new

    def states(self) -> tuple[ServerState, ...]:
        """Return the state of each server."""
        return tuple(map(self.state, self._configs))

    def state(self, name: str) -> ServerState:
        """Return the state of one. Raises UsageError for a name that none has."""
        if name not in self._configs:
            known = ", ".join(self._configs)
            raise UsageError(f"There is no MCP server “{name[:40]}”.", f"The servers are: {known}.")
        config, server = self._configs[name], self._servers.get(name)
        where = config.url or " ".join((config.command, *config.args))
        if self._missing:
            problem = f"{MISSING} {install_hint('mcp')}"
            return ServerState(name=name, state="failed", where=where, problem=problem)
        if server is None:
            state: Literal["connecting", "not started"]
            state = "connecting" if self._thread else "not started"
            return ServerState(name=name, state=state, where=where)
        connected, problem = server.state == "connected", ""
        if server.state == "failed":
            problem = " ".join(filter(None, (server.problem, server.hint)))
        elif server.skipped:
            skipped = [tool or "one without a name" for tool in server.skipped[:10]]
            more = len(server.skipped) - len(skipped)
            problem = (
                f"The MCP server {name} lists tools without a name or a schema, which are skipped: "
                f"{', '.join(skipped)}{f' and {more:,} more' if more else ''}."
            )
        names = {tool.name for tool in server.tools}
        return ServerState(
            name=name,
            state=server.state,
            where=where,
            problem=problem,
            tools=tuple(server.tools),
            missing=tuple(tool for tool in config.tools if connected and tool not in names),
            comes_back=server.comes_back,
        )

    def asks(self, name: str, tool: str) -> bool:
        """Tell if the user is asked before a server's tool is called."""
        return self._configs[name].ask and tool not in self._configs[name].unasked

    async def settled(self) -> None:
        """Wait until every server is connected or has failed."""
        self.start()
        await self._there(self._ready())

    async def restart(self, name: str) -> ServerState:
        """Connect one anew; return its state. Raises UsageError for a name that none has."""
        self.state(name)
        self.start()

        async def restart() -> None:
            if name in self._servers:
                await self._servers[name].restart()

        await self._there(restart())
        return self.state(name)

    async def close(self) -> None:
        """End all connections, and the processes with them."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._closing.set)
            await asyncio.shield(asyncio.to_thread(thread.join, 10.0))

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the servers' thread; cancelling it here cancels it there."""

        async def once_begun() -> T:
            try:
                await self._begun.wait()
                return await work
            finally:
                work.close()

        if self._loop is None or self._thread is None:
            work.close()
            raise ChatLoopError("The MCP servers are not running.")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(once_begun(), self._loop))

    async def _connecting(self, before: tuple[str, ...]) -> tuple[str, ...]:
        """Wait for one of `before` to settle; return the names of those that still connect."""
        waits = [asyncio.ensure_future(self._servers[name].settled.wait()) for name in before]
        try:
            if waits:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return tuple(n for n, server in self._servers.items() if server.state == "connecting")

    async def _ready(self) -> list[McpTool]:
        tools = await asyncio.gather(*(server.ready() for server in self._servers.values()))
        return [tool for of_one in tools for tool in of_one]

    async def _serve(self) -> None:
        try:
            from chat_loop.agent.mcp import Server
        except ImportError:
            self._missing = True
        else:
            self._servers = {
                name: Server(name, config, self._environment)
                for name, config in self._configs.items()
            }
        self._begun.set()
        await self._closing.wait()
        await asyncio.gather(*(server.stop() for server in self._servers.values()))


def servers_of(servers: Mapping[str, McpServer]) -> Servers | None:
    """Return the servers that are not switched off; None when there are none."""
    return Servers(servers) if any(server.enabled for server in servers.values()) else None
