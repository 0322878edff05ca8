"""A compaction: the program's own work for 100 messages, and the pause that a user notices.

The conversations are FactChain's. The work is processor time without a model: finding the values in
100 messages, and fitting them into a full ledger. The pause is the longest time from a query to its
request in a conversation that is compacted automatically, minus the median of the same
conversation. The summarizer takes 0.1 s for each call. The pause is measured with a user who reads
each reply until the summary is ready, and with queries that follow each other at once.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from benchmarks.factchain import run as factchain
from benchmarks.factchain.generator import generate
from benchmarks.factchain.standin import WINDOW
from benchmarks.factchain.wording import PROFILES
from benchmarks.support.results import Results, Settings

ROUNDS = 3
WORK_GOAL = 20.0
PAUSE_GOAL = 16.0
"""Milliseconds: one frame of a screen; nobody notices a shorter pause."""


def run(results: Results, settings: Settings) -> None:
    """Measure and judge."""
    count = factchain.counting()
    work: dict[str, list[float]] = {}
    pauses: dict[bool, list[float]] = {True: [], False: []}
    compactions: list[float] = []
    for seed in range(1, 1 + (settings.rounds or ROUNDS)):
        for profile in PROFILES:
            talk = generate(seed, profile)
            for name, seconds in factchain.work(talk, count).items():
                work.setdefault(name, []).append(1000 * seconds)
            for reads, found in pauses.items():
                with tempfile.TemporaryDirectory() as name:
                    waits = asyncio.run(
                        factchain.waits(talk, Path(name), count, WINDOW, pauses=reads)
                    )
                found.append(1000 * (waits.longest - waits.typical))
                compactions.append(waits.compactions)
    for name, times in work.items():
        results.add(name, times, "ms")
    own = [sum(parts) for parts in zip(*work.values(), strict=True)]
    results.add("own work for 100 messages", own, "ms", at_most=WORK_GOAL)
    results.add("automatic compactions of a conversation", compactions, "")
    results.add("pause of automatic compaction", pauses[True], "ms", at_most=PAUSE_GOAL)
    results.add("the same, queries one upon the other", pauses[False], "ms")
