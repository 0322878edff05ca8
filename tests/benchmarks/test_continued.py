"""The benchmark of continued tasks: the checks, and a run that continues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.continued.arms import ARMS, NEWEST, NONE, OURS, SUMMARY, WHOLE, before, play
from benchmarks.continued.benchmark import add_solved
from benchmarks.continued.check import failure
from benchmarks.continued.script import NAMES, Task, path_of, read, turns
from benchmarks.continued.table import FOLDER, text
from benchmarks.factchain.standin import is_summary
from benchmarks.support.results import Results
from chat_loop.events import Event, Finished, TextDelta
from chat_loop.providers import Provider
from chat_loop.values import Request, Window

pytestmark = pytest.mark.slow

TASKS = [task for name in NAMES for task in read(name).tasks]
NARRATIVE = """**Topics Discussed:**
- A shop

**Decisions Made:**
- The shop opens in spring

**Pending:**
- Write the functions
"""


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_check_holds_for_a_solution_and_for_nothing_else(task: Task) -> None:
    assert failure(task.solution, task.check) == ""
    assert failure(f"Here it is:\n\n```python\n{task.solution}\n```\n", task.check) == ""
    assert failure("", task.check)
    assert failure(task.ask, task.check)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("import socket\nsocket.socket()", "PermissionError: socket.__new__"),
        ("import subprocess\nsubprocess.run(['true'])", "PermissionError: subprocess.Popen"),
        ("open('left', 'w')", "PermissionError: open"),
        ("raise SystemExit(0)", "exit code 0"),
        ("import os\nos._exit(0)", "exit code 0"),
        ("x = 'a' * 2**30", "MemoryError"),
    ],
)
def test_what_an_answer_must_not_do(answer: str, why: str) -> None:
    assert failure(answer, "assert True") == why


class Narrator(Provider):
    """A model that only writes summaries."""

    name = "scripted"
    model = "narrator"
    window = Window(4_096)

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        assert is_summary(request)
        yield TextDelta(NARRATIVE)
        yield Finished(stop="end")

    async def close(self) -> None:
        """There is nothing to release."""


def test_the_rule_is_only_in_the_arms_that_carry_it(tmp_path: Path) -> None:
    def count(text: str) -> int:
        return len(text) // 4

    tasks = read("shop").tasks
    said = turns("shop", tasks)

    async def contexts() -> dict[str, str]:
        model = Narrator()
        chat = await play(model, tmp_path, count, said)
        assert len(chat.compactions) >= 3
        found = {}
        for arm in ARMS:
            messages = await before(arm, tasks[0].ask, model, chat, said, count)
            assert messages[-1].text.endswith(tasks[0].ask)
            found[arm] = "\n".join(message.text for message in messages)
        chat.conversation.close()
        return found

    found = asyncio.run(contexts())
    rule = "below 35 euros it is 4.90, otherwise 0"
    carried = {arm: rule in text for arm, text in found.items()}
    assert carried == {NONE: False, WHOLE: True, OURS: True, NEWEST: False, SUMMARY: False}


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    task = read("shop").tasks[0]
    path = path_of(tmp_path / FOLDER / "shop", task, OURS)
    path.parent.mkdir(parents=True)
    path.write_text('{"solved": true, "prompt_tokens": 2000, "compactions": 4}', "utf-8")
    results = Results()
    add_solved(results, tmp_path)
    assert results.measures[f"tasks solved, {OURS}"].samples == [1]
    assert "order-number" in results.not_measured[f"tasks, {OURS}"]
    assert results.not_measured.keys() == {f"tasks, {arm}" for arm in ARMS}
    assert f"| {OURS} | 1 of 1 | 2,000 |" in text(tmp_path)
    assert f"| {WHOLE} | not measured | |" in text(tmp_path)
