"""Questions before the start: may an agent run, and which model is downloaded?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from chat_loop.agent.agent_files import Definition, load
from chat_loop.agent.known_agents import AgentQuestion, AgentRegistry
from chat_loop.config import Paths
from chat_loop.display import questions
from chat_loop.display.plain import Meter, ask, err, out, out_line
from chat_loop.display.sanitizer import visible_newlines
from chat_loop.errors import AgentError, ModelError, install_hint
from chat_loop.input.start import InstantPrompt
from chat_loop.providers.models import store
from chat_loop.providers.models.store import CATALOGUE, EmbeddedModel
from chat_loop.values import size_text

CHOICES = sorted(CATALOGUE, key=lambda model: not model.recommended)
"""The embedded models, the recommended one first."""


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
        question = None
        if not trusted:
            question = registry.question(file)
        if question is not None:
            if not can_ask:
                state = "is not approved"
                if question.lines:
                    state = "has changed since you approved it"
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


def _ask(question: AgentQuestion) -> None:
    """Ask whether an agent may run, as it is now. Raises AgentError when the answer is no."""
    sentence = "Trust this agent, now and as long as it stays as it is?"
    if ask(questions.Question(sentence, questions.CONFIRMING, tuple(_act(question)))) != "yes":
        hint = f"Look at it: chat-loop agents show {question.file.path}"
        raise AgentError(f"The agent {question.file.path} was not run.", hint)


def _act(question: AgentQuestion) -> Iterator[str]:
    """Yield what the user approves: what the agent may do, and its code or how that changed."""
    file = question.file
    path = visible_newlines(str(file.path))
    is_code = file.kind == "python"
    if is_code:
        yield f"The agent {path} is Python code, {len(file.source):,} bytes."
        yield "It would run with your rights, and can do whatever you can."
    else:
        yield f"The agent {path} asks for:"
        yield "\n".join(f"  {visible_newlines(permission)}" for permission in question.permissions)
    if question.lines:
        yield "It has changed since you approved it:"
        yield "\n".join(f"  {visible_newlines(change)}" for change in question.lines)
    elif is_code:
        yield file.source.decode("utf-8", "replace").rstrip("\n")


def ensure_installed(directory: Path) -> str:
    """Return the name of the embedded model to use. If there is none, ask which to download.

    Raises ModelError without a terminal to ask on, or when the user declines.
    """
    if installed := store.best_installed(directory):
        return installed
    if not sys.stdin.isatty():
        hint = f"To download one: chat-loop models install {CHOICES[0].name}"
        raise ModelError("No embedded model is installed.", hint)
    lines = ["No embedded model is installed yet. Which one do you want to download?"]
    offered = {str(number): model for number, model in enumerate(CHOICES, 1)}
    for number, model in offered.items():
        mark = " (recommended)" if model.recommended else ""
        lines.append(f"  {number}  {model.title}, {size_text(model.size)}, {model.license}{mark}")
    for line in lines:
        out_line(line, 5)
    out("Number [1], or n for none: ")
    answer = sys.stdin.readline().strip().lower()
    chosen = offered.get("1" if answer in ("", "y", "yes") else answer)
    if chosen is None:
        raise ModelError("No embedded model was chosen.", "Later: chat-loop models install")
    fetch(chosen, directory)
    return chosen.name


def fetch(model: EmbeddedModel, directory: Path) -> None:
    """Install a model, with progress on a terminal. Raises ModelError."""
    from chat_loop.providers.models.install import install  # most runs download nothing

    out_line(f"{model.title}, {size_text(model.size)}. {model.notice}")
    if find_spec("xllamacpp") is None:
        err(f"The package xllamacpp, which runs it, is missing: {install_hint('local')}")
    meter = Meter()
    try:
        path = install(model, directory, meter.show)
    finally:
        meter.end()
    out_line(f"Installed in {path}. Use it with --local, or --model local:{model.name}.")
