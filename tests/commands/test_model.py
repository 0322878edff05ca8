"""Changing the model during a conversation: `/model`, the record in the transcript, the new window,
and the cost.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent
from chat_loop.assembly import make_agent
from chat_loop.config import Config, Paths
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import AuthenticationFailed
from chat_loop.memory import MemoryLocation, ProjectMemory
from chat_loop.options import parse
from chat_loop.parts import build
from chat_loop.relaunch import resume_command
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import ModelChange
from chat_loop.values import Usage, Window
from tests.support.screens import Screen
from tests.support.scripted_chat import Model, Says, said


def price(model: str, usage: Usage) -> float | None:
    return {"scripted:test": 0.5, "scripted:small": 0.25}.get(model)


OPTIONS = Options(attach_from_archive=False, acknowledge=False, use_ai_summary=False, cost=price)


def sessions(directory: Path) -> list[str]:
    return sorted(path.stem for path in directory.glob("*.md"))


def test_another_model_answers_with_all_that_was_said(tmp_path: Path) -> None:
    other = Model("From the other.", model="small", window=Window(8192))
    screen = Screen(
        tmp_path,
        ["Hi", "/model small", "And now?", "/model", "/stats"],
        "Hello.",
        others=[other],
        options=OPTIONS,
    )
    assert other.requests[0].messages == said("Hi", "Hello.", "And now?")
    assert (other.warmed, other.closed, screen.talk.model.closed) == (1, 0, 1)
    assert "Switched to scripted:small. Context: ~0% of 8K.\n" in screen.text
    assert "You: /model\nUsing scripted:small.\n" in screen.text
    assert "Cost of the session: $0.7500\n" in screen.text
    assert (
        "Model            In  Out  Cached     Cost\n"
        "scripted:test   100   10       0  $0.5000\n"
        "scripted:small  100   10       0  $0.2500\n"
    ) in screen.text
    [name] = sessions(tmp_path)
    text = (tmp_path / f"{name}.md").read_text()
    assert "**Model:** scripted:test  \n" in text
    assert (
        "<!-- chat:model at=2026-11-21T22:30:17+01:00 -->\n**Model:** scripted:small\n<!-- "
        "chat:end -->\n" in text
    )
    session = SessionManager(tmp_path).load(tmp_path / f"{name}.md").session
    assert [entry.text for entry in session.entries if isinstance(entry, ModelChange)] == [
        "scripted:small"
    ]


def test_before_the_first_message_the_header_says_it(tmp_path: Path) -> None:
    other = Model("Here.", model="small")
    screen = Screen(tmp_path, ["/model scripted:small", "Hi"], others=[other], options=OPTIONS)
    assert other.requests[0].messages == said("Hi")
    assert screen.code == 0
    [name] = sessions(tmp_path)
    text = (tmp_path / f"{name}.md").read_text()
    assert "**Model:** scripted:small  \n" in text
    assert "chat:model" not in text


def test_a_model_that_cannot_work_changes_nothing(tmp_path: Path) -> None:
    class Keyless(Model):
        def warm(self) -> None:
            raise AuthenticationFailed("There is no key.", "Set one.")

    other = Keyless(model="small")
    screen = Screen(
        tmp_path,
        ["/model small", "/model nowhere", "/model two words", "/model test", "Hi"],
        "Hello.",
        others=[other],
        options=OPTIONS,
    )
    assert "✗ There is no key.\n  Set one.\n" in screen.text
    assert "✗ There is no model scripted:nowhere.\n  Take another.\n" in screen.text
    assert "✗ No model is called “two words”.\n" in screen.text
    assert "Already using scripted:test." in screen.text
    assert "Sally: Hello." in screen.text
    assert (other.closed, screen.talk.model.closed) == (1, 0)


def test_the_list_of_others(tmp_path: Path) -> None:
    screen = Screen(
        tmp_path,
        ["/model"],
        others=[Model(model="small"), Model(model="test"), Model(model="a\x1b[2J")],
    )
    assert (
        "You: /model\nUsing scripted:test.\nAlso available (/model NAME):\n"
        "  scripted:small  made up\n  scripted:a␛[2J  made up\n"
    ) in screen.text


@pytest.mark.parametrize(
    ("options", "after"),
    [
        ("", "--model local:a"),
        ("--config my.yaml --model x:y", "--config my.yaml --model local:a"),
        ("--local --tools read_file", "--model local:a --tools read_file"),
    ],
)
def test_the_command_that_continues_has_the_model(tmp_path: Path, options: str, after: str) -> None:
    paths = Paths(tmp_path / "config.yaml", tmp_path, tmp_path)
    parts = build(parse(options.split()), Config(), paths)
    agent = ModelAgent(name="Sally", system_prompt="", provider=Model())
    assert resume_command(parts, agent) == ["chat-loop", *options.split()]
    assert resume_command(parts, agent, "local:a") == ["chat-loop", *after.split()]


def test_the_command_that_summarizes_leaves_out_an_agent_with_a_model_of_its_own(
    tmp_path: Path,
) -> None:
    path = tmp_path / "dice.py"
    path.write_text("def agent(text: str) -> str:\n    return text\n")
    options = ["--agent", str(path), "--trust-agent"]
    paths = Paths(tmp_path / "config.yaml", tmp_path, tmp_path)
    parts = build(parse(options), Config(), paths)
    own, other = make_agent(parts), replace(make_agent(parts), provider=Model(), own_tools=False)
    assert own.own_tools
    assert resume_command(parts, own) == ["chat-loop", "--agent", own.path]
    # the program refuses both options together
    assert resume_command(parts, other, "local:a") == ["chat-loop", "--model", "local:a"]


def test_the_memory_fits_the_new_window(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "MEMORY.md").write_text(
        "".join(f"- Fact {number} is kept.\n" for number in range(100))
    )
    place = MemoryLocation(
        directory=tmp_path, home=tmp_path, data=tmp_path / "data", max_tokens=1500
    )
    small = Model("Two.", model="small", window=Window(500))
    folder = tmp_path / "sessions"
    Screen(folder, ["/model small", "Hi"], memory=place, others=[small], options=OPTIONS)
    assert 5 < small.requests[0].system.count("Fact ") < 30

    memory = ProjectMemory(place, lambda event: None)
    before = memory.state.block
    assert memory.fit(500)
    assert memory.fit(100_000)
    assert memory.state.block == before
    assert not memory.fit(200_000)


def test_tokens_that_another_model_reported_do_not_count(tmp_path: Path) -> None:
    other = Model(model="small", window=Window(1000))
    screen = Screen(
        tmp_path, ["Hi", "/model small"], Says(("Hello.",), usage=Usage(input=900, output=90)), others=[other],
        options=OPTIONS,
    )  # fmt: skip
    assert "Switched to scripted:small. Context: ~1% of 1K.\n" in screen.text
