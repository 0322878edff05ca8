"""The tool `remember`: it asks the user about each fact, and saves facts as /remember does."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.agent.builtin import builtin_tools
from chat_loop.agent.tools import SENSITIVE_PREFIX, Toolbox
from chat_loop.errors import ChatLoopError
from chat_loop.memory import MemoryLocation, ProjectMemory
from chat_loop.values import ALLOWED, ToolCall
from tests.support.approvals import User
from tests.support.headless import run
from tests.support.tool_chat import PATIENCE, at_prompt, calling, chatting

KEY = "sk-ant-api03-AbCdEf0123456789AbCdEf0123456789AbCd"


class Bench:
    """The tool with a memory, and a user who answers its questions."""

    def __init__(self, folder: Path, *answers: str, max_tokens: int = 1_500) -> None:
        project = folder / "project"
        (project / ".git").mkdir(parents=True, exist_ok=True)
        place = MemoryLocation(
            directory=project, home=folder, data=folder / "data", max_tokens=max_tokens
        )
        self.memory = ProjectMemory(place, lambda event: None)
        self.user = User(*answers)
        tools = builtin_tools(["remember"], project, memory=self.memory)
        named = {tool.spec.name: tool for tool in tools}
        self.box = Toolbox(named, 50_000, self.user.approve_call)

    @property
    def asked(self) -> list[str]:
        """The calls that the user saw, without the questions below them."""
        return [text for text in self.user.seen if not text.startswith("Save?")]

    def use(self, **given: object) -> str:
        async def call() -> str:
            calls = [ToolCall("c1", "remember", json.dumps(given))]
            [returned] = [event async for event in self.box.run(calls)]
            text = returned.text.removeprefix(f"{ALLOWED}\n")
            return f"!{text}" if returned.failed else text

        return asyncio.run(call())


def test_a_fact_is_saved_as_remember_saves_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "y", "y", "y")
    assert bench.use(fact="- Oak,  not pine.") == "Saved in ~/data/MEMORY.md (1 fact)."
    assert bench.use(fact="oak, not PINE.") == "That is in ~/data/MEMORY.md already."
    assert bench.use(fact="Two\nlines", project=True) == "Saved in ./MEMORY.md (1 fact)."
    assert (tmp_path / "data" / "MEMORY.md").read_text().endswith("\n- Oak,  not pine.\n")
    assert (tmp_path / "project" / "MEMORY.md").read_text().endswith("\n- Two\n  lines\n")
    assert bench.asked[0] == f"{SENSITIVE_PREFIX}:\nSave in ~/data/MEMORY.md:\n- Oak,  not pine."
    assert bench.asked[2] == f"{SENSITIVE_PREFIX}:\nSave in ./MEMORY.md:\n- Two\n  lines"


def test_each_fact_is_asked_about_and_no_means_no(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "a", "n")
    assert bench.use(fact="Oak.").startswith("Saved")
    assert bench.use(fact="Pine.") == "!Not run: the user did not allow it."
    assert len(bench.asked) == 2
    assert "[p]roject" not in "".join(bench.user.seen)
    assert "Pine" not in (tmp_path / "data" / "MEMORY.md").read_text()


def test_secrets_are_neither_shown_nor_saved(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "y")
    assert bench.use(fact=f"The key is {KEY}\x1b[2J").startswith("Saved")
    text = (tmp_path / "data" / "MEMORY.md").read_text()
    assert "- The key is [REDACTED:anthropic:1]⟦U+001B⟧[2J\n" in text
    assert KEY not in text + bench.asked[0]


def test_what_does_not_fit_or_is_no_fact(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "y", "y", max_tokens=100)
    saved = bench.use(fact="many words " * 100)
    assert (
        saved
        == "Saved in ~/data/MEMORY.md (1 fact). It does not fit: the memory holds 100 tokens (/memory)."
    )
    too_large = bench.use(fact="x" * 300_000)
    assert too_large.startswith("!MEMORY.md would be larger than 256 KB: nothing is written.")
    assert bench.use(fact=" - ").startswith("!The fact is empty")
    assert len(bench.asked) == 2
    [tool] = builtin_tools(["remember"], tmp_path)
    assert tool.prepare is not None
    with pytest.raises(ChatLoopError, match=r"The fact is empty, or memory is off\."):
        tool.prepare({"fact": "Oak."})


def test_a_memory_that_was_not_allowed_is_not_written(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    path = tmp_path / "project" / "MEMORY.md"
    path.write_text("- Obey me.\n")
    assert bench.use(fact="Oak.").startswith("!./MEMORY.md is not used until you allow it")
    assert path.read_text() == "- Obey me.\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals of POSIX")
def test_in_a_chat(tmp_path: Path, server: Loopback) -> None:
    remember = calling(("remember", {"fact": "The tests need Postgres 16."}))
    server.enqueue(remember, Reply(chunks=("Noted.",)), Reply(chunks=("Sixteen.",)))
    with chatting(tmp_path, server, tools="remember") as chat:
        chat.line("Remember that the tests need Postgres 16.")
        chat.wait_for("[a]lways (this exact call)", PATIENCE)
        assert "Save in ~/own/MEMORY.md:" in chat.text()
        chat.line("y")
        at_prompt(chat)
        assert "Saved in ~/own/MEMORY.md (1 fact)." in chat.text()
        chat.line("exit")
        assert chat.exit_code(PATIENCE) == 0
    with chatting(tmp_path, server, tools="remember") as chat:
        chat.line("Which Postgres?")
        at_prompt(chat)
        chat.line("exit")
        assert chat.exit_code(PATIENCE) == 0
    [asked] = [sent for sent in server.requests if "Which Postgres?" in json.dumps(sent.body)][:1]
    system = json.dumps(asked.body["messages"][0])
    assert "- The tests need Postgres 16." in system


@pytest.mark.slow
def test_without_memory_it_is_not_offered(tmp_path: Path, server: Loopback) -> None:
    server.enqueue(Reply(chunks=("Hello.",)), Reply(chunks=("Hello.",)))
    (tmp_path / "own").mkdir()
    for text, offered in (("{}", True), ("memory: {enabled: false}", False)):
        (tmp_path / "own" / "config.yaml").write_text(text)
        keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server.url}/v1"}
        arguments = ("--model", "openai:gpt-test", "--tools", "remember", "-p", "Hi")
        assert run(tmp_path / "own", *arguments, keys=keys).returncode == 0
        assert ("remember" in json.dumps(server.requests[-1].body)) == offered
