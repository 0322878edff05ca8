"""The agent that a run begins with: opened, and the user asked whether it may run."""

from __future__ import annotations

import sys

from chat_loop.agent.agent_path import PYTHON
from chat_loop.agent.definition import Definition
from chat_loop.agent.named_agents import Places
from chat_loop.agent.opening import open_agent
from chat_loop.agent.trust import Question, Snapshot, Trust
from chat_loop.config import Paths
from chat_loop.display.plain import err, out
from chat_loop.display.text import one_line
from chat_loop.errors import AgentError
from chat_loop.start import InstantPrompt

SHOWN = 60
"""Lines of a change that are shown."""
LISTED = 20
"""Files of an agent that are listed by name."""


def open_asked(
    reference: str, paths: Paths, instant: InstantPrompt | None, *, asked: bool, trusted: bool
) -> tuple[Definition, InstantPrompt | None]:
    """The agent with this name or path, and the instant prompt, erased when something was shown in
    its place.

    The user is asked whether it may run where that is needed. `asked`: there is somebody.
    `trusted`: it may, this once. Raises AgentError, ConfigError, and KeyboardInterrupt when the
    user stops it.
    """

    def consent(question: Question, wanted: tuple[str, ...]) -> bool:
        if trusted:
            return False
        if not asked:
            raise unapproved(question)
        if instant is None:
            ask(question, wanted)
        else:
            instant.lend(lambda: ask(question, wanted), signals=True)
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


def ask(question: Question, wanted: tuple[str, ...]) -> None:
    """Ask the user whether an agent may run, as it is now. Raises AgentError when the answer is
    no.
    """
    path = question.snapshot.path
    if path.suffix.lower() == PYTHON:
        _line(f"The agent {path} is Python code.")
        _line("It would run with your rights, and can do whatever you can. What would run:")
        show_files(question.snapshot)
    else:
        _line(f"The agent {path} asks for:")
        for line in wanted:
            _line(f"  {line}")
    if question.changes:
        _line(f"Since you approved it: {one_line(', '.join(question.changes), 2_000)}.")
        for line in question.lines[:SHOWN]:
            _line(f"  {line}")
        if len(question.lines) > SHOWN:
            _line(f"  ({len(question.lines) - SHOWN} more lines)")
    out("Run it, now and as long as it stays as it is? (y/N) ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise AgentError(
            f"The agent {path} was not run.", f"chat-loop agents show {path} shows it."
        )


def unapproved(question: Question) -> AgentError:
    """Why an agent is not run where nobody can be asked."""
    path = question.snapshot.path
    state = (
        f"has changed since you approved it ({', '.join(question.changes)})"
        if question.changes
        else "is not approved"
    )
    hint = f"Look at it, then: chat-loop agents approve {path}; --trust-agent runs it this once."
    return AgentError(f"The agent {path} {one_line(state, 500)}.", hint)


def show_files(snapshot: Snapshot) -> None:
    """List what an approval is about."""
    for name, data in list(snapshot.files.items())[:LISTED]:
        _line(f"  {name}  {len(data):,} bytes")
    if len(snapshot.files) > LISTED:
        _line(f"  and {len(snapshot.files) - LISTED} more")


def _line(text: str) -> None:
    """One line, whole: what is approved is neither cut nor broken by what stands in it."""
    out(text.replace("\n", "␊") + "\n")
