"""Long tool results: the part that the model gets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from chat_loop.agent.agent import Agent
from chat_loop.agent.tools import Tool, cut
from chat_loop.events import Event, ToolReturned
from chat_loop.values import Message, ToolCall, ToolSpec, Window
from tests.support.scripted import ScriptedProvider

SPEC = ToolSpec("much", "It gives much.", {"type": "object", "properties": {}})


@given(st.text(alphabet="abcé\n\U0001f600", max_size=400), st.integers(1, 60))
def test_the_beginning_and_the_end_are_left(text: str, most: int) -> None:
    shown = cut(text, most)
    if len(text) <= most:
        assert shown == text
        return
    tail = most // 4
    note = f"\n[… {len(text) - most} of {len(text)} characters left out: ask for less at once …]\n"
    assert shown == text[: most - tail] + note + text[len(text) - tail :]


def test_halves_of_characters_are_replaced() -> None:
    assert cut("a\ud800b", 10) == "a?b"
    assert cut("a\ud800" * 10, 3).startswith("a?a\n[…")


def test_many_results_leave_room_for_the_answer() -> None:
    async def much(given: Mapping[str, object]) -> str:
        return "x" * 1_000_000

    async def results(agent: Agent) -> list[Event]:
        return [event async for event in agent.run((Message("user", "Go"),))]

    calls = tuple(ToolCall(f"x{number}", "much", "{}") for number in range(12))
    provider = ScriptedProvider(
        steps=[Message("assistant", "", calls=calls), "Done."],
        calls_tools=True,
        window=Window(32_000),
    )
    agent = Agent(name="Sally", system_prompt="", provider=provider, tools=(Tool(SPEC, much),))
    events = asyncio.run(results(agent))
    sizes = [event.text.count("x") for event in events if isinstance(event, ToolReturned)]
    assert sizes[0] == 32_000
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1_000
    assert sum(sizes) < 70_000
