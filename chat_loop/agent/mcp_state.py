"""What is known of an MCP server: whether it is connected, and its tools."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from chat_loop.agent.tools import ServerTool


class ServerState(Struct, frozen=True, kw_only=True):
    """The state of a server, with its tools under its own names."""

    name: str
    where: str
    state: Literal["not started", "connecting", "connected", "failed"] = "not started"
    problem: str = ""
    tools: tuple[ServerTool, ...] = ()
    skipped: tuple[str, ...] = ()  # the names of tools that cannot be called
    reconnects: bool = False  # it failed, and the next call reconnects it
