"""A conversation that continues until it is killed: `python -m tests.support.killed_chat FOLDER
RUN`.

It resumes the newest session of the folder that can be resumed, then asks, pins and compacts in an
endless loop. It writes a line to stdout for everything that must survive from then on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from chat_loop.agent.agent import Agent
from chat_loop.conversation import continuing
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.errors import SessionError
from chat_loop.events import Event, TextDelta, Warned
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.rows import read_rows
from chat_loop.values import Request
from tests.support.scripted import ScriptedProvider

LONGEST_SECONDS = 250
"""The process ends itself after this time if nobody kills it."""
PIN_EVERY, COMPACT_EVERY = 2, 3


def query_text(name: str) -> str:
    return f"Query {name}\n<!-- chat:end -->\n**Assistant:**"


def reply_text(name: str) -> str:
    return (
        f"Reply to {name}:\n\n```\n<!-- chat:query n=1 -->\n```\nand eight words more, all of "
        "them kept."
    )


def pin_text(name: str) -> str:
    return f"Pin {name}: <!-- SESSION_SUMMARY_END -->"


def tell(*words: str) -> None:
    """Write one line in a single call."""
    os.write(1, f"{' '.join(words)}\n".encode())


class Telling(ScriptedProvider):
    """A provider that answers the query `asked`. It reports when a request leaves, since the query
    is on disk by then.
    """

    asked = ""

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        if self.asked:
            tell("query", self.asked)
        reply = reply_text(self.asked) if self.asked else "I remember."
        async for event in ScriptedProvider(steps=[reply]).stream(request):
            yield event


def show(event: Event) -> None:
    match event:
        case TextDelta():
            tell("piece")
        case Warned():
            tell("warned", event.message.replace("\n", " "))


def conversation_in(
    folder: Path, provider: ScriptedProvider, show: Callable[[Event], None]
) -> Conversation:
    agent = Agent(name="Assistant", system_prompt="Be brief.", provider=provider)
    return Conversation(agent, SessionManager(folder), count=len, show=show, options=Options())


async def resume_newest(conversation: Conversation) -> None:
    """Resume the newest session that can be resumed."""
    for row in read_rows(conversation.sessions.directory):
        with suppress(SessionError):
            loaded = conversation.sessions.load(row.path)
            resumed = await continuing.resume(conversation.planning(), loaded)
            await conversation.accept(resumed.plan)
            return


async def talk(folder: Path, run: str) -> None:
    provider = Telling()
    conversation = conversation_in(folder, provider, show)
    await resume_newest(conversation)
    tell("resumed")
    for number in count(1):
        name = provider.asked = f"{run}-{number}"
        await conversation.ask(query_text(name))
        tell("reply", name)
        provider.asked = ""
        if number % PIN_EVERY == 0:
            conversation.pin(pin_text(name))
            tell("pin", name)
        if number % COMPACT_EVERY == 0:
            tell("compacting", name)
            assert await conversation.compact()
            tell("compacted", name)


if __name__ == "__main__":
    signal.alarm(LONGEST_SECONDS)
    asyncio.run(talk(Path(sys.argv[1]), sys.argv[2]))
