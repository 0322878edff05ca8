"""`chat-loop agents …`: the agents that have a name, their approval, and the question whether one
may run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chat_loop.agent import agent_file
from chat_loop.agent.agent_path import PYTHON, file_of
from chat_loop.agent.definition import Definition
from chat_loop.agent.named_agents import Places
from chat_loop.agent.opening import open_agent
from chat_loop.agent.trust import Question, Snapshot, Trust, snapshot_of
from chat_loop.config import Paths
from chat_loop.display.plain import err, out, out_json
from chat_loop.display.text import one_line
from chat_loop.errors import AgentError, ChatLoopError
from chat_loop.start import InstantPrompt

KINDS = {".py": "python", ".md": "markdown", ".yaml": "yaml", ".yml": "yaml"}
MOST_LINES = 60
"""Lines of a change that are shown."""
MOST_FILES = 20
"""Files of an agent that are listed by name."""


def run(options: argparse.Namespace, paths: Paths) -> int:
    """Do one of list, add, remove, show, approve. Raises AgentError."""
    places, trust = Places(paths), Trust(paths.config.parent)
    match options.action:
        case "add":
            file = places.add(options.name, Path(options.path))
            _line(f"{options.name} is {file}. Talk to it with: chat-loop --agent {options.name}")
        case "remove":
            place = places.remove(options.name)
            _line(f"{place.name} is no name of an agent any more. Its file stays: {place.path}")
        case "show":
            _show(snapshot_of(places.find(options.name)), trust, as_json=options.as_json)
        case "approve":
            snapshot = snapshot_of(places.find(options.name))
            if not _needs_approval(snapshot):
                _line(f"{snapshot.path} runs nothing: it needs no approval.")
                return 0
            question = trust.question(snapshot)
            trust.approve(snapshot)
            changes = f" {one_line(', '.join(question.changes), 2_000)}." if question else ""
            changes = changes if question and question.changes else ""
            _line(f"Approved {snapshot.path} as it is now.{changes} Any change asks again.")
            _show_files(snapshot)
        case _:
            _list(places, trust, as_json=options.as_json)
    return 0


def _list(places: Places, trust: Trust, *, as_json: bool) -> None:
    rows = []
    for place in places.all():
        row: dict[str, object] = {"name": place.name, "path": str(place.path)}
        row |= {"alias": place.alias, "kind": "", "description": "", "approved": True}
        row["problem"] = ""
        try:
            snapshot = snapshot_of(file_of(place.path))
            row |= {"path": str(snapshot.path), "kind": KINDS[snapshot.path.suffix.lower()]}
            row |= {"approved": _approved(snapshot, trust), "description": _described(snapshot)}
        except ChatLoopError as error:
            row["problem"] = error.message
        rows.append(row)
    if as_json:
        out_json(rows)
    elif not rows:
        how = f"chat-loop agents add NAME PATH gives one; so does a file in {places.folder}."
        _line(f"No agent has a name yet. {how}")
    else:
        width = max(len(str(row["name"])) for row in rows)
        for row in rows:
            state = str(row["problem"]) or ("" if row["approved"] else "not approved")
            note = f" ({one_line(state, 300)})" if state else ""
            _line(f"{row['name']:<{width}}  {one_line(str(row['description']), 100)}".rstrip())
            _line(f"{'':<{width}}  {row['path']}{note}")


def _show(snapshot: Snapshot, trust: Trust, *, as_json: bool) -> None:
    definition, approved = _definition(snapshot), _approved(snapshot, trust)
    kind = KINDS[snapshot.path.suffix.lower()]
    values: dict[str, object] = {"path": str(snapshot.path), "kind": kind}
    pairs = {"Path": str(snapshot.path)}
    state = "yes, as it is now" if approved else "no"
    if definition is None:
        values["description"] = _described(snapshot)
        pairs |= {"Description": _described(snapshot) or "–", "Approved": state}
        text = snapshot.source.decode("utf-8", "replace").rstrip()
    else:
        wanted, text = agent_file.wants(definition), definition.system_prompt
        for name in ("name", "description", "model", "system_prompt", "summary_instructions"):
            values[name] = getattr(definition, name)
        values |= {"tools": definition.tools, "mcp": [*definition.mcp], "asks_for": wanted}
        pairs |= {
            "Name": definition.name,
            "Description": definition.description,
            "Model": definition.model,
            "Tools": ", ".join(definition.tools),
            "MCP": ", ".join(definition.mcp),
            "Config": ", ".join(definition.config),
            "Summaries": definition.summary_instructions,
            "Asks for": "; ".join(wanted),
            "Approved": state if wanted else "",
        }
    if as_json:
        files = {name: len(data) for name, data in snapshot.files.items()}
        out_json({**values, "approved": approved, "files": files})
        return
    for label, value in pairs.items():
        if value:
            _line(f"{label + ':':<12} {one_line(value, 2_000)}")
    if definition is None:
        _show_files(snapshot)
    out(f"\n{text}\n")


def _definition(snapshot: Snapshot) -> Definition | None:
    """Return what a file in markdown or YAML defines; None for Python code, which is not run."""
    if snapshot.path.suffix.lower() == PYTHON:
        return None
    return agent_file.read(snapshot.path, snapshot.source)


def _described(snapshot: Snapshot) -> str:
    if definition := _definition(snapshot):
        return definition.description
    from chat_loop.agent.python_file import description_of  # a chat does not read them so

    return description_of(snapshot.source)


def _needs_approval(snapshot: Snapshot) -> bool:
    definition = _definition(snapshot)
    return definition is None or bool(agent_file.wants(definition))


def _approved(snapshot: Snapshot, trust: Trust) -> bool:
    return not _needs_approval(snapshot) or trust.question(snapshot) is None


def open_asked(
    reference: str, paths: Paths, instant: InstantPrompt | None, *, asked: bool, trusted: bool
) -> tuple[Definition, InstantPrompt | None]:
    """Return the agent with this name or path, and the instant prompt.

    The user is asked whether it may run where that is needed and somebody is there (`asked`);
    `trusted`: it may, this once. Raises AgentError, ConfigError, and KeyboardInterrupt when the
    user stops it.
    """

    def consent(question: Question, wanted: tuple[str, ...]) -> bool:
        if trusted:
            return False
        if not asked:
            path, changes = question.snapshot.path, ", ".join(question.changes)
            state = f"has changed since you approved it ({changes})" if changes else ""
            hint = f"chat-loop agents approve {path}; --trust-agent runs it this once."
            raise AgentError(
                f"The agent {path} {one_line(state or 'is not approved', 500)}.",
                f"Look at it, then: {hint}",
            )
        if instant is None:
            _ask(question, wanted)
        else:
            instant.lend(lambda: _ask(question, wanted), signals=True)
        return True

    if instant is not None:
        instant.terminal.silence(signals=True)  # the user may stop what an agent's file does
    try:
        definition = open_agent(reference, Places(paths), Trust(paths.config.parent), consent)
    except KeyboardInterrupt:
        if instant is not None:
            instant.erase()
        err(f"Loading the agent {reference} was interrupted.")
        raise
    if instant is not None:
        instant.terminal.silence(signals=False)
    return definition, instant


def _ask(question: Question, wanted: tuple[str, ...]) -> None:
    """Ask whether an agent may run, as it is now. Raises AgentError when the answer is no."""
    path = question.snapshot.path
    if path.suffix.lower() == PYTHON:
        _line(f"The agent {path} is Python code.")
        _line("It would run with your rights, and can do whatever you can. What would run:")
        _show_files(question.snapshot)
    else:
        _line(f"The agent {path} asks for:")
        for line in wanted:
            _line(f"  {line}")
    if question.changes:
        _line(f"Since you approved it: {one_line(', '.join(question.changes), 2_000)}.")
        for line in question.lines[:MOST_LINES]:
            _line(f"  {line}")
        if len(question.lines) > MOST_LINES:
            _line(f"  ({len(question.lines) - MOST_LINES} more lines)")
    out("Run it, now and as long as it stays as it is? (y/N) ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        hint = f"chat-loop agents show {path} shows it."
        raise AgentError(f"The agent {path} was not run.", hint)


def _show_files(snapshot: Snapshot) -> None:
    for name, data in list(snapshot.files.items())[:MOST_FILES]:
        _line(f"  {name}  {len(data):,} bytes")
    if len(snapshot.files) > MOST_FILES:
        _line(f"  and {len(snapshot.files) - MOST_FILES} more")


def _line(text: str) -> None:
    """Print one line, whole: what is approved is neither cut nor broken by what stands in it."""
    out(text.replace("\n", "␊") + "\n")
