"""The tools that come with the program; an agent has those that it names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from chat_loop.agent.commands import MOST_SECONDS, TERM_SECONDS, Commands
from chat_loop.agent.functions import tool_of
from chat_loop.agent.places import Grounds
from chat_loop.agent.reading import Reading
from chat_loop.agent.tools import Tool
from chat_loop.agent.writing import Writing
from chat_loop.errors import ConfigError

NAMES = ("read_file", "list_files", "search_files", "write_file", "edit_file", "run_command")


def builtin_tools(
    names: Sequence[str], root: Path, *, protected: Sequence[Path] = (), seconds: float = 60.0
) -> tuple[Tool, ...]:
    """The tools of these names, for the files below `root`; what is `protected` none of them
    touches.

    `seconds` is the longest that a command may take when the model does not say. Raises ConfigError
    for a name that is none of theirs.
    """
    for name in names:
        if name not in NAMES:
            raise ConfigError(f"There is no tool {name}.", f"The tools are: {', '.join(NAMES)}.")
    if "run_command" in names and os.name == "nt":
        raise ConfigError("run_command does not run on Windows.", "Leave it out of the tools.")
    grounds = Grounds(root, protected)
    reading, writing = Reading(grounds), Writing(grounds)
    commands = Commands(grounds.root, seconds)

    def looking(function: Callable[..., str]) -> Tool:
        asks_about = "files outside of the working directory"
        return replace(
            tool_of(function, asks=reading.about), allow=grounds.allow, asks_about=asks_about
        )

    def changing(function: Callable[..., str], asks: Callable[[Mapping[str, object]], str]) -> Tool:
        return replace(tool_of(function, asks=asks), allow=grounds.allow)

    made: Mapping[str, Callable[[], Tool]] = {
        "read_file": lambda: looking(reading.read_file),
        "list_files": lambda: looking(reading.list_files),
        "search_files": lambda: looking(reading.search_files),
        "write_file": lambda: changing(writing.write_file, writing.about_writing),
        "edit_file": lambda: changing(writing.edit_file, writing.about_editing),
        "run_command": lambda: tool_of(
            commands.run_command,
            asks=commands.about,
            seconds=MOST_SECONDS + 2 * TERM_SECONDS,
            here=True,
        ),
    }
    return tuple(made[name]() for name in dict.fromkeys(names))
