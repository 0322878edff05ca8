"""The embedded model's answers in the form of the other results."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.embedded.__main__ import main
from benchmarks.support.results import NotMeasured, Results, Settings

DETAILS = "embedded-answers.json"


def run(results: Results, settings: Settings) -> None:
    """Measure. The answers go to `embedded-answers.json`, the transcripts to `embedded/`."""
    if settings.model is None:
        raise NotMeasured("It needs an embedded model: --model FILE.gguf.")
    path = settings.folder / DETAILS
    arguments = ["--model", str(settings.model), "--json", str(path)]
    if settings.progress is not None:
        arguments += ["--progress", str(settings.progress)]
    if main(arguments):
        raise NotMeasured("The model did not answer.")
    add_contexts(results, path)


def add_contexts(results: Results, path: Path) -> None:
    """Add the counts of each context in a file of answers."""
    for name, counts in json.loads(path.read_bytes())["contexts"].items():
        results.add(f"right answers, {name}", [counts["percent"]], "%")
        results.add(f"facts in the context, {name}", [counts["in_context"]], "")
        results.add(f"tokens, {name}", [counts["tokens"]], "")
