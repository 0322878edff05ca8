"""An MCP server as the program knows it: its connection, its tools, and how often it is connected
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from chat_loop.agent.mcp import Connection, Gone
from chat_loop.agent.mcp_tools import Listed
from chat_loop.config import McpServer
from chat_loop.errors import ChatLoopError

AGAIN = "The next call connects it again."


class Link:
    """A server and its connection. One that is gone is connected again by the next call, once until
    a call succeeds.
    """

    def __init__(self, name: str, server: McpServer, environment: Mapping[str, str]) -> None:
        self._make = partial(Connection, name, server, environment)
        self._lock = asyncio.Lock()
        self._tries = 1
        self.connection = self._make()
        self.tools: tuple[Listed, ...] = ()
        """Those of the last connection there was."""

    @property
    def state(self) -> Literal["connecting", "connected", "failed"]:
        if self.connection.connected:
            return "connected"
        return "failed" if self.connection.settled.is_set() else "connecting"

    async def settled(self) -> None:
        """Wait until it is connected, or is not going to be."""
        await self.connection.settled.wait()

    async def ready(self) -> None:
        """The same, and have the tools as they are now."""
        await self.settled()
        await self.connection.refresh()
        self._keep()

    @property
    def comes_back(self) -> bool:
        """Whether it is gone, and a call would connect it again."""
        return self.state == "failed" and bool(self.tools and self._tries)

    def offered(self) -> tuple[Listed, ...]:
        """The tools that can be called: of a server that is there, or comes back."""
        return self.tools if self.connection.connected or self.comes_back else ()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool; its result as text. Raises ChatLoopError with a sentence for the model. Can
        be cancelled.
        """
        async with self._lock:
            await self.connection.settled.wait()
            if not self.connection.connected:
                if not self._tries:
                    raise self._failure(self.connection)
                self._tries -= 1
                await self._renew()
            connection = self.connection
        try:
            text = await connection.call(tool, arguments)
        except Gone:
            raise self._failure(connection) from None
        except ChatLoopError:
            self._tries = 1  # the server is there, and refuses
            raise
        self._tries = 1
        return text

    async def restart(self) -> None:
        """Connect anew, whatever the state; wait for what becomes of it."""
        async with self._lock:
            self._tries = 1
            await self._renew()

    async def stop(self) -> None:
        """End the connection, and the process with it."""
        self.connection.close()
        await self.connection.over.wait()

    async def _renew(self) -> None:
        await self.stop()
        self.connection = self._make()
        self.connection.begin()
        await self.connection.settled.wait()
        self._keep()

    def _keep(self) -> None:
        if self.connection.connected:
            self.tools = self.connection.tools

    def _failure(self, connection: Connection) -> ChatLoopError:
        return ChatLoopError(
            connection.problem,
            connection.hint or (AGAIN if self._tries else "It is not connected again."),
        )
