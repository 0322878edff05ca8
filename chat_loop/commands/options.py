"""Options in a command's argument: `--tag work --unfold` among the words."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from chat_loop.errors import UsageError


@dataclass(frozen=True, slots=True)
class Given:
    """The words of an argument, and the options in it: those with a value, and those without (`flags`)."""

    words: str
    values: dict[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()


def given(command: str, argument: str, *, valued: Collection[str] = (), flags: Collection[str] = ()) -> Given:
    """Read an argument. Names are given without `--`. Raises UsageError for an option that `command` does not have."""
    words: list[str] = []
    values: dict[str, str] = {}
    found: set[str] = set()
    parts = iter(argument.split())
    for part in parts:
        name = part.removeprefix("--")
        if part == name:
            words.append(part)
        elif name in flags:
            found.add(name)
        elif name in valued:
            value = next(parts, "")
            if not value:
                raise UsageError(f"--{name} of /{command} needs a value.", f"/help {command} shows how.")
            values[name] = value
        else:
            known = ", ".join(f"--{one}" for one in (*valued, *flags))
            raise UsageError(f"/{command} has no option {part[:40]}.", f"It has {known}." if known else "")
    return Given(" ".join(words), values, frozenset(found))
