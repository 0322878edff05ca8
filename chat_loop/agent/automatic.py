"""Files that programs run, load or obey by themselves: no lasting answer covers a change of one."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import translate
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import msgspec
from msgspec import Struct

MAX_HOPS = 40  # links in a row, as in Linux
MAX_PATH = 4_096  # characters; a longer argument is no path
MAX_FOLLOWED = 200  # arguments of a call whose links are followed
HIDDEN = "programs that read hidden files"
SYSTEM = "the system and other users"
COMMANDS = "whoever types its name as a command"


class Ecosystem(Struct, frozen=True):
    """Patterns of the files that the programs in `used_by` use by themselves."""

    used_by: str
    source: str
    names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class _EcosystemRule(Struct, frozen=True):
    """An ecosystem whose patterns of one kind are a single expression each."""

    used_by: str
    names: re.Pattern[str]
    folders: re.Pattern[str]
    paths: re.Pattern[str]


def users_of(path: str) -> str:
    """Return the programs that use the file at `path` by themselves, or "" if it is any other file.

    It may be spelled in any way that a file system takes for the same name.
    """
    parts = _parts(path)
    *folders, name = parts
    whole = "/".join(parts)
    for rule in _rules():
        if rule.names.fullmatch(name) or rule.paths.fullmatch(whole):
            return rule.used_by
        if any(map(rule.folders.fullmatch, folders)):
            return rule.used_by
    is_hidden = any(part.startswith(".") for part in parts)
    return HIDDEN if is_hidden else ""


def users_of_folder(folder: Path) -> str:
    """Return the programs that use all files below `folder`, or ""."""
    # Path.expanduser fails without a home
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - Path.home raises
    if folder in (Path("/"), *home.parents):
        return SYSTEM
    for part in _parts(str(folder)):
        for rule in _rules():
            if rule.folders.fullmatch(part):
                return rule.used_by
    return ""


def users_of_change(typed: str, real: Path, root: Path) -> str:
    """Return the programs that use a file under any of its names, or "": the path as the model
    `typed` it, with the links on the way, the `real` path without links, and the links to it in the
    folders above it, and in those of Git's hooks.
    """
    for name in _names(typed, real, root):
        # a name without a folder is a file here, not a command
        if used_by := users_of(f"./{name}"):
            return used_by
    return COMMANDS if _has_commands(real.parent, root) else ""


def users_of_arguments(arguments: Mapping[str, object]) -> str:
    """Return the programs that use a file by themselves whose path is an argument, or "".

    A word without a slash may be no path: `update` is a hook of Git only below a folder.
    """
    paths = list(_paths(arguments))
    root = Path("/")
    with suppress(FileNotFoundError):  # the working directory was removed, with its links
        root = Path.cwd()
    for path in paths:
        if used_by := users_of(path):
            return used_by
    for path in paths[:MAX_FOLLOWED]:
        with suppress(OSError, ValueError, RuntimeError):  # nobody can follow it either
            real = Path(os.path.realpath(root / path))
            for name in _names(path, real, root):
                if used_by := users_of(name):
                    return used_by
            if "/" in path and _has_commands(real.parent, root):
                return COMMANDS
    return ""


def _paths(arguments: Mapping[str, object]) -> Iterator[str]:
    """Yield all texts in the arguments that may be paths, and the keys inside of them."""
    values: list[object] = [*arguments.values()]
    while values:
        value = values.pop()
        if isinstance(value, Mapping):
            values += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            values += value
        elif isinstance(value, str) and 0 < len(value) <= MAX_PATH and "\n" not in value:
            if value.casefold().startswith("file://"):
                yield unquote(value[len("file://") :])
            elif "://" not in value:
                yield value


def _has_commands(folder: Path, root: Path) -> bool:
    """Return True for a folder whose files are commands. An entry of PATH may be relative."""
    folders = (os.path.realpath(root / entry) for entry in os.get_exec_path())
    return str(folder).casefold() in {path.casefold() for path in folders}


def _names(typed: str, real: Path, root: Path) -> Iterator[str]:
    """Yield all names of a file that `users_of_change` judges."""
    yield from _hops(typed, root)
    yield from _linked_names(real, root)


def _hops(typed: str, root: Path) -> Iterator[str]:
    """Yield a path as it was typed, and as each link at its end has it."""
    path = root / Path(typed).expanduser()
    for _ in range(MAX_HOPS):
        yield _below(os.path.normpath(path), root)
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _linked_names(real: Path, root: Path) -> Iterator[str]:
    """Yield the path without links, and the names that links nearby give it."""
    yield _below(str(real), root)
    folders = [folder for folder in real.parents if folder.is_relative_to(root)]
    for folder in (*folders, root / ".git" / "hooks"):
        for link in _links(folder):
            target = os.path.realpath(link)
            rest = _rest(str(real), target)
            if rest is not None:
                yield _below(f"{link}{rest}", root)


def _links(folder: Path) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry.path for entry in entries if entry.is_symlink()]
    return []


def _rest(path: str, folder: str) -> str | None:
    """Return what follows `folder` in `path`, or None. A file system may ignore case."""
    begin = path[: len(folder)]
    rest = path[len(folder) :]
    is_inside = begin.casefold() == folder.casefold() and rest[:1] in ("", "/")
    return rest if is_inside else None


def _below(path: str, root: Path) -> str:
    """Return a path relative to `root`, or the whole one if it is outside."""
    rest = _rest(path, str(root))
    if rest is None:
        return path
    return rest.lstrip("/")


def _parts(path: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", path).casefold()
    visible = "".join(filter(str.isprintable, folded))
    return [part.rstrip(". ") for part in re.split(r"[/\\]", visible)]


@cache
def ecosystems() -> tuple[Ecosystem, ...]:
    """Return the table of ecosystems."""
    data = Path(__file__).with_name("automatic_files.toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, tuple[Ecosystem, ...]])["ecosystem"]


@cache
def _rules() -> tuple[_EcosystemRule, ...]:
    rules = []
    for ecosystem in ecosystems():
        rule = _EcosystemRule(
            ecosystem.used_by,
            _expression(ecosystem.names),
            _expression(ecosystem.folders),
            _expression(ecosystem.paths),
        )
        rules.append(rule)
    return tuple(rules)


def _expression(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return an expression that matches one of the patterns; without any, it matches nothing."""
    alternatives = [translate(pattern.casefold()) for pattern in patterns]
    return re.compile("|".join(alternatives) or "(?!)")
