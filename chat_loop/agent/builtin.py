"""The built-in tools: they read and change files, and run commands."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from chat_loop.agent import shell
from chat_loop.agent.tools import Arguments, PreparedCall, Tool, spec_of
from chat_loop.agent.workspace import Workspace
from chat_loop.errors import ConfigError

_PATH = ("string", "Relative to the working directory.")
_FOLDER = ("string", "The folder, relative to the working directory.", ".")
_ARGUMENTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "read_file": {
        "path": _PATH,
        "first": ("integer", "The first line, from 1.", 1),
        "last": ("integer", "The last line; 0 reads to the end.", 0),
    },
    "list_files": {
        "pattern": ("string", 'Such as "*.py", looked for in every folder, or "src/*.py".', "*"),
        "path": _FOLDER,
    },
    "search_files": {
        "text": ("string", "What is looked for, as it stands; no regular expression."),
        "pattern": ("string", 'Only in such files, for example "*.py".', "*"),
        "path": _FOLDER,
        "ignore_case": ("boolean", "Find capital letters for small ones, and small ones.", False),
    },
    "write_file": {
        "path": ("string", "Relative to the working directory. Folders are made."),
        "text": ("string", "All that the file is to hold."),
    },
    "edit_file": {
        "path": _PATH,
        "old": (
            "string",
            "The text that is replaced, with enough around it that it stands in the file once.",
        ),
        "new": ("string", "What stands there afterwards."),
    },
    "run_command": {
        "command": ("string", "As it is typed."),
        "seconds": ("integer", "The longest it may take, at most 600; 0: as usual.", 0),
    },
}
"""The arguments of each tool: type, description, and the default if any. Its description is the
docstring of the function or method.
"""
NAMES = tuple(_ARGUMENTS)


def builtin_tools(
    names: Sequence[str], root: Path, *, protected: Sequence[Path] = (), seconds: float = 60.0
) -> tuple[Tool, ...]:
    """Return the tools with these names for the files below `root`; none touches `protected` paths.

    `seconds` limits a command when the model sets no limit. Raises ConfigError for an unknown
    name.
    """
    for name in names:
        if name not in NAMES:
            raise ConfigError(f"There is no tool {name}.", f"The tools are: {', '.join(NAMES)}.")
    if "run_command" in names and os.name == "nt":
        raise ConfigError("run_command does not run on Windows.", "Leave it out of the tools.")
    workspace = Workspace(root, protected)
    return tuple(
        _command_tool(workspace.root, seconds)
        if name == "run_command"
        else _file_tool(name, workspace)
        for name in dict.fromkeys(names)
    )


def _file_tool(name: str, workspace: Workspace) -> Tool:
    method: Callable[..., PreparedCall] = getattr(workspace, name)

    def prepare(arguments: Arguments) -> PreparedCall:
        return method(**arguments)

    async def run(arguments: Arguments) -> str:
        return await prepare(arguments).run()

    spec = spec_of(name, inspect.getdoc(method) or "", _ARGUMENTS[name])
    about = "files outside of the working directory"
    about = "" if name in ("write_file", "edit_file") else about
    return Tool(spec, run, prepare, approval_scope=about, cancellable=False)


def _command_tool(root: Path, seconds: float) -> Tool:
    environment = shell.clean_environment(os.environ)

    async def run(arguments: Arguments) -> str:
        wanted = min(arguments.get("seconds", 0), shell.MAX_SECONDS)
        limit = wanted if wanted > 0 else seconds
        return await shell.run_command(arguments["command"], root, environment, limit)

    def question(arguments: Arguments) -> str:
        first, *rest = arguments["command"].replace("\r", "␍").split("\n")
        return "\n".join([f"In {root}:", f"  $ {first}", *(f"  > {line}" for line in rest)])

    description = inspect.getdoc(shell.run_command) or ""
    spec = spec_of("run_command", description, _ARGUMENTS["run_command"])
    longest = shell.MAX_SECONDS + 2 * shell.TERM_SECONDS
    return Tool(spec, run, question, seconds=longest)
