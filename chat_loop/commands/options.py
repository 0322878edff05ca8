"""Options in a command's argument: `--tag work --unfold` among the words."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct, field

from chat_loop.errors import UsageError


class Given(Struct, frozen=True):
    """The words of an argument, and the options in it: those with a value, and those without
    (`flags`).
    """

    words: str
    values: dict[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()


def given(
    command: str, argument: str, *, valued: Collection[str] = (), flags: Collection[str] = ()
) -> Given:
    """Read an argument. Names are given without `--`. Raises UsageError for an option that
    `command` does not have.

    A value is the next word, what stands between double quotes, or what follows `=`. After `--`
    there are words only.
    """
    words: list[str] = []
    values: dict[str, str] = {}
    found: set[str] = set()
    rest = argument.split()
    while rest:
        part = rest.pop(0)
        name, equals, value = part.removeprefix("--").partition("=")
        if part == "--":
            words += rest
            break
        if not part.startswith("--"):
            words.append(part)
        elif name in flags and not equals:
            found.add(name)
        elif name in valued:
            if not equals and rest and not rest[0].startswith("--"):
                value = rest.pop(0)
            while value.startswith('"') and not (value.endswith('"') and len(value) > 1) and rest:
                value += f" {rest.pop(0)}"
            values[name] = value.strip('"')
            if not values[name]:
                raise UsageError(
                    f"--{name} of /{command} needs a value.", f"/help {command} shows how."
                )
        else:
            known = ", ".join(f"--{one}" for one in (*valued, *flags))
            further = f"It has {known}. Words that begin so stand after --." if known else ""
            raise UsageError(f"/{command} has no option {part[:40]}.", further)
    return Given(" ".join(words), values, frozenset(found))
