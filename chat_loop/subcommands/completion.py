"""`chat-loop completion SHELL`: a script that completes the command line, from its parser, and what
that asks for.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from chat_loop import options as command_line
from chat_loop.config import Config, Paths
from chat_loop.display.plain import out
from chat_loop.errors import ChatLoopError, SessionError
from chat_loop.library.library import Library

MOST = 50
"""Sessions that are offered: those that were used last."""
KINDS = {
    "FILE": "files",
    "FILE|FOLDER": "files",
    "PATH": "files",
    "DIR": "folders",
    "NAME|PATH": "agents",
    "SESSION": "sessions",
    "N|ID": "sessions",
}
"""What the values called so are completed with."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,79}")
"""What needs no quotes in any shell, which would run some of what does."""


class Option(Struct, frozen=True):
    """An option of a level. `values` are its choices; `kind`: what else it is completed with; both
    empty: anything.
    """

    names: tuple[str, ...]
    help: str
    takes: bool
    values: tuple[str, ...]
    kind: str


class Level(Struct, frozen=True):
    """A command: `at` is its path, such as `/sessions/list`. `commands` are those below it, with
    their help.
    """

    at: str
    options: tuple[Option, ...]
    commands: tuple[tuple[str, str], ...]
    values: tuple[str, ...]
    kind: str


def levels(parser: argparse.ArgumentParser, at: str = "/") -> Iterator[Level]:
    """Yield a parser's level and all below it, the nearest first."""
    made: list[Option] = []
    commands: dict[str, str] = {}
    below: list[Level] = []
    values: tuple[str, ...] = ()
    kind = ""
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):
            commands = {one.dest: one.help or "" for one in action._choices_actions}
            for name, child in action.choices.items():
                below += levels(child, f"{at.rstrip('/')}/{name}")
        elif action.option_strings:
            choices, wanted = _completed(action, at)
            takes = action.nargs != 0
            made.append(
                Option(tuple(action.option_strings), _short(action.help), takes, choices, wanted)
            )
        elif not (values or kind):
            values, kind = _completed(action, at)
    yield Level(
        at,
        tuple(made),
        tuple((name, _short(text)) for name, text in commands.items()),
        values,
        kind,
    )
    yield from below


def _completed(action: argparse.Action, at: str) -> tuple[tuple[str, ...], str]:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    kind = KINDS.get(metavar, "")
    if metavar == "NAME" and at in ("/models/install", "/models/remove"):
        kind = at.rpartition("/")[2]
    if metavar == "NAME" and at == "/agents/remove":
        kind = "agents"
    return tuple(map(str, action.choices or ())), kind


def _short(text: str | None) -> str:
    """A help text as the shells show it: no quotes and brackets that would mean something to
    them.
    """
    return re.sub(r"[^\w ,.;:|/()+’-]", "", (text or "").replace("'", "’"))


def completion(shell: str) -> int:
    """Print the script for a shell."""
    from chat_loop.subcommands.completion_scripts import bash, fish, zsh

    known = list(levels(command_line.parser(("sessions", "agents"))))
    out({"bash": bash, "zsh": zsh, "fish": fish}[shell](known))
    return 0


def values(kind: str, config: Config, paths: Paths, folder: str) -> int:
    """Print what a kind of value can be now, a line each; nothing when that cannot be told."""
    try:
        found = _values(kind, config, paths, folder)
    except (ChatLoopError, OSError):
        return 0
    out("".join(f"{value}\n" for value in found if _SAFE.fullmatch(value)))
    return 0


def _values(kind: str, config: Config, paths: Paths, folder: str) -> list[str]:
    match kind:
        case "sessions":
            library = Library(
                paths.sessions(config, folder), lambda: datetime.now().astimezone(), thorough=True
            )
            try:
                return ["last", *library.listed()[:MOST]]
            except SessionError:
                return []
            finally:
                library.close()
        case "agents":
            from chat_loop.agent.named_agents import Places

            return [place.name for place in Places(paths).all()]
        case "install":
            from chat_loop.models.catalogue import CATALOGUE

            return [model.name for model in CATALOGUE]
        case "remove":
            from chat_loop.models.store import installed

            return [model.name for model in installed(paths.models)]
        case _:
            return []
