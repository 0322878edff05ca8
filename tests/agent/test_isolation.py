"""Foreign functions run without standard streams, and cannot block the program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Mapping

import pytest

from chat_loop.agent.ask import CallLimits
from chat_loop.agent.functions import tool_of
from chat_loop.agent.tools import Tool, Toolbox
from chat_loop.errors import ChatLoopError
from chat_loop.events import ToolReturned
from chat_loop.values import ToolCall

PATIENCE = 60


def run(tool: Tool, **given: object) -> str:
    return asyncio.run(call(tool, given))


async def call(tool: Tool, given: Mapping[str, object]) -> str:
    return await tool.run(given)


def failure(tool: Tool, **given: object) -> str:
    with pytest.raises(ChatLoopError) as caught:
        run(tool, **given)
    return f"{caught.value.message} {caught.value.hint}".strip()


def test_what_is_printed_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    def talks(what: str) -> str | None:
        """Talks."""
        print(what, "\x1b[2J")  # noqa: T201 - the test is about that
        sys.stderr.write("and this")
        return None if what == "only" else "the result"

    async def talks_later() -> str:
        """Talks."""
        print("later")  # noqa: T201
        return "the result"

    def fails() -> None:
        """Talks and fails."""
        print("before")  # noqa: T201
        raise ValueError

    assert run(tool_of(talks), what="first") == "the result"
    assert run(tool_of(talks), what="only") == ""
    assert run(tool_of(talks_later)) == "the result"
    assert failure(tool_of(fails)) == "fails failed: ValueError"
    assert capsys.readouterr() == ("", "")


def test_the_program_goes_on_printing_while_functions_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    together = threading.Barrier(3, timeout=PATIENCE)

    def talks(what: str) -> str:
        """Talks, in a thread of its own as well."""
        together.wait()
        print(what)  # noqa: T201
        another = threading.Thread(target=print, args=("somebody else",))
        another.start()
        another.join()
        together.wait()
        return what

    async def both() -> list[str]:
        tool = tool_of(talks)
        one, two = (
            asyncio.ensure_future(call(tool, {"what": "a"})),
            asyncio.ensure_future(call(tool, {"what": "b"})),
        )
        await asyncio.to_thread(together.wait)
        print("the program")  # noqa: T201
        await asyncio.to_thread(together.wait)
        return [await one, await two]

    assert asyncio.run(both()) == ["a", "b"]
    assert capsys.readouterr().out == "the program\n"


def test_a_function_that_asks_gets_no_answer() -> None:
    def asks() -> str:
        """Asks."""
        return input("Name? ")

    assert failure(tool_of(asks)) == "asks failed: EOFError: EOF when reading a line"


def box(tool: Tool, seconds: float = 60.0, characters: int = 50_000) -> Toolbox:
    return Toolbox({tool.spec.name: tool}, characters, limits=CallLimits(tool=seconds))


async def returned(toolbox: Toolbox, *arguments: str) -> list[ToolReturned]:
    [name] = toolbox.tools
    calls = [ToolCall(f"c{number}", name, given) for number, given in enumerate(arguments, 1)]
    return [event async for event in toolbox.run(calls)]


HANGING = """
import asyncio, threading
from chat_loop.agent.agent import Agent
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.functions import tool_of
from chat_loop.events import ToolReturned
from tests.support.agent_turns import events_of
from tests.support.scripted import ScriptedProvider
from chat_loop.values import Message, ToolCall

def hangs():
    'Hangs.'
    threading.Event().wait()

async def blocks():
    'Blocks.'
    threading.Event().wait()

async def run():
    calls = (ToolCall("1", "hangs", ""), ToolCall("2", "blocks", ""))
    provider = ScriptedProvider(steps=[Message("assistant", "", calls=calls), "Done."], calls_tools=True)
    tools = (tool_of(hangs), tool_of(blocks))
    agent = Agent(name="", system_prompt="", provider=provider, tools=tools, limits=CallLimits(tool=0.05))
    events = await events_of(agent, Message("user", "Go"))
    return [event.failed for event in events if isinstance(event, ToolReturned)]

print(asyncio.run(run()))
"""


def test_the_program_ends_whatever_hangs() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, timeout=60, check=True, text=True
    )
    assert (ended.stdout, ended.stderr) == ("[True, True]\n", "")


def test_a_coroutine_that_hangs_is_stopped() -> None:
    stopped = threading.Event()

    async def hangs() -> None:
        """Hangs."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    [result] = asyncio.run(returned(box(tool_of(hangs), seconds=1), "{}"))
    assert result.text == "hangs took longer than 1 seconds and was stopped."
    assert stopped.wait(PATIENCE)
