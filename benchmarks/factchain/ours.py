"""The program itself, through its real path: conversations, session files, compaction, exit and
resume.

This is the only file here that knows how to drive the program. When the program's interface
changes, only this file changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.factchain.meter import Meter
from benchmarks.factchain.standin import SCHEMA, StandIn
from benchmarks.factchain.summarisers import Summariser
from benchmarks.factchain.talk import Called, Talk, Turn
from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.tools import Tool
from chat_loop.context import ledger
from chat_loop.context.budget import Limits
from chat_loop.context.request import message_list
from chat_loop.conversation import continuing
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import ContextFull
from chat_loop.events import Compacted, Event
from chat_loop.library.archive import Archive
from chat_loop.library.archive_tools import SEARCH
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import (
    Call,
    Exchange,
    Query,
    Reply,
    Result,
    Summary,
    Use,
)
from chat_loop.values import ToolSpec

Count = Callable[[str], int]

SYSTEM_PROMPT = "You are a helpful assistant."


class Unsynced(Files):
    """Files that skip syncing, so that only the program's own work is measured."""

    def sync(self, descriptor: int) -> None:
        """Do nothing: the system writes the data later."""

    def sync_directory(self, path: Path) -> None:
        """Do nothing: the system writes the data later."""


def exchanges(turns: Sequence[Turn], depth: int = 1) -> list[Exchange]:
    """Return turns as the exchanges of the session at `depth` of a chain."""
    at = Clock().now()
    return [
        Exchange(
            Query(number=number, at=at, text=turn.query),
            Reply(number=number, at=at, text=turn.reply),
            depth,
            tuple(_use(called, number, at) for called in turn.calls),
        )
        for number, turn in enumerate(turns, 1)
    ]


def _use(called: Called, number: int, at: datetime) -> Use:
    arguments = json.dumps({"target": called.target})
    call = Call(number=number, at=at, id="c1", name=called.name, arguments=arguments)
    return Use(call, Result(number=number, at=at, id="c1", text=called.result))


def scan(turns: Sequence[Turn]) -> float:
    """Return the processor seconds for reading turns for the ledger."""
    fresh = exchanges(turns)
    ledger.read.cache_clear()
    ledger.read_clean.cache_clear()
    started = time.process_time()
    ledger.collect(fresh)
    return time.process_time() - started


def block(before: Sequence[Turn], turns: Sequence[Turn], room: int, count: Count) -> float:
    """Return the processor seconds for a block of `turns`, already read, that `before` fills."""
    parent = ledger.ledger(None, None, exchanges(before), (), (), room, count).summary
    fresh = exchanges(turns, 2)
    ledger.collect(fresh)
    started = time.process_time()
    ledger.ledger(parent, None, fresh, (), (), room, count)
    return time.process_time() - started


async def _at_once(seconds: float) -> None:
    """Pause between two attempts without taking time."""


class Clock:
    """A clock that advances by a second with each reading, so that every session has its own id,
    the same in every run.
    """

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


class Ours:
    """One conversation in `folder`. With `automatic`, the program also compacts by itself."""

    def __init__(
        self,
        folder: Path,
        summariser: Summariser,
        count: Count,
        *,
        window: int,
        automatic: bool = False,
        tools: frozenset[str] = frozenset(),
    ) -> None:
        self.folder = folder
        self._tools = tools
        self.automatic = 0
        """The number of times that the program compacted by itself."""
        self.refused = 0
        """The number of queries that were not sent because they did not fit."""
        self._summariser = summariser
        self._count = count
        self._window = window
        self._options = Options(limits=Limits(enabled=automatic))
        self._clock = Clock()
        self._begin()

    def _begin(self) -> None:
        """Start as a new process would, which knows only the files in the folder."""
        self.model = StandIn(
            self._summariser, self._count, self._window, calls_tools=bool(self._tools)
        )
        self.sessions = SessionManager(self.folder, now=self._clock.now, files=Unsynced())
        self.conversation = Conversation(
            ModelAgent(
                name="Assistant",
                system_prompt=SYSTEM_PROMPT,
                provider=self.model,
                tools=tuple(
                    Tool(ToolSpec(name, "Returns a text.", SCHEMA), self._result)
                    for name in sorted(self._tools)
                ),
                limits=CallLimits(attempts=1, sleep=_at_once),
            ),
            self.sessions,
            count=self._count,
            show=self._told,
            options=self._options,
        )

    @property
    def meter(self) -> Meter:
        """Return what counts the requests from now on."""
        if self.model.meter is None:
            self.model.meter = Meter(self._count)
        return self.model.meter

    async def _result(self, arguments: Mapping[str, object]) -> str:
        return self.model.result

    def _told(self, event: Event) -> None:
        if isinstance(event, Compacted) and event.compaction.why != "asked":
            self.automatic += 1

    async def say(self, turn: Turn) -> float:
        """Have one exchange; return the seconds from the query to the request, or to a refusal."""
        self.model.expect(turn)
        started = time.perf_counter()
        try:
            await self.conversation.ask(turn.query)
        except ContextFull:
            self.refused += 1
            return time.perf_counter() - started
        return self.model.asked_at - started

    def pin(self, text: str) -> None:
        self.conversation.pin(text)

    async def compact(self) -> bool:
        """Compact as `/compact` does; return True if it was done."""
        return await self.conversation.compact()

    async def settled(self) -> None:
        await self.conversation.background.wait()

    @property
    def context(self) -> str:
        """Return the text that the next query would send, without the system prompt."""
        conversation = self.conversation
        messages = message_list(conversation.frame, conversation.context)
        return "\n\n".join(message.whole for message in messages)

    @property
    def pins(self) -> tuple[str, ...]:
        return self.conversation.context.pins

    @property
    def ledger(self) -> str:
        """Return the part of the block that code maintains."""
        kept = self.conversation.context.parent_block or Summary()
        return "\n".join((*kept.pinned, *kept.key_facts, *kept.files, *kept.tools))

    def searcher(self) -> Callable[[str], str]:
        """Return a function that searches the archive as the model's tool does."""
        archive = Archive(self.sessions, self.conversation.session, count=self._count)
        shown = {exchange.ref for exchange in self.conversation.context.exchanges}
        return lambda query: archive.call(SEARCH, {"query": query}, without=shown)

    def attached(self, question: str) -> str:
        """Return the passages that the program would attach to a question, as for a model that
        calls no tools.
        """
        return self.conversation.recalled_for(question)[0]

    async def exit_and_resume(self) -> None:
        """Leave as `/exit` does, start again, and resume the last session."""
        last = self.conversation.live.header.id
        await self.conversation.end()
        self.conversation.close()
        self._begin()
        if not (self.folder / f"{last}.md").exists():  # a child in which nothing has been said yet
            last = max(path.stem for path in self.folder.glob("*.md"))
        await self._resume(last)

    async def _resume(self, identity: str) -> None:
        loaded = self.sessions.load(self.folder / f"{identity}.md")
        resumed = await continuing.resume(self.conversation.planning(), loaded, summary=True)
        await self.conversation.accept(resumed.plan)

    def close(self) -> None:
        self.conversation.close()

    def lost(self, talk: Talk) -> int:
        """Return the number of exchanges of the talk that no session file contains verbatim."""
        loaded = [self.sessions.load(path).session for path in sorted(self.folder.glob("*.md"))]
        there = {
            (exchange.query.text, exchange.reply.text if exchange.reply else "")
            for session in loaded
            for exchange in session.exchanges
        }
        return sum((turn.query, turn.reply) not in there for turn in talk.turns())
