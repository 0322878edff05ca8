"""Tool activity in the summary block after a real compaction."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.agent.builtin import SPECS, builtin_tools
from chat_loop.agent.tools import Tool
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.events import Event, ToolReturned
from chat_loop.sessions import summary_block
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Message, ToolCall
from tests.support.scripted import ScriptedProvider, Step
from tests.support.scripted_chat import Clock, words

QUIET = replace(Options(), acknowledge=False, on_exit="later", use_ai_summary=False)


def calling(*calls: tuple[str, dict[str, str]]) -> Message:
    made = (
        ToolCall(f"w{number}", name, json.dumps(given))
        for number, (name, given) in enumerate(calls)
    )
    return Message("assistant", "", calls=tuple(made))


def test_files_that_were_changed_and_tools_that_were_used(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    steps: list[Step] = [
        calling(("write_file", {"path": "src/a.py", "text": "PORT = 8443\n"}), ("list_files", {})),
        calling(("edit_file", {"path": "src/a.py", "old": "8443", "new": "5544"})),
        "The port is 5544 now.",
        calling(
            ("write_file", {"path": "refused.py", "text": "x"}),
            ("run_command", {"command": "cat src/a.py"}),
        ),
        calling(("edit_file", {"path": "none.py", "old": "a", "new": "b"})),
        "I looked.",
        calling(("write_file", {"path": "b.py", "text": "x"})),
        "Written.",
    ]
    provider = ScriptedProvider(steps=steps, calls_tools=True)

    async def approve(tool: Tool, text: str) -> bool:
        return "refused" not in text

    clock = Clock()
    sessions = SessionManager(tmp_path / "sessions", now=clock.now, monotonic=clock.monotonic)
    agent = Agent(
        name="Sally",
        system_prompt="",
        provider=provider,
        tools=builtin_tools(tuple(SPECS), project),
        approve=approve,
    )
    shown: list[Event] = []
    talk = Conversation(agent, sessions, count=words, show=shown.append, options=QUIET)

    async def run() -> None:
        await talk.ask("Set the port to 5544, please.")
        await talk.ask("Look at it again.")
        assert await talk.compact()
        first = talk.session.restoration
        assert first is not None
        summary = summary_block.parse(first.block)
        assert summary.files == ("src/a.py",)
        assert summary.tools == (
            "write_file: 2 uses (src/a.py PORT = 8443; refused.py x)",
            "list_files: 1 use",
            "edit_file: 2 uses (src/a.py 8443 5544; none.py a b)",
            "run_command: 1 use (cat src/a.py)",
        )
        await talk.ask("Write another one.")
        assert await talk.compact()
        second = talk.session.restoration
        assert second is not None
        assert summary_block.parse(second.block).files == ("src/a.py", "b.py")
        assert summary_block.parse(second.block).tools[0].startswith("write_file: 3 uses (")

    asyncio.run(run())
    talk.close()
    assert (project / "src" / "a.py").read_text() == "PORT = 5544\n"
    assert [event.failed for event in shown if isinstance(event, ToolReturned)].count(True) == 2
