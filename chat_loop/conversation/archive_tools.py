"""The archive as tools for a model that can call them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

from chat_loop.agent.tools import Tool
from chat_loop.library.archive import TOOLS, Archive
from chat_loop.redact import redacted
from chat_loop.values import ToolSpec


def archive_tools(archive: Archive, known: Callable[[], Collection[str]]) -> tuple[Tool, ...]:
    """Return the tools that read and search `archive`. `known` gives the references that stand in
    the context already. Secrets are taken out of what comes back: it is recorded in another
    session's file.
    """

    def tool(name: str, description: str, parameters: Mapping[str, object]) -> Tool:
        async def run(arguments: Mapping[str, object]) -> str:
            return redacted(await asyncio.to_thread(archive.call, name, arguments, known()))

        return Tool(ToolSpec(name, description, parameters), run)

    return tuple(tool(name, *described) for name, described in TOOLS.items())
