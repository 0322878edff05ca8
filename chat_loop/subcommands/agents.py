"""`chat-loop agents …`: named agents, their approval, and the question before one runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from chat_loop.agent.agent_files import Definition, load
from chat_loop.agent.registry import AgentRegistry, Question
from chat_loop.commands.tools import NO_AGENTS, agent_lines, agent_rows
from chat_loop.config import Config, Paths
from chat_loop.display import consent
from chat_loop.display.plain import ask, err, out, out_json
from chat_loop.display.text import one_line
from chat_loop.errors import AgentError
from chat_loop.input.start import InstantPrompt


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
                _line(f"{NO_AGENTS} So does a file in {registry.folder}.")
    return 0


def open_with_consent(
    reference: str, paths: Paths, instant: InstantPrompt | None, *, can_ask: bool, trusted: bool
) -> Definition:
    """Return the agent with a name or path after the user has approved it. A `trusted` agent runs
    this once without approval. Raises AgentError, ConfigError, and KeyboardInterrupt on Ctrl-C.
    """
    registry = AgentRegistry(paths)
    if instant is not None:
        instant.terminal.silence(signals=True)  # the user may stop the code of an agent's file
    try:
        file = registry.read(reference)
        question = None if trusted else registry.question(file)
        if question is not None:
            if not can_ask:
                state = "has changed since you approved it" if question.lines else "is not approved"
                hint = f"chat-loop agents approve {file.path}; --trust-agent runs it this once."
                raise AgentError(f"The agent {file.path} {state}.", f"Look at it, then: {hint}")
            if instant is None:
                _ask(question)
            else:
                instant.lend(partial(_ask, question), signals=True)
            registry.approve(file)
        definition = load(file)
    except KeyboardInterrupt:
        if instant is not None:
            instant.erase()
        err(f"Loading the agent {reference} was interrupted.")
        raise
    if instant is not None:
        instant.terminal.silence(signals=False)
    return definition


def _ask(question: Question) -> None:
    """Ask whether an agent may run, as it is now. Raises AgentError when the answer is no."""
    sentence = "Trust this agent, now and as long as it stays as it is?"
    if ask(consent.Question(sentence, consent.CONFIRMING, tuple(_act(question)))) != "yes":
        hint = f"Look at it: chat-loop agents show {question.file.path}"
        raise AgentError(f"The agent {question.file.path} was not run.", hint)


def _act(question: Question) -> Iterator[str]:
    """Yield what the user approves: what the agent may do, and its code or how that changed."""
    file = question.file
    path = _visible(str(file.path))
    is_code = file.kind == "python"
    if is_code:
        yield f"The agent {path} is Python code, {len(file.source):,} bytes."
        yield "It would run with your rights, and can do whatever you can."
    else:
        yield f"The agent {path} asks for:"
        yield "\n".join(f"  {_visible(permission)}" for permission in question.permissions)
    if question.lines:
        yield "It has changed since you approved it:"
        yield "\n".join(f"  {_visible(change)}" for change in question.lines)
    elif is_code:
        yield file.source.decode("utf-8", "replace").rstrip("\n")


def _visible(text: str) -> str:
    """Return a text as one line, with its newlines visible, so that it cannot forge a line."""
    return text.replace("\n", "␊")


def _line(text: str) -> None:
    out(f"{_visible(text)}\n")
