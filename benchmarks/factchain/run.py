"""One conversation with the program: the facts that are left, and the waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median

from msgspec import Struct

from benchmarks.factchain.ours import Ours, block, scan
from benchmarks.factchain.scoring import Context, invented, share, stale, survived
from benchmarks.factchain.summarisers import Faulty, Lossy, Summariser
from benchmarks.factchain.talk import SEGMENTS, Fact, Talk
from chat_loop.tokens import TokenCounter

OURS = "chat-loop"
HIT_TOKENS = 1_500
"""The number of tokens of a search's answer that count."""
FULL = 12_000
"""The tokens of a ledger in a large window."""
SLOW_SECONDS = 0.1
"""The seconds that a summary takes when the wait for it is measured."""

REMEMBERED = 50_000
"""The number of texts whose token counts are cached."""

Count = Callable[[str], int]


def counting() -> Count:
    """Return what counts tokens as the program does."""
    counter = TokenCounter()
    counter.load()
    return lru_cache(REMEMBERED)(counter.count)


class Reading(Struct, frozen=True, kw_only=True):
    """The content of the next request after `segment` segments. Sets contain the numbers of facts."""

    talk: Talk
    segment: int
    tokens: int
    context: frozenset[int]
    """Live facts in the context."""
    stale: frozenset[int] = frozenset()

    @property
    def live(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.talk.facts if fact.live(self.segment))

    @property
    def superseded(self) -> int:
        return sum(fact.stale(self.segment) for fact in self.talk.facts)


class End(Struct, frozen=True, kw_only=True):
    """What is left of a conversation, in percent of the facts that hold, and of the replaced values
    for `stale`.
    """

    profile: str
    seed: int
    context: float
    reached: float
    resumed: float
    stale: float
    pins: float
    invented: int
    """The values in the ledger that nobody said."""
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """A talk with a summarizer that always fails."""

    lost: int
    """The number of sent exchanges that are in no file."""
    obeyed: bool
    """True if an instruction in a summary got into the part that code maintains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Queries in a talk that is compacted automatically with a slow summarizer, in seconds from
    query to request.
    """

    compactions: int
    refused: int
    """The number of queries that were not sent because they did not fit."""
    typical: float
    longest: float


async def ours(talk: Talk, folder: Path, summariser: Summariser, count: Count, window: int) -> End:
    """Run the program: segments, each followed by a compaction, then an exit and a resume."""
    chat = Ours(folder / "sessions", summariser, count, window=window)
    for segment, turns in enumerate(talk.segments, 1):
        for turn in turns:
            await chat.say(turn)
        if segment == 1:
            for pin in talk.pins:
                chat.pin(pin)
        await chat.compact()
    found = reading(talk, SEGMENTS, chat.context, count)
    with_search = reached(chat, found.live, found.context, count)
    before = [pin in chat.pins for pin in talk.pins]
    ledger = chat.ledger
    await chat.exit_and_resume()
    after = [pin in chat.pins for pin in talk.pins]
    resumed = survived(Context(chat.context), found.live)
    chat.close()
    live = len(found.live)
    return End(
        profile=talk.profile,
        seed=talk.seed,
        context=share(len(found.context), live) or 0.0,
        reached=share(len(with_search), live) or 0.0,
        resumed=share(len(resumed), live) or 0.0,
        stale=share(len(found.stale), found.superseded) or 0.0,
        pins=share(min(sum(before), sum(after)), len(talk.pins)) or 0.0,
        invented=len(invented(ledger, talk.text())),
        tokens=found.tokens,
    )


def reached(chat: Ours, facts: Iterable[Fact], there: Iterable[int], count: Count) -> set[int]:
    """Return the facts that are in the context (`there`) or in one search for them."""
    search = chat.searcher()
    found = set(there)
    for fact in facts:
        if fact.number not in found and Context(clipped(search(fact.question), count)).has(fact):
            found.add(fact.number)
    return found


def clipped(text: str, count: Count) -> str:
    """Return the part at the beginning of a search's answer that counts."""
    while (tokens := count(text)) > HIT_TOKENS:
        text = text[: len(text) * HIT_TOKENS // tokens - 1]
    return text


def reading(talk: Talk, segment: int, text: str, count: Count) -> Reading:
    """Return the facts that a context contains."""
    context = Context(text)
    live = [fact for fact in talk.facts if fact.live(segment)]
    return Reading(
        talk=talk,
        segment=segment,
        tokens=count(text),
        context=frozenset(survived(context, live)),
        stale=frozenset(stale(context, talk.facts, segment)),
    )


async def faults(talk: Talk, folder: Path, count: Count, window: int) -> Faults:
    """Run the program with a summarizer that fails in every way."""
    faulty = Faulty(count)
    chat = Ours(folder / "faults", faulty, count, window=window, automatic=True, tools=talk.tools)
    for turns in talk.segments:
        for turn in turns:
            await chat.say(turn)
        await chat.compact()
    await chat.settled()
    ledger = chat.ledger
    await chat.exit_and_resume()
    lost = chat.lost(talk)
    chat.close()
    return Faults(lost=lost - chat.refused, obeyed="203.0.113.77" in ledger)


def work(talk: Talk, count: Count) -> dict[str, float]:
    """Return the processor seconds for scanning 100 messages, and for making a full block."""
    before, turns = talk.turns()[:50], talk.turns()[50:100]
    return {
        "scan of 100 messages": scan(turns),
        "ledger of 100 messages": block(before, turns, FULL, count),
    }


async def waits(
    talk: Talk, folder: Path, count: Count, window: int, *, pauses: bool = False
) -> Waits:
    """Run the program as it compacts by itself, with a slow summarizer. With `pauses`, each query
    waits until the background work is done.
    """
    slow = Lossy(talk.facts, talk.seed, count, SLOW_SECONDS)
    chat = Ours(folder / "waits", slow, count, window=window, automatic=True, tools=talk.tools)
    seconds = []
    for turn in talk.turns():
        if pauses:
            await chat.settled()
        seconds.append(await chat.say(turn))
    await chat.settled()
    chat.close()
    return Waits(
        compactions=chat.automatic,
        refused=chat.refused,
        typical=median(seconds),
        longest=max(seconds),
    )
