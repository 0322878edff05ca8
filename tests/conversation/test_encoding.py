"""The exact encoding is loaded in a thread, at any moment of a turn."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent
from chat_loop.context.budget import room
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.events import Event
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Window
from tests.support.scripted import ScriptedProvider

WINDOW = 4_000
LONG = "boat " * 500


class Encoding:
    """Counts words, and twice as many once it is loaded, while the next message is recorded."""

    def __init__(self) -> None:
        self.arrives = False
        self.factor = 1

    def now(self) -> datetime:
        if self.arrives:
            self.factor = 2
        return datetime(2026, 11, 21, tzinfo=UTC)

    def count(self, text: str) -> int:
        return self.factor * len(text.split())


def test_a_message_for_which_room_was_made_is_sent_by_the_counts_of_a_new_encoding(
    tmp_path: Path,
) -> None:
    encoding = Encoding()
    provider = ScriptedProvider(steps=["Noted."] * 9, window=Window(WINDOW))
    shown: list[Event] = []
    talk = Conversation(
        ModelAgent(name="Sally", system_prompt="Be kind.", provider=provider),
        SessionManager(tmp_path, now=encoding.now),
        count=encoding.count,
        show=shown.append,
        options=replace(Options(), acknowledge=False),
    )

    async def run() -> None:
        for number in range(4):
            await talk.ask(f"{number} {LONG}")
        encoding.arrives = True
        await talk.ask("And now?")
        await talk.background.wait()

    asyncio.run(run())
    talk.close()
    [asked] = [request for request in provider.requests if "And now?" in str(request.messages[-1])]
    assert sum(encoding.count(message.text) for message in asked.messages) < room(WINDOW)
