"""The embedded model's answers in the form of the other results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.embedded.__main__ import main
from benchmarks.embedded.run import ARMS
from benchmarks.embedded.script import SEEDS
from benchmarks.embedded.table import read
from benchmarks.support.results import NotMeasured, Results, Settings

DETAILS = "embedded-answers-{}.json"


def run(results: Results, settings: Settings) -> None:
    """Measure. The answers go to files named after the seeds, the transcripts to `embedded/`."""
    if settings.model is None:
        raise NotMeasured("It needs an embedded model: --model FILE.gguf.")
    for seed in SEEDS:
        path = settings.folder / DETAILS.format(seed)
        arguments = ["--model", str(settings.model), "--json", str(path), "--seed", str(seed)]
        if settings.progress is not None:
            arguments += ["--progress", str(settings.progress)]
        if main(arguments):
            raise NotMeasured("The model did not answer.")
    add_contexts(results, settings.folder)


def add_contexts(results: Results, folder: Path) -> None:
    """Add the counts of each context in the files of answers, a sample for each conversation."""
    found = [answered.contexts for answered in read(folder)]
    for name in ARMS:
        counts = [contexts[name] for contexts in found if name in contexts]
        results.add(f"right answers, {name}", [each["percent"] for each in counts], "%")
        results.add(f"facts in the context, {name}", [each["in_context"] for each in counts], "")
        results.add(f"tokens, {name}", [each["tokens"] for each in counts], "")
