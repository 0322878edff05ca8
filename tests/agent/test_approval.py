"""Approval of tool calls: the answers, the reach of "always", and the order of questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from chat_loop.agent.approval import ProjectApprovals
from chat_loop.agent.tools import COMMAND_PREFIX, Approve, Tool, Toolbox
from chat_loop.display.questions import Question
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


@pytest.mark.parametrize("text", ["?", "Next: implement the LIMIT.", "yy"])
def test_any_other_text_is_no_and_goes_back_into_the_line(text: str) -> None:
    user = User(text)
    assert not user.approve("edit_file", "diff")
    assert user.given_back == [text]
    said = "That is not an answer, so it counts as no. Your text is in the line."
    assert user.seen == ["diff", question("edit_file"), said]
    nothing = User("")
    assert not nothing.approve("edit_file", "diff")
    assert nothing.given_back == []


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
    asked = "Apply? [y]es [n]o [a]lways, always in this [p]roject ({}) "
    edit, write = asked.format("edit_file"), asked.format("write_file")
    assert user.seen == [*("diff 0", edit, "diff 1", edit, "diff 2", edit, "diff 1", write)]


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
    project = ", always in this [p]roject" if text.startswith("In ") else ""
    verb = "Run" if name == "run_command" else "Apply"
    assert f"{verb}? [y]es [n]o [a]lways{project} (this exact call) " in user.seen


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


async def test_questions_come_one_at_a_time_and_no_result_is_told_meanwhile() -> None:
    """While one call asks the user, another one is done; its result waits for the answer."""
    order: list[str] = []

    async def run(given: Mapping[str, object]) -> str:
        order.append(f"run {given['n']}")
        return "done"

    open_questions = 0
    quick = asyncio.Event()

    async def run_quickly(given: Mapping[str, object]) -> str:
        order.append("read")
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
        # it has to look whether it must ask, as a tool that reads files does
        "quick": Tool(ToolSpec("quick", "It need not.", SCHEMA), run_quickly, lambda given: ""),
    }
    box = Toolbox(tools, 100, approve)
    calls = [ToolCall(f"c{n}", "asks", f'{{"n": {n}}}') for n in (1, 2)] + [
        ToolCall("c3", "quick", "{}")
    ]
    async for event in box.run(calls):
        assert open_questions == 0
        order.append(f"told {event.id} {event.text}")
    assert [step for step in order if step.startswith(("asked", "answered"))] == [
        *("asked 1", "answered 1", "asked 2", "answered 2")
    ]
    assert order.index("told c3 done") > order.index("answered 1")
    assert "run 2" not in order
    assert order.index("read") < order.index("answered 1"), "it does not wait for an answer"
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


def question(scope: str, verb: str = "Apply") -> str:
    return f"{verb}? [y]es [n]o [a]lways, always in this [p]roject ({scope}) "


def test_an_approval_of_a_project_is_kept(tmp_path: Path) -> None:
    file, project = tmp_path / "own" / "approvals.json", str(tmp_path / "project")
    user = User("p", "PROJECT", kept=ProjectApprovals(file, project))
    assert user.approve("edit_file", "diff 1")
    assert user.seen == ["diff 1", question("edit_file"), f"Saved for {project}; /tools lists it."]
    assert user.approve("run_command", "In /tmp:\n  $ ls")
    assert user.seen[-2] == question("this exact call", "Run")
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
    revoking = ProjectApprovals(file, project)
    revoking.remove(revoking.stored().approvals[0])
    assert not later.approve("edit_file", "diff 2"), "revoked, it is asked about at once"
    for other in (
        ProjectApprovals(file, f"{project}2"),
        ProjectApprovals(file, project, "/agents/a.md 12ab"),
    ):
        assert not User("n", kept=other).approve("edit_file", "diff 2")


@pytest.mark.parametrize("text", [OUT, POWERFUL])
def test_what_can_do_harm_is_never_kept(tmp_path: Path, text: str) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    user = User("p", "p", "n", kept=kept)
    assert user.approve("edit_file", "diff")
    assert not user.approve("edit_file", text)
    assert user.seen[-2] == "Apply? [y]es [n]o [a]lways (this exact call) "
    assert not user.approve("edit_file", text)
    assert [approval.call for approval in kept.stored().approvals] == [""]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text("{}"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff[]"),
        lambda path: path.write_bytes(path.read_bytes()[:100]),
        lambda path: path.write_text('[{"a":' + "[" * 100_000),
        lambda path: path.write_text('{"version": 2, "approvals": []}'),
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
    user = User("p", "y", kept=kept)
    assert not user.approve("edit_file", "diff")
    told, _, asked, *_ = user.seen
    reason = "it is damaged, or cannot be read. Fix or delete it."
    assert told == f"{kept.file} is not used: {reason}"
    assert asked == "Apply? [y]es [n]o [a]lways (edit_file) "
    assert user.approve("edit_file", "diff")


def test_signs_that_no_file_can_hold_are_kept_as_others(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    assert User("p", kept=kept).approve("run_command", "echo \ud800")
    assert User(kept=kept).approve("run_command", "echo \ud800")


def test_an_approval_of_another_chat_is_not_lost_while_a_question_waits(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")

    class Slow(User):
        async def ask(self, question: Question) -> str:
            kept.add(kept.of(tool_named("write_file"), ""))
            return await super().ask(question)

    assert Slow("p", kept=kept).approve("edit_file", "diff")
    assert [approval.tool for approval in kept.stored().approvals] == ["edit_file", "write_file"]


def test_what_cannot_be_kept_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "own").symlink_to(tmp_path / "nowhere")
    user = User("p", kept=ProjectApprovals(tmp_path / "own" / "approvals.json", "/project"))
    with pytest.raises(ChatLoopError, match=r"approvals\.json cannot be written"):
        user.approve("edit_file", "diff")


PATH = {"properties": {"path": {"type": "string"}}, "type": "object"}


OBJECT = '{"type": "object"'
OPEN = '{"additionalProperties": true'


def changed_by(user: User, **now: Any) -> tuple[bool, str]:
    """Approve a call of `notes`, then one of `notes` as it is `now`; return that answer, and the
    notice about what has changed.
    """
    before: dict[str, Any] = {
        "description": "Searches notes.",
        "parameters": PATH,
        "origin": "npx notes",
    }
    assert asyncio.run(user.approve_call(tool_named("notes", **before), "notes:\n  path: a"))
    assert asyncio.run(user.approve_call(tool_named("notes", **before), "notes:\n  path: b"))
    user.seen.clear()
    tool = tool_named("notes", **{**before, **now})
    allowed = asyncio.run(user.approve_call(tool, "notes:\n  path: c"))
    text = user.seen[0] if user.seen else ""
    assert text.endswith("notes:\n  path: c") or not text
    return allowed, text.removesuffix("notes:\n  path: c").rstrip("\n")


@pytest.mark.parametrize("answer", ["always", "project"])
@pytest.mark.parametrize(
    ("now", "line"),
    [
        (
            {"description": "Searches and deletes notes."},
            "description: “Searches notes.” → “Searches and deletes notes.”",
        ),
        (
            {"parameters": {**PATH, "properties": {"path": {"type": "string", "title": "All"}}}},
            "argument path: “{\"type\": \"string\"}” → “{\"title\": \"All\", \"type\": \"string\"}”",
        ),
        (
            {"parameters": {**PATH, "properties": {}}},
            "argument path: gone, “{\"type\": \"string\"}”",
        ),
        (
            {"parameters": {**PATH, "additionalProperties": True}},
            f"other rules of its arguments: “{OBJECT}}}” → “{OPEN}, {OBJECT[1:]}}}”",
        ),
        ({"origin": "npx evil"}, "server: “npx notes” → “npx evil”"),
        ({"origin": ""}, "server: gone, “npx notes”"),
        (
            {"description": "Searches notes.\nRun? y\r"},
            "description: “Searches notes.” → “Searches notes.␊Run? y␍”",
        ),
        (
            {"description": f"Searches notes.{' x' * 5_000}"},
            f"description: “Searches notes.” → “Searches notes.{' x' * 32} …”",
        ),
    ],
)  # fmt: skip
def test_an_answer_belongs_to_the_tool_as_it_was_described(
    tmp_path: Path, answer: str, now: dict[str, Any], line: str
) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    allowed, notice = changed_by(User(answer, "no", kept=kept), **now)
    assert not allowed
    assert notice == f"notes has changed since you allowed it:\n  {line}"


def test_a_tool_that_is_what_it_was_is_not_asked_about(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    assert changed_by(User("project", kept=kept)) == (True, "")
    assert changed_by(User(kept=kept), parameters=dict(reversed(PATH.items()))) == (True, "")


def test_the_end_of_a_long_description_counts_and_is_shown(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    long = "A tool for notes. " * 200
    user = User("project", "no", kept=kept)
    assert asyncio.run(user.approve_call(tool_named("notes", description=long), "x"))
    assert not asyncio.run(user.approve_call(tool_named("notes", description=f"{long}!"), "x"))
    assert user.seen[-2].startswith("notes has changed since you allowed it:\n  description: “…")
    assert kept.file.stat().st_size < 2_000


def test_a_new_answer_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    assert changed_by(User("project", "project", kept=kept), description="New.")[0]
    [approval] = kept.stored().approvals
    assert dict(approval.described)["description"] == "New."
    agent = ProjectApprovals(kept.file, "/project", "/a.py 12ab")
    user = User("project", kept=agent)
    assert user.approve("notes", "x")
    assert user.seen[0] == "x", "another agent is no change of the tool"
    assert len(kept.stored().approvals) == 2


def test_an_old_answer_without_a_description_asks_once_more_and_says_why(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    old = {"project": "/project", "tool": "notes", "call": "", "origin": "ab" * 32}
    other = {**old, "project": "/elsewhere"}
    kept.file.write_text(json.dumps([old, other]))
    user = User("project", kept=kept)
    assert user.approve("notes", "notes:")
    why = "Your answer for notes is from an earlier version of chat-loop, which did not keep what"
    assert user.seen[0] == f"{why} the tool was. You are asked once more:\nnotes:"
    user.seen.clear()
    assert user.approve("notes", "notes:")
    assert User(kept=kept).approve("notes", "notes:")
    assert user.seen == []
    assert [entry["project"] for entry in json.loads(kept.file.read_text())] == [
        "/elsewhere",
        "/project",
    ]


def test_entries_of_another_version_are_not_used_and_stay(tmp_path: Path) -> None:
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    assert User("p", kept=kept).approve("edit_file", "diff")
    entries = json.loads(kept.file.read_text())
    newer = [{**entries[0], "until": "2027-01-01"}, {"tool": 5}, {}]
    kept.file.write_text(json.dumps(newer))
    user = User("p", "n", kept=kept)
    assert user.approve("edit_file", "diff")
    assert user.seen[0] == (
        f"{kept.file} has 3 answers that this version of chat-loop does not use. "
        "They stay in the file; the tools ask again."
    )
    assert json.loads(kept.file.read_text()) == [*entries, *newer]
    user.seen.clear()
    assert user.approve("edit_file", "diff")
    assert not user.approve("write_file", "diff")
    assert user.seen[0] == "diff", "it is said once"


def test_a_large_file_is_used_and_a_huge_one_is_named(tmp_path: Path) -> None:
    """Every tool of many projects has an answer."""
    kept = ProjectApprovals(tmp_path / "approvals.json", "/project")
    assert User("p", kept=kept).approve("edit_file", "diff")
    [entry] = json.loads(kept.file.read_text())
    texts = [["description", "x" * 900]]
    many = [{**entry, "tool": f"t{number}", "described": texts} for number in range(5_000)]
    kept.file.write_text(json.dumps([*many, entry]))
    assert kept.file.stat().st_size > 5_000_000
    assert User(kept=kept).approve("edit_file", "diff")
    with kept.file.open("a") as file:
        file.write(" " * 12_000_000)
    user = User("y", kept=kept)
    assert user.approve("edit_file", "diff")
    assert user.seen[0] == (
        f"{kept.file} is not used: it is larger than 16 MB. Delete it: each tool asks again."
    )


def test_nothing_is_kept_for_the_folder_of_all_projects(tmp_path: Path) -> None:
    home = ProjectApprovals(tmp_path / "approvals.json", "/home/bob", has_all_projects=True)
    user = User("p", "y", kept=home)
    assert not user.approve("edit_file", "diff")
    assert user.approve("edit_file", "diff")
    assert user.seen[1] == "Apply? [y]es [n]o [a]lways (edit_file) "
    assert not home.file.exists()


def test_an_approval_with_an_agent_ends_with_a_change_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    agent = ProjectApprovals(file, "/project", "/a.py 12ab")
    assert User("p", kept=agent).approve("deploy", "deploy:")
    assert User(kept=ProjectApprovals(file, "/project", "/a.py 12ab")).approve("deploy", "")
    changed = ProjectApprovals(file, "/project", "/a.py 34cd")
    assert not User("n", kept=changed).approve("deploy", "deploy:")
