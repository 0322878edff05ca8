"""Turns of a live session, with every event that they show."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from chat_loop.agent.agent import ModelAgent, Prompt
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.tools import Tool
from chat_loop.context.messages import Context, messages_of
from chat_loop.conversation.turn import Turn
from chat_loop.errors import ContextTooLong
from chat_loop.events import (
    Event,
    ReplyEnded,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from chat_loop.providers import Provider
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Query, Reply
from chat_loop.values import Message, ToolResult, Usage
from tests.support.scripted_chat import Clock


def agent_of(
    provider: Provider, *tools: Tool, clock: Clock | None = None, seconds: float = 60.0
) -> ModelAgent:
    limits = CallLimits(attempts=1, tool=seconds, clock=(clock or Clock()).monotonic)
    return ModelAgent(
        name="Sally", system_prompt="Be kind.", provider=provider, tools=tools, limits=limits
    )


async def events_of(
    agent: ModelAgent, *messages: Message, room: int = 100_000, **more: Any
) -> list[Event]:
    """Return the events of a reply to `messages`. As in a conversation, each step of the reply gets
    what was said and returned before it.
    """
    said = list(messages)
    events: list[Event] = []
    seen = 0

    async def prompt(step: int, refusal: ContextTooLong | None) -> Prompt:
        nonlocal seen
        if refusal is not None:
            raise refusal
        new, seen = events[seen:], len(events)
        if step > 1:
            text = "".join(event.text for event in new if isinstance(event, TextDelta))
            calls = tuple(event.call for event in new if isinstance(event, ToolCalled))
            results = {
                event.id: ToolResult(event.id, event.text, event.failed)
                for event in new
                if isinstance(event, ToolReturned)
            }
            answers = tuple(results[call.id] for call in calls)
            said.append(Message("assistant", text if text.strip() else "", calls=calls))
            said.append(Message("user", "", results=answers))
        return Prompt(tuple(said), room=room)

    async for event in agent.run(prompt, **more):
        events.append(event)
    return events


class Turns:
    """A live session in `directory` and its turns, with every event that they showed."""

    def __init__(
        self, directory: Path, provider: Provider, *tools: Tool, clock: Clock | None = None
    ) -> None:
        self.clock = clock or Clock()
        self.agent = agent_of(provider, *tools, clock=self.clock)
        sessions = SessionManager(directory, now=self.clock.now, monotonic=self.clock.monotonic)
        self.live = sessions.begin(agent="Sally", model=self.agent.model)
        self.events: list[Event] = []
        self.at_result = asyncio.Event()
        """Set when a tool has returned."""

    @property
    def messages(self) -> tuple[Message, ...]:
        return messages_of(Context(self.live.session))

    @property
    def text(self) -> str:
        """The transcript as it is on disk, from the first query on."""
        text = self.live.path.read_text("utf-8")
        session = parse(text.encode()).session
        assert session is not None
        assert session.entries == self.live.session.entries
        return text[text.index("\n---\n") :]

    def say(self, *texts: str) -> list[Reply]:
        """Ask `texts` one after the other; return the replies."""

        async def talk() -> list[Reply]:
            try:
                return [await self.ask(text) for text in texts]
            finally:
                await self.agent.provider.close()

        return asyncio.run(talk())

    async def ask(self, text: str) -> Reply:
        number = self.live.next_number
        self.live.add(Query(number=number, at=self.clock.now(), text=text))
        return await self.answer(number)

    async def answer(self, number: int) -> Reply:
        def estimate(text: str) -> Usage:
            return Usage(input=7, output=len(text.split()), estimated=True)

        turn = Turn(self.live, number, self.clock.now(), self.agent, estimate)
        return await turn.run(self._prompt, self._tell)

    async def _prompt(self, step: int, refusal: ContextTooLong | None) -> Prompt:
        if refusal is not None:
            raise refusal
        return Prompt(self.messages, room=100_000)

    def _tell(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, ToolReturned):
            self.at_result.set()

    @property
    def ended(self) -> list[ReplyEnded]:
        return [event for event in self.events if isinstance(event, ReplyEnded)]
