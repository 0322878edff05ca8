"""A server on loopback that counts with tiktoken the tokens that it receives, and a chat whose four
numbers are compared with this count.

    with Loopback(answered) as server:
        numbers = CountedChat(tmp_path, openai_at(server.url), ["Hi", "compact"], server).numbers()

The count covers the texts of the request as sent: 3 tokens for each message and for the beginning
of the reply, each tool as its JSON, each image at the service's price.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmarks.support.loopback import Received, Reply
from chat_loop.agent.agent import Agent
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.tools import Tool
from chat_loop.commands.chat import Chat
from chat_loop.commands.view import status_of
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.display.manager import DisplayManager
from chat_loop.events import Compacted, Event
from chat_loop.input.lines import Reader
from chat_loop.library.library import Library
from chat_loop.loop import ChatLoop
from chat_loop.providers import Provider
from chat_loop.sessions.manager import SessionManager
from chat_loop.tokens import TokenCounter
from chat_loop.values import Usage
from tests.support.approvals import NOTHING
from tests.support.screens import Script, models
from tests.support.scripted_chat import Clock

MESSAGE = 3
SUMMARY_TASK = "Task: session summary"
ACKNOWLEDGE = "provide a brief acknowledgment"
SUMMARY = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- Boats and what they are made of [1.1]

**Decisions Made:**
- The hull is made of oak because it can be sanded [1.2]

**Pending:**
- none
"""
ACKNOWLEDGED = """\
Thank you, I have read the summary. We talked about boats, about the wood for the hull and about the paint.
You decided for oak because it can be sanded. I am ready to go on from here, so just tell me what comes next."""
LONG = (
    "The hull of the boat is sanded twice, then it is painted with two layers that dry for a "
    "day each. "
)


@cache
def counter() -> TokenCounter:
    """Return the token counter, with the encoding loaded once."""
    made = TokenCounter()
    assert made.load(), made.problem
    return made


def tokens(text: str) -> int:
    return counter().count(text)


def counted(request: Received) -> int:
    """Return the number of tokens in a request by this server's own count."""
    body = request.body
    system = body.get("system") or ""
    total = 3 + (
        tokens(system if isinstance(system, str) else "".join(block["text"] for block in system))
    )
    for message in body["messages"]:
        total += MESSAGE + _content(message["content"])
        total += sum(
            tokens(f"{call['function']['name']} {call['function']['arguments']}")
            for call in message.get("tool_calls") or ()
        )
    for tool in body.get("tools") or ():
        told = {
            key: value
            for key, value in tool.get("function", tool).items()
            if key != "cache_control"
        }
        total += tokens(json.dumps(told))
    return total


def _content(content: str | list[dict[str, Any]] | None) -> int:
    if not isinstance(content, list):
        return tokens(content or "")
    total = 0
    for block in content:
        match block["type"]:
            case "text":
                total += tokens(block["text"])
            case "tool_use":
                total += tokens(f"{block['name']} {json.dumps(block['input'])}")
            case "tool_result":
                total += _content(block["content"])
            case "image" | "image_url":
                total += IMAGE[1]
    return total


IMAGE = ((640, 480), 425)
"""The size of an image that both services price similarly: 410 tokens and 425."""


def answered(request: Received) -> Reply:
    """Answer a summary task with a summary, an acknowledgment request with an acknowledgment, and
    anything else with sentences. The usage is this server's count.
    """
    if request.system.startswith(SUMMARY_TASK):
        text = SUMMARY
    elif ACKNOWLEDGE in request.query:
        text = ACKNOWLEDGED
    else:
        asked = request.query.rpartition("\n\n")[2]
        text = LONG * 14 if "Tell me" in asked else f"Of {asked[:40]}: boats are made of wood."
    pieces = re.findall(r"\s*\S+", text)
    return Reply(chunks=tuple(pieces), usage=Usage(input=counted(request), output=tokens(text)))


def _is_turn(request: Received) -> bool:
    return not request.system.startswith(SUMMARY_TASK) and ACKNOWLEDGE not in request.query


@dataclass(frozen=True)
class Numbers:
    """The four numbers: `status` is from the status line, `parts` is the sum of the parts of
    /context, `told` is from the line of a compaction or a resume (None without one), and `served`
    is the server's count for the next request.
    """

    status: int
    parts: int
    told: int | None
    told_served: int
    """The server's count for the request that `told` describes. An automatic compaction makes room
    for that request.
    """
    served: int

    @property
    def agree(self) -> bool:
        """True when no number differs from the server's count by more than 10 % or 50 tokens,
        whichever is more.
        """
        pairs = [(self.status, self.served), (self.parts, self.served)]
        pairs += [(self.told, self.told_served)] if self.told is not None else []
        return all(abs(told - served) <= max(50, served // 10) for told, served in pairs)


@dataclass
class CountedChat:
    """A chat over `lines` on a real provider. `numbers` runs the lines, reads the numbers shown,
    and sends one short query.
    """

    directory: Path
    provider: Provider
    lines: Sequence[str]
    server: Any
    tools: tuple[Tool, ...] = ()
    options: Options = field(
        default_factory=lambda: Options(on_exit="later", attach_from_archive=False)
    )
    others: Sequence[Provider] = ()

    def numbers(self) -> Numbers:
        import asyncio

        return asyncio.run(self._run())

    async def _run(self) -> Numbers:
        out, clock = io.StringIO(), Clock()
        display = DisplayManager(out, agent="Sally", resume_command=lambda: "chat-loop")
        agent = Agent(
            name="Sally",
            system_prompt="You are Sally, and you are kind.",
            provider=self.provider,
            tools=self.tools,
            limits=CallLimits(attempts=1),
        )
        compacted: list[int] = []

        def show(event: Event) -> None:
            if isinstance(event, Compacted):
                compacted.append(len(self.server.requests))
            display.show(event)

        self.conversation = conversation = Conversation(
            agent,
            SessionManager(self.directory, now=clock.now),
            count=tokens,
            show=show,
            options=self.options,
        )
        lines: list[Any] = [*self.lines]
        reader: Reader = Script(lines, out, (), self)  # type: ignore[arg-type]
        chat = Chat(
            conversation=conversation,
            sessions=conversation.sessions,
            display=display,
            reader=reader,
            models=models(self.others),  # type: ignore[arg-type]
            approvals=NOTHING,
            library=Library(self.directory),
        )
        loop = ChatLoop(chat)
        try:
            for line in lines:
                reader.typed = line
                await loop.handle(line)
                await conversation.background.wait()
            told = _told(out.getvalue())
            start = len(out.getvalue())
            await loop.handle("/context")
            await loop.handle("/info")
            shown = out.getvalue()[start:]
            status = status_of(conversation, conversation.options.cost)
            used = round(status.share * status.window.tokens)
            info = re.search(r"^Context: +~?([\d,]+) of", shown, re.MULTILINE)
            headline = re.search(r"^Context: ~?([\d,]+) of [\d,]+ tokens \(", shown, re.MULTILINE)
            assert info is not None
            assert headline is not None
            assert {_number(info[1]), _number(headline[1])} == {used}
            parts = sum(
                _number(size)
                for name, size in re.findall(r"^  (\S.*?)  +([\d,]+)  +\d+%", shown, re.MULTILINE)
                if name not in ("Kept for the reply", "Free")
            )
            before = len(self.server.requests)
            reader.typed = "Go on."
            await loop.handle("Go on.")
            self.text = out.getvalue()
            assert len(self.server.requests) > before, self.text
            about = next(
                filter(_is_turn, self.server.requests[compacted[-1] if compacted else before :])
            )
            return Numbers(used, parts, told, counted(about), counted(self.server.requests[before]))
        finally:
            chat.library.close()
            conversation.close()
            for provider in {
                id(one): one for one in (self.provider, conversation.agent.provider)
            }.values():
                await provider.close()


def _told(text: str) -> int | None:
    """Return the number of tokens after the last compaction, resume or uncompact, from the last
    line that states one; None without such a line.
    """
    found = [
        *re.finditer(r"Compacted \S+ → (\S+) tokens", text),
        *re.finditer(r"Compaction undone: ([\d,]+) tokens", text),
        *re.finditer(r"^  ([\d,]+) tokens.*: (?:the summary|\d+ exchanges?)", text, re.MULTILINE),
    ]
    return _number(max(found, key=lambda match: match.start())[1]) if found else None


def _number(text: str) -> int:
    scale = {"K": 1_000, "M": 1_000_000}.get(text[-1], 1)
    return round(float(text.rstrip("KM").replace(",", "")) * scale)


def quiet(**changes: Any) -> Options:
    """Return options without a summary at exit and without the passages that the archive adds to a
    query.
    """
    return replace(Options(on_exit="later", attach_from_archive=False), **changes)
