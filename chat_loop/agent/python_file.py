"""Agents in Python: what was read is what runs, and whatever goes wrong in it is one sentence.

The modules beside the agent are imported from the bytes that the user approved, never from the
disk: nothing there, and no bytecode that somebody planted, can take their place.
"""

from __future__ import annotations

import asyncio
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from chat_loop.agent.agent_file import check_config
from chat_loop.agent.agent_path import default_name, named
from chat_loop.agent.definition import Definition
from chat_loop.agent.isolation import Caught, described, in_thread
from chat_loop.agent.public import Agent
from chat_loop.agent.trust import Snapshot
from chat_loop.errors import AgentError

WRAPPER = (
    "A function can: def agent(prompt): return THE_AGENT.run(prompt).content, or however it "
    "is asked."
)
EXAMPLE = 'It needs: from chat_loop import Agent; agent = Agent(system_prompt="…")'


def load(snapshot: Snapshot) -> Definition:
    """Run an approved agent's file and read its `agent`. Raises AgentError; Ctrl-C raises
    KeyboardInterrupt.

    What it prints is not shown.
    """
    code = _compiled(snapshot.source, snapshot.path, snapshot.path)
    finder = _Finder(snapshot)
    module = ModuleType(finder.free_name(snapshot.path.stem))
    module.__file__ = str(snapshot.path)
    sys.meta_path.insert(0, finder)
    sys.modules[module.__name__] = module

    def run() -> None:
        exec(code, module.__dict__)

    error = asyncio.run(in_thread(run)).error
    if error is not None:
        sys.meta_path.remove(finder)
        raise _failed(snapshot, error) from error
    found = getattr(module, "agent", None)
    if found is None:
        found = getattr(module, "root_agent", None)  # as in the agents of basic-agent-chat-loop
    if found is None:
        raise AgentError(
            f"{snapshot.path} has no agent: nothing in it has the name agent or root_agent.",
            EXAMPLE,
        )
    with Caught() as caught:
        definition = (
            _own(found, snapshot.path)
            if isinstance(found, Agent)
            else _foreign(found, snapshot.path, module)
        )
    if isinstance(caught.error, AgentError):
        raise caught.error
    if caught.error is not None:
        raise _failed(snapshot, caught.error) from caught.error
    return definition


def description_of(source: bytes) -> str:
    """The first line of a Python file's docstring, without running it; empty when it has none."""
    import ast

    try:
        text = ast.get_docstring(ast.parse(source)) or ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return named(text.strip().partition("\n")[0])


def _own(agent: Agent, path: Path) -> Definition:
    _check(agent, path)
    return Definition(
        name=named(agent.name) or default_name(path),
        path=str(path),
        description=named(agent.description),
        model=agent.model,
        system_prompt=agent.system_prompt.strip(),
        summary_instructions=agent.summary_instructions.strip(),
        tools=tuple(tool for tool in agent.tools if isinstance(tool, str)),
        mcp=(*agent.mcp, *(name for name in agent.servers if name not in agent.mcp)),
        servers=agent.servers,
        functions=tuple(tool for tool in agent.tools if not isinstance(tool, str)),
        config=agent.config,
    )


def _check(agent: Agent, path: Path) -> None:
    """Refuse what has another type than it should have. Raises AgentError."""
    for key in ("name", "system_prompt", "model", "description", "summary_instructions"):
        if not isinstance(getattr(agent, key), str):
            raise AgentError(f"{path}: {key} of the agent must be a text.")
    for key in ("tools", "mcp"):
        value = getattr(agent, key)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise AgentError(f"{path}: {key} of the agent must be a list.")
    for key in ("servers", "config"):
        if not isinstance(getattr(agent, key), Mapping):
            raise AgentError(f"{path}: {key} of the agent must be a dict.")
    for tool in agent.tools:
        if not isinstance(tool, str) and not callable(tool):
            raise AgentError(
                f"{path}: a tool is a function or the name of a built-in one, not "
                f"{type(tool).__name__}."
            )
    check_config(agent.config, str(path))


def _foreign(found: Any, path: Path, module: ModuleType) -> Definition:
    """The definition around an agent of another library. Raises AgentError when it is none."""
    if isinstance(found, type):
        raise AgentError(
            f"{path}: agent is the class {found.__name__}.",
            f"Make one of it: agent = {found.__name__}(…)",
        )
    can = any(
        callable(getattr(found, way, None))
        for way in ("run_stream_events", "run_stream", "stream_async")
    )
    if not can and not callable(found):
        raise AgentError(
            f"{path}: agent is {_a(type(found).__name__)}, which cannot be asked anything.", WRAPPER
        )
    name, about = getattr(found, "name", ""), getattr(found, "description", "")
    said = (module.__doc__ or "").strip().partition("\n")[0]
    return Definition(
        name=(named(name) if isinstance(name, str) and name != "Strands Agents" else "")
        or default_name(path),
        path=str(path),
        description=(named(about) if isinstance(about, str) else "") or named(said),
        foreign=found,
    )


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of a snapshot. A name that is installed, or Python's own, keeps its
    meaning.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._folder = snapshot.path.parent
        self._sources: dict[str, tuple[Path, bytes, bool]] = {}
        for name, data in snapshot.files.items():
            parts = name.removesuffix(".py").split("/")
            package = parts[-1] == "__init__"
            parts = parts[:-1] if package else parts
            for length in range(1, len(parts)):
                inside = self._folder.joinpath(*parts[:length])
                self._sources.setdefault(
                    ".".join(parts[:length]), (inside / "__init__.py", b"", True)
                )
            if parts and name != snapshot.path.name:
                self._sources[".".join(parts)] = (self._folder / name, data, package)
        taken = {
            name for name in {name.partition(".")[0] for name in self._sources} if self._taken(name)
        }
        self._sources = {
            name: one for name, one in self._sources.items() if name.partition(".")[0] not in taken
        }

    def free_name(self, stem: str) -> str:
        """A name for the agent's own module that nothing else has."""
        return (
            stem
            if stem.isidentifier() and stem not in self._sources and not self._taken(stem)
            else "agent_file"
        )

    def _taken(self, name: str) -> bool:
        if name in sys.stdlib_module_names or name in sys.modules:
            return True
        here = (self._folder, Path().resolve())  # where a run with `python -m` looks, too
        elsewhere = [entry for entry in sys.path if entry and Path(entry).resolve() not in here]
        return importlib.machinery.PathFinder.find_spec(name, elsewhere) is not None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._sources:
            return None
        file, _, package = self._sources[fullname]
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(file), is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = []
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The usual kind."""

    def exec_module(self, module: ModuleType) -> None:
        file, data, _ = self._sources[module.__name__]
        exec(_compiled(data, file, file), module.__dict__)

    def get_source(self, name: str) -> str:
        """For tracebacks, which show the line."""
        return self._sources[name][1].decode("utf-8", "replace")


def _compiled(source: bytes, path: Path, shown: Path) -> CodeType:
    """Raises AgentError for what is no Python."""
    try:
        return compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise AgentError(f"{shown}{line}: {error.msg}.", "It is no valid Python.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise AgentError(f"{shown} is no valid Python: {named(str(error))}.") from error


def _failed(snapshot: Snapshot, error: BaseException) -> AgentError:
    """What went wrong in the user's code, as one sentence with the place in it."""
    if isinstance(error, AgentError):
        return error
    what = described(error)
    if isinstance(error, SystemExit):
        what = f"it ended the program (exit code {error.code})"
    hint = ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        hint = (
            f"Install {error.name.partition('.')[0]} where chat-loop is installed, or put it "
            "beside the agent."
        )
    return AgentError(
        f"{snapshot.path} failed while it was loaded: {what}{_place(snapshot, error)}.", hint
    )


def _place(snapshot: Snapshot, error: BaseException) -> str:
    folder, place = f"{snapshot.path.parent}/", ""
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if file.startswith(folder) and file.removeprefix(folder) in snapshot.files:
            place = f" ({file.removeprefix(folder)}, line {frame.tb_lineno})"
        frame = frame.tb_next
    return place


def _a(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {named(name)}"
