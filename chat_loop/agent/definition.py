"""The settings in an agent's file, checked, and how they override the config."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.config import Config, overlaid
from chat_loop.errors import AgentError, ConfigError

HARMLESS = frozenset(
    {"model", "agent", "search", "summary", "restoration", "context", "auto_compact"}
    | {"memory", "models"}
)
"""Sections of the config that an agent's file may set unasked. The others can say where a key is
sent, or what runs.
"""


class Definition(Struct, frozen=True, kw_only=True):
    """An agent as its file defines it; what it leaves out is empty, and the config's then holds.

    `tools` names built-in ones, `mcp` servers of the config or of `servers`, which the file itself
    describes. `config` takes the place of the config's settings, by section and key. `path` is the
    file's, absolute. `functions` are Python functions that become tools. `foreign` is an agent of
    another library that answers instead of a model.
    """

    name: str = ""
    description: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    summary_instructions: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    system_prompt: str = ""
    path: str = ""
    functions: tuple[Any, ...] = ()
    foreign: Any = None


KEYS = Definition.__struct_fields__[:9]
"""What a file may say."""


def define(values: object, path: Path, functions: tuple[Any, ...] = ()) -> Definition:
    """Return the definition that the keys and values of a file are. Raises AgentError."""
    known = f"Known keys: {', '.join(KEYS)}."
    if not isinstance(values, Mapping):
        raise AgentError(f"{path}: an agent is a list of keys and values.", known)
    for key in values:
        if key not in KEYS:
            from difflib import get_close_matches  # rarely needed

            near = get_close_matches(str(key), KEYS, 1)
            hint = f"Did you mean {near[0]}?" if near else known
            raise AgentError(f"{path}: unknown key {str(key)[:60]}.", hint)
    try:
        written = msgspec.convert(values, Definition)
        overlaid(Config(), written.config, str(path), "config.")
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        place = where.rstrip("`") or "the top level"
        raise AgentError(f"{path}: {place}: {what[:1].lower()}{what[1:]}.") from None
    except ConfigError as error:
        raise AgentError(error.message, error.hint) from error
    return replace(
        written,
        name=short_name(written.name) or default_name(path),
        description=short_name(written.description),
        system_prompt=written.system_prompt.strip(),
        summary_instructions=written.summary_instructions.strip(),
        mcp=tuple(dict.fromkeys((*written.mcp, *written.servers))),
        path=str(path),
        functions=functions,
    )


def default_name(path: Path) -> str:
    """Return the name of an agent whose file says none: the file's, or its folder's."""
    name = path.parent.name if path.stem == "agent" and path.parent.name else path.stem
    return short_name(name.replace("_", " ")) or "Agent"


def short_name(name: str) -> str:
    """Return a name on one line, as far as it can be shown, of at most 60 characters."""
    flat = " ".join("".join(sign if sign.isprintable() else " " for sign in name[:400]).split())
    return flat[:60].rstrip()


def wants(definition: Definition) -> tuple[str, ...]:
    """Return what the user has to allow, a line each: processes, addresses, other sections."""
    asked = []
    for name, server in definition.servers.items():
        args = server.get("args")
        command = [server.get("command", ""), *(args if isinstance(args, list | tuple) else ())]
        rest = {key: value for key, value in server.items() if key not in ("command", "args")}
        parts = [shlex.join(filter(None, map(str, command))), *_flat("", rest)]
        asked.append(f"the MCP server {name}: {', '.join(filter(None, parts))}")
    for section, settings in definition.config.items():
        if section not in HARMLESS:
            asked += _flat(section, settings)
    return tuple(asked)


def _flat(where: str, value: object) -> list[str]:
    """Return a line for each setting below a key."""
    if not isinstance(value, Mapping):
        return [f"{where}: {value}"]
    below = f"{where}." if where else ""
    return [line for key, inner in value.items() for line in _flat(f"{below}{key}", inner)]


def configured(config: Config, definition: Definition | None) -> Config:
    """Return the settings for an agent: the config, over it what its file says, over that `agents:
    NAME` of the config. Raises ConfigError.
    """
    if definition is not None:
        usual = config.agent
        prompt = definition.system_prompt or ("" if definition.foreign else usual.system_prompt)
        agent = replace(
            usual,
            name=definition.name,
            system_prompt=prompt,
            tools=definition.tools,
            summary_instructions=definition.summary_instructions or usual.summary_instructions,
        )
        config = replace(config, agent=agent, model=definition.model or config.model)
        config = overlaid(config, definition.config, definition.path, "config.")
        if definition.servers:
            config = overlaid(config, {"mcp": definition.servers}, definition.path)
    name = config.agent.name
    own = {key.lower(): settings for key, settings in config.agents.items()}.get(name.lower())
    return overlaid(config, own, "The config", f"agents.{name}.") if own else config


def equipped(agent: Agent, definition: Definition) -> Agent:
    """Return the agent that a configured config made, with what only its file can say."""
    agent = replace(agent, path=definition.path, description=definition.description)
    if definition.foreign is not None:  # its tools run in it, unseen: it may be silent for long
        patience = replace(agent.patience, idle=600.0)
        return replace(agent, own_tools=True, tools=(), patience=patience)
    if not definition.functions:
        return agent
    from chat_loop.agent.functions import tool_of

    return replace(agent, tools=(*agent.tools, *map(tool_of, definition.functions)))
