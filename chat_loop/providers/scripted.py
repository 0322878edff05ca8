"""A provider that needs no model: replies from a script, for tests and demonstrations."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from chat_loop.errors import ModelNotFound, ProviderError
from chat_loop.events import Event, Finished, TextDelta, ToolCalled
from chat_loop.values import Message, Request, Usage, Window

ECHO = "echo"
_SUMMARY = """**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
{}

**Decisions Made:**
- none

**Pending:**
- none"""

Step = str | Message | ProviderError
"""A reply's text, a reply with its calls, or an error that is raised instead."""


class ScriptedProvider:
    """Gives the steps in order and remembers every request; when they are used up, it repeats the
    query. A request for a summary gets one of the right form. Tokens are words.
    """

    name = "scripted"
    first_event_seconds = 120.0

    def __init__(
        self,
        model: str = ECHO,
        steps: Sequence[Step] = (),
        *,
        window: Window | None = None,
        calls_tools: bool = False,
        takes_images: bool = False,
    ) -> None:
        self.model, self.window = model, window or Window(128_000)
        self.takes_images, self.calls_tools = takes_images, calls_tools
        self.requests: list[Request] = []
        self._steps = list(steps)
        self._cached = 0

    @classmethod
    def from_file(cls, path: Path, window: Window) -> ScriptedProvider:
        """Read replies that are separated by lines of `---`. Raises ModelNotFound."""
        try:
            steps = re.split(r"^---$", path.read_text("utf-8"), flags=re.MULTILINE)
        except (OSError, UnicodeDecodeError) as error:
            what = f"The script {path} cannot be read."
            raise ModelNotFound(what, "scripted:echo needs no file.") from error
        return cls(str(path), [step.strip("\n") for step in steps], window=window)

    def warm(self) -> None:
        """Do nothing: there is nothing to load."""

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        self.requests.append(request)
        last = request.messages[-1].text
        step: Step = f"You said: {last}"
        if request.grammar is not None:  # the topics are the beginnings of the queries
            queries = re.findall(r"^\[([\d.]+)\] User: (.*)$", last, re.MULTILINE)
            topics = [f"- {text[:60].strip() or 'nothing'} [{number}]" for number, text in queries]
            step = _SUMMARY.format("\n".join(topics or ["- nothing"]))
        elif self._steps:
            step = self._steps.pop(0)
        if isinstance(step, ProviderError):
            raise step
        reply = Message("assistant", step) if isinstance(step, str) else step
        for word in re.findall(r"\S+\s*|\s+", reply.text):
            yield TextDelta(word)
            await asyncio.sleep(0)
        for call in reply.calls:
            yield ToolCalled(call)
        prompt = sum(len(text.split()) for text in request.texts)
        cached, self._cached = min(self._cached, prompt), prompt
        usage = Usage(input=prompt, output=len(reply.whole.split()), cached=cached)
        yield Finished(stop="tool" if reply.calls else "end", usage=usage)

    async def close(self) -> None:
        """Do nothing: there is nothing to give back."""
