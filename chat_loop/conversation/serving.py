"""The tools of MCP servers, given to the agent of a chain."""

from __future__ import annotations

from chat_loop.agent.mcp_servers import Servers
from chat_loop.context.archive import TOOLS
from chat_loop.conversation.live_context import LiveContext
from chat_loop.events import Connecting, Warned

MOST_CHARACTERS = 100_000
"""What a model is told of all tools of servers; on a small window half a character for each of its
tokens.
"""


async def offer_servers(context: LiveContext, servers: Servers) -> None:
    """Give the agent the servers' tools as they are now; wait for servers that still connect, and
    say so.

    What has failed is told, once.
    """
    if not context.agent.provider.calls_tools:
        return
    waited: list[str] = []

    def waiting(names: tuple[str, ...]) -> None:
        waited.extend(names)
        context.show(Connecting(names))

    taken = {*(tool.spec.name for tool in context.own_tools), *TOOLS}
    context.offer(await servers.tools(taken, min(MOST_CHARACTERS, context.window // 2), waiting))
    if waited:
        context.show(Connecting(()))
    for message, hint in servers.notices():
        context.show(Warned(message, hint))
