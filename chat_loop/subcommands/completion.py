"""Completion in the shell: argcomplete writes the script and asks the parser at each Tab."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from datetime import datetime

import argcomplete
from argcomplete.completers import DirectoriesCompleter, FilesCompleter, SuppressCompleter
from argcomplete.shell_integration import shellcode

from chat_loop import options as command_line
from chat_loop.agent.agent_files import AgentNames
from chat_loop.config import Config, Paths, expanded, find_paths, load_config
from chat_loop.display.plain import out
from chat_loop.errors import ChatLoopError
from chat_loop.library.library import Library
from chat_loop.models import store
from chat_loop.models.catalogue import CATALOGUE

MOST = 50
"""Sessions that are offered: those that were used last."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,79}")
"""Values that no shell reads otherwise."""
Values = Callable[[argparse.Namespace, Config, Paths], Iterable[str]]


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    out(shellcode(["chat-loop", "chat_loop"], shell=options.shell))
    return 0


def complete() -> None:
    """Answer the shell with what the word before the cursor can become, and end the process."""
    parser = command_line.parser(("sessions", "agents"))
    _assign(parser)
    argcomplete.autocomplete(
        parser, always_complete_options=False, default_completer=SuppressCompleter()
    )


def _assign(parser: argparse.ArgumentParser) -> None:
    """Give each argument the completer of what its metavar names."""
    kinds: dict[object, object] = {
        **dict.fromkeys(("FILE", "FILE|FOLDER", "PATH"), FilesCompleter()),
        "DIR": DirectoriesCompleter(),
        "NAME|PATH": lambda prefix, **given: [*_agents(**given), *FilesCompleter()(prefix)],
        **dict.fromkeys(("SESSION", "N|ID"), _offered(_sessions)),
    }
    names = {
        "agents remove": _agents,
        "models install": _offered(lambda *_: (model.name for model in CATALOGUE)),
        "models remove": _offered(
            lambda _, config, paths: (model.name for model in store.installed(paths.models))
        ),
    }
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                _assign(child)
        elif action.metavar == "NAME":
            action.completer = names.get(parser.prog.partition(" ")[2])  # type: ignore[attr-defined]
        elif action.metavar in kinds:
            action.completer = kinds[action.metavar]  # type: ignore[attr-defined]


def _offered(values: Values) -> Callable[..., list[str]]:
    def completer(parsed_args: argparse.Namespace, **_: object) -> list[str]:
        try:
            paths = find_paths()
            file = expanded(parsed_args.config) if parsed_args.config else paths.config
            found = [*values(parsed_args, load_config(file, required=False), paths)]
        except (ChatLoopError, OSError):
            return []
        return [value for value in found if _SAFE.fullmatch(value)]

    return completer


def _sessions(given: argparse.Namespace, config: Config, paths: Paths) -> list[str]:
    folder = paths.sessions(config, given.sessions_dir)
    library = Library(folder, lambda: datetime.now().astimezone(), thorough=True)
    try:
        return ["last", *library.listed()[:MOST]]
    finally:
        library.close()


_agents = _offered(lambda _, config, paths: (place.name for place in AgentNames(paths).all()))
