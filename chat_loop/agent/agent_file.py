"""Agents in markdown and YAML: what their files say, checked (pure but for the reading)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from chat_loop import frontmatter
from chat_loop.agent.agent_path import default_name, named, text_of
from chat_loop.agent.definition import Definition
from chat_loop.config import Config, overlaid
from chat_loop.errors import AgentError, ConfigError

HARMLESS = frozenset(
    {
        "model",
        "agent",
        "search",
        "summary",
        "restoration",
        "context",
        "auto_compact",
        "memory",
        "models",
    }
)
"""Sections of the config that an agent's file may set unasked. The others can say where a key is
sent, or what runs.
"""


class Written(Struct, frozen=True, kw_only=True):
    """The keys of an agent's file."""

    name: str = ""
    description: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    summary_instructions: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    system_prompt: str = ""


def read(path: Path, data: bytes) -> Definition:
    """The agent that a file in markdown or YAML defines. Raises AgentError and ConfigError."""
    text = text_of(path, data)
    if path.suffix.lower() == ".md":
        try:
            front, body = frontmatter.split(text)
        except ValueError as error:
            raise AgentError(f"The agent {path}: {error}.") from error
        value = frontmatter.read_yaml(front.encode(), str(path))
    else:
        value, body = frontmatter.read_yaml(text.encode(), str(path)), None
    written = _checked({} if value is None else value, str(path))
    if body is not None and written.system_prompt:
        raise AgentError(
            f"{path}: unknown key system_prompt.",
            "In markdown the text below is the system prompt.",
        )
    prompt = (written.system_prompt if body is None else body).strip()
    if not prompt and value is None:
        raise AgentError(f"The agent {path} is empty.", "Its text is the system prompt.")
    return Definition(
        name=named(written.name) or default_name(path),
        path=str(path),
        description=named(written.description),
        model=written.model,
        system_prompt=prompt,
        summary_instructions=written.summary_instructions.strip(),
        tools=written.tools,
        mcp=(*written.mcp, *(name for name in written.servers if name not in written.mcp)),
        servers=written.servers,
        config=written.config,
    )


def wants(definition: Definition) -> tuple[str, ...]:
    """What the file asks for that the user has to allow, a line each: processes, addresses, other
    sections.
    """
    asked = []
    for name, server in definition.servers.items():
        command = [str(server.get("command", "")), *map(str, _listed(server.get("args")))]
        rest = {key: value for key, value in server.items() if key not in ("command", "args")}
        more = [
            f"{key}: {value}"
            for section, settings in rest.items()
            for key, value in _flat(section, settings)
        ]
        asked.append(
            f"the MCP server {name}: "
            f"{', '.join(filter(None, (shlex.join(filter(None, command)), *more)))}"
        )
    for section, settings in definition.config.items():
        if section not in HARMLESS:
            asked += [f"{key}: {value}" for key, value in _flat(section, settings)]
    return tuple(asked)


def _checked(value: object, name: str) -> Written:
    known = Written.__struct_fields__
    if not isinstance(value, Mapping):
        raise AgentError(
            f"{name}: an agent is a list of keys and values.", f"Known keys: {', '.join(known)}."
        )
    for key in value:
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(str(key), known, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(known)}."
            raise AgentError(f"{name}: unknown key {str(key)[:60]}.", hint)
    try:
        written = msgspec.convert(value, Written)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        raise AgentError(
            f"{name}: {where.rstrip('`') or 'the top level'}: {what[:1].lower()}{what[1:]}."
        ) from None
    check_config(written.config, name)
    return written


def check_config(settings: Mapping[str, Any], name: str) -> None:
    """Refuse settings that the config has not, or not for one agent. Raises AgentError."""
    try:
        overlaid(Config(), settings, name, "config.")
    except ConfigError as error:
        raise AgentError(error.message, error.hint) from error


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _flat(where: str, value: object) -> list[tuple[str, object]]:
    if not isinstance(value, Mapping):
        return [(where, value)]
    return [pair for key, inner in value.items() for pair in _flat(f"{where}.{key}", inner)]
