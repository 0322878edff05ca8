"""The command about the agent's tools."""

from __future__ import annotations

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.display.text import one_line

LONGEST = 200
"""Characters of a description that are shown."""


@registry.command("tools")
async def tools(chat: Chat, argument: str) -> None:
    """List the tools that the model may call, and which of them ask you first."""
    agent = chat.conversation.agent
    if not agent.tools:
        chat.display.line("The agent has no tools.")
        chat.display.prose(
            "agent.tools in the config, or --tools, gives it some: read_file, run_command …", "dim"
        )
        return
    for tool in agent.tools:
        asks = " (asks first)" if tool.asks is not None else ""
        asks = (
            f" (asks about {one_line(tool.asks_about, 80)})" if asks and tool.asks_about else asks
        )
        words = tool.spec.description.strip().partition("\n")[0]
        chat.display.prose(
            f"  {one_line(tool.spec.name, 64)}{asks}: {one_line(words, LONGEST)}", indent=4
        )
    if not agent.provider.calls_tools:
        chat.display.warn(
            f"{one_line(agent.model, 60)} cannot call tools.", "Another model may: --model."
        )
