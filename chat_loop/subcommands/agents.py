"""`chat-loop agents …`: named agents, and their approval."""

from __future__ import annotations

import argparse
from pathlib import Path

from chat_loop.agent.known_agents import AgentRegistry
from chat_loop.characters import one_line
from chat_loop.commands.tool_lists import NO_AGENTS, agent_lines, agent_rows
from chat_loop.config import Config, Paths
from chat_loop.display.plain import out, out_json
from chat_loop.display.sanitizer import visible_newlines


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Run list, add, remove, show or approve. Raises AgentError."""
    registry = AgentRegistry(paths)
    match options.action:
        case "add":
            path = registry.add(options.name, Path(options.path))
            _line(f"{options.name} is {path}. Talk to it with: chat-loop --agent {options.name}")
        case "remove":
            agent = registry.remove(options.name)
            _line(f"Removed the name {agent.name}. The agent's file stays: {agent.path}")
        case "show":
            file = registry.read(options.name)
            _line(f"Path:     {file.path}")
            if permissions := file.permissions():
                approved = registry.question(file) is None
                _line(f"Approved: {'yes, as it is now' if approved else 'no'}")
                _line(f"Asks for: {one_line('; '.join(permissions), 2_000)}")
            out(f"\n{file.source.decode('utf-8', 'replace').rstrip()}\n")
        case "approve":
            file = registry.read(options.name)
            if file.permissions():
                registry.approve(file)
                _line(f"Approved {file.path} as it is now. Any change asks again.")
            else:
                _line(f"{file.path} runs nothing: it needs no approval.")
        case "list" if options.as_json:
            out_json(agent_rows(registry))
        case _:
            rows = agent_rows(registry)
            for line in agent_lines(rows):
                _line(line)
            if not rows:
                _line(f"{NO_AGENTS}, or put a file in {registry.folder}.")
    return 0


def _line(text: str) -> None:
    out(f"{visible_newlines(text)}\n")
