"""The program itself, through its real path: conversations, session files, compaction, exit and
resume.

The only file here that knows how the program is driven; when its interface changes, this is what
changes with it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.factchain.standin import StandIn
from benchmarks.factchain.summarisers import Summariser
from benchmarks.factchain.talk import Talk, Turn
from chat_loop.agent.agent import Agent
from chat_loop.agent.ask import CallLimits
from chat_loop.context import ledger
from chat_loop.context.budget import Limits
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.errors import ContextFull
from chat_loop.events import Compacted, Event
from chat_loop.library.archive import Archive
from chat_loop.library.archive_tools import SEARCH
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Query, Reply, Summary

Count = Callable[[str], int]

SYSTEM_PROMPT = "You are a helpful assistant."


class Unsynced(Files):
    """Without the disk: what is left is the program's own work."""

    def sync(self, descriptor: int) -> None:
        """Trust the system."""

    def sync_directory(self, path: Path) -> None:
        """Trust the system."""


def exchanges(turns: Sequence[Turn], depth: int = 1) -> list[Exchange]:
    """Return turns as the exchanges of the chain's session `depth`."""
    at = Clock().now()
    return [
        Exchange(
            Query(number=number, at=at, text=turn.query),
            Reply(number=number, at=at, text=turn.reply),
            depth,
        )
        for number, turn in enumerate(turns, 1)
    ]


def scan(turns: Sequence[Turn]) -> float:
    """Return the seconds of work that it takes to read turns for the ledger."""
    fresh = exchanges(turns)
    ledger.read.cache_clear()
    started = time.process_time()
    ledger.collect(fresh)
    return time.process_time() - started


def block(before: Sequence[Turn], turns: Sequence[Turn], room: int, count: Count) -> float:
    """Return the seconds of work for the block of turns that were read, when others fill it."""
    parent = ledger.ledger(None, None, exchanges(before), (), (), room, count).summary
    fresh = exchanges(turns, 2)
    ledger.collect(fresh)
    started = time.process_time()
    ledger.ledger(parent, None, fresh, (), (), room, count)
    return time.process_time() - started


async def _at_once(seconds: float) -> None:
    """A pause between two attempts that takes no time."""


class Clock:
    """A second passes with every look, so that every session has its own id, and the same in every
    run.
    """

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


@dataclass(frozen=True, slots=True)
class Compaction:
    """How one went. `wait` are the seconds that the user waited apart from the model; `messages`
    were compacted.
    """

    made: bool
    wait: float
    messages: int


class Ours:
    """One conversation in `folder`. `automatic`: the program compacts by itself, too."""

    def __init__(
        self,
        folder: Path,
        summariser: Summariser,
        count: Count,
        *,
        window: int,
        automatic: bool = False,
    ) -> None:
        self.folder = folder
        self.automatic = 0
        """How often the program compacted by itself."""
        self.refused = 0
        """Queries that it did not send, because they did not fit."""
        self._summariser = summariser
        self._count = count
        self._window = window
        self._options = Options(limits=Limits(enabled=automatic))
        self._clock = Clock()
        self._begin()

    def _begin(self) -> None:
        """A new process: nothing is known but what the folder holds."""
        self.model = StandIn(self._summariser, self._count, self._window)
        self.sessions = SessionManager(self.folder, now=self._clock.now, files=Unsynced())
        self.conversation = Conversation(
            Agent(
                name="Assistant",
                system_prompt=SYSTEM_PROMPT,
                provider=self.model,
                limits=CallLimits(attempts=1, sleep=_at_once),
            ),
            self.sessions,
            count=self._count,
            show=self._told,
            options=self._options,
        )

    def _told(self, event: Event) -> None:
        if isinstance(event, Compacted) and event.compaction.why != "asked":
            self.automatic += 1

    async def say(self, turn: Turn) -> float:
        """One exchange; returns the seconds from the query to the request, or to its refusal."""
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

    async def compact(self) -> Compaction:
        """What the user does with `/compact`."""
        messages = 2 * len(self.conversation.thread.fresh)
        before, started = self.model.seconds, time.perf_counter()
        made = await self.conversation.compact()
        waited = time.perf_counter() - started - (self.model.seconds - before)
        return Compaction(made, waited, messages)

    async def settled(self) -> None:
        await self.conversation.compaction.wait()

    @property
    def context(self) -> str:
        """What the model would be sent with the next query, without the system prompt."""
        return "\n\n".join(message.whole for message in self.conversation.meter.messages())

    @property
    def pins(self) -> tuple[str, ...]:
        return self.conversation.thread.pins

    @property
    def kept(self) -> Summary:
        """The summary block that the conversation goes on from."""
        return self.conversation.thread.inherited or Summary()

    @property
    def ledger(self) -> str:
        """What code keeps of the block."""
        kept = self.kept
        return "\n".join((*kept.pinned, *kept.key_facts, *kept.files, *kept.tools))

    @property
    def narrative(self) -> str:
        """What a model has written of the block, or may have."""
        kept = self.kept
        return "\n".join((kept.background, *kept.topics, *kept.decisions, *kept.pending))

    def searcher(self) -> Callable[[str], str]:
        """One search of the model in the archive, as its tool does it."""
        archive = Archive(self.sessions, self.conversation.session, count=self._count)
        shown = {exchange.ref for exchange in self.conversation.thread.exchanges}
        return lambda query: archive.call(SEARCH, {"query": query}, without=shown)

    async def again(self, folder: Path) -> Ours:
        """The same after a crash and an exit: a copy of the folder in which the last session is
        resumed twice.
        """
        shutil.copytree(self.folder, folder)
        other = Ours(folder, self._summariser, self._count, window=self._window)
        other._clock = self._clock
        other._begin()
        await other._resume(self.conversation.live.header.id)
        await other.exit_and_resume()
        return other

    async def exit_and_resume(self) -> None:
        """Leave as `/exit` does, start anew, and resume the last session."""
        last = self.conversation.live.header.id
        await self.conversation.end()
        self.conversation.close()
        self._begin()
        if not (self.folder / f"{last}.md").exists():  # a child in which nothing was said yet
            last = max(path.stem for path in self.folder.glob("*.md"))
        await self._resume(last)

    async def _resume(self, identity: str) -> None:
        loaded = self.sessions.load(self.folder / f"{identity}.md")
        await self.conversation.accept(await self.conversation.planner().resume(loaded))

    def close(self) -> None:
        self.conversation.close()

    def lost(self, talk: Talk) -> int:
        """Exchanges of the talk that stand in no session file word for word."""
        loaded = [self.sessions.load(path).session for path in sorted(self.folder.glob("*.md"))]
        there = {
            (exchange.query.text, exchange.reply.text if exchange.reply else "")
            for session in loaded
            for exchange in session.exchanges
        }
        return sum((turn.query, turn.reply) not in there for turn in talk.turns())
