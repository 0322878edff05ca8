"""FactChain in the two windows with published results."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.factchain.__main__ import main
from benchmarks.support.results import RESULTS, NotMeasured, Results, Settings

SEEDS = 5
CURVE = Path(__file__).with_name("curve.svg")
WINDOWS = ("16K", "64K")


def run(results: Results, settings: Settings) -> None:
    """Measure and judge. All numbers go to `factchain-WINDOW.json`, and the curve of the smaller
    window to `curve.svg`.
    """
    curve = CURVE if settings.folder == RESULTS else settings.folder / CURVE.name
    for window in WINDOWS:
        path = settings.folder / f"factchain-{window.lower()}.json"
        options = ["--seeds", str(settings.rounds or SEEDS), "--window", window]
        options += ["--json", str(path)]
        if window == WINDOWS[0]:
            options += ["--svg", str(curve)]
        if main(options) not in (0, 1):
            raise NotMeasured("FactChain could not run.")
        for goal in json.loads(path.read_bytes())["goals"]:
            limit = {"at_least" if goal["at_least"] else "at_most": goal["limit"]}
            name = f"{goal['name']}, window {window}"
            results.add(name, [goal["value"] or 0], goal["unit"].strip(), **limit)
