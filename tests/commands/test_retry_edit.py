"""/retry and /edit: the request, the transcript, and the questions about tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.agent.tools import Tool
from chat_loop.commands.retry_edit import changed_by
from chat_loop.errors import Overloaded
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Call, Exchange, Query, Reply, Result, Use
from chat_loop.values import ALLOWED, ToolSpec
from tests.support.images import png
from tests.support.quiet_options import QUIET
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import START, SUMMARY, Model, Says, Step, Talk, said

TIME = "Time: 2.0s | Tokens: 110 (in: 100, out: 10)\n\n"


def run(folder: Path, lines: list[Line], *steps: Step, **further: object) -> Screen:
    return Screen(folder, lines, *steps, options=QUIET, **further)  # type: ignore[arg-type]


def spoken(screen: Screen) -> str:
    return screen.text.partition("\nGoodbye!")[0]


def test_retry_asks_the_same_again_and_the_first_answer_stays_in_the_file(tmp_path: Path) -> None:
    screen = run(tmp_path, ["Hi", "Which wood\n  is hard?", "/retry"], "Hello.", "Oak.", "Ash.")
    assert screen.text.partition("You: /retry\n")[2].startswith(
        f"Again: “Which wood is hard?”\nSally: Ash.\n{TIME}"
    )
    assert (
        screen.talk.sent[2] == screen.talk.sent[1] == said("Hi", "Hello.", "Which wood\n  is hard?")
    )
    read = parse(screen.talk.path.read_bytes())
    assert read.damage == ()
    assert read.session is not None
    assert [(one.query.number, one.reply and one.reply.text) for one in read.session.exchanges] == [
        (1, "Hello."),
        (3, "Ash."),
    ]
    assert "Oak." in screen.talk.text


def test_retry_after_an_error_after_an_interruption_and_twice(tmp_path: Path) -> None:
    broken = Says(("I will",), then=Overloaded("It is down.", "Try later."))
    steps: list[Step] = [broken, Says(("One, ", "two"), then="silence"), "Three.", "Four."]
    screen = run(tmp_path, ["Count", "/retry", "/retry", "/retry"], *steps)
    assert screen.talk.sent == [said("Count")] * 4
    assert screen.text.count("Again: “Count”\n") == 3
    assert "Stopped." not in screen.text
    assert (
        "Sally: One, two\nTime: 0.0s | Tokens: ~9 (in: 7, out: 2) | Interrupted\n\nYou: /retry\n"
        in screen.text
    )


def test_retry_takes_the_files_along_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notes, photo = tmp_path / "notes.txt", tmp_path / "photo.png"
    notes.write_text("port is 5432\n")
    photo.write_bytes(png(64, 48))
    monkeypatch.setattr(Model, "takes_images", True)

    def changed(talk: Talk) -> None:
        notes.write_text("port is 1\n")
        photo.unlink()

    lines: list[Line] = ["look at @notes.txt and @photo.png", changed, "/retry"]
    screen = run(tmp_path / "sessions", lines, "So.", "So it is.")
    first, second = (messages[-1] for messages in screen.talk.sent)
    assert first == second
    assert "port is 5432" in second.text
    assert [image.data != "" for image in second.images] == [True]
    assert screen.text.count("📎 notes.txt, 13 bytes · photo.png, 64×48\n") == 2


def test_nothing_to_ask_again(tmp_path: Path) -> None:
    screen = run(tmp_path, ["/retry", "/edit", "/retry now"])
    nothing = "✗ No messages in this session yet.\n"
    assert screen.text == (
        f"You: /retry\n{nothing}You: /edit\n{nothing}"
        "You: /retry now\n✗ /retry takes no argument.\n"
        "  To send it as text, start with a space.\nGoodbye!\n"
    )


def test_without_a_line_the_text_follows_the_command(tmp_path: Path) -> None:
    lines: list[Line] = ["Which wood?", "/edit", "/edit Which\nstone?", "/edit Which\nstone?"]
    screen = run(tmp_path, lines, "Oak.", "Slate.", "Basalt.")
    assert "✗ There is no line to edit here.\n  /edit TEXT sends TEXT instead.\n" in screen.text
    assert "Instead of “Which wood?”: “Which stone?”\nSally: Slate.\n" in screen.text
    assert "Again: “Which stone?”\nSally: Basalt.\n" in screen.text
    assert screen.talk.sent == [said("Which wood?"), *[said("Which\nstone?")] * 2]


@pytest.mark.parametrize("answer", ["y", "n"])
def test_an_edit_keeps_the_files_it_names_and_asks_about_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"this is {name}\n")
    lines: list[Line] = ["see @a.txt and @b.txt", "/edit see @b.txt, not @c.txt"]
    screen = run(tmp_path / "s", lines, "So.", "So.", answers=[answer])
    assert f"Send c.txt, 10 bytes along? [y/N] {answer}\n" in screen.text
    if answer == "n":
        assert "Not sent.\n" in screen.text
        assert len(screen.talk.sent) == len(screen.talk.conversation.session.exchanges) == 1
        return
    last = screen.talk.sent[-1][-1].text
    assert [f"this is {name}\n" in last for name in ("a", "b", "c")] == [False, True, True]
    [exchange] = screen.talk.conversation.session.exchanges
    assert [file.name for file in exchange.attached] == ["b.txt", "c.txt"]


def test_an_edit_that_names_a_missing_file_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    screen = run(tmp_path / "s", ["Hi", "/edit see @nothing.txt"], "So.")
    assert "✗ No file named nothing.txt.\n" in screen.text
    assert len(screen.talk.conversation.session.exchanges) == 1


def test_right_after_a_compaction_there_is_nothing_to_ask_again(tmp_path: Path) -> None:
    screen = run(tmp_path, ["Hi", "/compact", "/retry"], "Hello.", SUMMARY)
    assert screen.text.partition("You: /retry\n")[2].startswith(
        "✗ No messages in this session yet.\n"
    )


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
    agent = Agent(
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


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_reply_whose_tools_changed_something_is_asked_about(tmp_path: Path, answer: str) -> None:
    def written(talk: Talk) -> None:
        live = talk.conversation.live
        live.add(Query(number=1, at=START, text="Write it"))
        live.add(Call(number=1, at=START, id="c", name="write_file", arguments="{}"))
        live.add(Result(number=1, at=START, id="c", text=f"{ALLOWED}\ndone"))
        live.begin_reply(1, START)
        live.finish(Reply(number=1, at=START, text="Done."))

    again = run(tmp_path, [written, "/retry"], "Again.", answers=[answer])
    warned = "⚠️  write_file ran for the first answer.\n"
    assert f"{warned}Send again anyway? [y/N] {answer}\n" in again.text
    assert len(again.talk.sent) == (answer == "y")
    assert ("Not sent.\n" in again.text) == (answer == "n")
