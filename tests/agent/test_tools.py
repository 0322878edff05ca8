"""Long tool results: the part that the model gets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.tools import Tool
from chat_loop.events import ToolReturned
from chat_loop.values import Message, ToolCall, ToolSpec, Window
from tests.support.agent_turns import events_of
from tests.support.scripted import ScriptedProvider

SPEC = ToolSpec("much", "It gives much.", {"type": "object", "properties": {}})


def test_many_results_leave_room_for_the_answer() -> None:
    async def much(given: Mapping[str, object]) -> str:
        return "x" * 1_000_000

    calls = tuple(ToolCall(f"x{number}", "much", "{}") for number in range(12))
    provider = ScriptedProvider(
        steps=[Message("assistant", "", calls=calls), "Done."],
        calls_tools=True,
        window=Window(32_000),
    )
    agent = ModelAgent(name="Sally", system_prompt="", provider=provider, tools=(Tool(SPEC, much),))
    events = asyncio.run(events_of(agent, Message("user", "Go"), room=20_000))
    given = [event.given or 0 for event in events if isinstance(event, ToolReturned)]
    assert given[0] == 8_000
    assert given == sorted(given, reverse=True)
    assert given[-1] == 250
    assert sum(given) < 23_000
