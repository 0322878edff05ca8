"""`chat-loop agents …`: the agents that have a name, and the approval of those that need one."""

from __future__ import annotations

import argparse
from pathlib import Path

from chat_loop.agent import agent_file, python_file
from chat_loop.agent.agent_path import PYTHON, file_of
from chat_loop.agent.definition import Definition
from chat_loop.agent.named_agents import Place, Places
from chat_loop.agent.trust import Snapshot, Trust, snapshot_of
from chat_loop.config import Paths
from chat_loop.display.plain import out, out_json
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError
from chat_loop.subcommands.trusting import show_files

KINDS = {".py": "python", ".md": "markdown", ".yaml": "yaml", ".yml": "yaml"}


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
            _show(places, trust, options.name, as_json=options.as_json)
        case "approve":
            _approve(places, trust, options.name)
        case _:
            _list(places, trust, as_json=options.as_json)
    return 0


def _approve(places: Places, trust: Trust, reference: str) -> None:
    snapshot = snapshot_of(places.find(reference))
    wanted = _wanted(snapshot)
    question = trust.question(snapshot)
    if not wanted and snapshot.path.suffix.lower() != PYTHON:
        _line(f"{snapshot.path} runs nothing: it needs no approval.")
        return
    trust.approve(snapshot)
    changes = (
        f" {one_line(', '.join(question.changes), 2_000)}." if question and question.changes else ""
    )
    _line(f"Approved {snapshot.path} as it is now.{changes} Any change asks again.")
    show_files(snapshot)


def _list(places: Places, trust: Trust, *, as_json: bool) -> None:
    rows = [_row(place, trust) for place in places.all()]
    if as_json:
        out_json(rows)
        return
    if not rows:
        _line(
            "No agent has a name yet. chat-loop agents add NAME PATH gives one; so does a "
            f"file in {places.folder}."
        )
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        state = str(row["problem"]) or ("" if row["approved"] else "not approved")
        _line(f"{row['name']:<{width}}  {one_line(str(row['description']), 100)}".rstrip())
        _line(f"{'':<{width}}  {row['path']}" + (f" ({one_line(state, 300)})" if state else ""))


def _row(place: Place, trust: Trust) -> dict[str, object]:
    """An agent of the list. What is wrong with it is said in `problem`."""
    row: dict[str, object] = {
        "name": place.name,
        "path": str(place.path),
        "alias": place.alias,
        "kind": "",
    }
    row |= {"description": "", "approved": True, "problem": ""}
    try:
        snapshot = snapshot_of(file_of(place.path))
        row |= {"path": str(snapshot.path), "kind": KINDS[snapshot.path.suffix.lower()]}
        row |= {"approved": not _needs_approval(snapshot) or trust.question(snapshot) is None}
        row |= {"description": _described(snapshot)}
    except ChatLoopError as error:
        row["problem"] = error.message
    return row


def _show(places: Places, trust: Trust, reference: str, *, as_json: bool) -> None:
    snapshot = snapshot_of(places.find(reference))
    python = snapshot.path.suffix.lower() == PYTHON
    definition = None if python else agent_file.read(snapshot.path, snapshot.source)
    approved = not _needs_approval(snapshot) or trust.question(snapshot) is None
    if as_json:
        shown = _json_of(snapshot, definition)
        out_json(
            {
                **shown,
                "approved": approved,
                "files": {name: len(data) for name, data in snapshot.files.items()},
            }
        )
        return
    _line(f"Path:        {snapshot.path}")
    if definition is None:
        _line(f"Description: {_described(snapshot) or '–'}")
        _line(f"Approved:    {'yes, as it is now' if approved else 'no'}")
        show_files(snapshot)
        out(f"\n{snapshot.source.decode('utf-8', 'replace').rstrip()}\n")
        return
    pairs = {
        "Name": definition.name,
        "Description": definition.description,
        "Model": definition.model,
        "Tools": ", ".join(definition.tools),
        "MCP": ", ".join(definition.mcp),
        "Config": ", ".join(definition.config),
        "Summaries": definition.summary_instructions,
        "Asks for": "; ".join(_wanted(snapshot)),
        "Approved": "" if not _wanted(snapshot) else "yes, as it is now" if approved else "no",
    }
    for label, value in pairs.items():
        if value:
            _line(f"{label + ':':<12} {one_line(value, 2_000)}")
    out(f"\n{definition.system_prompt}\n")


def _json_of(snapshot: Snapshot, definition: Definition | None) -> dict[str, object]:
    kind = KINDS[snapshot.path.suffix.lower()]
    if definition is None:
        return {"path": str(snapshot.path), "kind": kind, "description": _described(snapshot)}
    return {
        "path": definition.path,
        "kind": kind,
        "name": definition.name,
        "description": definition.description,
        "model": definition.model,
        "system_prompt": definition.system_prompt,
        "summary_instructions": definition.summary_instructions,
        "tools": list(definition.tools),
        "mcp": list(definition.mcp),
        "asks_for": list(_wanted(snapshot)),
    }


def _described(snapshot: Snapshot) -> str:
    if snapshot.path.suffix.lower() == PYTHON:
        return python_file.description_of(snapshot.source)
    return agent_file.read(snapshot.path, snapshot.source).description


def _needs_approval(snapshot: Snapshot) -> bool:
    return snapshot.path.suffix.lower() == PYTHON or bool(_wanted(snapshot))


def _wanted(snapshot: Snapshot) -> tuple[str, ...]:
    """What a file in markdown or YAML asks for."""
    if snapshot.path.suffix.lower() == PYTHON:
        return ()
    return agent_file.wants(agent_file.read(snapshot.path, snapshot.source))


def _line(text: str) -> None:
    out(text.replace("\n", "␊") + "\n")
