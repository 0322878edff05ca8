"""The commands that list the tools, the named agents and the MCP servers, and their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.agent.agent_files import read_file
from chat_loop.agent.approval import Approval
from chat_loop.agent.known_agents import AgentRegistry
from chat_loop.characters import exact, exact_line, one_line
from chat_loop.commands.registry import OptionValues, pick, registry, usage_error
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.values import plural

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import McpServers
    from chat_loop.agent.mcp_state import ServerState
    from chat_loop.commands.chat import Chat

NO_AGENTS = "There are no named agents yet. Add one: chat-loop agents add NAME PATH"
NO_SERVERS = ("There are no MCP servers.", "Add servers under mcp: in config.yaml.")


@registry.command("tools [revoke N]", "Model and tools", shows="")
async def tools(chat: Chat, argument: str, options: OptionValues) -> None:
    """List the tools that the model may call, and the approvals kept for this project.

    /tools revoke 2         take the second approval back
    """
    if argument:
        word, _, which = argument.partition(" ")
        if word != "revoke":
            raise usage_error("tools")
        kept = _kept(chat)
        label, revoked = kept[pick("tools", [label for label, _ in kept], which)]
        chat.approvals.remove(revoked)
        chat.display.prose(f"Revoked: {label}. You will be asked again.", "dim")
        return
    agent = chat.conversation.agent
    for tool in agent.tools:
        scope = one_line(tool.approval_scope, 80)
        about = "asks first"
        if scope:
            about = f"asks about {scope}"
        asks = f" ({about})" if tool.prepare is not None else ""
        about_it = one_line(tool.spec.description.strip().partition("\n")[0], 200)
        chat.display.prose(f"  {exact_line(tool.spec.name)}{asks}: {about_it}", indent=4)
    if not agent.tools:
        text = "The agent has no tools; agent.tools in the config, or --tools, gives it some."
        chat.display.prose(text)
    elif agent.tools_problem[0]:
        chat.display.warn(*agent.tools_problem)
    for number, (label, _) in enumerate(_kept(chat), 1):
        if number == 1:
            text = f"Approved for {chat.approvals.project} (/tools revoke N):"
            chat.display.prose(text, "dim")
        chat.display.prose(f"  {number}  {label}", indent=5)


def _kept(chat: Chat) -> list[tuple[str, Approval]]:
    """Return the approvals of the project, each with its label. Raises ChatLoopError."""
    tools = {tool.spec.name: tool for tool in chat.conversation.agent.tools}
    kept = []
    for approval in chat.approvals.stored().approvals:
        if approval.project == chat.approvals.project:
            label = one_line(exact(f"{approval.tool}: {approval.call}".removesuffix(": ")), 300)
            if tool := tools.get(approval.tool):
                label += _validity(approval, chat.approvals.of(tool, approval.call))
            kept.append((label, approval))
    return kept


def _validity(approval: Approval, wanted: Approval) -> str:
    """Return a note about an approval that does not cover a tool as it is now."""
    if approval == wanted:
        return ""
    if wanted.replaces(approval):
        return " (asks again: the tool has changed)"
    return f" (only with the agent {one_line(approval.agent, 100) or 'of no file'})"


@registry.command("agents", "Model and tools", shows="")
async def agents(chat: Chat, argument: str, options: OptionValues) -> None:
    """List your named agents; chat-loop --agent NAME starts a chat with one."""
    rows = []
    if chat.agents is not None:
        rows = agent_rows(chat.agents)
    for line in agent_lines(rows):
        chat.display.prose(line, indent=4)
    if not rows:
        chat.display.prose(f"{NO_AGENTS}.")


class AgentRow(Struct, frozen=True):
    """A named agent in a list."""

    name: str
    path: Path
    alias: bool
    kind: str = ""
    description: str = ""
    approved: bool = True
    problem: str = ""


def agent_rows(registry: AgentRegistry) -> list[AgentRow]:
    """Return the named agents."""
    rows = []
    for agent in registry.all():
        row = AgentRow(agent.name, agent.path, agent.alias)
        try:
            file = read_file(agent.path)
            row = replace(row, path=file.path, kind=file.kind, description=file.description())
            row = replace(row, approved=registry.question(file) is None)
        except ChatLoopError as error:
            row = replace(row, problem=error.message)
        rows.append(row)
    return rows


def agent_lines(rows: Sequence[AgentRow]) -> Iterator[str]:
    """Yield two lines for each named agent."""
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        state = row.problem or ("" if row.approved else "not approved")
        note = ""
        if state:
            note = f" ({one_line(state, 300)})"
        yield f"{row.name:<{width}}  {one_line(row.description, 100)}".rstrip()
        yield f"{'':<{width}}  {row.path}{note}"


@registry.command("mcp [NAME | restart NAME]", "Model and tools")
async def mcp(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show the MCP servers, or the tools of one; restart reconnects one."""
    servers = chat.servers
    display = chat.display
    if servers is None:
        raise UsageError(*NO_SERVERS)
    servers.start()
    match argument.split():
        case []:
            states = servers.states()
            if not chat.conversation.agent.provider.calls_tools:
                display.warn("The model cannot call tools: it is not offered those of the servers.")
        case ["restart", name]:
            display.begin_waiting(f"Connecting to {servers.state(name).name} …")
            states = (await servers.restart(name),)
            display.stop_waiting()
        case [name]:
            for line in server_lines(servers.state(name), servers):
                display.prose(line, indent=4)
            return
        case _:
            raise usage_error("mcp")
    for state in states:
        first, *rest = server_lines(state, None)
        display.line(first)
        for line in rest:
            display.prose(line, "yellow", indent=4)


def server_lines(state: ServerState, servers: McpServers | None) -> Iterator[str]:
    """Yield lines about a server, and about its tools if `servers` is given."""
    tools = ""
    if state.state == "connected":
        tools = f" · {plural(len(state.tools), 'tool')}"
    yield f"{state.name}: {state.state}{tools} · {one_line(state.where, 200)}"
    if state.problem:
        again = ""
        if state.reconnects:
            again = " The next call connects it again."
        yield f"  {one_line(state.problem, 1000)}{again}"
    if servers is None:
        return
    for tool in state.tools:
        note = " (not asked about)"
        if servers.needs_approval(state.name, tool.name):
            note = ""
        yield f"  {one_line(tool.name, 100)}{note}: {one_line(tool.description, 300)}"
