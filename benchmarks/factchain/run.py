"""All arms over one conversation: what is left of the facts after each compaction, and what it
took.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.factchain.baselines import baselines
from benchmarks.factchain.ours import Compaction, Ours, block, scan
from benchmarks.factchain.scoring import Context, invented, stale, survived
from benchmarks.factchain.summarisers import Faulty, Lossy, Summariser
from benchmarks.factchain.talk import SEGMENTS, Fact, Talk

OURS = "chat-loop"
SCORED = (1, 3, 5, SEGMENTS)
"""After how many compactions everything is scored; what is in the context is scored after each."""
HIT_TOKENS = 1_500
"""How much of a search's answer counts."""
HUNDRED = 100
FULL = 12_000
"""Tokens of a ledger in a large window."""
SLOW_SECONDS = 0.1
"""What a summary takes where the wait for it is measured."""

Count = Callable[[str], int]


class Reading(Struct, frozen=True, kw_only=True):
    """What one arm's next request held after so many compactions. Sets hold the numbers of
    facts.
    """

    arm: str
    talk: Talk
    segment: int
    tokens: int
    context: frozenset[int]
    """Live facts in the context."""
    reached: frozenset[int] | None = None
    """Live facts in the context or in one search; None where it was not tried."""
    resumed: frozenset[int] | None = None
    """Live facts in the context after an exit and a resume."""
    stale: frozenset[int] = frozenset()
    ledger: tuple[str, ...] = ()
    """Invented values in what code keeps."""
    narrative: tuple[str, ...] = ()
    """Invented values in what a model wrote."""
    pins: tuple[int, int] | None = None
    """Pins that are as they were, of how many."""

    @property
    def live(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.talk.facts if fact.live(self.segment))

    @property
    def superseded(self) -> int:
        return sum(fact.stale(self.segment) for fact in self.talk.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """A talk with a summariser that always fails."""

    made: int
    refused: int
    """Queries that were not sent."""
    lost: int
    """Exchanges that stand in no file."""
    context: float
    """Percent of the live facts in the context at the end."""
    tokens: int
    invented: tuple[str, ...]
    obeyed: bool
    """Whether an order from a summary stands where code keeps facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Queries in a talk that is compacted by itself, around a slow summariser; in seconds from
    query to request.
    """

    compactions: int
    refused: int
    """Queries that were not sent, because they did not fit."""
    typical: float
    longest: float
    context: float
    """Percent of the live facts in the context at the end."""


@dataclass(slots=True)
class Results:
    """Everything that was measured."""

    readings: list[Reading] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    faults: list[Faults] = field(default_factory=list)
    waits: list[Waits] = field(default_factory=list)
    work: list[dict[str, float]] = field(default_factory=list)
    """Seconds of work for 100 messages, one per conversation."""
    sentences: list[int] = field(default_factory=list)
    """Tokens of the sentences of all facts that are live in the end, per conversation."""
    seconds: float = 0.0


async def ours(
    talk: Talk,
    folder: Path,
    summariser: Summariser,
    count: Count,
    window: int,
    results: Results,
    scored: Sequence[int],
) -> None:
    """The program: ten segments, each followed by a compaction."""
    chat = Ours(folder / "sessions", summariser, count, window=window)
    for segment, turns in enumerate(talk.segments, 1):
        for turn in turns:
            await chat.say(turn)
        if segment == 1:
            for pin in talk.pins:
                chat.pin(pin)
        results.compactions.append(await chat.compact())
        if segment in scored:
            results.readings.append(
                await _scored(talk, segment, chat, count, folder / f"copy{segment}")
            )
        else:
            results.readings.append(reading(OURS, talk, segment, chat.context, count))
    chat.close()


async def _scored(talk: Talk, segment: int, chat: Ours, count: Count, copy: Path) -> Reading:
    """The reading after a compaction, with one search for what is missing, and again after an exit
    and a resume.
    """
    found = reading(OURS, talk, segment, chat.context, count)
    search = chat.searcher()
    reached = set(found.context)
    for fact in found.live:
        if fact.number not in reached and Context(clipped(search(fact.question), count)).has(fact):
            reached.add(fact.number)
    source = talk.text(segment)
    pins = sum(pin in chat.pins for pin in talk.pins), len(talk.pins)
    ledger, narrative = chat.ledger, chat.narrative
    if segment < SEGMENTS:
        chat = await chat.again(copy)
    else:
        await chat.exit_and_resume()
    resumed = survived(Context(chat.context), found.live)
    kept = all(pin in chat.pins for pin in talk.pins)
    if segment < SEGMENTS:
        chat.close()
    return replace(
        found,
        reached=frozenset(reached),
        resumed=frozenset(resumed),
        ledger=invented(ledger, source),
        narrative=invented(narrative, source),
        pins=pins if kept else (0, len(talk.pins)),
    )


def clipped(text: str, count: Count) -> str:
    """The beginning of a search's answer that counts."""
    while (tokens := count(text)) > HIT_TOKENS:
        text = text[: len(text) * HIT_TOKENS // tokens - 1]
    return text


def reading(arm: str, talk: Talk, segment: int, text: str, count: Count) -> Reading:
    """What of the facts is in a context."""
    context = Context(text)
    live = [fact for fact in talk.facts if fact.live(segment)]
    return Reading(
        arm=arm,
        talk=talk,
        segment=segment,
        tokens=count(text),
        context=frozenset(survived(context, live)),
        stale=frozenset(stale(context, talk.facts, segment)),
    )


async def others(talk: Talk, summariser: Summariser, count: Count) -> list[Reading]:
    """The baselines over the same segments."""
    found: list[Reading] = []
    for name, arm in baselines(summariser, count).items():
        for segment, turns in enumerate(talk.segments, 1):
            await arm.compact(turns)
            plain = reading(name, talk, segment, arm.context, count)
            found.append(replace(plain, narrative=invented(arm.context, talk.text(segment))))
    return found


async def faults(talk: Talk, folder: Path, count: Count, window: int) -> Faults:
    """The program around a summariser that fails in every way."""
    chat = Ours(folder / "faults", Faulty(count), count, window=window, automatic=True)
    made = 0
    for turns in talk.segments:
        for turn in turns:
            await chat.say(turn)
        made += (await chat.compact()).made
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
    """Return the seconds of work for 100 messages: to scan them, and to make a full block."""
    turns = talk.turns()
    half = HUNDRED // 2
    return {
        "scan of 100 messages": scan(turns[half : 2 * half]),
        "ledger of 100 messages": block(turns[:half], turns[half : 2 * half], FULL, count),
    }


async def waits(
    talk: Talk, folder: Path, count: Count, window: int, *, pauses: bool = False
) -> Waits:
    """The program as it compacts by itself, around a summariser that takes its time; with `pauses`,
    each query comes when nothing is done in the background any more.
    """
    slow = Lossy(talk.facts, talk.seed, count, SLOW_SECONDS)
    chat = Ours(folder / "waits", slow, count, window=window, automatic=True)
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
