"""Where agents are found by name: aliases that the user gave, and the user's own folder of
agents.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from chat_loop.agent.agent_path import SUFFIXES, bytes_of, file_of
from chat_loop.config import Paths
from chat_loop.errors import AgentError, ConfigError, SessionLocked, os_reason
from chat_loop.frontmatter import read_yaml
from chat_loop.sessions.files import Files, take_lock

ALIASES = "aliases.yaml"
MOST = 1_000
"""Agents that are listed of a folder, and aliases that are kept."""
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,59}")


class Place(Struct, frozen=True):
    """An agent with a name: `path` is as it was given, and may lead nowhere. `alias` is false for
    one in the folder.
    """

    name: str
    path: Path
    alias: bool


class Places:
    """The user's names for agents. Files are read each time: they may change meanwhile."""

    def __init__(self, paths: Paths, files: Files | None = None) -> None:
        self.folder = paths.agents
        self.aliases_file = paths.config.parent / ALIASES
        self._files = files or Files()

    def find(self, reference: str) -> Path:
        """The file of an agent, by its name or its path: absolute, without symbolic links. Raises
        AgentError.
        """
        if is_path(reference):
            return file_of(Path(reference))
        place = self.named(reference)
        if place is None:
            raise AgentError(f"There is no agent {reference[:80]}.", self._hint(reference))
        try:
            return file_of(place.path)
        except AgentError as error:
            if not place.alias or place.path.exists():
                raise
            hint = (
                f"chat-loop agents remove {place.name} takes it away; agents add {place.name} "
                "PATH sets it right."
            )
            raise AgentError(
                f"The agent {place.name} is no longer at {place.path}.", hint
            ) from error

    def named(self, name: str) -> Place | None:
        """The agent of this name, an alias before a file of the folder."""
        return next((place for place in self.all() if place.name.lower() == name.lower()), None)

    def all(self) -> list[Place]:
        """All agents with a name, by name. Raises AgentError when the aliases cannot be read."""
        aliases = [Place(name, Path(path), True) for name, path in self._aliases().items()]
        known = {place.name.lower() for place in aliases}
        return sorted(
            [*aliases, *(place for place in self._in_folder() if place.name.lower() not in known)],
            key=lambda place: place.name.lower(),
        )

    def add(self, name: str, path: Path) -> Path:
        """Give the agent at `path` a name; return its file. Raises AgentError."""
        if _NAME.fullmatch(name) is None or Path(name).suffix in SUFFIXES:
            raise AgentError(
                f"“{name[:60]}” cannot be an agent's name.",
                "Names are up to 60 letters, digits and any of _ . + - without blanks.",
            )
        file = file_of(path)
        self._change(
            lambda aliases: {
                **{k: v for k, v in aliases.items() if k.lower() != name.lower()},
                name: str(file),
            }
        )
        return file

    def remove(self, name: str) -> Place:
        """Take an alias away; its file stays. Raises AgentError."""
        place = self.named(name)
        if place is None:
            raise AgentError(f"There is no agent {name[:80]}.", self._hint(name))
        if not place.alias:
            raise AgentError(
                f"{place.name} is no alias but the file {place.path}.",
                "Delete the file if you do not need it.",
            )
        self._change(
            lambda aliases: {key: path for key, path in aliases.items() if key != place.name}
        )
        return place

    def _hint(self, reference: str) -> str:
        if os.path.lexists(reference):
            return f"For the one in this directory: ./{reference}"
        from difflib import get_close_matches

        near = get_close_matches(reference, [place.name for place in self.all()], 1)
        return (
            f"Did you mean {near[0]}?"
            if near
            else "chat-loop agents lists those that have a name; a path works, too."
        )

    def _in_folder(self) -> Iterator[Place]:
        """The agents of the user's folder; of several files with one name the first kind counts."""
        try:
            entries = sorted(path.name for path in self.folder.iterdir())[:MOST]
        except OSError:
            return
        found: dict[str, Place] = {}
        for entry in entries:
            path = self.folder / entry
            if entry.startswith((".", "_")) or not entry.isprintable():
                continue
            if path.suffix in SUFFIXES:
                rank = SUFFIXES.index(path.suffix)
                known = found.get(path.stem)
                if (
                    known is None
                    or known.path.suffix not in SUFFIXES
                    or SUFFIXES.index(known.path.suffix) > rank
                ):
                    found[path.stem] = Place(path.stem, path, False)
            elif any((path / f"agent{suffix}").is_file() for suffix in SUFFIXES):
                found.setdefault(entry, Place(entry, path, False))
        yield from found.values()

    def _aliases(self) -> dict[str, str]:
        if not os.path.lexists(self.aliases_file):
            return {}
        try:
            value = read_yaml(bytes_of(self.aliases_file), str(self.aliases_file))
        except (AgentError, ConfigError) as error:
            message = error.message.replace("The agent ", "The file of aliases ")
            raise AgentError(message, "Set it right, or delete it.") from error
        good = value is None or (
            isinstance(value, dict)
            and all(isinstance(part, str) for pair in value.items() for part in pair)
        )
        if not good:
            raise AgentError(
                f"{self.aliases_file} must hold lines NAME: PATH.", "Set it right, or delete it."
            )
        return dict(value or {})

    def _change(self, edit: Callable[[dict[str, str]], dict[str, str]]) -> None:
        try:
            self._files.make_directory(self.aliases_file.parent)
            taken = take_lock(self.aliases_file.parent, "aliases")
            try:
                aliases = edit(self._aliases())
                if len(aliases) > MOST:
                    raise AgentError(
                        f"There are more than {MOST:,} aliases.",
                        "chat-loop agents remove NAME makes room.",
                    )
                lines = [
                    f"{json.dumps(name)}: {json.dumps(path)}\n"
                    for name, path in sorted(aliases.items())
                ]
                self._files.replace(self.aliases_file, "".join(lines).encode())
            finally:
                taken.release()
        except SessionLocked as error:
            raise AgentError(
                "The aliases are being changed by another process.", "Try again."
            ) from error
        except OSError as error:
            raise AgentError(
                f"{self.aliases_file} cannot be written: {os_reason(error)}."
            ) from error


def is_path(reference: str) -> bool:
    """Whether an agent is named by a path rather than by its name."""
    return (
        "/" in reference
        or os.sep in reference
        or reference.startswith((".", "~"))
        or reference.endswith(SUFFIXES)
    )
