"""`chat-loop mcp`: connect to the MCP servers of the config, and list them with their tools."""

from __future__ import annotations

import argparse
import asyncio

from msgspec.structs import asdict

from chat_loop.agent.mcp_servers import McpServers, ServerState, servers_of
from chat_loop.app import cancel_on
from chat_loop.commands.tools import NO_SERVERS, server_lines
from chat_loop.config import Config, Paths
from chat_loop.display.plain import err, out, out_json
from chat_loop.headless import SIGNALS


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Connect to all servers and print what became of each. 0: all are connected."""
    servers = servers_of(config.mcp)
    if servers is not None:
        return asyncio.run(_list(servers, as_json=options.as_json))
    if options.as_json:
        out_json([])
    else:
        err(" ".join(NO_SERVERS))
    return 0


async def connect(servers: McpServers) -> tuple[ServerState, ...]:
    """Return what became of each server; leave none connected."""
    try:
        await servers.wait_ready()
        return servers.states()
    finally:
        await servers.close()


async def _list(servers: McpServers, *, as_json: bool) -> int:
    connecting = asyncio.ensure_future(connect(servers))
    received = cancel_on(connecting, SIGNALS)
    try:
        states = await connecting
    except asyncio.CancelledError:
        return 128 + received[0] if received else 130
    rows = []
    for state in states:
        asks = {tool.name: servers.needs_approval(state.name, tool.name) for tool in state.tools}
        tools = [
            {"name": tool.name, "description": tool.description, "asks": asks[tool.name]}
            for tool in state.tools
        ]
        rows.append({**asdict(state), "tools": tools})
        del rows[-1]["reconnects"]
        if not as_json:
            out("".join(f"{line}\n" for line in server_lines(state, servers)))
    if as_json:
        out_json(rows)
    return int(any(state.state != "connected" for state in states))
