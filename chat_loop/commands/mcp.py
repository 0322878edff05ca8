"""The command about MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.wording import counted

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers, ServerState


@registry.command("mcp", argument="[NAME | restart NAME]")
async def mcp(chat: Chat, argument: str) -> None:
    """Show the MCP servers and what became of them, or the tools of one; restart connects one
    anew.
    """
    servers = chat.servers
    if servers is None:
        raise UsageError(
            "There are no MCP servers.",
            "mcp: in the config describes them; config.example.yaml has one.",
        )
    servers.start()
    match argument.split():
        case []:
            _show_all(chat, servers)
        case ["restart", name]:
            servers.state(name)
            chat.display.begin_waiting()
            chat.display.status(f"Connecting to {name} …")
            state = await servers.restart(name)
            chat.display.stop_waiting()
            if state.state == "failed":
                raise ChatLoopError(state.problem)
            _show(chat, state)
        case [name]:
            _show_tools(chat, servers, servers.state(name))
        case _:
            raise UsageError(
                "/mcp takes nothing, a server's name, or “restart” and a name.",
                "/mcp lists the servers.",
            )


def _show_all(chat: Chat, servers: Servers) -> None:
    for state in servers.states():
        _show(chat, state)
    if not chat.conversation.agent.provider.calls_tools:
        chat.display.warn("The model cannot call tools: it is not offered those of the servers.")


def _show(chat: Chat, state: ServerState) -> None:
    tools = f" · {counted(len(state.tools), 'tool')}" if state.state == "connected" else ""
    chat.display.line(f"{state.name}: {state.state}{tools} · {one_line(state.where, 200)}")
    if state.problem:
        again = " The next call connects it again." if state.comes_back else ""
        chat.display.prose(f"  {one_line(state.problem, 1000)}{again}", "yellow", indent=2)
    if state.missing:
        names = one_line(", ".join(state.missing), 500)
        chat.display.prose(
            f"  It has no tool called {names}, which the config names.", "yellow", indent=2
        )


def _show_tools(chat: Chat, servers: Servers, state: ServerState) -> None:
    _show(chat, state)
    for tool in state.tools:
        asked = "" if servers.asks(state.name, tool.name) else " (not asked about)"
        chat.display.prose(
            f"  {one_line(tool.name, 100)}{asked}: {one_line(tool.description, 300)}", indent=4
        )
