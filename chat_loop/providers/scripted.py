"""A provider without a model: it repeats the query, to try the program without a key."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

from chat_loop.events import Event, Finished, TextDelta, ToolCalled
from chat_loop.providers import Provider
from chat_loop.values import Message, Request, Usage, Window

_SUMMARY = """**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
{}

**Decisions Made:**
- none

**Pending:**
- none"""


class EchoProvider(Provider):
    """Repeats the query. A request for a summary gets a valid one. Words count as tokens."""

    name = "scripted"
    model = "echo"
    pause_seconds = 0.0

    def __init__(self, window: Window | None = None, *, takes_images: bool = False) -> None:
        self.window = window or Window(128_000)
        self.takes_images = takes_images
        self._cached = 0

    def reply(self, request: Request) -> Message:
        """Return the reply to a request."""
        last = request.messages[-1].text
        if request.grammar is None:
            return Message("assistant", f"You said: {last}")
        # the topics of a summary are the beginnings of the queries
        queries = re.findall(r"^\[([\d.]+)\] User: (.*)$", last, re.MULTILINE)
        topics = [f"- {text[:60].strip() or 'nothing'} [{number}]" for number, text in queries]
        return Message("assistant", _SUMMARY.format("\n".join(topics or ["- nothing"])))

    def count(self, text: str) -> int:
        """Return the tokens that a text is said to have."""
        return len(text.split())

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        reply = self.reply(request)
        for word in re.findall(r"\S+\s*|\s+", reply.text):
            yield TextDelta(word)
            await asyncio.sleep(self.pause_seconds)
        for call in reply.calls:
            yield ToolCalled(call)
        prompt = sum(map(self.count, request.texts))
        cached = min(self._cached, prompt)
        self._cached = prompt
        usage = Usage(input=prompt, output=self.count(reply.whole), cached=cached)
        yield Finished(stop="tool" if reply.calls else "end", usage=usage)
