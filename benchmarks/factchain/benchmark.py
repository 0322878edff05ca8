"""FactChain: what a user gets in four windows, and the worst case in one."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path

from benchmarks.factchain import automatic, plot, worst
from benchmarks.factchain.run import OURS
from benchmarks.support.results import RESULTS, Results, Settings, write

SEEDS = 5
"""The conversations of each wording in the worst case."""
CURVE = Path(__file__).with_name("curve.svg")
JUDGED = {"16K": automatic.Case(16_384), "64K, long": automatic.Case(65_536, "long")}


def run(results: Results, settings: Settings) -> None:
    """Measure and judge. All numbers go to `factchain-automatic.json` and `factchain-16k.json`, and
    the curve of the long conversations to `curve.svg`.
    """
    curve = CURVE if settings.folder == RESULTS else settings.folder / CURVE.name
    path = settings.folder / "factchain-automatic.json"
    measured = automatic.measure(path, seeds=settings.rounds).found
    curve.write_text(plot.picture(measured), "utf-8")
    for name, case in JUDGED.items():
        goals, where = worst.GOALS[case.window], f"automatic, window {name}"
        mine = [one for one in measured if (one.case, one.method) == (case, OURS)]
        context, resumed = [one.context for one in mine], [one.resumed or 0.0 for one in mine]
        results.add(f"facts in the context, {where}", context, "%", at_least=goals.context)
        title = f"the same after exit and resume, {where}"
        results.add(title, resumed, "%", at_least=goals.context)
        reached, stale = [one.reached or 0.0 for one in mine], [one.stale for one in mine]
        results.add(f"facts with one search, {where}", reached, "%", at_least=goals.reached)
        results.add(f"stale values, {where}", stale, "%", at_most=goals.stale)
    # the requests contain the folder's name, so it must be the same in every run
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        ends = asyncio.run(worst.measure(settings.rounds or SEEDS, results))
    write(settings.folder / "factchain-16k.json", "factchain-16k", {"conversations": ends})
