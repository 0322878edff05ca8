"""Read, check and load agent files (markdown, YAML, Python) and apply them to the config."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import cast

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from chat_loop.agent.agent import ModelAgent as RunningAgent
from chat_loop.agent.isolation import describe, in_thread, plain_line
from chat_loop.config import Config, convert, overlay
from chat_loop.errors import AgentError, ConfigError, os_reason
from chat_loop.sessions.files import read_part
from chat_loop.values import sha256
from chat_loop.yaml_files import Source, read_yaml, split_front

MAX_BYTES = 256 * 1024
KINDS = {".py": "python", ".md": "markdown", ".yaml": "yaml", ".yml": "yaml"}
"""The suffixes of agent files, in the order in which they are looked for in a folder."""
_FILE_HINT = (
    "An agent's file ends in .py, .md or .yaml, or is agent.py, agent.md or agent.yaml in a folder."
)
_HARMLESS_SECTIONS = frozenset(
    {"model", "agent", "search", "resume", "context", "auto_compact", "memory", "models"}
    | {"summary", "restoration"}  # old
)
"""Sections of the config that cannot decide where a key is sent, or what runs."""


class Agent(Struct, frozen=True, kw_only=True):
    """An agent in Python, which a file assigns to `agent`. Missing values come from the config.

    `tools` contains functions with type hints and a docstring, which the model sees, and names of
    built-in tools. `mcp` names servers from the config or from `servers`, which has the same form.
    `config` overrides the config, by section and key: `{"memory": {"enabled": False}}`.
    """

    name: str = ""
    description: str = ""
    model: str = ""
    tools: Sequence[Callable[..., object] | str] = ()
    mcp: Sequence[str] = ()
    servers: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    summary_instructions: str = ""
    config: Mapping[str, object] = field(default_factory=dict)
    system_prompt: str = ""


class AgentSettings(Agent, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys and values of an agent's file."""

    tools: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    servers: dict[str, dict[str, object]] = field(default_factory=dict)
    config: dict[str, object] = field(default_factory=dict)


class Definition(AgentSettings, frozen=True, kw_only=True):
    """A validated agent definition."""

    path: str = ""  # of its file, absolute
    digest: str = ""  # of its file's source
    functions: tuple[Callable[..., object], ...] = ()  # Python functions that become tools
    foreign: object = None  # an agent of another library, which answers instead of a model


class AgentFile(Struct, frozen=True, kw_only=True):
    """The source of an agent file; `path` is absolute, without symbolic links."""

    path: Path
    source: bytes

    @property
    def kind(self) -> str:
        """Return `python`, `markdown` or `yaml`."""
        return KINDS[self.path.suffix.lower()]

    def definition(self) -> Definition:
        """Parse a file in markdown or YAML. Raises AgentError and ConfigError."""
        path = self.path
        prompt = None
        try:
            text = self.source.decode("utf-8-sig").replace("\r\n", "\n")
            if self.kind == "markdown":
                text, prompt = split_front(text)
        except ValueError as error:
            raise AgentError(f"The agent {path}: {error}.") from error
        values = read_yaml(text.encode(), str(path)) or {}
        if prompt and isinstance(values, dict):
            values["system_prompt"] = prompt
        return _parse_definition(values, path, text=text)

    def description(self) -> str:
        """Return the description; empty for Python, whose code would have to run first."""
        if self.kind == "python":
            return ""
        return self.definition().description

    def permissions(self) -> tuple[str, ...]:
        """Return the code, processes, addresses and settings that the user must allow."""
        if self.kind == "python":
            return ("to run",)
        definition = self.definition()
        settings: dict[str, object] = {"servers": definition.servers, **definition.config}
        asked = {key: value for key, value in settings.items() if key not in _HARMLESS_SECTIONS}
        return tuple(_setting_lines("", asked))


def _setting_lines(key: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _setting_lines(f"{key}.{name}".lstrip("."), inner)
    else:
        yield f"{key}: {value}"


def read_file(path: Path) -> AgentFile:
    """Read the agent file at `path`, or in the folder at `path`. Raises AgentError."""
    try:
        real = Path(os.path.realpath(path.expanduser(), strict=True))
        if real.is_dir():
            inside = [real / f"agent{suffix}" for suffix in KINDS]
            file = next((file for file in inside if file.exists()), real)
            real = Path(os.path.realpath(file, strict=True))
        if real.suffix.lower() not in KINDS:
            raise AgentError(f"{path} is not an agent file.", _FILE_HINT)
        source, _ = read_part(real, MAX_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = "it is not a regular file"
        if isinstance(error, OSError):
            reason = os_reason(error)
        text = f"The agent {path} cannot be read: {reason}."
        raise AgentError(text, "chat-loop agents lists them.") from error
    if len(source) > MAX_BYTES:
        raise AgentError(f"The agent {path} is larger than {MAX_BYTES // 1024} KB.")
    return AgentFile(path=real, source=source)


def _parse_definition(
    values: object, path: Path, functions: tuple[Callable[..., object], ...] = (), text: str = ""
) -> Definition:
    """Validate the keys and values of a file, or of its YAML `text`, as a definition. Raises
    AgentError.
    """
    source = Source(str(path), text)
    try:
        settings: AgentSettings = convert(values, AgentSettings, source, hint="")
        overlay(Config(), settings.config, source, "config.")
    except ConfigError as error:
        raise AgentError(error.message, error.hint) from error
    definition = Definition(**asdict(settings))
    return replace(
        definition,
        name=short_name(definition.name) or default_name(path),
        description=short_name(definition.description),
        system_prompt=definition.system_prompt.strip(),
        summary_instructions=definition.summary_instructions.strip(),
        mcp=tuple(dict.fromkeys((*definition.mcp, *definition.servers))),
        path=str(path),
        functions=functions,
    )


def default_name(path: Path) -> str:
    """Return the default name of an agent, which is that of its file or folder."""
    name = path.stem
    if path.stem == "agent" and path.parent.name:
        name = path.parent.name
    return short_name(name.replace("_", " ")) or "Agent"


def short_name(name: str) -> str:
    """Return a name on one line of at most 60 characters."""
    return plain_line(name, 60)


def load(file: AgentFile) -> Definition:
    """Return the agent of an approved file. Raises AgentError, ConfigError, KeyboardInterrupt."""
    definition = _run_python(file) if file.kind == "python" else file.definition()
    return replace(definition, digest=sha256(file.source))


def _run_python(file: AgentFile) -> Definition:
    """Run a file and return its agent."""
    path = file.path
    module = ModuleType("agent_file")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module

    def run() -> Definition:
        exec(compile(file.source, str(path), "exec", dont_inherit=True), module.__dict__)
        return _definition_of(module, path)

    outcome = asyncio.run(in_thread(run))
    raised = outcome.error
    if raised is None:
        return cast(Definition, outcome.result)
    if isinstance(raised, AgentError):
        raise raised
    frames = traceback.extract_tb(raised.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    where = ""
    if lines:
        where = f" ({path.name}, line {lines[-1]})"
    missing = isinstance(raised, ModuleNotFoundError) and (raised.name or "").partition(".")[0]
    hint = ""
    if missing:
        hint = f"Install {missing} where chat-loop is installed."
    raise AgentError(
        f"{path} failed while it was loaded: {describe(raised)}{where}.", hint
    ) from raised


def _definition_of(module: ModuleType, path: Path) -> Definition:
    """Return the definition of the `agent` of a module. Raises AgentError."""
    # root_agent: as in the agents of basic-agent-chat-loop
    agent = getattr(module, "agent", None) or getattr(module, "root_agent", None)
    if isinstance(agent, Agent):
        functions = tuple(tool for tool in agent.tools if callable(tool))
        names = agent.tools
        if functions:
            names = [tool for tool in agent.tools if not callable(tool)]
        return _parse_definition({**asdict(agent), "tools": names}, path, functions)
    ways = ("run_stream_events", "run_stream", "stream_async", "__call__")
    if isinstance(agent, type) or not any(callable(getattr(agent, way, None)) for way in ways):
        hint = 'For example: from chat_loop import Agent; agent = Agent(system_prompt="…")'
        raise AgentError(f"{path} has no usable agent named agent or root_agent.", hint)
    name = short_name(str(getattr(agent, "name", "")))
    described = str(getattr(agent, "description", "") or module.__doc__ or "")
    return Definition(
        name=default_name(path) if name in ("", "Strands Agents") else name,
        path=str(path),
        description=short_name(described.strip().partition("\n")[0]),
        foreign=agent,
    )


def apply_definition(agent: RunningAgent, definition: Definition) -> RunningAgent:
    """Return an agent with the path, description and functions of its file."""
    agent = replace(agent, path=definition.path, description=definition.description)
    if definition.foreign is not None:
        return replace(agent, own_tools=True, tools=())
    if not definition.functions:
        return agent
    from chat_loop.agent.functions import tool_of  # loads pydantic

    return replace(agent, tools=(*agent.tools, *map(tool_of, definition.functions)))
