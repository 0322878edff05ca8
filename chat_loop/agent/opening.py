"""From a reference to a definition: found, read, allowed by the user, loaded."""

from __future__ import annotations

from collections.abc import Callable

from chat_loop.agent import agent_file
from chat_loop.agent.agent_path import PYTHON
from chat_loop.agent.definition import Definition
from chat_loop.agent.named_agents import Places
from chat_loop.agent.trust import Question, Snapshot, Trust, snapshot_of

Consent = Callable[[Question, tuple[str, ...]], bool]
"""Asks the user whether an agent may be used: what was read, and what it wants (empty for Python
code).

True: it is approved from now on. False: only this once. It raises when the answer is no.
"""


def open_agent(reference: str, places: Places, trust: Trust, consent: Consent) -> Definition:
    """The agent with this name or path. Raises AgentError, ConfigError, and what `consent`
    raises.
    """
    path = places.find(reference)
    snapshot = snapshot_of(path)
    if path.suffix.lower() == PYTHON:
        from chat_loop.agent import python_file

        _allowed(snapshot, (), trust, consent)
        return python_file.load(snapshot)
    definition = agent_file.read(path, snapshot.source)
    wanted = agent_file.wants(definition)
    if wanted and places.folder not in path.parents:
        _allowed(snapshot, wanted, trust, consent)
    return definition


def _allowed(snapshot: Snapshot, wanted: tuple[str, ...], trust: Trust, consent: Consent) -> None:
    question = trust.question(snapshot)
    if question is not None and consent(question, wanted):
        trust.approve(snapshot)
