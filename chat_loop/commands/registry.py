"""What a line is: a command or text (pure), and the table of commands.

Bare words count only as the whole line and only where a command says so; with `/` or `#` every
command works, with free text after it. Everything else is text; a leading space makes any line
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from chat_loop.commands.chat import Chat

Handler = Callable[["Chat", str], Coroutine[Any, Any, None]]

_SLASH = re.compile(r"/([A-Za-z][\w-]*)(?:\s+(.*))?", re.DOTALL)
_HASH = re.compile(r"#([A-Za-z][\w-]*)(?:\s+(.*))?", re.DOTALL)


class Quit(BaseException):
    """The user wants to leave; not an error."""


class Command(Struct, frozen=True):
    """One command. `bare` is the expression that a whole line must match to be it without `/`;
    empty: never.
    """

    name: str
    run: Handler
    argument: str = ""
    bare: re.Pattern[str] | None = None
    aliases: tuple[str, ...] = ()

    @property
    def help(self) -> str:
        """Return one line: the first paragraph of the docstring."""
        first = (self.run.__doc__ or "").strip().partition("\n\n")[0]
        return " ".join(first.split())

    @property
    def details(self) -> str:
        """Return what follows that paragraph, mostly nothing: an example per line, and prose whose
        lines are joined.
        """
        from inspect import cleandoc  # takes longer to load than all commands

        lines: list[str] = []
        example = True
        for line in cleandoc(self.run.__doc__ or "").partition("\n\n")[2].splitlines():
            in_columns = "  " in line or not line
            if example or in_columns:
                lines.append(line)
            else:
                lines[-1] += f" {line}"
            example = in_columns
        return "\n".join(lines).strip("\n")

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".strip()


class Call(Struct, frozen=True):
    """A line that is a command."""

    command: Command
    argument: str = ""


class Unknown(Struct, frozen=True):
    """A line that was meant as a command; `nearest` is the known name closest to it, or empty.

    `argument` is what follows the name, as it was typed.
    """

    name: str
    nearest: str
    argument: str = ""


class Registry(Struct):
    """All commands by name and alias."""

    commands: list[Command] = field(default_factory=list)

    def command(
        self, name: str, *, argument: str = "", bare: str = "", aliases: tuple[str, ...] = ()
    ) -> Callable[[Handler], Handler]:
        """Register the decorated function."""

        def register(run: Handler) -> Handler:
            pattern = re.compile(bare) if bare else None
            self.commands.append(Command(name, run, argument, pattern, aliases))
            return run

        return register

    def names(self) -> list[str]:
        """Every name and alias, as typed after `/`."""
        return [name for command in self.commands for name in (command.name, *command.aliases)]

    def named(self, name: str) -> Command | None:
        return next(
            (
                command
                for command in self.commands
                if name.lower() in (command.name, *command.aliases)
            ),
            None,
        )

    def parse(self, line: str) -> Call | Unknown | None:
        """Say what a line is; None means text."""
        for command in self.commands:
            if command.bare is not None and (match := command.bare.fullmatch(line.rstrip())):
                return Call(command, next((group for group in match.groups() if group), ""))
        if match := _SLASH.fullmatch(line):
            found = self.named(match.group(1))
            if found is None:
                from difflib import get_close_matches  # only a misspelt command needs it

                near = get_close_matches(match.group(1).lower(), self.names(), 1, 0.5)
                return Unknown(match.group(1), near[0] if near else "", match.group(2) or "")
            return Call(found, (match.group(2) or "").strip())
        if (match := _HASH.fullmatch(line)) and (found := self.named(match.group(1))):
            return Call(found, (match.group(2) or "").strip())
        return None


registry = Registry()
