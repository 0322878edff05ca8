"""Approval of tool calls: the answers, the reach of "always", and the order of questions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from chat_loop.agent.tools import (
    Approve,
    Tool,
    Toolbox,
    approval,
)
from chat_loop.errors import ChatLoopError
from chat_loop.values import ToolCall, ToolSpec

OUT = "Outside of the working directory /home/bob:\nread /etc/passwd"
POWERFUL = "This file can run code or steer later sessions:\nChange .envrc:"


class User:
    """Answers one after the other; `seen` is what was shown and asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.seen: list[str] = []
        self._approve = approval(lambda name, text: self.seen.append(f"{name}|{text}"), self._ask)

    async def _ask(self, question: str) -> str:
        self.seen.append(question)
        return self.answers.pop(0)

    def approve(self, name: str, text: str) -> bool:
        return asyncio.run(self._approve(name, text))


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ("y", True), ("yes", True), (" Y ", True), ("n", False), ("no", False), ("a", True), ("ALWAYS", True),
        ("", False), ("ok", False), ("ye", False), ("y y", False), ("yn", False),
    ],
)  # fmt: skip
def test_what_an_answer_means(answer: str, allowed: bool) -> None:
    assert User(answer).approve("edit_file", "diff") is allowed


def test_always_is_for_all_calls_of_a_tool() -> None:
    user = User("y", "n", "a", "n")
    assert [user.approve("edit_file", f"diff {number}") for number in range(5)] == [
        True,
        False,
        True,
        True,
        True,
    ]
    assert user.approve("write_file", "diff 1") is False
    asked = "Run? [y]es / [n]o / [a]lways this session ({}) "
    edit, write = asked.format("edit_file"), asked.format("write_file")
    assert user.seen == [
        *(
            "edit_file|diff 0",
            edit,
            "edit_file|diff 1",
            edit,
            "edit_file|diff 2",
            edit,
            "write_file|diff 1",
            write,
        ),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [("run_command", "In /tmp:\n  $ ls"), ("edit_file", OUT), ("edit_file", POWERFUL)],
)
def test_always_is_for_the_same_call_of_what_can_do_harm(name: str, text: str) -> None:
    user = User("a", "n", "n")
    assert [user.approve(name, text), user.approve(name, text)] == [True, True]
    assert [user.approve(name, f"{text} -a"), user.approve("other", text)] == [False, False]
    assert "Run? [y]es / [n]o / [a]lways this session (this exact call) " in user.seen


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def test_questions_come_one_at_a_time_and_no_result_is_told_meanwhile() -> None:
    """One call asks, another is done at once: its result waits until the question is answered."""
    order: list[str] = []

    async def run(given: Mapping[str, object]) -> str:
        order.append(f"run {given['n']}")
        return "done"

    async def collect() -> None:
        open_questions = 0
        quick = asyncio.Event()

        async def run_quickly(given: Mapping[str, object]) -> str:
            quick.set()
            return "done"

        async def approve(name: str, text: str) -> bool:
            nonlocal open_questions
            open_questions += 1
            assert open_questions == 1
            order.append(f"asked {text}")
            await quick.wait()
            for _ in range(20):  # whoever could run meanwhile does
                await asyncio.sleep(0)
            order.append(f"answered {text}")
            open_questions -= 1
            return text != "2"

        tools = {
            "asks": Tool(ToolSpec("asks", "It asks.", SCHEMA), run, lambda given: str(given["n"])),
            "quick": Tool(ToolSpec("quick", "It does not.", SCHEMA), run_quickly),
        }
        box = Toolbox(tools, 100, approve)
        calls = [ToolCall(f"c{n}", "asks", f'{{"n": {n}}}') for n in (1, 2)] + [
            ToolCall("c3", "quick", "{}")
        ]
        async for event in box.run(calls):
            assert open_questions == 0
            order.append(f"told {event.id} {event.text}")

    asyncio.run(collect())
    assert [step for step in order if step.startswith(("asked", "answered"))] == [
        *("asked 1", "answered 1", "asked 2", "answered 2"),
    ]
    assert order.index("told c3 done") > order.index("answered 1")
    assert "run 2" not in order
    assert set(order) >= {
        "told c1 [allowed by the user]\ndone",
        "told c2 Not run: the user did not allow it.",
    }


def test_a_tool_that_need_not_ask_about_a_call_does_not() -> None:
    asked: list[str] = []

    async def run(given: Mapping[str, object]) -> str:
        return "done"

    async def approve(name: str, text: str) -> bool:
        asked.append(text)
        return True

    def asks(given: Mapping[str, object]) -> str:
        if given["n"] == 3:
            raise ChatLoopError("There is no third one.")
        return "" if given["n"] == 1 else "the second"

    async def results(approve: Approve) -> list[str]:
        tool = Tool(ToolSpec("asks", "It asks.", SCHEMA), run, asks)
        box = Toolbox({"asks": tool}, 100, approve)
        calls = [ToolCall(f"c{n}", "asks", f'{{"n": {n}}}') for n in (1, 2, 3)]
        return [
            event.text
            for event in sorted(
                [event async for event in box.run(calls)], key=lambda event: event.id
            )
        ]

    given = ["done", "[allowed by the user]\ndone", "There is no third one."]
    assert asyncio.run(results(approve)) == given
    assert asked == ["the second"]
