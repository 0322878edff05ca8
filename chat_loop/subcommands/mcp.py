"""`chat-loop mcp`: whether the MCP servers of the config can be connected, and what they offer."""

from __future__ import annotations

import asyncio
import contextlib
import signal

from chat_loop.agent.mcp_servers import Servers
from chat_loop.display.plain import err, out, out_json
from chat_loop.display.text import one_line
from chat_loop.headless import ENDED_BY
from chat_loop.wording import counted


def list_servers(servers: Servers | None, *, as_json: bool) -> int:
    """Connect to all and print what became of each. 0: all are connected."""
    if servers is None:
        if as_json:
            out_json([])
        else:
            err(
                "There are no MCP servers: mcp: in the config describes them; "
                "config.example.yaml has one."
            )
        return 0
    return asyncio.run(_list(servers, as_json=as_json))


async def _list(servers: Servers, *, as_json: bool) -> int:
    settling = asyncio.ensure_future(servers.settled())
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        settling.cancel()

    for number in (signal.SIGINT, *ENDED_BY):
        with contextlib.suppress(
            NotImplementedError
        ):  # Windows: Ctrl-C arrives as KeyboardInterrupt
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        await settling
        states = servers.states()
    except asyncio.CancelledError:
        return 128 + received[0] if received else 130
    finally:
        await servers.close()
    if as_json:
        out_json(
            [
                {
                    "name": state.name,
                    "state": state.state,
                    "where": state.where,
                    "problem": state.problem,
                    "missing": state.missing,
                    "tools": [
                        {
                            "name": tool.name,
                            "description": tool.description,
                            "asks": servers.asks(state.name, tool.name),
                        }
                        for tool in state.tools
                    ],
                }
                for state in states
            ]
        )
    else:
        for state in states:
            tools = counted(len(state.tools), "tool")
            out(f"{state.name}  {state.state}  {tools}  {one_line(state.where, 200)}\n")
            if state.problem:
                out(f"  {one_line(state.problem, 1000)}\n")
            if state.missing:
                out(
                    f"  It has no tool called {', '.join(state.missing)}, which the config names.\n"
                )
            for tool in state.tools:
                asked = "" if servers.asks(state.name, tool.name) else " (not asked about)"
                out(f"  {one_line(tool.name, 100)}{asked}: {one_line(tool.description, 100)}\n")
    return int(any(state.state != "connected" for state in states))
