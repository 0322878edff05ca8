"""The MCP servers of an agent: connected in the background, their tools for its requests, what
became of each.

They have a thread with an event loop of its own: the SDK takes long to load and to read what
servers send, and the scopes it works with do not survive how the program's own loop is ended.
Nothing here loads the SDK before `start`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct

from chat_loop.config import McpServer
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.values import ToolSpec
from chat_loop.wording import install_hint

if TYPE_CHECKING:
    from chat_loop.agent.mcp_link import Link
    from chat_loop.agent.mcp_tools import Listed, Named
    from chat_loop.agent.tools import Tool

T = TypeVar("T")

MISSING = "MCP servers need a package that is not installed."
CLOSING_SECONDS = 10.0
MOST_NAMED = 10


class ServerState(Struct, frozen=True, kw_only=True):
    """What became of a server. `problem` says why it failed, or which of its tools cannot be
    called.

    `missing` are tools the config names and it does not have. `tools` are those that can be called,
    by the server's own names.
    """

    name: str
    state: Literal["not started", "connecting", "connected", "failed"]
    where: str
    problem: str = ""
    tools: tuple[Listed, ...] = ()
    missing: tuple[str, ...] = ()
    comes_back: bool = False
    """It failed, and the next call connects it again."""


class Servers:
    """The servers of a config, by name. Made in no time; `start` connects them, `close` ends
    them.
    """

    def __init__(
        self, servers: Mapping[str, McpServer], environment: Mapping[str, str] = os.environ
    ) -> None:
        self._servers = {name: server for name, server in servers.items() if server.enabled}
        self._environment = environment
        self._links: dict[str, Link] = {}
        self._missing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._begun = asyncio.Event()
        self._closing = asyncio.Event()
        self._told: set[str] = set()
        self._left_out = 0
        self._names: dict[tuple[str, str], str] = {}
        """What each tool was called, by its server and its own name."""

    def start(self) -> None:
        """Begin to connect, in the background; safe in any thread, and more than once."""
        with self._starting:
            if self._thread is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._work, args=(self._loop,), daemon=True, name="mcp"
                )
                self._thread.start()

    async def tools(
        self, taken: Collection[str], room: int, waiting: Callable[[tuple[str, ...]], None]
    ) -> tuple[Tool, ...]:
        """The tools of all servers, as they are now, under names that are not `taken`.

        Waits for those that still connect, at most as long as their timeouts; `waiting` is told
        which, whenever they become fewer. What a model is told of all of them takes at most `room`
        characters.
        """
        from chat_loop.agent.mcp_tools import named  # not before there is a request

        self.start()
        while connecting := await self._there(self._connecting()):
            waiting(connecting)
            await self._there(self._one_of(connecting))
        offered = await self._there(self._ready())
        chosen, self._left_out = named(offered, taken, room, self._names)
        self._names.update({(tool.server, tool.tool.name): tool.name for tool in chosen})
        return tuple(self._tool(tool) for tool in chosen)

    def notices(self) -> tuple[tuple[str, str], ...]:
        """What has gone wrong since this was last asked: sentences, with hints."""
        found: list[tuple[str, str]] = []
        if self._missing:
            found.append((MISSING, install_hint("mcp")))
        for state in self.states():
            if state.state == "failed" and not state.comes_back and not self._missing:
                found.append(
                    (
                        state.problem,
                        f"Its tools are not there; /mcp restart {state.name} tries again.",
                    )
                )
            elif state.state == "connected" and state.problem:
                found.append((state.problem, "Its other tools can be called."))
        if self._left_out:
            found.append(
                (
                    (
                        "The MCP servers have too many tools: the model is not offered "
                        f"{self._left_out:,} of them."
                    ),
                    "mcp.NAME.tools in the config names those that are wanted.",
                )
            )
        new = tuple(notice for notice in found if notice[0] not in self._told)
        self._told = {message for message, _ in found}
        return new

    def states(self) -> tuple[ServerState, ...]:
        """What became of each server until now."""
        return tuple(self._state(name) for name in self._servers)

    def state(self, name: str) -> ServerState:
        """What became of one. Raises UsageError for a name that none has."""
        if name not in self._servers:
            known = ", ".join(self._servers)
            raise UsageError(f"There is no MCP server “{name[:40]}”.", f"The servers are: {known}.")
        return self._state(name)

    def asks(self, name: str, tool: str) -> bool:
        """Whether the user is asked before a server's tool is called."""
        server = self._servers[name]
        return server.ask and tool not in server.unasked

    async def settled(self) -> None:
        """Wait until every server is connected or has failed."""
        self.start()
        await self._there(self._ready())

    async def restart(self, name: str) -> ServerState:
        """Connect one anew; what became of it. Raises UsageError for a name that none has."""
        self.state(name)
        self.start()
        await self._there(self._restart(name))
        return self.state(name)

    async def close(self) -> None:
        """End all connections, and the processes with them."""
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is not None:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._closing.set)
            await asyncio.shield(asyncio.to_thread(thread.join, CLOSING_SECONDS))

    def _state(self, name: str) -> ServerState:
        server, link = self._servers[name], self._links.get(name)
        where = server.url or " ".join((server.command, *server.args))
        if self._missing:
            return ServerState(
                name=name, state="failed", where=where, problem=f"{MISSING} {install_hint('mcp')}"
            )
        if link is None:
            return ServerState(
                name=name, state="connecting" if self._thread else "not started", where=where
            )
        state = link.state
        names = {tool.name for tool in link.tools}
        failed = " ".join(filter(None, (link.connection.problem, link.connection.hint)))
        return ServerState(
            name=name,
            state=state,
            where=where,
            problem=failed if state == "failed" else _without(name, link.connection.skipped),
            tools=link.tools,
            comes_back=link.comes_back,
            missing=tuple(tool for tool in server.tools if tool not in names)
            if state == "connected"
            else (),
        )

    def _tool(self, tool: Named) -> Tool:
        from chat_loop.agent.mcp_tools import asked
        from chat_loop.agent.tools import Tool

        own = tool.tool.name

        async def run(arguments: Mapping[str, object]) -> str:
            return await self._there(self._links[tool.server].call(own, arguments))

        def asks(arguments: Mapping[str, object]) -> str:
            return asked(tool.server, own, arguments)

        spec = ToolSpec(tool.name, tool.tool.description, tool.tool.parameters)
        return Tool(spec, run, asks if self.asks(tool.server, own) else None)

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

    async def _connecting(self) -> tuple[str, ...]:
        return tuple(name for name, link in self._links.items() if link.state == "connecting")

    async def _one_of(self, connecting: tuple[str, ...]) -> None:
        """Wait until one of these is connected, or is not going to be."""
        waits = [asyncio.ensure_future(self._links[name].settled()) for name in connecting]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _ready(self) -> list[tuple[str, tuple[Listed, ...]]]:
        await asyncio.gather(*(link.ready() for link in self._links.values()))
        return [(name, link.offered()) for name, link in self._links.items()]

    async def _restart(self, name: str) -> None:
        if name in self._links:
            await self._links[name].restart()

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """The thread."""
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self._serve())
            unfinished = asyncio.all_tasks(loop)
            for task in unfinished:
                task.cancel()
            if unfinished:
                loop.run_until_complete(asyncio.wait(unfinished))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    async def _serve(self) -> None:
        try:
            from chat_loop.agent.mcp_link import Link
        except ImportError:
            self._missing = True
        else:
            self._links = {
                name: Link(name, server, self._environment)
                for name, server in self._servers.items()
            }
            for link in self._links.values():
                link.connection.begin()
        self._begun.set()
        await self._closing.wait()
        await asyncio.gather(*(link.stop() for link in self._links.values()))


def servers_of(servers: Mapping[str, McpServer]) -> Servers | None:
    """The servers that are not switched off; None when there are none."""
    return Servers(servers) if any(server.enabled for server in servers.values()) else None


def _without(server: str, skipped: Sequence[str]) -> str:
    """Say which tools of a server cannot be called; nothing where all can."""
    if not skipped:
        return ""
    names = ", ".join(name or "one without a name" for name in skipped[:MOST_NAMED])
    more = f" and {len(skipped) - MOST_NAMED:,} more" if len(skipped) > MOST_NAMED else ""
    return (
        f"The MCP server {server} lists tools without a name or a schema, which are skipped: "
        f"{names}{more}."
    )
