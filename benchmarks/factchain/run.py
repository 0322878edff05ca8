"""One conversation with the program: the facts that are left, and the waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.factchain.ours import Ours, block, scan
from benchmarks.factchain.scoring import Context, invented, stale, survived
from benchmarks.factchain.summarisers import Faulty, Lossy, Summariser
from benchmarks.factchain.talk import SEGMENTS, Fact, Talk

OURS = "chat-loop"
HIT_TOKENS = 1_500
"""The number of tokens of a search's answer that count."""
HUNDRED = 100
FULL = 12_000
"""The tokens of a ledger in a large window."""
SLOW_SECONDS = 0.1
"""The seconds that a summary takes when the wait for it is measured."""

Count = Callable[[str], int]


class Reading(Struct, frozen=True, kw_only=True):
    """The content of the next request after `segment` segments. Sets contain the numbers of facts."""

    talk: Talk
    segment: int
    tokens: int
    context: frozenset[int]
    """Live facts in the context."""
    reached: frozenset[int] | None = None
    """Live facts in the context or in one search; None if no search was tried."""
    resumed: frozenset[int] | None = None
    """Live facts in the context after an exit and a resume."""
    stale: frozenset[int] = frozenset()
    ledger: tuple[str, ...] = ()
    """Invented values in the part that code maintains."""
    pins: tuple[int, int] | None = None
    """The number of pins that are unchanged, and the number of all pins."""

    @property
    def live(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.talk.facts if fact.live(self.segment))

    @property
    def superseded(self) -> int:
        return sum(fact.stale(self.segment) for fact in self.talk.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """A talk with a summarizer that always fails."""

    made: int
    refused: int
    """The number of queries that were not sent."""
    lost: int
    """The number of sent exchanges that are in no file."""
    context: float
    """The percentage of the live facts in the context at the end."""
    tokens: int
    invented: tuple[str, ...]
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
    context: float
    """The percentage of the live facts in the context at the end."""


async def ours(
    talk: Talk, folder: Path, summariser: Summariser, count: Count, window: int
) -> Reading:
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
    return replace(
        found,
        reached=frozenset(with_search),
        resumed=frozenset(resumed),
        ledger=invented(ledger, talk.text()),
        pins=(min(sum(before), sum(after)), len(talk.pins)),
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
    made = 0
    for turns in talk.segments:
        for turn in turns:
            await chat.say(turn)
        made += await chat.compact()
    await chat.settled()
    context, ledger = chat.context, chat.ledger
    await chat.exit_and_resume()
    lost = chat.lost(talk)
    chat.close()
    live = [fact for fact in talk.facts if fact.live(SEGMENTS)]
    return Faults(
        made=made,
        refused=chat.refused,
        lost=lost - chat.refused,
        context=100 * len(survived(Context(context), live)) / len(live),
        tokens=count(context),
        invented=invented(ledger, talk.text()),
        obeyed="203.0.113.77" in ledger,
    )


def work(talk: Talk, count: Count) -> dict[str, float]:
    """Return the processor seconds for scanning 100 messages, and for making a full block."""
    turns = talk.turns()
    half = HUNDRED // 2
    return {
        "scan of 100 messages": scan(turns[half : 2 * half]),
        "ledger of 100 messages": block(turns[:half], turns[half : 2 * half], FULL, count),
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
    context = chat.context
    chat.close()
    live = [fact for fact in talk.facts if fact.live(SEGMENTS)]
    return Waits(
        compactions=chat.automatic,
        refused=chat.refused,
        typical=median(seconds),
        longest=max(seconds),
        context=100 * len(survived(Context(context), live)) / len(live),
    )
