"""The user's agents: their names, and the approvals of their files."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from pathlib import Path

import msgspec
from msgspec import Struct

from chat_loop.agent import agent_files
from chat_loop.agent.agent_files import KINDS, MAX_BYTES, AgentFile
from chat_loop.config import Paths
from chat_loop.errors import AgentError, ConfigError
from chat_loop.sessions.files import read_part, write_private
from chat_loop.values import sha256
from chat_loop.yaml_files import read_yaml

MAX_DIFF_LINES = 2_000


class AgentQuestion(Struct, frozen=True, kw_only=True):
    """The permissions that an agent needs from the user, and its diff from the approved version."""

    file: AgentFile
    permissions: tuple[str, ...]
    lines: tuple[str, ...] = ()


class NamedAgent(Struct, frozen=True):
    """An agent with a name: a file in the user's folder, or an alias, whose file may be missing."""

    name: str
    path: Path
    alias: bool


class AgentRegistry:
    """The user's names for agents (aliases, or files in a folder), and the approvals."""

    def __init__(self, paths: Paths) -> None:
        self.folder = paths.config.parent / "agents"
        self.aliases_file = paths.config.parent / "aliases.yaml"
        self._approvals = paths.config.parent / "approved-agents"

    def read(self, reference: str) -> AgentFile:
        """Read the file of an agent, by its name or its path. Raises AgentError."""
        if re.match(r"[.~]|.*[/\\]", reference) or reference.endswith((*KINDS,)):
            return agent_files.read_file(Path(reference))
        return agent_files.read_file(self._named(reference).path)

    def all(self) -> list[NamedAgent]:
        """Return all named agents, sorted. An alias hides a file of its name. Raises AgentError."""
        agents: dict[str, NamedAgent] = {}
        for suffix in KINDS:
            for path in (*self.folder.glob(f"*{suffix}"), *self.folder.glob(f"*/agent{suffix}")):
                name = path.stem
                if path.parent != self.folder:
                    name = path.parent.name
                if name[0] not in "._" and name.isprintable():
                    agents.setdefault(name.lower(), NamedAgent(name, path, False))
        for name, target in self._aliases().items():
            agents[name.lower()] = NamedAgent(name, Path(target), True)
        return [agents[key] for key in sorted(agents)]

    def add(self, name: str, path: Path) -> Path:
        """Give the agent at `path` a name; return its file. Raises AgentError."""
        if not re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,59}", name) or Path(name).suffix in KINDS:
            hint = "Names are up to 60 letters, digits and any of _ . + - without spaces."
            raise AgentError(f"“{name[:60]}” cannot be an agent's name.", hint)
        file = agent_files.read_file(path).path
        self._write_aliases({**self._aliases(without=name), name: str(file)})
        return file

    def remove(self, name: str) -> NamedAgent:
        """Remove an alias; its file stays. Raises AgentError."""
        agent = self._named(name)
        if not agent.alias:
            hint = "Delete the file if you do not need it."
            raise AgentError(f"{agent.name} is not an alias but the file {agent.path}.", hint)
        self._write_aliases(self._aliases(without=agent.name))
        return agent

    def _named(self, name: str) -> NamedAgent:
        agents = {agent.name.lower(): agent for agent in self.all()}
        if name.lower() in agents:
            return agents[name.lower()]
        near = difflib.get_close_matches(name.lower(), agents, 1)
        hint = "chat-loop agents lists them; a path works, too."
        if near:
            hint = f"Did you mean {agents[near[0]].name}?"
        if os.path.lexists(name):
            hint = f"For the one in this directory: ./{name}"
        raise AgentError(f"No agent named {name[:80]}.", hint)

    def _aliases(self, without: str = "") -> dict[str, str]:
        """Read the aliases, except `without`. Raises AgentError."""
        if not os.path.lexists(self.aliases_file):
            return {}
        try:
            text, _ = read_part(self.aliases_file, MAX_BYTES)
            aliases = msgspec.convert(read_yaml(text, str(self.aliases_file)) or {}, dict[str, str])
        except (OSError, ValueError, ConfigError) as error:
            message = f"{self.aliases_file} must hold lines NAME: PATH. {error}"
            raise AgentError(message, "Fix or delete it.") from error
        return {name: path for name, path in aliases.items() if name.lower() != without.lower()}

    def _write_aliases(self, aliases: dict[str, str]) -> None:
        lines = [f"{json.dumps(name)}: {json.dumps(path)}\n" for name, path in aliases.items()]
        write_private(self.aliases_file, "".join(sorted(lines)).encode())

    def approval_of(self, path: Path) -> Path:
        """Return the path of the approved copy of the agent at `path`."""
        return self._approvals / sha256(os.fsencode(path))[:32]

    def question(self, file: AgentFile) -> AgentQuestion | None:
        """Return the question to ask before an agent runs. Return None if it needs no permissions,
        is approved, or is a file in the user's folder that is not Python.
        """
        if file.kind != "python" and self.folder in file.path.parents:
            return None
        permissions = file.permissions()
        lines = tuple[str, ...]()
        with contextlib.suppress(OSError):  # there is no approval
            approved, _ = read_part(self.approval_of(file.path), MAX_BYTES)
            if approved == file.source:
                return None
            sources = (data.decode("utf-8", "replace") for data in (approved, file.source))
            before, after = (source.split("\n")[:MAX_DIFF_LINES] for source in sources)
            lines = tuple(difflib.unified_diff(before, after, "approved", "now", n=1, lineterm=""))
        if permissions:
            return AgentQuestion(file=file, permissions=permissions, lines=lines)
        return None

    def approve(self, file: AgentFile) -> None:
        """Approve this version. Raises ChatLoopError if the approval cannot be saved."""
        write_private(self.approval_of(file.path), file.source)
