"""The examples are loaded as a user would, and answer."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import pytest

from chat_loop.agent import python_file
from chat_loop.agent.agent_path import file_of
from chat_loop.agent.named_agents import Places
from chat_loop.agent.opening import open_agent
from chat_loop.agent.trust import Question, Trust, snapshot_of
from chat_loop.config import Paths
from tests.loopback import Loopback
from tests.test_headless import run, said, saved

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_a_plain_prompt(tmp_path: Path) -> None:
    path = EXAMPLES / "plain"
    with Loopback() as server:
        keys = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        result = run(tmp_path, "--agent", str(path), "--model", "anthropic:m", "-p", "He go home.", keys=keys)
        assert (result.returncode, result.stdout) == (0, b"You said: He go home.\n")
        assert server.requests[0].system.startswith("You are a careful proofreader.")
    [session] = saved(tmp_path)
    assert (session.header.agent, session.header.agent_path) == ("Proofreader", str(path / "agent.md"))
    assert said(session) == ["He go home.", "You said: He go home."]


def test_python_tools_know_the_calendar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "agent", raising=False)
    asked: list[Question] = []

    def consent(question: Question, wanted: tuple[str, ...]) -> bool:
        asked.append(question)
        return False

    places = Places(Paths(tmp_path / "config.yaml", tmp_path))
    definition = open_agent(str(EXAMPLES / "tools"), places, Trust(tmp_path), consent)
    assert asked == [Question(snapshot=snapshot_of(file_of(EXAMPLES / "tools")))]
    assert definition.name == "Planner"
    assert python_file.description_of(asked[0].snapshot.source) == definition.description
    days_between, working_days = definition.functions
    assert days_between(date(2026, 11, 22), date(2026, 12, 24)) == 32
    assert working_days(date(2026, 11, 20), 1) == "Monday, 2026-11-23"
    del sys.modules["agent"]
