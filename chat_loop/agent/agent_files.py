"""Agents' files: found by path or name, read, approved by the user, loaded."""

from __future__ import annotations

import asyncio
import difflib
import errno
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct

from chat_loop.agent.definition import Definition, default_name, define, short_name, wants
from chat_loop.agent.isolation import CapturedError, described, in_thread, one_sentence
from chat_loop.config import Paths, read_yaml, split_front
from chat_loop.errors import AgentError, ConfigError, os_reason
from chat_loop.sessions.files import Files, opened

LARGEST = 256 * 1024
"""Bytes of a file that is read at all."""
MOST_AGENTS = 1_000
"""Files of a folder of agents that are looked at."""
_KINDS = {".py": "python", ".md": "markdown", ".yaml": "yaml", ".yml": "yaml"}
"""What an agent's file ends in; in a folder they are looked for in this order."""
_FORMS = (
    "An agent's file ends in .py, .md or .yaml, or is agent.py, agent.md or agent.yaml in a folder."
)


class AgentFile(Struct, frozen=True, kw_only=True):
    """An agent's file as it was read; `path` is absolute, without symbolic links."""

    path: Path
    source: bytes

    @property
    def kind(self) -> str:
        """`python`, `markdown` or `yaml`."""
        return _KINDS[self.path.suffix.lower()]

    def definition(self) -> Definition:
        """Return what a file in markdown or YAML says. Raises AgentError and ConfigError."""
        path, prompt = self.path, None
        try:
            text = self.source.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise AgentError(f"The agent {path} is not UTF-8.", "Save it as UTF-8.") from error
        if "\0" in text:
            raise AgentError(f"The agent {path} is no text file.")
        if self.kind == "markdown":
            try:
                text, prompt = split_front(text)
            except ValueError as error:
                raise AgentError(f"The agent {path}: {error}.") from error
        values = read_yaml(text.encode(), str(path))
        if values is None and not (prompt or "").strip():
            raise AgentError(f"The agent {path} is empty.", "Its text is the system prompt.")
        values = {} if values is None else values
        if prompt is not None and isinstance(values, dict):
            if "system_prompt" in values:
                hint = "In markdown the text below is the system prompt."
                raise AgentError(f"{path}: unknown key system_prompt.", hint)
            values["system_prompt"] = prompt
        return define(values, path)

    def description(self) -> str:
        """Return what it says of itself, of Python the first line of its docstring."""
        if self.kind != "python":
            return self.definition().description
        import ast

        try:
            text = ast.get_docstring(ast.parse(self.source)) or ""
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ""
        return short_name(text.strip().partition("\n")[0])

    def wants(self) -> tuple[str, ...]:
        """Return what the user has to allow, a line each; of Python that it runs."""
        return ("to run",) if self.kind == "python" else wants(self.definition())


def file_of(path: Path) -> Path:
    """Return the agent's file that a path means: itself, or the one in this folder. Raises
    AgentError.
    """
    try:
        real = Path(os.path.realpath(path.expanduser(), strict=True))
        if real.is_dir():
            inside = next(
                (real / f"agent{s}" for s in _KINDS if (real / f"agent{s}").exists()), None
            )
            if inside is None:
                raise AgentError(f"There is no agent in the folder {path}.", _FORMS)
            real = Path(os.path.realpath(inside, strict=True))
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreadable(path, error) from error
    if real.suffix.lower() not in _KINDS:
        raise AgentError(f"{path} is no agent.", _FORMS)
    return real


def read_file(path: Path) -> AgentFile:
    """Read the agent's file that a path means. Raises AgentError."""
    path = file_of(path)
    return AgentFile(path=path, source=_bytes_of(path))


def _bytes_of(path: Path) -> bytes:
    try:
        with opened(path) as (file, _):
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(data) > LARGEST:
        raise AgentError(f"The agent {path} is larger than {LARGEST // 1024} KB.")
    return data


def _unreadable(path: Path, error: Exception) -> AgentError:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOENT, errno.ENOTDIR):
        listed = "chat-loop agents lists those that have a name."
        return AgentError(f"There is no agent {path}.", listed)
    reason = os_reason(error) if isinstance(error, OSError) else "it is not a regular file"
    return AgentError(f"The agent {path} cannot be read: {reason}.")


class Question(Struct, frozen=True, kw_only=True):
    """A permission that the user has to give before an agent is used.

    `lines` is how it differs from what was approved, if it was.
    """

    file: AgentFile
    changed: bool = False
    lines: tuple[str, ...] = ()


class Trust:
    """The user's approvals, a file each in a folder of `directory` that only the user can read.

    An approval is no sandbox: approved Python code runs with the user's rights.
    """

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "approved-agents"

    def approval_of(self, path: Path) -> Path:
        """Return where the approval of the agent at `path` is kept."""
        return self._folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"

    def question(self, file: AgentFile) -> Question | None:
        """Return what has to be asked before the agent is used; None when exactly this was
        approved. An approval that cannot be read or understood approves nothing.
        """
        try:
            with opened(self.approval_of(file.path)) as (kept, _):
                approved: Any = json.loads(kept.read(8 * LARGEST))
        except (OSError, ValueError, RecursionError):
            approved = None
        if not isinstance(approved, dict) or approved.get("path") != str(file.path):
            return Question(file=file)
        if approved.get("sha256") == hashlib.sha256(file.source).hexdigest():
            return None
        before = str(approved.get("text", "")).split("\n")[:2_000]
        after = file.source.decode("utf-8", "replace").split("\n")[:2_000]
        lines = difflib.unified_diff(before, after, "approved", "now", n=1, lineterm="")
        return Question(file=file, changed=True, lines=tuple(lines))

    def approve(self, file: AgentFile) -> None:
        """Remember that exactly this may be used. Raises AgentError when it cannot be written."""
        text = file.source.decode("utf-8", "replace")  # so that a change can be shown
        digest = hashlib.sha256(file.source).hexdigest()
        approved = {"path": str(file.path), "sha256": digest, "text": text}
        target = self.approval_of(file.path)
        try:
            Files().make_directory(self._folder)
            Files().replace(target, json.dumps(approved, indent=1).encode() + b"\n")
        except OSError as error:
            reason = os_reason(error)
            raise AgentError(f"The approval cannot be kept in {target}: {reason}.") from error


Consent = Callable[[Question, tuple[str, ...]], bool]
"""Asks the user whether an agent may be used: what was read, and what it wants.

True: it is approved from now on. False: only this once. It raises when the answer is no.
"""


def open_agent(reference: str, names: AgentNames, trust: Trust, consent: Consent) -> Definition:
    """Return the agent with this name or path, once it may be used. Raises AgentError, ConfigError,
    and what `consent` raises.
    """
    file = read_file(names.find(reference))
    wanted = file.wants()
    if wanted and (file.kind == "python" or names.folder not in file.path.parents):
        question = trust.question(file)
        if question is not None and consent(question, wanted):
            trust.approve(file)
    return load_python(file) if file.kind == "python" else file.definition()


class NamedAgent(Struct, frozen=True):
    """An agent with a name: `path` is as it was given, and may lead nowhere. `alias` is false for
    one in the folder.
    """

    name: str
    path: Path
    alias: bool


class AgentNames:
    """The user's names for agents: aliases, and the files in the user's own folder of agents."""

    def __init__(self, paths: Paths) -> None:
        self.folder = paths.agents
        self.aliases_file = paths.config.parent / "aliases.yaml"

    def find(self, reference: str) -> Path:
        """Return the file of an agent, by its name or its path. Raises AgentError."""
        if is_path(reference):
            return file_of(Path(reference))
        agent = self._named(reference)
        if agent.alias and not agent.path.exists():
            hint = (
                f"chat-loop agents remove {agent.name} takes it away; agents add {agent.name} PATH "
            )
            gone = f"The agent {agent.name} is no longer at {agent.path}."
            raise AgentError(gone, f"{hint}sets it right.")
        return file_of(agent.path)

    def all(self) -> list[NamedAgent]:
        """Return all agents with a name, by name; an alias counts before a file of the folder.
        Raises AgentError when the aliases cannot be read.
        """
        found: dict[str, NamedAgent] = {}
        try:
            entries = sorted(path.name for path in self.folder.iterdir())[:MOST_AGENTS]
        except OSError:
            entries = []
        order = [*_KINDS, ""]
        for path in sorted(map(Path, entries), key=lambda path: order.index(_suffix(path))):
            inside = self.folder / path
            known = _suffix(path) or any((inside / f"agent{s}").is_file() for s in _KINDS)
            if known and path.name[0] not in "._" and path.name.isprintable():
                name = path.stem if _suffix(path) else path.name
                found.setdefault(name.lower(), NamedAgent(name, inside, False))
        for name, target in self._aliases().items():
            found[name.lower()] = NamedAgent(name, Path(target), True)
        return [found[key] for key in sorted(found)]

    def add(self, name: str, path: Path) -> Path:
        """Give the agent at `path` a name; return its file. Raises AgentError."""
        plain = re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,59}", name)
        if plain is None or Path(name).suffix in _KINDS:
            hint = "Names are up to 60 letters, digits and any of _ . + - without blanks."
            raise AgentError(f"“{name[:60]}” cannot be an agent's name.", hint)
        file = file_of(path)
        self._change(name, str(file))
        return file

    def remove(self, name: str) -> NamedAgent:
        """Take an alias away; its file stays. Raises AgentError."""
        agent = self._named(name)
        if not agent.alias:
            hint = "Delete the file if you do not need it."
            raise AgentError(f"{agent.name} is no alias but the file {agent.path}.", hint)
        self._change(agent.name, None)
        return agent

    def _named(self, name: str) -> NamedAgent:
        known = self.all()
        for agent in known:
            if agent.name.lower() == name.lower():
                return agent
        near = difflib.get_close_matches(name, [agent.name for agent in known], 1)
        hint = "chat-loop agents lists those that have a name; a path works, too."
        hint = f"Did you mean {near[0]}?" if near else hint
        hint = f"For the one in this directory: ./{name}" if os.path.lexists(name) else hint
        raise AgentError(f"There is no agent {name[:80]}.", hint)

    def _aliases(self) -> dict[str, str]:
        if not os.path.lexists(self.aliases_file):
            return {}
        hint = "Set it right, or delete it."
        try:
            value = read_yaml(_bytes_of(self.aliases_file), str(self.aliases_file))
        except (AgentError, ConfigError) as error:
            message = error.message.replace("The agent ", "The file of aliases ")
            raise AgentError(message, hint) from error
        aliases = {} if value is None else value
        pairs = aliases.items() if isinstance(aliases, dict) else [(None, None)]
        if not all(isinstance(part, str) for pair in pairs for part in pair):
            raise AgentError(f"{self.aliases_file} must hold lines NAME: PATH.", hint)
        return dict(aliases)

    def _change(self, name: str, path: str | None) -> None:
        """Let a name mean a path, or nothing any more."""
        aliases = {
            key: kept for key, kept in self._aliases().items() if key.lower() != name.lower()
        }
        if path is not None:
            aliases[name] = path
        lines = [
            f"{json.dumps(key)}: {json.dumps(kept)}\n" for key, kept in sorted(aliases.items())
        ]
        try:
            Files().make_directory(self.aliases_file.parent)
            Files().replace(self.aliases_file, "".join(lines).encode())
        except OSError as error:
            unwritten = f"{self.aliases_file} cannot be written: {os_reason(error)}."
            raise AgentError(unwritten) from error


def _suffix(path: Path) -> str:
    return path.suffix if path.suffix in _KINDS else ""


def is_path(reference: str) -> bool:
    """Tell if an agent is named by a path rather than by its name."""
    separated = "/" in reference or os.sep in reference
    return separated or reference.startswith((".", "~")) or reference.endswith((*_KINDS,))


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent in Python; what is left out is the config's. A file `agent.py` gives it the name
    `agent`.

    `tools` holds functions with type hints and a docstring, which the model is told of, and names
    of built-in tools. `mcp` names servers of the config, or of `servers`, which describes some in
    the form of the config. `config` takes the place of the config's settings, by section and key:
    `{"memory": {"enabled": False}}`.
    """

    name: str = ""
    system_prompt: str = ""
    model: str = ""
    description: str = ""
    tools: Sequence[Callable[..., object] | str] = ()
    mcp: Sequence[str] = ()
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    summary_instructions: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)


def load_python(file: AgentFile) -> Definition:
    """Run an approved agent's file and read its `agent`; what it prints is not shown. Raises
    AgentError; Ctrl-C raises KeyboardInterrupt.
    """
    path = file.path
    try:
        code = compile(file.source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise AgentError(f"{path}{line}: {error.msg}.", "It is no valid Python.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise AgentError(f"{path} is no valid Python: {one_sentence(str(error))}.") from error
    module = ModuleType("agent_file")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module

    def run() -> None:
        exec(code, module.__dict__)

    raised = asyncio.run(in_thread(run)).error
    if raised is not None:
        raise _failure(file, raised) from raised
    found = getattr(module, "agent", None)
    if found is None:
        found = getattr(module, "root_agent", None)  # as in the agents of basic-agent-chat-loop
    if found is None:
        raise AgentError(
            f"{path} has no agent: nothing in it has the name agent or root_agent.",
            'It needs: from chat_loop import Agent; agent = Agent(system_prompt="…")',
        )
    with CapturedError() as caught:
        if not isinstance(found, Agent):
            return _foreign(found, file, (module.__doc__ or "").strip().partition("\n")[0])
        values = {one.name: getattr(found, one.name) for one in fields(Agent)}
        functions: tuple[Any, ...] = ()
        if isinstance(found.tools, list | tuple):
            functions = tuple(tool for tool in found.tools if callable(tool))
            values["tools"] = [tool for tool in found.tools if not callable(tool)]
        return define(values, path, functions)
    assert caught.error is not None
    raise _failure(file, caught.error) from caught.error


def _foreign(found: Any, file: AgentFile, about: str) -> Definition:
    """Return the definition around an agent of another library. Raises AgentError."""
    path, kind = file.path, short_name(type(found).__name__)
    if isinstance(found, type):
        example = f"Make one of it: agent = {found.__name__}(…)"
        raise AgentError(f"{path}: agent is the class {found.__name__}.", example)
    ways = ("run_stream_events", "run_stream", "stream_async", "__call__")
    if not any(callable(getattr(found, way, None)) for way in ways):
        a = "an" if kind[:1].lower() in "aeiou" else "a"
        raise AgentError(
            f"{path}: agent is {a} {kind}, which cannot be asked anything.",
            "A function can: def agent(prompt): return THE_AGENT.run(prompt).content, or however "
            "it is asked.",
        )
    name, description = getattr(found, "name", ""), getattr(found, "description", "")
    name = name if isinstance(name, str) and name != "Strands Agents" else ""
    description = description if isinstance(description, str) else ""
    return Definition(
        name=short_name(name) or default_name(path),
        path=str(path),
        description=short_name(description) or short_name(about),
        foreign=found,
    )


def _failure(file: AgentFile, error: BaseException) -> AgentError:
    """Return what went wrong in the user's code, as one sentence with the place in it."""
    if isinstance(error, AgentError):
        return error
    what, hint, place = described(error), "", ""
    if isinstance(error, SystemExit):
        what = f"it ended the program (exit code {error.code})"
    if isinstance(error, ModuleNotFoundError) and error.name:
        hint = f"Install {error.name.partition('.')[0]} where chat-loop is installed."
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == str(file.path):
            place = f" ({file.path.name}, line {frame.tb_lineno})"
        frame = frame.tb_next
    return AgentError(f"{file.path} failed while it was loaded: {what}{place}.", hint)
