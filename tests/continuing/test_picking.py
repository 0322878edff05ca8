"""On a terminal: the list of the user's messages, and commands that stop what runs."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Reply
from tests.support.chats import SUMMARY, Chats, call, echoed, field, messages
from tests.support.environments import environment
from tests.support.mcp_descriptions import gone, until
from tests.support.pty_chat import PtyChat

AFTER_A_REPLY = """
import asyncio, sys
from chat_loop import config, interactive
from chat_loop.loop import ChatLoop
from chat_loop.options import parse
from chat_loop.parts import build


class AfterAReply(ChatLoop):
    async def read(self):
        if len(self.chat.conversation.session.exchanges) == 2:
            self._display.line("The reply has ended.")
            while not self.chat.reader._entries:
                await asyncio.sleep(0)
        return await super().read()


parts = build(parse(["--model", "scripted:echo"]), config.Config(), config.find_paths())
sys.exit(interactive.run(parts, loop=AfterAReply))
"""
"""A chat in which the user types the third line after the second reply has ended, and before the
loop waits for the line.
"""


def say(terminal: PtyChat, text: str) -> None:
    terminal.line(text)
    terminal.wait_for(f"You said: {text}")
    terminal.wait_for("\nYou: ")


def last_words(chats: Chats) -> tuple[str, ...]:
    """Return the messages of the last request."""
    return tuple(messages(chats.server.requests[-1]))


@pytest.mark.slow
def test_from_the_list_of_messages_one_goes_back_branches_or_summarizes(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats, chats.terminal() as terminal:
        terminal.wait_for("You: ")
        for text in ("One.", "Two.", "Three."):
            say(terminal, text)
        terminal.send("/undo \t")
        terminal.wait_for("1.2")
        terminal.wait_for("1.1")
        terminal.ctrl("u")

        terminal.send("\x1b")
        terminal.read_for(0.3)
        terminal.send("\x1b")
        terminal.wait_for("Your messages: 3")
        terminal.wait_for("Enter go back")
        rows = [row for row in terminal.screen() if "1." in row]
        assert [row.split()[-1] for row in rows[:3]] == ["Three.", "Two.", "One."]
        terminal.send("j\r")
        terminal.wait_for("Rewound to before 1.2: 1 message in the context.")
        terminal.wait_for("You: Two.")
        terminal.send(" Again.\r")
        terminal.wait_for("You said: Two. Again.")
        assert last_words(chats) == (*echoed("One."), "user: Two. Again.")

        terminal.line("/rewind")
        terminal.wait_for("Your messages: 2")
        terminal.send("s")
        terminal.wait_for("Compacted ")
        terminal.wait_for("I am ready to continue.")
        say(terminal, "Four.")
        first, *rest = last_words(chats)
        assert "SESSION_SUMMARY_START" in first
        assert "assistant: You said: Two. Again." in rest
        assert "assistant: You said: One." not in rest

        terminal.line("/rewind")
        terminal.wait_for("Your messages: 3")
        terminal.send("G")
        terminal.send("f")
        terminal.wait_for("Forked after 1.1: 1 message in the context.")
        say(terminal, "Five.")
        assert last_words(chats) == (*echoed("One."), "user: Five.")

        terminal.line("/rewind")
        terminal.wait_for("Your messages: 2")
        terminal.send("\x1b")
        terminal.wait_for("\nYou: ")
        terminal.line("exit")
        assert terminal.exit_code() == 0


@pytest.mark.slow
def test_going_back_stops_a_reply_and_sends_nothing_that_was_queued(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats, chats.terminal() as terminal:
        chats.replies["Long"] = Reply(chunks=("Half a", " sentence"), stall_after=2)
        terminal.wait_for("You: ")
        say(terminal, "One.")
        terminal.line("Long, please.")
        terminal.wait_for("Half a sentence")
        terminal.line("Later.")
        terminal.wait_for("→ Later.")
        terminal.line("/rewind 1.2")
        terminal.wait_for("Interrupted")
        terminal.wait_for("Rewound to before 1.2: 1 message in the context.")
        terminal.wait_for("You: Later.")
        terminal.send("\r")
        terminal.wait_for("You said: Later.")
        assert last_words(chats) == (*echoed("One."), "user: Later.")
        terminal.line("exit")
        assert terminal.exit_code() == 0
        parent, child = chats.transcripts().values()
    assert "Half a sentence" in parent
    assert "Long, please." not in child


@pytest.mark.slow
def test_going_back_as_a_reply_ends_is_not_stopped_itself(tmp_path: Path) -> None:
    with PtyChat([sys.executable, "-c", AFTER_A_REPLY], env=environment(tmp_path)) as terminal:
        terminal.wait_for("You: ")
        say(terminal, "One.")
        terminal.line("Two.")
        terminal.wait_for("The reply has ended.")
        terminal.line("/rewind 1.2")
        terminal.wait_for("Rewound to before 1.2: 1 message in the context.")
        assert "Stopped" not in terminal.text()
        terminal.line("exit")
        assert terminal.exit_code() == 0


@pytest.mark.slow
@pytest.mark.parametrize("work", ["tool", "summary"])
def test_going_back_stops_what_runs_and_loses_nothing(tmp_path: Path, work: str) -> None:
    command = "echo $$ > pid; mv pid begun; exec sleep 1000"
    with Chats(tmp_path) as chats, chats.terminal("--tools", "run_command") as terminal:
        chats.replies["Run"] = [call("run_command", command=command), "Done."]
        chats.summary = Reply(chunks=("**Back", "ground"), stall_after=1)
        terminal.wait_for("You: ")
        say(terminal, "One.")
        if work == "tool":
            terminal.line("Run it.")
            terminal.wait_for("Run?")
            terminal.line("y")
            asyncio.run(until((chats.project / "begun").exists))
        else:
            say(terminal, "Two.")
            terminal.line("/compact")
            terminal.wait_for("Generating session summary... 6 characters")
        terminal.line("/rewind 1.2")
        terminal.wait_for("Rewound to before 1.2: 1 message in the context.")
        say(terminal, "Three.")
        chats.summary = SUMMARY
        assert last_words(chats) == (*echoed("One."), "user: Three.")
        terminal.line("exit")
        assert terminal.exit_code() == 0
        texts = [*chats.transcripts().values()]
    if work == "tool":
        assert gone(int((chats.project / "begun").read_text()))
        assert "<!-- chat:call " in texts[0]
    else:
        assert "You said: Two." in texts[0]
    assert "Two." not in texts[-1]
    assert field(texts[-1], "Resumed From") == "session-1"
