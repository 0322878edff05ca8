"""From a definition and the config to the agent that answers: whose settings count, its provider,
its tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.agent.definition import Definition
from chat_loop.config import Config, overlaid

if TYPE_CHECKING:
    from chat_loop.agent.tools import Tool

FOREIGN_SECONDS = 600.0
"""The longest silence of an agent that answers by itself: its tools run in it, unseen from here."""


def configured(config: Config, definition: Definition | None) -> Config:
    """The settings for an agent: the config, over it what its file says, over that `agents: NAME`
    of the config.

    Raises ConfigError.
    """
    if definition is not None:
        agent = replace(
            config.agent,
            name=definition.name,
            system_prompt=definition.system_prompt
            or ("" if definition.foreign else config.agent.system_prompt),
            tools=definition.tools,
            summary_instructions=definition.summary_instructions
            or config.agent.summary_instructions,
        )
        config = replace(config, agent=agent, model=definition.model or config.model)
        config = overlaid(config, definition.config, definition.path, "config.")
        if definition.servers:
            config = overlaid(config, {"mcp": definition.servers}, definition.path)
    own = {name.lower(): settings for name, settings in config.agents.items()}.get(
        config.agent.name.lower()
    )
    return overlaid(config, own, "The config", f"agents.{config.agent.name}.") if own else config


def equipped(agent: Agent, definition: Definition) -> Agent:
    """The agent that a configured config made, with what only its file can say. Raises what its
    tools raise.
    """
    agent = replace(agent, path=definition.path, description=definition.description)
    if definition.foreign is not None:
        return replace(
            agent, own_tools=True, tools=(), patience=replace(agent.patience, idle=FOREIGN_SECONDS)
        )
    return replace(agent, tools=(*agent.tools, *function_tools(definition)))


def function_tools(definition: Definition) -> tuple[Tool, ...]:
    """The Python functions of an agent as tools. Raises ConfigError for one that cannot be a
    tool.
    """
    if not definition.functions:
        return ()
    from chat_loop.agent.functions import tool_of

    return tuple(map(tool_of, definition.functions))
