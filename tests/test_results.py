"""Results that are too long: how they are cut, and how the model reads on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from chat_loop.agent.agent import Agent
from chat_loop.agent.tools import MAX_STORED, Tool, cut, read_cut_result
from chat_loop.events import Event, ToolReturned
from chat_loop.values import Message, ToolCall, ToolSpec, Window
from tests.support.scripted import ScriptedProvider, Step

SPEC = ToolSpec("much", "It gives much.", {"type": "object", "properties": {}})
NOTE = re.compile(
    r'\n\[cut: up to character [\d,]+ of [\d,]+; read_result with id "(c\d+)" and offset '
    r"(\d+) reads on\]\Z"
)


@given(st.text(alphabet="abcé\n\U0001f600", max_size=400), st.integers(1, 60))
def test_all_parts_together_are_the_whole(text: str, most: int) -> None:
    kept: dict[str, str] = {}
    part = cut("c1", text, most, kept)
    parts = []
    while match := NOTE.search(part):
        parts.append(part[: match.start()])
        part = read_cut_result({"id": match[1], "offset": int(match[2])}, most, kept)
    assert "".join([*parts, part]) == text
    assert all(len(piece) == most for piece in parts)


def test_the_oldest_are_given_up() -> None:
    kept: dict[str, str] = {}
    for number in range(5):
        cut(f"c{number}", "x" * (MAX_STORED // 2), 10, kept)
    assert list(kept) == ["c3", "c4"]
    assert cut("c3", "short", 10, kept) == "short"
    assert list(kept) == ["c4"]  # an id that is used again, in the next session, is another call's
    cut("c5", "x" * (MAX_STORED + 1), 10, kept)
    assert list(map(len, kept.values())) == [MAX_STORED]


def test_halves_of_characters_are_replaced() -> None:
    kept: dict[str, str] = {}
    assert cut("c1", "a\ud800b", 10, kept) == "a?b"
    assert cut("c1", "a\ud800" * 10, 3, kept).startswith("a?a\n[cut:")


def run(agent: Agent, text: str) -> list[str]:
    """What the tools gave in one reply."""

    async def collect() -> list[Event]:
        return [event async for event in agent.run((Message("user", text),))]

    return [event.text for event in asyncio.run(collect()) if isinstance(event, ToolReturned)]


def test_the_model_reads_on_as_soon_as_something_was_cut_and_in_later_replies() -> None:
    async def much(given: Mapping[str, object]) -> str:
        return "".join(f"{number:09}\n" for number in range(1500))

    def reads(identity: str, offset: object) -> ToolCall:
        return ToolCall("x", "read_result", f'{{"id": "{identity}", "offset": {offset}}}')

    steps: list[Step] = [
        Message("assistant", "", calls=(ToolCall("x", "much", "{}"),)),
        Message(
            "assistant",
            "",
            calls=(reads("c1", 10_000), reads("c1", 15_000), reads("c9", 0), reads("c1", -1)),
        ),
        "Done.",
        Message("assistant", "", calls=(reads("c1", 5),)),
        "Done again.",
    ]
    provider = ScriptedProvider(steps=steps, calls_tools=True, window=Window(10_000))
    agent = Agent(name="Sally", system_prompt="", provider=provider, tools=(Tool(SPEC, much),))
    first, second, *wrong = run(agent, "Go")
    whole = "".join(f"{number:09}\n" for number in range(1500))
    note = (
        '\n[cut: up to character {:,} of 15,000; read_result with id "c1" and offset {} reads on]'
    )
    assert first == whole[:10_000] + note.format(10_000, 10_000)
    assert second == whole[10_000:]
    assert wrong == [
        "The offset must be from 0 to 14999.",
        "No result “c9” is kept. These can be read: c1.",
        "The offset must be from 0 to 14999.",
    ]
    assert [[tool.name for tool in request.tools] for request in provider.requests] == [
        ["much"],
        ["much", "read_result"],
        ["much", "read_result"],
    ]
    assert run(agent, "And now?") == [whole[5:10_005] + note.format(10_005, 10_005)]


def test_many_results_leave_room_for_the_answer() -> None:
    async def much(given: Mapping[str, object]) -> str:
        return "x" * 1_000_000

    calls = tuple(ToolCall(f"x{number}", "much", "{}") for number in range(12))
    provider = ScriptedProvider(
        steps=[Message("assistant", "", calls=calls), "Done."],
        calls_tools=True,
        window=Window(32_000),
    )
    agent = Agent(name="Sally", system_prompt="", provider=provider, tools=(Tool(SPEC, much),))
    sizes = [text.index("\n[cut:") for text in run(agent, "Go")]
    assert sizes[:3] == [32_000, 16_000, 8_000]
    assert sizes[-1] == 1_000
    assert sum(sizes) < 70_000


def test_nothing_can_be_read_where_nothing_was_cut() -> None:
    async def little(given: Mapping[str, object]) -> str:
        return "little"

    steps: list[Step] = [
        Message(
            "assistant", "", calls=(ToolCall("x", "read_result", '{"id": "c1", "offset": 0}'),)
        ),
        "Done.",
    ]
    provider = ScriptedProvider(steps=steps, calls_tools=True)
    agent = Agent(name="Sally", system_prompt="", provider=provider, tools=(Tool(SPEC, little),))
    assert run(agent, "Go") == ["There is no tool read_result. The tools are: much."]
