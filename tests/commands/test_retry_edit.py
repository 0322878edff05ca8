"""/retry and /edit: attached files, and the tools that changed something."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.tools import Tool
from chat_loop.commands.restoring import changed_by
from chat_loop.sessions.records import Call, Exchange, Query, Result, Use
from chat_loop.values import ALLOWED, ToolSpec
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import QUIET, START, Model, Step


def run(folder: Path, lines: list[Line], *steps: Step, **further: object) -> Screen:
    return Screen(folder, lines, *steps, options=QUIET, **further)  # type: ignore[arg-type]


def test_an_edit_keeps_the_files_it_names_and_asks_about_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"this is {name}\n")
    lines: list[Line] = ["see @a.txt and @b.txt", "/edit see @b.txt, not @c.txt"]
    screen = run(tmp_path / "s", lines, "So.", "So.", answers=["y"])
    assert "Send c.txt, 10 bytes along? [y]es [n]o y\n" in screen.text
    last = screen.talk.sent[-1][-1].text
    assert [f"this is {name}\n" in last for name in ("a", "b", "c")] == [False, True, True]
    [exchange] = screen.talk.conversation.session.exchanges
    assert [file.name for file in exchange.attached] == ["b.txt", "c.txt"]


def test_a_new_file_of_an_edit_goes_through_the_rule_for_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("DB_PASSWORD=hunter2hunter2\n")
    lines: list[Line] = ["hello", "/edit see @.env", "/edit look at @.env"]
    screen = run(tmp_path / "s", lines, "Hi.", "So.", answers=["y", "n", "y", "m"])
    [exchange] = screen.talk.conversation.session.exchanges
    assert exchange.query.text == "look at @.env"
    [file] = exchange.attached
    assert file.text == "DB_PASSWORD=[REDACTED:password:1]\n"
    assert len(screen.talk.sent) == 2
    assert screen.text.count("Not sent.\n") == 1


async def _run(given: object) -> str:
    return ""


def tool(name: str, *, asks: bool) -> Tool:
    return Tool(ToolSpec(name, "", {}), _run, (lambda given: "do") if asks else None)


def use(number: int, name: str, result: str | None) -> Use:
    call = Call(number=1, at=START, id=str(number), name=name, arguments="{}")
    return Use(
        call, None if result is None else Result(number=1, at=START, id=str(number), text=result)
    )


def test_the_tools_that_changed_something_are_those_that_were_allowed_or_broken_off() -> None:
    agent = ModelAgent(
        name="Sally",
        system_prompt="",
        provider=Model(),
        tools=(tool("write", asks=True), tool("read", asks=False)),
    )
    query = Query(number=1, at=START, text="Hi")
    uses = (
        use(1, "read", "text"),
        use(2, "write", "Not run: the user did not allow it."),
        use(3, "read", None),
        use(4, "write", None),
        use(5, "delete", f"{ALLOWED}\ngone"),
        use(6, "delete", f"{ALLOWED}\ngone"),
    )
    assert changed_by(Exchange(query, uses=uses), agent) == ("write", "delete")
    assert changed_by(Exchange(query, uses=uses[:3]), agent) == ()
    foreign = replace(agent, tools=(), own_tools=True)
    assert changed_by(Exchange(query, uses=uses[:1]), foreign) == ("read",)
