"""The worst case: ten compactions that the user types; and a model that fails, and waits.

The goals are older than the measure of automatic compaction, and it has the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks.factchain import run
from benchmarks.factchain.generator import generate
from benchmarks.factchain.standin import WINDOW
from benchmarks.factchain.summarisers import Lossy
from benchmarks.factchain.talk import SEGMENTS
from benchmarks.factchain.wording import PROFILES
from benchmarks.support.results import Results

TOKENS, WORK_MS, WAIT_MS = 8_000, 20, 50
"""The goals for the tokens of talk in a request, and for times in milliseconds."""


class Goals(Struct, frozen=True):
    """The goals in a window, in percent."""

    context: float
    reached: float
    stale: float


GOALS = {65_536: Goals(95, 98, 2), WINDOW: Goals(75, 95, 3)}


async def measure(seeds: int, results: Results) -> list[run.End]:
    """Have the conversations in the working directory, and judge what is left."""
    count = run.counting()
    ends: list[run.End] = []
    faults: list[run.Faults] = []
    waits: list[run.Waits] = []
    work: list[dict[str, float]] = []
    for profile in PROFILES:
        for seed in range(1, seeds + 1):
            talk = generate(seed, profile)
            folder = Path(f"{profile}{seed}")
            summariser = Lossy(talk.facts, talk.seed, count)
            ends.append(await run.ours(talk, folder, summariser, count, WINDOW))
            if seed == 1:
                faults.append(await run.faults(talk, folder, count, WINDOW))
                waits.append(await run.waits(talk, folder, count, WINDOW))
                work.append(run.work(talk, count))
    judge(ends, results)
    wait = [1000 * (one.longest - one.typical) for one in waits]
    where = "window 16K"
    name = f"automatic compaction: the longest wait, without the model, {where}"
    results.add(name, [max(wait)], "ms", at_most=WAIT_MS)
    for name, count_of in {
        "automatic compaction: queries refused": sum(one.refused for one in waits),
        "failing model: exchanges lost": sum(one.lost for one in faults),
        "failing model: orders in the ledger": sum(one.obeyed for one in faults),
    }.items():
        results.add(f"{name}, {where}", [count_of], "", at_most=0)
    for name in work[0]:
        times = [1000 * one[name] for one in work]
        results.add(f"{name}, work, {where}", times, "ms", at_most=WORK_MS)
    return ends


def judge(ends: Sequence[run.End], results: Results) -> None:
    """Judge what is left of the conversations of each wording."""
    goals = GOALS[WINDOW]
    for profile in PROFILES:
        mine = [one for one in ends if one.profile == profile]
        where = f"@{SEGMENTS}, {profile}, window 16K"
        context, resumed = [one.context for one in mine], [one.resumed for one in mine]
        results.add(f"facts in the context {where}", context, "%", at_least=goals.context)
        name = f"the same after exit and resume {where}"
        results.add(name, resumed, "%", at_least=goals.context)
        reached, stale = [one.reached for one in mine], [one.stale for one in mine]
        results.add(f"facts with one search {where}", reached, "%", at_least=goals.reached)
        results.add(f"stale values {where}", stale, "%", at_most=goals.stale)
        pins, invented = [one.pins for one in mine], [one.invented for one in mine]
        results.add(f"pins byte for byte {where}", [min(pins)], "%", at_least=100)
        results.add(f"invented values in the ledger {where}", [sum(invented)], "", at_most=0)
        tokens = max(one.tokens for one in mine)
        results.add(f"tokens of talk in the request {where}", [tokens], "", at_most=TOKENS)
