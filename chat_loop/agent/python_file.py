"""Agents in Python: what was read is what runs, and whatever goes wrong in it is one sentence."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import ModuleType
from typing import Any

from chat_loop.agent.agent_files import AgentFile
from chat_loop.agent.definition import Definition, default_name, define, short_name
from chat_loop.agent.isolation import Caught, described, in_thread, one_sentence
from chat_loop.errors import AgentError


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent in Python; what is left out is the config's. A file `agent.py` gives it the name
    `agent`.

    `tools` holds functions with type hints and a docstring, which the model is told of, and names
    of built-in tools. `mcp` names servers of the config, or of `servers`, which describes some in
    the form of the config. `config` takes the place of the config's settings, by section and key:
    `{"memory": {"enabled": False}}`.
    """

    name: str = ""
    system_prompt: str = ""
    model: str = ""
    description: str = ""
    tools: Sequence[Callable[..., object] | str] = ()
    mcp: Sequence[str] = ()
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    summary_instructions: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)


def load(file: AgentFile) -> Definition:
    """Run an approved agent's file and read its `agent`; what it prints is not shown. Raises
    AgentError; Ctrl-C raises KeyboardInterrupt.
    """
    path = file.path
    try:
        code = compile(file.source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise AgentError(f"{path}{line}: {error.msg}.", "It is no valid Python.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise AgentError(f"{path} is no valid Python: {one_sentence(str(error))}.") from error
    module = ModuleType("agent_file")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module

    def run() -> None:
        exec(code, module.__dict__)

    raised = asyncio.run(in_thread(run)).error
    if raised is not None:
        raise _failure(file, raised) from raised
    found = getattr(module, "agent", None)
    if found is None:
        found = getattr(module, "root_agent", None)  # as in the agents of basic-agent-chat-loop
    if found is None:
        raise AgentError(
            f"{path} has no agent: nothing in it has the name agent or root_agent.",
            'It needs: from chat_loop import Agent; agent = Agent(system_prompt="…")',
        )
    with Caught() as caught:
        if not isinstance(found, Agent):
            return _foreign(found, file, (module.__doc__ or "").strip().partition("\n")[0])
        values = {one.name: getattr(found, one.name) for one in fields(Agent)}
        functions: tuple[Any, ...] = ()
        if isinstance(found.tools, list | tuple):
            functions = tuple(tool for tool in found.tools if callable(tool))
            values["tools"] = [tool for tool in found.tools if not callable(tool)]
        return define(values, path, functions)
    assert caught.error is not None
    raise _failure(file, caught.error) from caught.error


def _foreign(found: Any, file: AgentFile, about: str) -> Definition:
    """Return the definition around an agent of another library. Raises AgentError."""
    path, kind = file.path, short_name(type(found).__name__)
    if isinstance(found, type):
        example = f"Make one of it: agent = {found.__name__}(…)"
        raise AgentError(f"{path}: agent is the class {found.__name__}.", example)
    ways = ("run_stream_events", "run_stream", "stream_async", "__call__")
    if not any(callable(getattr(found, way, None)) for way in ways):
        a = "an" if kind[:1].lower() in "aeiou" else "a"
        raise AgentError(
            f"{path}: agent is {a} {kind}, which cannot be asked anything.",
            "A function can: def agent(prompt): return THE_AGENT.run(prompt).content, or however "
            "it is asked.",
        )
    name, description = getattr(found, "name", ""), getattr(found, "description", "")
    name = name if isinstance(name, str) and name != "Strands Agents" else ""
    description = description if isinstance(description, str) else ""
    return Definition(
        name=short_name(name) or default_name(path),
        path=str(path),
        description=short_name(description) or short_name(about),
        foreign=found,
    )


def _failure(file: AgentFile, error: BaseException) -> AgentError:
    """Return what went wrong in the user's code, as one sentence with the place in it."""
    if isinstance(error, AgentError):
        return error
    what, hint, place = described(error), "", ""
    if isinstance(error, SystemExit):
        what = f"it ended the program (exit code {error.code})"
    if isinstance(error, ModuleNotFoundError) and error.name:
        hint = f"Install {error.name.partition('.')[0]} where chat-loop is installed."
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == str(file.path):
            place = f" ({file.path.name}, line {frame.tb_lineno})"
        frame = frame.tb_next
    return AgentError(f"{file.path} failed while it was loaded: {what}{place}.", hint)
