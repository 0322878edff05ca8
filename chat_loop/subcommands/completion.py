"""Completion in the shell: argcomplete writes the script and asks the parser at each Tab."""

from __future__ import annotations

import argparse
import contextlib
import re
from functools import partial

import argcomplete
from argcomplete.completers import DirectoriesCompleter, FilesCompleter, SuppressCompleter
from argcomplete.shell_integration import shellcode

from chat_loop import options as command_line
from chat_loop.agent.known_agents import AgentRegistry
from chat_loop.config import expand_home, find_paths, load_config
from chat_loop.display.plain import out
from chat_loop.errors import ChatLoopError
from chat_loop.library.library import Library
from chat_loop.providers.models import store
from chat_loop.providers.models.store import CATALOGUE

MAX_CHOICES = 50  # the most sessions that are offered: the ones used last
FILES = ("FILE", "FILE|FOLDER", "PATH", "DIR")
NAMES = ("NAME|PATH", "SESSION", "N|ID", "agents remove", "models install", "models remove")
"""The other metavars whose values are completed. A NAME is listed under its command."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,79}")  # values that no shell has to quote


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    out(shellcode(["chat-loop", "chat_loop"], shell=options.shell))
    return 0


def complete() -> None:
    """Give the shell the completions of the word before the cursor, and end the process."""
    parser = command_line.parser()
    _assign(parser)
    argcomplete.autocomplete(
        parser, always_complete_options=False, default_completer=SuppressCompleter()
    )


def _assign(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                _assign(child)
        kind = action.metavar
        if action.metavar == "NAME":
            kind = parser.prog.partition(" ")[2]
        if kind in FILES + NAMES:
            action.completer = partial(_values, kind)  # type: ignore[attr-defined]


def _values(kind: str, prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """Return the current values of a kind; none if they cannot be determined."""
    if kind in FILES:
        return list((DirectoriesCompleter() if kind == "DIR" else FilesCompleter())(prefix))
    try:
        paths = find_paths()
        file = paths.config
        if parsed_args.config:
            file = expand_home(parsed_args.config)
        config = load_config(file, required=False)
        if kind == "models install":
            found = [model.name for model in CATALOGUE]
        elif kind == "models remove":
            found = [model.name for model in store.installed_models(paths.models)]
        elif kind in ("agents remove", "NAME|PATH"):
            found = [agent.name for agent in AgentRegistry(paths).all()]
        else:
            folder = paths.sessions(config, parsed_args.sessions_dir)
            library = Library(folder, thorough=True)
            with contextlib.closing(library):
                found = ["last", *library.listed().value[:MAX_CHOICES]]
    except (ChatLoopError, OSError):
        found = []
    files = FilesCompleter()(prefix) if kind == "NAME|PATH" else ()
    return [*filter(_SAFE.fullmatch, found), *files]
