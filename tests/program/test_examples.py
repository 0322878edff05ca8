"""The agents in examples/ load and answer."""

from __future__ import annotations

import shutil
import sys
from datetime import date
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.agent.agent_files import load
from chat_loop.agent.known_agents import AgentQuestion, AgentRegistry
from chat_loop.config import Paths
from chat_loop.values import ToolCall
from tests.support.headless import run, said, saved

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_plain_prompt(tmp_path: Path) -> None:
    path = EXAMPLES / "plain"
    with Loopback() as server:
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1"}
        result = run(
            tmp_path, "--agent", str(path), "--model", "openai:m", "-p", "He go home.", keys=keys
        )
        assert (result.returncode, result.stdout) == (0, b"You said: He go home.\n")
        assert server.requests[0].system.startswith("You are a careful proofreader.")
    [session] = saved(tmp_path)
    assert (session.header.agent, session.header.agent_path) == (
        "Proofreader",
        str(path / "agent.md"),
    )
    assert said(session) == ["He go home.", "You said: He go home."]


def test_python_tools_know_the_calendar(tmp_path: Path) -> None:
    registry = AgentRegistry(Paths(tmp_path / "config.yaml", tmp_path, tmp_path))
    file = registry.read(str(EXAMPLES / "tools"))
    assert registry.question(file) == AgentQuestion(file=file, permissions=("to run",))
    definition = load(file)
    assert definition.name == "Planner"
    days_between, working_days = definition.functions
    assert days_between(date(2026, 11, 22), date(2026, 12, 24)) == 32
    assert working_days(date(2026, 11, 20), 1) == "Monday, 2026-11-23"


def test_python_tools_in_a_conversation(tmp_path: Path) -> None:
    call = ToolCall("t1", "working_days", '{"start": "2026-11-20", "days": 1}')
    path = EXAMPLES / "tools"
    with Loopback() as server:
        server.enqueue(Reply(calls=(call,)), Reply(chunks=("On Monday.",)))
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1"}
        arguments = ("--trust-agent", "--agent", str(path), "--model", "openai:m")
        result = run(tmp_path, *arguments, "-p", "One working day after Friday?", keys=keys)
        assert (result.returncode, result.stdout, result.stderr) == (0, b"On Monday.\n", b"")
        first, second = server.requests
    tools = {tool["function"]["name"]: tool["function"] for tool in first.body["tools"]}
    assert list(tools) == ["days_between", "working_days"]
    assert tools["working_days"]["parameters"]["required"] == ["start", "days"]
    assert "Monday, 2026-11-23" in str(second.body["messages"][-1])
    [exchange] = saved(tmp_path)[0].exchanges
    assert [(use.call.name, use.result and use.result.text) for use in exchange.uses] == [
        ("working_days", "Monday, 2026-11-23")
    ]


@pytest.mark.slow
def test_an_mcp_server_in_a_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "shopper"
    shutil.copytree(EXAMPLES / "mcp", folder)
    file = folder / "agent.md"
    file.write_text(file.read_text().replace("command: python3", f"command: {sys.executable}"))
    add = ToolCall("t1", "shopping_add_item", '{"name": "lemon", "number": 3}')
    look = ToolCall("t2", "shopping_list_items", "{}")
    with Loopback() as server:
        server.enqueue(Reply(calls=(add,)), Reply(calls=(look,)), Reply(chunks=("Three lemons.",)))
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1"}
        arguments = ("--trust-agent", "--yes", "--agent", str(folder), "--model", "openai:m")
        result = run(
            tmp_path / "home", *arguments, "-p", "Put three lemons on the list.", keys=keys
        )
        assert (result.returncode, result.stdout, result.stderr) == (0, b"Three lemons.\n", b"")
    [exchange] = saved(tmp_path / "home")[0].exchanges
    assert [(use.call.name, use.result and use.result.text) for use in exchange.uses] == [
        ("shopping_add_item", "[allowed by the user]\n3 of lemon on the list."),
        ("shopping_list_items", '{\n  "lemon": 3\n}'),
    ]
