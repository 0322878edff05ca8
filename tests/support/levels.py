"""The command line as its parser defines it: each command with its options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from msgspec import Struct


class Option(Struct, frozen=True):
    """An option of a level. `takes` is True if the option takes a value."""

    names: tuple[str, ...]
    takes: bool


class Level(Struct, frozen=True):
    """A command. `at` is its path, such as `/sessions/list`; `commands` are its subcommands."""

    at: str
    options: tuple[Option, ...]
    commands: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        return {name for option in self.options for name in option.names}


def levels(parser: argparse.ArgumentParser, at: str = "/") -> Iterator[Level]:
    """Yield the level of a parser and all levels below it, top down; leave out hidden options."""
    made: list[Option] = []
    commands: list[str] = []
    below: list[Level] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                commands.append(name)
                below += levels(child, f"{at.rstrip('/')}/{name}")
        elif action.option_strings and action.help != argparse.SUPPRESS:
            made.append(Option(tuple(action.option_strings), action.nargs != 0))
    yield Level(at, tuple(made), tuple(commands))
    yield from below
