"""`chat-loop mcp`: connect to the MCP servers of the config, and list them with their tools."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial

from chat_loop.agent.mcp_servers import McpServers
from chat_loop.assembly import make_servers
from chat_loop.commands.tool_lists import NO_SERVERS, server_lines
from chat_loop.config import Config, Paths
from chat_loop.display.plain import err, out
from chat_loop.input.start import SIGNAL_EXIT_BASE
from chat_loop.parts import build
from chat_loop.process import REPLY_SIGNALS, cancel_on, run_cancellable


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Connect to all servers and print the state of each. Return 0 when all are connected."""
    servers = make_servers(build(options, config, paths))
    if servers is not None:
        return run_cancellable(partial(_list, servers))
    err(" ".join(NO_SERVERS))
    return 0


async def _list(servers: McpServers) -> int:
    connecting = asyncio.ensure_future(servers.wait_ready())
    received = cancel_on(connecting, REPLY_SIGNALS)
    try:
        await connecting
        states = servers.states()
    except asyncio.CancelledError:
        if not received:
            raise
        return SIGNAL_EXIT_BASE + received[0]
    finally:
        await servers.close()
    for state in states:
        out("".join(f"{line}\n" for line in server_lines(state, servers)))
    return int(any(state.state != "connected" for state in states))
