"""Distinguishes commands from text (pure), and keeps the table of commands.

A command is a function whose docstring is its help. Every command works with `/` or `#`. Without
them, it must be the whole line and have a `bare` pattern. A leading space makes a line text.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from inspect import cleandoc
from threading import Lock
from typing import Any

from msgspec import Struct, field

from chat_loop.commands.chat import Chat
from chat_loop.conversation.reading import QueryFile
from chat_loop.errors import UsageError
from chat_loop.plugins import Plugins

NextQuery = tuple[str, tuple[QueryFile, ...]]
OptionValues = Mapping[str, str]
"""The options of a command that the user gave, without `--`; the value of a flag is empty."""
Handler = Callable[[Chat, str, OptionValues], Awaitable[NextQuery | None]]
"""Runs a command with its argument and options. A query that it returns is sent, with its files."""
ESSENTIAL = ("help", "model", "compact", "resume", "sessions", "search", "undo", "exit")
"""The commands that a person needs, the most used one first."""
RARE = (
    *("agents", "decide", "forget", "import", "info", "mcp", "merge", "quote", "run", "show"),
    *("summarize", "templates"),
)
"""Commands that a menu does not list: few need them, or another command does the same."""
_TYPED = re.compile(r"([/#])([A-Za-z][\w-]*)(?:\s+(.*))?", re.DOTALL)


class Quit(BaseException):
    """Signals that the user wants to quit; not an error."""


class Command(Struct, frozen=True):
    """A command. A line without `/` is this command if `bare` matches all of it.

    `flags` are its options without a value, `valued` those with one. Both are named without `--`.
    If it `stops` what runs, it does not wait for that to end. If its argument matches `shows`, it
    only shows something, and answers while a reply streams. An old word works like any other, but
    no list has it; `now` is how to say it today.
    """

    name: str
    run: Handler
    family: str
    argument: str = ""
    bare: str = ""
    aliases: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()
    stops: bool = False
    shows: str | None = None
    now: str = ""

    @property
    def help(self) -> str:
        """Return one line: the first paragraph of the docstring."""
        return " ".join((self.run.__doc__ or "").partition("\n\n")[0].split())

    @property
    def details(self) -> list[str]:
        """Return the rest of the docstring: examples in two columns, and prose in joined lines."""
        lines: list[str] = []
        for line in cleandoc(self.run.__doc__ or "").partition("\n\n")[2].splitlines():
            if lines and lines[-1] and line and "  " not in f"{lines[-1]}·{line}":
                lines[-1] += f" {line}"
            else:
                lines.append(line)
        return lines

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".strip()

    @property
    def options(self) -> dict[str, str]:
        """Return its options, each with its note in the help."""
        notes = {line.partition("  ")[0]: line.partition("  ")[2].strip() for line in self.details}
        names = [f"--{name}" for name in self.flags + self.valued]
        return {name: notes.get(name, "") for name in names}

    def arguments(self, text: str) -> tuple[str, OptionValues]:
        """Return the words of an argument, and its options; a flag's value is empty.

        A value is the next word, the text in double quotes, or the text after `=`. Everything after
        `--` is words. In front of a TEXT there may be one flag; a TEXT may contain dashes. Raises
        UsageError for an argument that the command does not take, an unknown option, and an option
        without its value.
        """
        if text and not self.argument:
            hint = "To send it as text, start with a space."
            raise UsageError(f"/{self.name} takes no argument.", hint)
        if not (self.flags or self.valued):
            return text, {}
        if self.argument.endswith("TEXT"):
            first, _, rest = text.partition(" ")
            flag = first.removeprefix("--")
            return (rest, {flag: ""}) if first != flag and flag in self.flags else (text, {})
        words: list[str] = []
        options: dict[str, str] = {}
        parts = iter(re.findall(r'--\w+="[^"]*"|"[^"]*"(?!\S)|\S+', text))
        for part in parts:
            option, equals, value = part.removeprefix("--").partition("=")
            if part == "--":
                words += parts
            elif not part.startswith("--"):
                words.append(part)
            elif option in self.flags and not equals:
                options[option] = ""
            elif option in self.valued:
                options[option] = (value if equals else next(parts, "")).strip('"')
                if not options[option] or options[option].startswith("--"):
                    hint = f"/help {self.name} shows how."
                    raise UsageError(f"--{option} of /{self.name} needs a value.", hint)
            else:
                hint = f"Options: {', '.join(self.options)}. Put -- before words with a dash."
                raise UsageError(f"/{self.name} has no option {part[:40]}.", hint)
        return " ".join(words), options


class CommandCall(Struct, frozen=True):
    """A line that is a command."""

    command: Command
    argument: str = ""

    @property
    def only_shows(self) -> bool:
        """True if the command only shows something."""
        shows = self.command.shows
        return shows is not None and re.fullmatch(shows, self.argument, re.DOTALL) is not None


class Unknown(Struct, frozen=True):
    """A line that begins like a command, but does not name one."""

    name: str
    argument: str = ""


class Registry(Struct):
    """All commands by name and alias. `lock` is held while the commands of plugins are added, which
    two threads may do at once.
    """

    commands: list[Command] = field(default_factory=list)
    lock: AbstractContextManager[object] = field(default_factory=Lock)

    def command(self, usage: str, family: str, **more: Any) -> Callable[[Handler], Handler]:
        """Register a command; `usage` is its name and argument, `more` other fields of Command."""
        name, _, argument = usage.partition(" ")

        def register(run: Handler) -> Handler:
            self.commands.append(Command(name, run, family, argument, **more))
            return run

        return register

    def add_plugins(self, plugins: Plugins) -> None:
        """Load the plugins, and add their commands, once, after the program's own. This is safe in
        several threads.
        """
        loaded = plugins.all()
        with self.lock:
            for plugin in loaded:
                for usage, run in plugin.commands.items():
                    if self.named(usage.partition(" ")[0]) is None:
                        self.command(usage, "Plugins")(run)

    def stops(self, line: str) -> bool:
        """Return True for a command that stops what runs instead of waiting for its end."""
        call = self.parse(line)
        return isinstance(call, CommandCall) and call.command.stops

    def names(self) -> list[str]:
        """Return every name and alias, as typed after `/`."""
        names: list[str] = []
        for command in self.commands:
            names += (command.name, *command.aliases)
        return names

    def offered(self, typed: str) -> list[tuple[Command, str]]:
        """Return the commands with the names that begin with `typed`, the most used ones first.
        Aliases and rare commands are found by typing only.
        """
        order = {name: rank for rank, name in enumerate(ESSENTIAL)}
        found = []
        for command in self.commands:
            for name in (command.name, *command.aliases):
                if name.startswith(typed.lower()) and (
                    typed or (name == command.name and not command.now and name not in RARE)
                ):
                    found.append((command, name))
        return sorted(found, key=lambda item: (order.get(item[1], len(order)), item[1]))

    def named(self, name: str) -> Command | None:
        """Return the command whose name or alias is `name`, or None."""
        for command in self.commands:
            if name.lower() in (command.name, *command.aliases):
                return command
        return None

    def parse(self, line: str) -> CommandCall | Unknown | None:
        """Return the command in a line, or None if the line is text."""
        for command in self.commands:
            if command.bare and (match := re.fullmatch(command.bare, line.rstrip())):
                return CommandCall(command, "".join(filter(None, match.groups())))
        match = _TYPED.fullmatch(line)
        if match is None:
            return None
        sign = match[1]
        name = match[2]
        argument = match[3] or ""
        if (known := self.named(name)) is not None:
            return CommandCall(known, argument.strip())
        if sign == "#":
            return None
        return Unknown(name, argument)


registry = Registry()


def pick(name: str, items: Sequence[str], argument: str) -> int:
    """Return the index of the item whose number or text is `argument`. Raises UsageError."""
    if argument in items:
        return items.index(argument)
    if re.fullmatch(r"[0-9]{1,9}", argument) and 0 < int(argument) <= len(items):
        return int(argument) - 1
    hint = f"/help {name.partition(' ')[0]} has more."
    raise UsageError(f"/{name} takes a number from 1 to {len(items)}.", hint)


def usage_error(name: str) -> UsageError:
    """Return the error for an argument that a command does not accept."""
    command = registry.named(name)
    assert command is not None
    return UsageError(f"Usage: {command.usage}", f"/help {name} has more.")
