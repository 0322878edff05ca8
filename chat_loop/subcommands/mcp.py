"""`chat-loop mcp`: whether the MCP servers of the config can be connected, and what they offer."""

from __future__ import annotations

import argparse
import asyncio

from msgspec.structs import asdict

from chat_loop.agent.mcp_servers import Servers, servers_of
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


async def _list(servers: Servers, *, as_json: bool) -> int:
    settling = asyncio.ensure_future(servers.settled())
    received = cancel_on(settling, SIGNALS)
    try:
        await settling
        states = servers.states()
    except asyncio.CancelledError:
        return 128 + received[0] if received else 130
    finally:
        await servers.close()
    if as_json:
        found = []
        for state in states:
            values = asdict(state)
            del values["comes_back"]
            values["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "asks": servers.asks(state.name, tool.name),
                }
                for tool in state.tools
            ]
            found.append(values)
        out_json(found)
    else:
        for state in states:
            lines = server_lines(state, servers)
            out("".join(f"{line}\n" for line in lines))
    return int(any(state.state != "connected" for state in states))
