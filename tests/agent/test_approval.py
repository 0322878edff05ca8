"""Approval of tool calls: the answers, the reach of "always", and the order of questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from chat_loop.agent.approval import ProjectApprovals
from chat_loop.agent.tools import COMMAND_PREFIX, Approve, Tool, Toolbox
from chat_loop.errors import ChatLoopError
from chat_loop.values import ToolCall, ToolSpec
from tests.support.approvals import User, tool_named

OUT = "Outside of the working directory /home/bob:\nread /etc/passwd"
POWERFUL = "This file can run code or steer later sessions:\nChange .envrc:"
NAMING = f"{COMMAND_PREFIX}:\nIn /tmp:\n  $ cat .envrc"


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ("y", True), ("yes", True), (" Y ", True), ("n", False), ("no", False), ("a", True), ("ALWAYS", True),
        ("", False), ("ok", False), ("ye", False), ("y y", False), ("yn", False),
    ],
)  # fmt: skip
def test_what_an_answer_means(answer: str, allowed: bool) -> None:
    assert User(answer, has_editor=False).approve("edit_file", "diff") is allowed


def test_an_answer_that_is_none_is_asked_for_again_in_an_editor() -> None:
    user = User("?", "/tools", "yes")
    assert user.approve("edit_file", "diff")
    assert [line.partition("?")[0] for line in user.seen] == [
        "diff", "Run", "Answer y, n, a, p; Enter alone is no.",
        "Run", "Answer y, n, a, p; Enter alone is no.", "Run",
    ]  # fmt: skip
    assert not User("").approve("edit_file", "diff")


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
    asked = "Run? [y]es / [n]o / [a]lways this session / [p]roject ({}) "
    edit, write = asked.format("edit_file"), asked.format("write_file")
    assert user.seen == [
        *(
            "diff 0",
            edit,
            "diff 1",
            edit,
            "diff 2",
            edit,
            "diff 1",
            write,
        ),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run_command", "In /tmp:\n  $ ls"),
        ("run_command", NAMING),
        ("edit_file", OUT),
        ("edit_file", POWERFUL),
    ],
)
def test_always_is_for_the_same_call_of_what_can_do_harm(name: str, text: str) -> None:
    user = User("a", "n", "n")
    assert [user.approve(name, text), user.approve(name, text)] == [True, True]
    assert [user.approve(name, f"{text} -a"), user.approve("other", text)] == [False, False]
    project = " / [p]roject" if text.startswith("In ") else ""
    assert f"Run? [y]es / [n]o / [a]lways this session{project} (this exact call) " in user.seen


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def test_questions_come_one_at_a_time_and_no_result_is_told_meanwhile() -> None:
    """While one call asks the user, another one is done; its result waits for the answer."""
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

        async def approve(tool: Tool, text: str) -> bool:
            nonlocal open_questions
            open_questions += 1
            assert open_questions == 1
            order.append(f"asked {text}")
            await quick.wait()
            for _ in range(20):  # lets all other tasks run
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

    async def approve(tool: Tool, text: str) -> bool:
        asked.append(text)
        return True

    def asks(given: Mapping[str, object]) -> str:
        if given["n"] == 3:
            raise ChatLoopError("There is no third one.")
        return "" if given["n"] == 1 else "the second"

    async def results(approve: Approve | None) -> list[str]:
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
    given[1] = "Not run: the user did not allow it."
    assert asyncio.run(results(None)) == given, "there is nobody to ask"


def question(scope: str) -> str:
    return f"Run? [y]es / [n]o / [a]lways this session / [p]roject ({scope}) "


def test_an_approval_of_a_project_is_kept(tmp_path: Path) -> None:
    file, project = tmp_path / "own" / "approvals.json", str(tmp_path / "project")
    user = User("p", "PROJECT", kept=ProjectApprovals(file, project))
    assert user.approve("edit_file", "diff 1")
    assert user.seen == ["diff 1", question("edit_file"), f"Kept for {project}; see /tools."]
    assert user.approve("run_command", "In /tmp:\n  $ ls")
    assert user.seen[-2] == question("this exact call")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == [file.name]

    later = User(*["n"] * 5, kept=ProjectApprovals(file, project))
    assert later.approve("edit_file", "diff 2")
    assert later.approve("run_command", "In /tmp:\n  $ ls")
    assert later.seen == []
    assert not later.approve("run_command", "In /tmp:\n  $ ls -a")
    assert not later.approve("write_file", "diff 2")
    assert not later.approve("edit_file", "diff 2", origin="another server")
    for other in (
        ProjectApprovals(file, f"{project}2"),
        ProjectApprovals(file, project, "/agents/a.md 12ab"),
    ):
        assert not User("n", kept=other).approve("edit_file", "diff 2")


def test_an_approval_with_an_agent_ends_with_a_change_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    agent = ProjectApprovals(file, "/project", "/a.py 12ab")
    assert User("p", kept=agent).approve("deploy", "deploy:")
    assert User(kept=ProjectApprovals(file, "/project", "/a.py 12ab")).approve("deploy", "")
    changed = ProjectApprovals(file, "/project", "/a.py 34cd")
    assert not User("n", kept=changed).approve("deploy", "deploy:")


@pytest.mark.parametrize("text", [OUT, POWERFUL])
def test_what_can_do_harm_is_never_kept(tmp_path: Path, text: str) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    user = User("p", "p", "n", "n", kept=kept)
    assert user.approve("edit_file", "diff")
    assert not user.approve("edit_file", text)
    assert user.seen[-1] == "Run? [y]es / [n]o / [a]lways this session (this exact call) "
    assert not user.approve("edit_file", text)
    assert [approval.call for approval in kept.all()] == [""]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text("{}"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff[]"),
        lambda path: path.write_text(path.read_text().replace("origin", "from")),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), path.symlink_to("/etc/hosts")),
    ],
)
def test_a_damaged_file_is_named_and_the_user_is_asked_again(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    assert User("p", kept=kept).approve("edit_file", "diff")
    damage(kept.file)
    user = User("p", "n", "y", kept=kept)
    assert not user.approve("edit_file", "diff")
    told, _, asked, *_ = user.seen
    reason = "it is damaged, or cannot be read. Fix or delete it."
    assert told == f"{kept.file} is not used: {reason}"
    assert asked == "Run? [y]es / [n]o / [a]lways this session (edit_file) "
    assert user.approve("edit_file", "diff")


def test_signs_that_no_file_can_hold_are_kept_as_others(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    assert User("p", kept=kept).approve("run_command", "echo \ud800")
    assert User(kept=kept).approve("run_command", "echo \ud800")


def test_an_approval_of_another_chat_is_not_lost_while_a_question_waits(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")

    class Slow(User):
        async def ask(self, question: str) -> str:
            kept.write([kept.of(tool_named("write_file"), "")])
            return await super().ask(question)

    assert Slow("p", kept=kept).approve("edit_file", "diff")
    assert [approval.tool for approval in kept.all()] == ["edit_file", "write_file"]


def test_what_cannot_be_kept_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "own").symlink_to(tmp_path / "nowhere")
    user = User("p", kept=ProjectApprovals(tmp_path / "own" / "approvals.json", "/project"))
    with pytest.raises(ChatLoopError, match=r"approvals\.json cannot be written"):
        user.approve("edit_file", "diff")
