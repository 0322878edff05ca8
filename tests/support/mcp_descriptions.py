"""MCP servers in a test: descriptions of real ones, and their records."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from chat_loop.agent.mcp_servers import McpServers
from chat_loop.agent.tools import Tool
from chat_loop.config import McpServer
from chat_loop.errors import ChatLoopError

HERE = Path(__file__).parent
SERVER = str(HERE / "mcp_server.py")
RAW = str(HERE / "mcp_raw_server.py")
PATIENCE_SECONDS = 60.0
"""Seconds; reached only when something is broken."""
PATIENT: dict[str, Any] = {"timeout": PATIENCE_SECONDS}
"""A busy machine may need longer than the usual time to load the SDK."""


def sdk(*args: str, **more: Any) -> McpServer:
    """Describe the server that is made with the SDK."""
    return McpServer(command=sys.executable, args=(SERVER, *args), **PATIENT | more)


def text(said: str) -> dict[str, Any]:
    """Return a text result."""
    return {"content": [{"type": "text", "text": said}]}


def listing(*names: str) -> list[dict[str, Any]]:
    """Return a page of tools that take anything."""
    return [
        {"name": name, "description": f"It is {name}.", "inputSchema": {"type": "object"}}
        for name in names
    ]


def raw(folder: Path, script: Mapping[str, Any], **more: Any) -> McpServer:
    """Describe the server that follows `script`; it records its messages in `folder`/record."""
    path = folder / "script.json"
    path.write_text(json.dumps({"results": {}, **script}))
    environment = {"RECORD": str(folder / "record"), **more.pop("env", {})}
    arguments = (RAW, str(path))
    return McpServer(command=sys.executable, args=arguments, env=environment, **PATIENT | more)


def recorded(folder: Path) -> list[str]:
    path = folder / "record"
    return path.read_text().split("\n")[:-1] if path.exists() else []


def processes(folder: Path) -> list[int]:
    """Return the process ids of the servers that were started."""
    return [int(line) for line in recorded(folder) if line.isdigit()]


def runs(process: int) -> bool:
    """Return True when a process is running, not just a zombie."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it has just ended, or this system has no such files
        return not Path("/proc/self/stat").exists()
    return status.rpartition(")")[2].split()[0] != "Z"


def gone(process: int) -> bool:
    """Wait for a process to end; return True when it ends in time."""
    end = time.monotonic() + PATIENCE_SECONDS
    while runs(process) and time.monotonic() < end:
        time.sleep(0.01)
    return not runs(process)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.01)


async def until_recorded(folder: Path, line: str) -> None:
    await until(lambda: line in recorded(folder))


class Offered:
    """The tools of servers, by the names under which a model calls them."""

    def __init__(self, servers: McpServers) -> None:
        self.servers = servers
        self.tools: dict[str, Tool] = {}
        self.waited: list[tuple[str, ...]] = []

    async def again(self, taken: tuple[str, ...] = (), room: int = 100_000) -> list[str]:
        """Request the tools as a turn does; return their names."""
        self.tools = {
            tool.spec.name: tool
            for tool in await self.servers.tools(taken, room, self.waited.append)
        }
        return list(self.tools)

    async def call(self, name: str, /, **arguments: object) -> str:
        """Return the result of a call, or the sentence with which it failed."""
        try:
            return await self.tools[name].run(arguments)
        except ChatLoopError as error:
            return f"FAILED {error.message} {error.hint}".strip()


@asynccontextmanager
async def connected(
    servers: Mapping[str, McpServer], environment: Mapping[str, str] | None = None
) -> AsyncIterator[Offered]:
    """Yield the tools of those servers that can be connected; close the servers at the end."""
    made = McpServers(servers, environment if environment is not None else {})
    offered = Offered(made)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS * 2):
            await offered.again()
            yield offered
    finally:
        await made.close()
