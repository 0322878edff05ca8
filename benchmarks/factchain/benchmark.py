"""FactChain: what a user gets in four windows, and the worst case in one."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.factchain import automatic, plot
from benchmarks.factchain.__main__ import SEEDS, main
from benchmarks.factchain.report import bar
from benchmarks.factchain.run import OURS
from benchmarks.support.results import RESULTS, Results, Settings

CURVE = Path(__file__).with_name("curve.svg")
JUDGED = {"16K": automatic.Case(16_384), "64K, long": automatic.Case(65_536, "long")}


def run(results: Results, settings: Settings) -> None:
    """Measure and judge. All numbers go to `factchain-automatic.json` and `factchain-16k.json`, and
    the curve of the long conversations to `curve.svg`.
    """
    curve = CURVE if settings.folder == RESULTS else settings.folder / CURVE.name
    run = automatic.measure(settings.folder / "factchain-automatic.json", seeds=settings.rounds)
    curve.write_text(plot.picture(run.found), "utf-8")
    for name, case in JUDGED.items():
        limits, where = bar(case.window), f"automatic, window {name}"
        mine = [one for one in run.found if (one.case, one.method) == (case, OURS)]
        context = [one.context for one in mine]
        resumed = [one.resumed or 0.0 for one in mine]
        reached = [one.reached or 0.0 for one in mine]
        stale = [one.stale for one in mine]
        results.add(f"facts in the context, {where}", context, "%", at_least=limits.context)
        results.add(
            f"the same after exit and resume, {where}", resumed, "%", at_least=limits.context
        )
        results.add(f"facts with one search, {where}", reached, "%", at_least=limits.reached)
        results.add(f"stale values, {where}", stale, "%", at_most=limits.stale)
    path = settings.folder / "factchain-16k.json"
    main(["--seeds", str(settings.rounds or SEEDS), "--json", str(path)])
    for goal in json.loads(path.read_bytes())["goals"]:
        limit = {"at_least" if goal["at_least"] else "at_most": goal["limit"]}
        name = f"{goal['name']}, window 16K"
        results.add(name, [goal["value"] or 0], goal["unit"].strip(), **limit)
