"""What a user gets: conversations that are compacted automatically, in four windows.

Each method has the same conversation in the same window, and compacts when its next request would be
as full as chat-loop's (`given: window`). The same methods then get as many tokens as chat-loop's last
request had (`given: size`). The user reads each reply until the summary is ready. At the end, each
fact is looked for in the next request; for chat-loop also in one search, in the passages that are
attached to a question for it, and after an exit and a resume.

A run continues the file of an interrupted one of the same program.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.factchain.baselines import EVERYTHING, HALF, baselines, have
from benchmarks.factchain.generator import generate, long_talk
from benchmarks.factchain.meter import Money, money
from benchmarks.factchain.ours import SYSTEM_PROMPT, Ours
from benchmarks.factchain.run import OURS, Count, counting, reached, reading
from benchmarks.factchain.scoring import Context, share, stale, survived
from benchmarks.factchain.standin import tool_texts
from benchmarks.factchain.summarisers import LOSSES, Lossy
from benchmarks.factchain.talk import Talk
from benchmarks.factchain.tools import with_tools
from benchmarks.factchain.wording import PROFILES
from benchmarks.registry import parts_of
from benchmarks.support.code import changed
from benchmarks.support.results import origin

TALKS: dict[str, Callable[[int, str], Talk]] = {
    "plain": generate,
    "tools": lambda seed, profile: with_tools(generate(seed, profile)),
    "long": long_talk,
}


class Case(Struct, frozen=True):
    """A conversation in a window. `loss` names the rates of the stand-in that writes summaries."""

    window: int
    talk: str = "plain"
    loss: str = "published"


CASES = (
    *(Case(window) for window in (4_096, 8_192, 16_384)),
    Case(65_536, "long"),
    Case(16_384, "tools"),
    *(Case(16_384, loss=name) for name in LOSSES if name != "published"),
)
SEEDS = {"plain": 2, "tools": 1, "long": 1}
"""The conversations of each wording."""
ONLY_LONG = (EVERYTHING, HALF)
"""Methods whose price is asked for."""


class Found(Struct, kw_only=True, omit_defaults=True):
    """What a method still has at the end of a conversation, in percent of the facts that hold, and
    of the replaced values for `stale`.
    """

    case: Case
    profile: str
    seed: int
    method: str
    given: str
    facts: int
    context: float
    reached: float | None = None
    attached: float | None = None
    resumed: float | None = None
    stale: float
    stale_when_asked: float | None = None
    """The same in the context together with what is attached to the question for the value."""
    tokens: int
    compactions: int
    course: list[float] = []
    """In the context after each segment of a long conversation."""
    speakers: dict[str, tuple[int, int, int]] = {}
    """Who said it -> the facts, those in the context, and those there or in one search."""
    money: Money | None = None


@dataclass(frozen=True)
class Trial:
    """One conversation of a case."""

    case: Case
    talk: Talk
    count: Count

    @property
    def end(self) -> int:
        return len(self.talk.segments)

    def summariser(self) -> Lossy:
        return Lossy(self.talk.facts, self.talk.seed, self.count, loss=LOSSES[self.case.loss])

    def found(self, method: str, given: str, text: str, compactions: int) -> Found:
        """Return what a context has at the end of the conversation."""
        read = reading(self.talk, self.end, text, self.count)
        return Found(
            case=self.case,
            profile=self.talk.profile,
            seed=self.talk.seed,
            method=method,
            given=given,
            facts=len(read.live),
            context=share(len(read.context), len(read.live)) or 0.0,
            stale=share(len(read.stale), read.superseded) or 0.0,
            tokens=read.tokens,
            compactions=compactions,
        )

    def share_of(self, text: str, segment: int) -> float:
        """Return the percentage of the facts that hold after a segment and are in a text."""
        live = [fact for fact in self.talk.facts if fact.live(segment)]
        return round(share(len(survived(Context(text), live)), len(live)) or 0.0, 1)

    async def ours(self, folder: Path) -> Found:
        """Have the conversation with the program itself."""
        talk, window, tools = self.talk, self.case.window, self.talk.tools
        chat = Ours(
            folder, self.summariser(), self.count, window=window, automatic=True, tools=tools
        )
        meter = chat.meter
        course: list[float] = []
        for segment, turns in enumerate(talk.segments, 1):
            for turn in turns:
                await chat.settled()
                await chat.say(turn)
            if segment == 1:
                for pin in talk.pins:
                    chat.pin(pin)
            if self.case.talk == "long":
                course.append(self.share_of(chat.context, segment))
        await chat.settled()
        text = chat.context
        live = [fact for fact in talk.facts if fact.live(self.end)]
        there = survived(Context(text), live)
        with_search = reached(chat, live, there, self.count)
        found = self.found(OURS, "window", text, chat.automatic)
        found.course = course
        found.reached = share(len(with_search), len(live))
        for speaker in dict.fromkeys(fact.speaker for fact in live):
            mine = {fact.number for fact in live if fact.speaker == speaker}
            found.speakers[speaker] = len(mine), len(there & mine), len(with_search & mine)
        if not tools:
            self._ask(chat, text, there, found)
        if self.case.talk == "long":
            found.money = money(meter.sent)
        await chat.exit_and_resume()
        found.resumed = self.share_of(chat.context, self.end)
        chat.close()
        return found

    def _ask(self, chat: Ours, text: str, there: set[int], found: Found) -> None:
        """Ask for each fact that is not in the context, and for each value that was replaced."""
        facts, end = self.talk.facts, self.end
        attached = misled = replaced = 0
        for fact in facts:
            if fact.live(end) and fact.number not in there:
                attached += Context(chat.attached(fact.question)).has(fact)
            elif fact.stale(end):
                replaced += 1
                sent = Context(f"{text}\n{chat.attached(fact.question)}")
                misled += fact.number in stale(sent, facts, end)
        found.attached = share(len(there) + attached, found.facts)
        found.stale_when_asked = share(misled, replaced)

    async def others(self, size: int) -> list[Found]:
        """Have the conversation with the other methods, which also get `size` tokens."""
        found: list[Found] = []
        head = (SYSTEM_PROMPT, *tool_texts(self.talk.tools))
        for name, arm in baselines(self.summariser(), self.count, self.case.window, head).items():
            if name in ONLY_LONG and self.case.talk != "long":
                continue
            course: list[float] = []
            for segment, turns in enumerate(self.talk.segments, 1):
                for turn in turns:
                    await have(turn, arm)
                if self.case.talk == "long" and name not in ONLY_LONG:
                    course.append(self.share_of("\n\n".join(arm.pieces), segment))
            whole = self.found(name, "window", "\n\n".join(arm.pieces), arm.compactions)
            whole.course = course
            found.append(whole)
            if self.case.talk == "long":
                whole.money = money(arm.meter.sent)
            if name not in ONLY_LONG:
                found.append(self.found(name, "size", await arm.sized(size), arm.compactions))
        return found


class Run(Struct):
    """The file of a run."""

    settings: dict[str, Any]
    found: list[Found]


def begun(path: Path) -> Run:
    """Return the run that was interrupted, if it was of the same program, or a new one."""
    settings = msgspec.to_builtins(origin())
    with contextlib.suppress(FileNotFoundError):
        known = msgspec.json.decode(path.read_bytes(), type=Run)
        if not changed(known.settings["code"], settings["code"], parts_of("factchain")):
            return known
    return Run(settings, [])


def measure(
    path: Path,
    cases: Sequence[Case] = CASES,
    profiles: Sequence[str] = tuple(PROFILES),
    seeds: int | None = None,
) -> Run:
    """Measure what the file does not have yet, at most `seeds` conversations of each wording. Write
    the file after each conversation.
    """
    count = counting()
    run = begun(path)
    done = {(one.case, one.profile, one.seed) for one in run.found}
    for seed, case, profile in product(range(1, 1 + max(SEEDS.values())), cases, profiles):
        if (case, profile, seed) in done or seed > min(SEEDS[case.talk], seeds or seed):
            continue
        trial = Trial(case, TALKS[case.talk](seed, profile), count)
        # the requests contain the folder's name, so it must be the same in every run
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            found = [asyncio.run(trial.ours(Path("sessions")))]
            if case.talk != "tools":
                found += asyncio.run(trial.others(found[0].tokens))
        run.found += found
        path.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
        for one in found:
            told = f"{one.method} ({one.given}): {one.context:.1f} % in {one.tokens:,} tokens"
            print(f"{case.window} {case.talk} {case.loss} {profile} {seed}, {told}", flush=True)
    return run
