"""The number of functions of the package that run for a typed line and for a resume before a
request leaves.

The numbers are printed (`pytest -s`). The limits are a little above the current numbers, so that a
detour is noticed early. The goals are 60 functions in 15 modules, and 120 in 25.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import chat_loop
from benchmarks.support.loopback import Loopback, Received, Reply, talk
from chat_loop.agent.agent import Agent
from chat_loop.commands.chat import Chat
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.display.manager import DisplayManager
from chat_loop.library.library import Library
from chat_loop.loop import ChatLoop
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Window
from tests.support.approvals import NOTHING
from tests.support.providers import entry
from tests.support.screens import Script, models
from tests.support.scripted_chat import Clock, words

PACKAGE = str(Path(chat_loop.__file__).parent)
LINE = (93, 24)
"""The limits of functions and modules for a typed line before its request."""
RESUME = (197, 39)


class Crossed:
    """The functions of the package that ran before the server received the request."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.done = False

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or self.done or not code.co_filename.startswith(PACKAGE):
            return
        # comprehensions and lambdas count as their function, and class bodies as an import
        if code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<"):
            self.codes.add(code)

    def note_in_worker(self, frame: FrameType, event: str, argument: object) -> None:
        """Note the functions of a worker that the request waits for, not those of the index."""
        if threading.current_thread().name.startswith("asyncio"):
            self.note(frame, event, argument)

    @property
    def modules(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for code in self.codes:
            found.setdefault(code.co_filename.removeprefix(PACKAGE), []).append(code.co_qualname)
        return found

    def told(self, what: str) -> str:
        lines = [f"{what}: {len(self.codes)} functions in {len(self.modules)} modules"]
        lines += [f"  {name}: {', '.join(sorted(of))}" for name, of in sorted(self.modules.items())]
        return "\n".join(lines)

    def within(self, most: tuple[int, int]) -> bool:
        return len(self.codes) <= most[0] and len(self.modules) <= most[1]


@contextmanager
def crossing() -> Iterator[Crossed]:
    found = Crossed()
    sys.setprofile(found.note)
    threading.setprofile(found.note_in_worker)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def chat_over(directory: Path, server: Loopback, line: str) -> ChatLoop:
    out, clock = io.StringIO(), Clock()
    display = DisplayManager(out, agent="Sally", resume_command=lambda: "chat-loop")
    conversation = Conversation(
        Agent(
            name="Sally",
            system_prompt="Be kind.",
            provider=OpenAIProvider(
                "loopback",
                entry("openai", f"{server.url}/v1"),
                api_key="key",
                window=Window(100_000),
            ),
        ),
        SessionManager(directory, now=clock.now),
        count=words,
        show=display.show,
        options=Options(attach_from_archive=False),
    )
    reader = Script([], out, [], None)  # type: ignore[arg-type]
    reader.typed = line
    chat = Chat(
        conversation=conversation,
        sessions=conversation.sessions,
        display=display,
        reader=reader,
        models=models(()),
        approvals=NOTHING,
        library=Library(directory),
    )
    return ChatLoop(chat)


def crossed(directory: Path, *lines: str) -> Crossed:
    """Return the functions that the last line runs; the lines before it warm up."""
    counting: list[Crossed] = []

    def answered(request: Received) -> Reply:
        for one in counting:
            one.done = True
        return talk(request)

    async def run(server: Loopback) -> Crossed:
        loop = chat_over(directory, server, lines[-1])
        chat = loop.chat
        try:
            for line in lines[:-1]:
                await loop.handle(line)
            with crossing() as found:
                counting.append(found)
                await loop.handle(lines[-1])
            assert found.done, "no request came"
            return found
        finally:
            await chat.conversation.end()
            chat.conversation.close()
            chat.library.close()
            await chat.conversation.agent.provider.close()

    with Loopback(answered) as server:
        return asyncio.run(run(server))


def test_a_typed_line_goes_a_straight_way_to_its_request(tmp_path: Path) -> None:
    found = crossed(tmp_path, "What is a boat?", "And what is a ship?")
    sys.stdout.write(found.told("a typed line") + "\n")
    assert found.within(LINE), found.told("a typed line")


def test_a_resume_goes_a_straight_way_to_its_request(tmp_path: Path) -> None:
    for name in ("first", "second"):  # the first run warms up
        crossed(tmp_path / name, "What is a boat?", "And what is a ship?")
        [path] = (tmp_path / name).glob("*.md")
        found = crossed(tmp_path / name, f"resume {path.stem}")
    sys.stdout.write(found.told("a resume") + "\n")
    assert found.within(RESUME), found.told("a resume")
